"""Statement writer: the SELECTs of our plans, written in another dialect.

Input             the text that our own plans emit for DuckDB; an analyst's text never reaches this module.
Tables            names refer to what the engine declares: a table of its own, or the SQL that replaces one.
QUALIFY           a condition on windows becomes a column of an inner SELECT and a filter of an outer one; for
                  a number that is at most a constant, the number itself becomes the column, so that engines
                  stop counting there.
*                 is expanded, so that an engine adds no column of its own.
Deferred columns  are passed on from SELECT to SELECT, as far as `expression_writer` allows.
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

from discreet.engines.dialects import sql_marks
from discreet.engines.dialects.dialect import Dialect, raise_unsupported
from discreet.engines.dialects.expression_writer import (
    Columns,
    ExpressionWriter,
    Scope,
    find_join_columns,
    require_encoded,
)
from discreet.engines.dialects.operators import OPERATORS
from discreet.engines.dialects.operators.aggregate_functions import write_ordering, write_window_frame
from discreet.engines.dialects.operators.conditions import write_join_condition
from discreet.engines.dialects.sql_types import TypedSql, TypeFamily

RECURSION_LIMIT = 10_000
LOCK = Lock()
QUALIFY_COLUMN = "_discreet_kept"
SUPPORTED_CLAUSES = {
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
class SqlRelation:
    """The meaning of a table name in a statement: the text to select from, and its columns.

    `tables` are the names, as sqlglot reads them, of the tables that the text reads; the text has marks
    (`sql_marks`).
    """

    text: str
    columns: Columns
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class TranslatedStatement:
    """A statement in a dialect with marks, the columns that it returns, and the tables that it reads."""

    marked_text: str
    columns: Columns
    tables: frozenset[str]
    values: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """The statement without marks."""
        return sql_marks.remove_marks(self.marked_text)


@contextmanager
def allow_deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit for deeply nested statements; one thread at a time, as it is global."""
    with LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, RECURSION_LIMIT))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


@lru_cache(1)
def parse_statement(sql: str) -> exp.Expr:
    """Return a statement of ours as a tree, to be read only; cached for its verification right after."""
    return sqlglot.parse_one(sql, read="duckdb")


def translate_select(sql: str, dialect: Dialect, relations: Mapping[str, SqlRelation]) -> TranslatedStatement:
    """Translate one SELECT of ours; `values` of the result are the declared ones of the tables it reads."""
    try:
        with allow_deep_recursion():
            found = SelectWriter(dialect=dialect, relations=relations).write_query(parse_statement(sql))
    except RecursionError:
        raise_unsupported(dialect.name, "nesting this deep")
    read = [each for each in relations.values() if each.tables & found.tables]
    values = {value for each in read for kind in each.columns.values() for value in kind.values}
    return replace(found, values=frozenset(values))


@dataclass(frozen=True, kw_only=True)
class SelectWriter:
    """Writes SELECTs; the names defined in WITH are added to `relations`."""

    dialect: Dialect
    relations: Mapping[str, SqlRelation] = field(default_factory=dict)

    @property
    def _expressions(self) -> ExpressionWriter:
        return ExpressionWriter(dialect=self.dialect, operators=OPERATORS)

    def _mark_name(self, name: str) -> str:
        return sql_marks.mark_name(name, self.dialect)

    def write_query(self, node: Any, joined: frozenset[str] | None = None) -> TranslatedStatement:
        """Write a query; `joined` are the columns that a join compares it by, None if it is no source."""
        if isinstance(node, exp.Subquery | exp.Paren):
            return self.write_query(node.this, joined)
        head, inner = self._write_ctes(node)
        if isinstance(node, exp.Union):
            found = inner._write_union(node)
        elif isinstance(node, exp.Select):
            found = inner._write_select(node, joined)
        else:
            raise_unsupported(self.dialect.name, f"{type(node).__name__} as a statement")
        return replace(found, marked_text=f"{head}{found.marked_text}")

    def _write_ctes(self, node: Any) -> tuple[str, SelectWriter]:
        ctes = node.args.get("with_")
        if ctes is None:
            return "", self
        parts, writer = [], self
        for cte in ctes.expressions:
            found = writer.write_query(cte.this)
            name = cte.alias
            parts.append(f"{self._mark_name(name)} AS ({found.marked_text})")
            own = SqlRelation(text=self._mark_name(name), columns=found.columns, tables=found.tables)
            writer = replace(writer, relations={**writer.relations, name: own})
        return f"WITH {', '.join(parts)} ", writer

    def _write_union(self, node: Any) -> TranslatedStatement:
        if node.args.get("distinct"):
            raise_unsupported(self.dialect.name, "UNION without ALL")
        left, right = self.write_query(node.left), self.write_query(node.right)
        text = f"{left.marked_text} UNION ALL {right.marked_text}"
        return TranslatedStatement(marked_text=text, columns=left.columns, tables=left.tables | right.tables)

    # -- SELECT -----------------------------------------------------------------------------------------

    def _write_select(self, node: Any, joined: frozenset[str] | None) -> TranslatedStatement:
        strange = [name for name, value in node.args.items() if value and name not in SUPPORTED_CLAUSES]
        if strange:
            raise_unsupported(self.dialect.name, f"the clause {strange[0]}")
        source, scope, tables = self._write_from(node)
        scope = replace(scope, windows=self._write_windows(node, scope))
        outputs = self._write_outputs(node.expressions, scope)
        require_encoded(node, outputs, joined)
        text = self._write_select_body(node, source, scope, outputs)
        columns = {name: piece.sql_type for name, piece in outputs}
        return TranslatedStatement(marked_text=text, columns=columns, tables=tables)

    def _write_select_body(
        self, node: Any, source: str, scope: Scope, outputs: list[tuple[str, TypedSql]]
    ) -> str:
        quoted = self._mark_name
        shown = [f"{self._write_output(piece)} AS {quoted(name)}" for name, piece in outputs]
        rest = self._write_filters(node, scope)
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            return self._write_distinct_on(node, source, scope, outputs, rest)
        word = "SELECT DISTINCT" if distinct is not None else "SELECT"
        qualify = node.args.get("qualify")
        if qualify is None:
            order = self._write_order_by(node, scope, outputs)
            return f"{word} {', '.join(shown)}{source}{rest}{order}{self._write_limit(node)}"
        kept, most = qualify.this, ""
        if _is_row_limit(kept):
            kept, most = kept.this, f" <= {int(kept.expression.this)}"
        found = self._expressions.write(kept, scope)
        text = found.text if most else self._expressions.cast_to_boolean(found).text
        inner = f"SELECT {', '.join([*shown, f'{text} AS {quoted(QUALIFY_COLUMN)}'])}{source}{rest}"
        return self._write_qualify_filter(inner, [name for name, _ in outputs], most)

    def _write_qualify_filter(self, inner: str, names: list[str], most: str = "") -> str:
        """Write the filter of rows whose `_discreet_kept` is true, or a number of at most so many."""
        q = self._mark_name
        columns = ", ".join(f"{q('q')}.{q(name)}" for name in names)
        return f"SELECT {columns} FROM ({inner}) AS {q('q')} WHERE {q('q')}.{q(QUALIFY_COLUMN)}{most}"

    def _write_distinct_on(
        self, node: Any, source: str, scope: Scope, outputs: list[tuple[str, TypedSql]], rest: str
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
            order.append(f"{self._expressions.write_sort_value(piece)} NULLS LAST")
        first = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {', '.join(order)}) = 1"
        q = self._mark_name
        shown = [f"{self._write_output(piece)} AS {q(name)}" for name, piece in outputs]
        inner = f"SELECT {', '.join([*shown, f'{first} AS {q(QUALIFY_COLUMN)}'])}{source}{rest}"
        return self._write_qualify_filter(inner, [name for name, _ in outputs])

    def _write_output(self, piece: TypedSql) -> str:
        """Write an output; what is always NULL becomes text, as engines need a type for each column."""
        if piece.sql_type.family is TypeFamily.NULL:
            return f"CAST({piece.text} AS {self.dialect.types[TypeFamily.TEXT]})"
        return piece.text

    def _write_windows(self, node: Any, scope: Scope) -> dict[str, str]:
        named = node.args.get("windows") or []
        return {each.this.name: write_window_frame(self._expressions, each, scope) for each in named}

    # -- Outputs -----------------------------------------------------------------------------------------

    def _write_outputs(self, nodes: list[Any], scope: Scope) -> list[tuple[str, TypedSql]]:
        outputs: list[tuple[str, TypedSql]] = []
        for place, node in enumerate(nodes):
            if isinstance(node, exp.Star):
                outputs += self._expand_star(node, scope)
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                outputs += self._reference_columns(scope.list_columns(node.table))
            else:
                name = node.alias_or_name or f"column{place}"
                inner = node.this if isinstance(node, exp.Alias) else node
                outputs.append((name, self._expressions.write_passthrough(inner, scope)))
        return outputs

    def _expand_star(self, node: Any, scope: Scope) -> list[tuple[str, TypedSql]]:
        left_out = {each.name.lower() for each in node.args.get("except_") or []}
        replaced = {
            each.alias.lower(): self._expressions.write(each.this, scope)
            for each in node.args.get("replace") or []
        }
        return [
            (name, replaced.get(name.lower(), piece))
            for name, piece in self._reference_columns(scope.list_columns())
            if name.lower() not in left_out
        ]

    def _reference_columns(self, columns: list[tuple[str, str, Any]]) -> list[tuple[str, TypedSql]]:
        q = self._mark_name
        return [
            (name, TypedSql(text=f"{q(alias)}.{q(name)}", sql_type=kind)) for alias, name, kind in columns
        ]

    # -- FROM --------------------------------------------------------------------------------------------

    def _write_from(self, node: Any) -> tuple[str, Scope, frozenset[str]]:
        begin = node.args.get("from_")
        if begin is None:
            return "", Scope(sources={}), frozenset()
        text, alias, columns, tables = self._write_source(begin.this, fenced=_has_row_hash(node))
        scope = Scope(sources={alias: columns})
        text = f" FROM {text}"
        for join in node.args.get("joins") or []:
            more, alias, columns, others = self._write_source(join.this, joined=find_join_columns(join))
            if join.args.get("side"):
                # a row that finds no partner has NULL in all of them
                columns = {name: replace(kind, is_never_null=False) for name, kind in columns.items()}
            scope = replace(scope, sources={**scope.sources, alias: columns})
            tables |= others
            text += self._write_join(join, more, scope)
        return text, scope, tables

    def _write_join(self, join: Any, source: str, scope: Scope) -> str:
        side, kind = (str(join.args.get(each) or "").upper() for each in ("side", "kind"))
        if (side, kind) not in (("", ""), ("LEFT", ""), ("", "CROSS"), ("", "INNER")):
            raise_unsupported(self.dialect.name, f"a {side} {kind} join")
        if join.args.get("using"):
            raise_unsupported(self.dialect.name, "USING")
        on = join.args.get("on")
        if on is None:
            return f" CROSS JOIN {source}"
        condition = write_join_condition(self._expressions, on, scope)
        return f" {'LEFT JOIN' if side else 'JOIN'} {source} ON {condition.text}"

    def _write_source(
        self, node: Any, *, fenced: bool = False, joined: frozenset[str] = frozenset()
    ) -> tuple[str, str, Columns, frozenset[str]]:
        quoted = self._mark_name
        if isinstance(node, exp.Subquery):
            alias = node.alias or "s"
            found = self.write_query(node.this, joined)
            fence = self.dialect.optimization_fence if fenced else ""
            return f"({found.marked_text}{fence}) AS {quoted(alias)}", alias, found.columns, found.tables
        if not isinstance(node, exp.Table):
            raise_unsupported(self.dialect.name, f"{type(node).__name__} as a source")
        alias, relation = node.alias_or_name, self._find_relation(node.name)
        return f"{relation.text} AS {quoted(alias)}", alias, relation.columns, relation.tables

    def _find_relation(self, name: str) -> SqlRelation:
        found = next((own for own in self.relations if own.lower() == name.lower()), None)
        if found is None:
            raise_unsupported(self.dialect.name, f"the table {name}, which the policy does not have,")
        return self.relations[found]

    # -- Other clauses -----------------------------------------------------------------------------------

    def _write_filters(self, node: Any, scope: Scope) -> str:
        text = ""
        where, group, having = (node.args.get(each) for each in ("where", "group", "having"))
        if where is not None:
            text += f" WHERE {self._write_condition(where, scope)}"
        if group is not None:
            text += f" GROUP BY {self._write_group_by(group, scope)}"
        if having is not None:
            text += f" HAVING {self._write_condition(having, scope)}"
        return text

    def _write_condition(self, clause: Any, scope: Scope) -> str:
        return self._expressions.cast_to_boolean(self._expressions.write(clause.this, scope)).text

    def _write_group_by(self, group: Any, scope: Scope) -> str:
        parts = group.expressions
        if len(parts) == 1 and isinstance(parts[0], exp.GroupingSets):
            sets = [
                each.expressions if isinstance(each, exp.Tuple) else [each] for each in parts[0].expressions
            ]
            lists = [", ".join(self._write_group_key(key, scope) for key in each) for each in sets]
            return f"GROUPING SETS ({', '.join(f'({each})' for each in lists)})"
        if len(parts) == 1 and isinstance(parts[0], exp.Tuple) and not parts[0].expressions:
            return self.dialect.empty_grouping
        return ", ".join(self._write_group_key(each, scope) for each in parts)

    def _write_group_key(self, node: Any, scope: Scope) -> str:
        """Write a key of GROUP BY: an expression, or the position of an output."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return str(int(node.this))
        return self._expressions.write(node, scope).text

    def _write_order_by(self, node: Any, scope: Scope, outputs: list[tuple[str, TypedSql]]) -> str:
        """Write ORDER BY, by columns of the sources or by outputs that no source has."""
        order = node.args.get("order")
        if order is None:
            return ""
        known = {name.lower() for _, name, _ in scope.list_columns()}
        own = {name: piece.sql_type for name, piece in outputs if name.lower() not in known}
        found = write_ordering(self._expressions, order, replace(scope, sources={**scope.sources, "": own}))
        return f" ORDER BY {found}"

    def _write_limit(self, node: Any) -> str:
        limit = node.args.get("limit")
        return "" if limit is None else f" LIMIT {int(limit.expression.this)}"


def _is_row_limit(condition: Any) -> bool:
    """Return whether a condition is that a window is at most a constant."""
    if not isinstance(condition, exp.LTE) or not isinstance(condition.this, exp.Window):
        return False
    return isinstance(condition.expression, exp.Literal) and not condition.expression.is_string


def _has_row_hash(select: Any) -> bool:
    """Return whether a SELECT hashes its rows to order them, which uses each value a second time."""
    calls = (each for each in select.find_all(exp.Anonymous) if each.parent_select is select)
    return any(each.name.lower() == "hash" for each in calls)
