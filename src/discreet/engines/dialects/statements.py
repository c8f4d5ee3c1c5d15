"""Statement writer: the SELECTs of our plans, written in another dialect.

Input             the text that our own plans emit for DuckDB; an analyst's text never reaches this module.
Tables            names refer to what the engine declares: a table of its own, or the SQL that replaces one.
QUALIFY           a condition on windows becomes a column of an inner SELECT and a filter of an outer one; for
                  a number that is at most a constant, the number itself becomes the column, so that engines
                  stop counting there.
*                 is expanded, so that an engine adds no column of its own.
Deferred columns  are passed on from SELECT to SELECT, as far as `deferred_columns` allows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.engines.dialects import marks
from discreet.engines.dialects.dialect import Dialect, unsupported
from discreet.engines.dialects.expressions import Expressions
from discreet.engines.dialects.kinds import Family, Piece
from discreet.engines.dialects.lateness import compared_by, require_encoded
from discreet.engines.dialects.operators import OPERATORS
from discreet.engines.dialects.operators.conditions import met
from discreet.engines.dialects.operators.windows import frame, ordering
from discreet.engines.dialects.scope import Columns, Scope

DEEP = 10_000
LOCK = Lock()
KEPT = "_discreet_kept"
CLAUSES = {
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "qualify",
    "windows",
    "order",
    "limit",
    "distinct",
    "with_",
}


@dataclass(frozen=True, kw_only=True)
class Relation:
    """The meaning of a table name in a statement: the text to select from, and its columns.

    `tables` are the names, as sqlglot reads them, of the tables that the text reads; the text has marks
    (`sql_marks`).
    """

    text: str
    columns: Columns
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Written:
    """A statement in a dialect with marks, the columns that it returns, and the tables that it reads."""

    meant: str
    columns: Columns
    tables: frozenset[str]
    values: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """The statement without marks."""
        return marks.plain(self.meant)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit for deeply nested statements; one thread at a time, as it is global."""
    with LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, DEEP))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


@lru_cache(1)
def parsed(sql: str) -> exp.Expr:
    """Return a statement of ours as a tree, to be read only; cached for its verification right after."""
    return sqlglot.parse_one(sql, read="duckdb")


def written(sql: str, dialect: Dialect, relations: Mapping[str, Relation]) -> Written:
    """Translate one SELECT of ours; `values` of the result are the declared ones of the tables it reads."""
    try:
        with deep_recursion():
            found = Writer(dialect=dialect, relations=relations).query(parsed(sql))
    except RecursionError:
        unsupported(dialect.name, "nesting this deep")
    read = [each for each in relations.values() if each.tables & found.tables]
    values = {value for each in read for kind in each.columns.values() for value in kind.values}
    return replace(found, values=frozenset(values))


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes SELECTs; the names defined in WITH are added to `relations`."""

    dialect: Dialect
    relations: Mapping[str, Relation] = field(default_factory=dict)

    @property
    def _expressions(self) -> Expressions:
        return Expressions(dialect=self.dialect, operators=OPERATORS)

    def _name(self, name: str) -> str:
        return marks.named(name, self.dialect)

    def query(self, node: Any, joined: frozenset[str] | None = None) -> Written:
        """Write a query; `joined` are the columns that a join compares it by, None if it is no source."""
        if isinstance(node, exp.Subquery | exp.Paren):
            return self.query(node.this, joined)
        head, inner = self._with(node)
        if isinstance(node, exp.Union):
            found = inner._union(node)
        elif isinstance(node, exp.Select):
            found = inner._select(node, joined)
        else:
            unsupported(self.dialect.name, f"{type(node).__name__} as a statement")
        return replace(found, meant=f"{head}{found.meant}")

    def _with(self, node: Any) -> tuple[str, Writer]:
        ctes = node.args.get("with_")
        if ctes is None:
            return "", self
        parts, writer = [], self
        for cte in ctes.expressions:
            found = writer.query(cte.this)
            name = cte.alias
            parts.append(f"{self._name(name)} AS ({found.meant})")
            own = Relation(text=self._name(name), columns=found.columns, tables=found.tables)
            writer = replace(writer, relations={**writer.relations, name: own})
        return f"WITH {', '.join(parts)} ", writer

    def _union(self, node: Any) -> Written:
        if node.args.get("distinct"):
            unsupported(self.dialect.name, "UNION without ALL")
        left, right = self.query(node.left), self.query(node.right)
        text = f"{left.meant} UNION ALL {right.meant}"
        return Written(meant=text, columns=left.columns, tables=left.tables | right.tables)

    # -- SELECT -----------------------------------------------------------------------------------------

    def _select(self, node: Any, joined: frozenset[str] | None) -> Written:
        strange = [name for name, value in node.args.items() if value and name not in CLAUSES]
        if strange:
            unsupported(self.dialect.name, f"the clause {strange[0]}")
        source, scope, tables = self._sources(node)
        scope = replace(scope, windows=self._windows(node, scope))
        outputs = self._outputs(node.expressions, scope)
        require_encoded(node, outputs, joined)
        text = self._body(node, source, scope, outputs)
        columns = {name: piece.kind for name, piece in outputs}
        return Written(meant=text, columns=columns, tables=tables)

    def _body(self, node: Any, source: str, scope: Scope, outputs: list[tuple[str, Piece]]) -> str:
        quoted = self._name
        shown = [f"{self._typed(piece)} AS {quoted(name)}" for name, piece in outputs]
        rest = self._rest(node, scope)
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            return self._first_of_each(node, source, scope, outputs, rest)
        word = "SELECT DISTINCT" if distinct is not None else "SELECT"
        qualify = node.args.get("qualify")
        if qualify is None:
            order = self._order(node, scope, outputs)
            return f"{word} {', '.join(shown)}{source}{rest}{order}{self._limit(node)}"
        kept, most = qualify.this, ""
        if _is_at_most(kept):
            kept, most = kept.this, f" <= {int(kept.expression.this)}"
        found = self._expressions.write(kept, scope)
        text = found.text if most else self._expressions.boolean(found).text
        inner = f"SELECT {', '.join([*shown, f'{text} AS {quoted(KEPT)}'])}{source}{rest}"
        return self._kept(inner, [name for name, _ in outputs], most)

    def _kept(self, inner: str, names: list[str], most: str = "") -> str:
        """Write the filter of rows whose `_discreet_kept` is true, or a number of at most so many."""
        q = self._name
        columns = ", ".join(f"{q('q')}.{q(name)}" for name in names)
        return f"SELECT {columns} FROM ({inner}) AS {q('q')} WHERE {q('q')}.{q(KEPT)}{most}"

    def _first_of_each(
        self, node: Any, source: str, scope: Scope, outputs: list[tuple[str, Piece]], rest: str
    ) -> str:
        """Write DISTINCT ON by a window: the first row of each group in an order."""
        named = dict(outputs)
        keys = [
            self._expressions.write(each, scope).text for each in node.args["distinct"].args["on"].expressions
        ]
        order = []
        for each in node.args["order"].expressions:
            piece = named.get(each.this.name) if isinstance(each.this, exp.Column) else None
            piece = piece or self._expressions.write(each.this, scope)
            order.append(f"{self._expressions.comparable(piece)} NULLS LAST")
        first = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {', '.join(order)}) = 1"
        q = self._name
        shown = [f"{self._typed(piece)} AS {q(name)}" for name, piece in outputs]
        inner = f"SELECT {', '.join([*shown, f'{first} AS {q(KEPT)}'])}{source}{rest}"
        return self._kept(inner, [name for name, _ in outputs])

    def _typed(self, piece: Piece) -> str:
        """Write an output; a bare NULL becomes text, as engines need a type for each column."""
        if piece.kind.family is Family.NULL:
            return f"CAST(NULL AS {self.dialect.types[Family.TEXT]})"
        return piece.text

    def _windows(self, node: Any, scope: Scope) -> dict[str, str]:
        named = node.args.get("windows") or []
        return {each.this.name: frame(self._expressions, each, scope) for each in named}

    # -- Outputs -----------------------------------------------------------------------------------------

    def _outputs(self, nodes: list[Any], scope: Scope) -> list[tuple[str, Piece]]:
        outputs: list[tuple[str, Piece]] = []
        for place, node in enumerate(nodes):
            if isinstance(node, exp.Star):
                outputs += self._star(node, scope)
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                outputs += self._columns(scope.columns(node.table))
            else:
                name = node.alias_or_name or f"column{place}"
                inner = node.this if isinstance(node, exp.Alias) else node
                outputs.append((name, self._expressions.passed(inner, scope)))
        return outputs

    def _star(self, node: Any, scope: Scope) -> list[tuple[str, Piece]]:
        left_out = {each.name.lower() for each in node.args.get("except_") or []}
        replaced = {
            each.alias.lower(): self._expressions.write(each.this, scope)
            for each in node.args.get("replace") or []
        }
        return [
            (name, replaced.get(name.lower(), piece))
            for name, piece in self._columns(scope.columns())
            if name.lower() not in left_out
        ]

    def _columns(self, columns: list[tuple[str, str, Any]]) -> list[tuple[str, Piece]]:
        q = self._name
        return [(name, Piece(text=f"{q(alias)}.{q(name)}", kind=kind)) for alias, name, kind in columns]

    # -- FROM --------------------------------------------------------------------------------------------

    def _sources(self, node: Any) -> tuple[str, Scope, frozenset[str]]:
        begin = node.args.get("from_")
        if begin is None:
            return "", Scope(sources={}), frozenset()
        text, alias, columns, tables = self._source(begin.this, fenced=_hashes(node))
        scope = Scope(sources={alias: columns})
        text = f" FROM {text}"
        for join in node.args.get("joins") or []:
            more, alias, columns, others = self._source(join.this, joined=compared_by(join))
            if join.args.get("side"):
                columns = {name: replace(kind, known=False) for name, kind in columns.items()}
            scope = replace(scope, sources={**scope.sources, alias: columns})
            tables |= others
            text += self._join(join, more, scope)
        return text, scope, tables

    def _join(self, join: Any, source: str, scope: Scope) -> str:
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        if (side, kind) not in (("", ""), ("LEFT", ""), ("", "CROSS"), ("", "INNER")):
            unsupported(self.dialect.name, f"a {side} {kind} join")
        if join.args.get("using"):
            unsupported(self.dialect.name, "USING")
        on = join.args.get("on")
        if on is None:
            return f" CROSS JOIN {source}"
        condition = met(self._expressions, on, scope)
        return f" {'LEFT JOIN' if side else 'JOIN'} {source} ON {condition.text}"

    def _source(
        self, node: Any, *, fenced: bool = False, joined: frozenset[str] = frozenset()
    ) -> tuple[str, str, Columns, frozenset[str]]:
        quoted = self._name
        if isinstance(node, exp.Subquery):
            alias = node.alias or "s"
            found = self.query(node.this, joined)
            fence = self.dialect.fence if fenced else ""
            return f"({found.meant}{fence}) AS {quoted(alias)}", alias, found.columns, found.tables
        if not isinstance(node, exp.Table):
            unsupported(self.dialect.name, f"{type(node).__name__} as a source")
        alias, relation = node.alias_or_name, self._relation(node.name)
        return f"{relation.text} AS {quoted(alias)}", alias, relation.columns, relation.tables

    def _relation(self, name: str) -> Relation:
        found = next((own for own in self.relations if own.lower() == name.lower()), None)
        if found is None:
            unsupported(self.dialect.name, f"the table {name}, which the policy does not have,")
        return self.relations[found]

    # -- Other clauses -----------------------------------------------------------------------------------

    def _rest(self, node: Any, scope: Scope) -> str:
        text = ""
        where, group, having = (node.args.get(each) for each in ("where", "group", "having"))
        if where is not None:
            text += f" WHERE {self._condition(where, scope)}"
        if group is not None:
            text += f" GROUP BY {self._group(group, scope)}"
        if having is not None:
            text += f" HAVING {self._condition(having, scope)}"
        return text

    def _condition(self, clause: Any, scope: Scope) -> str:
        return self._expressions.boolean(self._expressions.write(clause.this, scope)).text

    def _group(self, group: Any, scope: Scope) -> str:
        parts = group.expressions
        if len(parts) == 1 and isinstance(parts[0], exp.GroupingSets):
            sets = [
                each.expressions if isinstance(each, exp.Tuple) else [each] for each in parts[0].expressions
            ]
            lists = [", ".join(self._key(key, scope) for key in each) for each in sets]
            return f"GROUPING SETS ({', '.join(f'({each})' for each in lists)})"
        if len(parts) == 1 and isinstance(parts[0], exp.Tuple) and not parts[0].expressions:
            return self.dialect.nothing
        return ", ".join(self._key(each, scope) for each in parts)

    def _key(self, node: Any, scope: Scope) -> str:
        """Write a key of GROUP BY: an expression, or the position of an output."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return str(int(node.this))
        return self._expressions.write(node, scope).text

    def _order(self, node: Any, scope: Scope, outputs: list[tuple[str, Piece]]) -> str:
        """Write ORDER BY, by columns of the sources or by outputs that no source has."""
        order = node.args.get("order")
        if order is None:
            return ""
        known = {name.lower() for _, name, _ in scope.columns()}
        own = {name: piece.kind for name, piece in outputs if name.lower() not in known}
        found = ordering(self._expressions, order, replace(scope, sources={**scope.sources, "": own}))
        return f" ORDER BY {found}"

    def _limit(self, node: Any) -> str:
        limit = node.args.get("limit")
        return "" if limit is None else f" LIMIT {int(limit.expression.this)}"


def _is_at_most(condition: Any) -> bool:
    """Return whether a condition is that a window is at most a constant."""
    if not isinstance(condition, exp.LTE) or not isinstance(condition.this, exp.Window):
        return False
    return isinstance(condition.expression, exp.Literal) and not condition.expression.is_string


def _hashes(select: Any) -> bool:
    """Return whether a SELECT hashes its rows to order them, which uses each value a second time."""
    calls = (each for each in select.find_all(exp.Anonymous) if each.parent_select is select)
    return any(each.name.lower() == "hash" for each in calls)
