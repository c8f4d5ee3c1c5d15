"""Extract cores: the aggregations over rows of people that a statement needs, and what replaces them.

A core is measured and charged: rows, group keys k0, k1 … and measures m0, m1 …. In the statement its SELECT
becomes one over the released table r0, r1 …, in which every key and every aggregate is a column of it; HAVING
becomes WHERE. Equal keys and measures are merged, and cores with the same rows and keys are one.

Grouping sets  (ROLLUP, CUBE) are a core for each set of keys. Their released tables are put together by UNION
               ALL, with NULL for the keys that a set leaves out, and GROUPING() is a constant of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NoReturn

from sqlglot import exp

from discreet.sql.aggregate_calls import aggregates_rows, is_aggregate
from discreet.sql.aggregates import resolve_measure
from discreet.sql.aggregates.base import Aggregate
from discreet.sql.expression_tree import Column, Expression, find_columns
from discreet.sql.expression_types import Type, to_shown_type
from discreet.sql.query_literals import parse_whole_number
from discreet.sql.query_validation import validate_query
from discreet.sql.refusal import Refusal, format_snippet, refuse_query
from discreet.sql.relational_algebra import Rows
from discreet.sql.released_table_types import find_sql_type
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import resolve_scalar
from discreet.sql.select_clauses import OWN_NAME, make_unique_name, resolve_group_keys
from discreet.sql.sql_names import fold_case, split_alias

MOST_CORES = 32
MOST_NODES = 5_000
GROUPED = "grouped"
"""The alias of the released tables of grouping sets, put together."""


@dataclass(kw_only=True)
class Core:
    """One aggregation over rows of people; its measures are collected while the statement is read."""

    name: str
    rows: Rows
    keys: tuple[tuple[Column, Expression], ...]
    measures: list[tuple[Column, Aggregate]] = field(default_factory=list)

    def add_measure(self, measure: Aggregate) -> str:
        """Return the column of a measure, which is that of an equal one if there is one."""
        for column, known in self.measures:
            if known == measure:
                return column.name
        column = Column(name=f"m{len(self.measures)}", type=measure.result_type)
        self.measures.append((column, measure))
        return column.name


@dataclass
class CoreCollection:
    """The cores of one statement."""

    cores: list[Core] = field(default_factory=list)

    def add_core(self, rows: Rows, keys: tuple[tuple[Column, Expression], ...]) -> Core:
        """Return the core over these rows and keys: a known one, or a new one."""
        for core in self.cores:
            if core.rows == rows and core.keys == keys:
                return core
        if len(self.cores) == MOST_CORES:
            refuse_query(
                f"the question aggregates over rows more than {MOST_CORES} times.", "Ask for less at once."
            )
        core = Core(name=f"r{len(self.cores)}", rows=rows, keys=keys)
        self.cores.append(core)
        return core


# -- One SELECT over rows -----------------------------------------------------------------------------------


@dataclass
class CoreSelect:
    """A SELECT that aggregates over rows, on its way to a SELECT over released tables.

    `split_query` splits a subquery among its expressions. `reads_nothing` says that WHERE is literally false:
    then what would be released is known, and no core is measured.
    """

    select: exp.Select
    scope: RowScope
    rows: Rows
    collection: CoreCollection
    split_query: Callable[[exp.Expr], exp.Expr]
    reads_nothing: bool = False
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    nodes: int = 0

    def __post_init__(self) -> None:
        if self.reads_nothing:
            self.collection = CoreCollection()
        self.sets = self._resolve_grouping_sets()
        self.keys: list[Expression] = []
        for grouping_set in self.sets:
            self.keys += [key for key in grouping_set if key not in self.keys]
        self.cores = [self._add_core(grouping_set) for grouping_set in self.sets]
        self.measures: list[tuple[str, ...]] = []
        """The column of each measure in each core, where there are several."""

    def rewrite(self) -> exp.Select:
        """Return the SELECT over released tables, with everything in FROM and below replaced."""
        select = self.select
        made = exp.Select(expressions=self._rewrite_outputs())
        having = select.args.get("having")
        if having is not None:
            made.set("where", exp.Where(this=self._rewrite(having.this)))
        for part in ("qualify", "distinct"):
            if select.args.get(part) is not None:
                made.set(part, self._rebuild(select.args[part]))
        if select.args.get("windows"):
            made.set("windows", [self._rewrite_window(each) for each in select.args["windows"]])
        if select.args.get("order") is not None:
            made.set("order", self._rewrite_order(select.args["order"]))
        for part in ("limit", "offset"):
            if select.args.get(part) is not None:
                made.set(part, select.args[part].copy())
        if not self.keys and not self.cores[0].measures:
            refuse_query("the question aggregates nothing.", "Add COUNT(*), SUM(x), AVG(x) ….")
        made.set("from_", exp.From(this=self._build_source()))
        return made

    # -- Groups ---------------------------------------------------------------------------------------------

    def _resolve_grouping_sets(self) -> list[tuple[Expression, ...]]:
        """Return the keys of every grouping set; one set for a plain GROUP BY, or none."""
        group = self.select.args.get("group")
        parts = [] if group is None else [*group.expressions, *_list_grouping_parts(group)]
        special = [each for each in parts if isinstance(each, exp.GroupingSets | exp.Rollup | exp.Cube)]
        if not special:
            distinct = self.select.args.get("distinct")
            if group is None and distinct is not None and not aggregates_rows(self.select):
                written = [split_alias(each)[1] for each in self.select.expressions]
            else:
                written = resolve_group_keys(self.select, self.scope.has_column)
            return [self._resolve_keys(written)]
        plain = [each for each in parts if not isinstance(each, exp.GroupingSets | exp.Rollup | exp.Cube)]
        choices = [[[each]] for each in plain] + [_list_sets(each) for each in special]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count > MOST_CORES:
            refuse_query(f"GROUP BY asks for {count:,} grouping sets.", f"Ask for at most {MOST_CORES}.")
        found: list[tuple[Expression, ...]] = []
        for combination in product(*choices):
            written = [key for keys in combination for key in keys]
            made = exp.Select(expressions=self.select.expressions, group=exp.Group(expressions=written))
            found.append(self._resolve_keys(resolve_group_keys(made, self.scope.has_column)))
        return found

    def _resolve_keys(self, written: Sequence[exp.Expr]) -> tuple[Expression, ...]:
        keys: list[Expression] = []
        for each in written:
            key = self._resolve(each)
            if next(find_columns(key), None) is None:
                refuse_query(f"GROUP BY «{format_snippet(each)}» is a constant.", "Leave it out.")
            if key not in keys:
                keys.append(key)
        return tuple(keys)

    def _add_core(self, keys: tuple[Expression, ...]) -> Core:
        named = [
            (Column(name=f"k{place}", type=to_shown_type(key.type)), key) for place, key in enumerate(keys)
        ]
        return self.collection.add_core(self.rows, tuple(named))

    @property
    def _alias(self) -> str:
        return self.cores[0].name if len(self.cores) == 1 else GROUPED

    def _build_source(self) -> exp.Expr:
        """Return the released table, or those of all grouping sets as one."""
        if len(self.cores) == 1:
            return self._build_released_table(self.cores[0])
        branches = []
        for place, (core, keys) in enumerate(zip(self.cores, self.sets, strict=True)):
            outputs: list[exp.Expr] = []
            for number, key in enumerate(self.keys):
                shown = exp.column(f"k{keys.index(key)}", table=core.name) if key in keys else exp.Null()
                outputs.append(exp.alias_(shown, f"k{number}"))
            for number, columns in enumerate(self.measures):
                outputs.append(exp.alias_(exp.column(columns[place], table=core.name), f"m{number}"))
            for number, key in enumerate(self.keys):
                left_out = exp.Literal.number(int(key not in keys))
                outputs.append(exp.alias_(left_out, f"g{number}"))
            source = self._build_released_table(core)
            branches.append(exp.Select(expressions=outputs, from_=exp.From(this=source)))
        united: exp.Expr = branches[0]
        for branch in branches[1:]:
            united = exp.Union(this=united, expression=branch, distinct=False)
        return exp.Subquery(this=united, alias=exp.TableAlias(this=exp.to_identifier(GROUPED)))

    def _build_released_table(self, core: Core) -> exp.Expr:
        """Return the released table of a core, or what it is known to hold."""
        if not self.reads_nothing:
            return exp.to_table(core.name)
        made = exp.Select(
            expressions=[_write_nothing(column.name, column.type, is_key=True) for column, _ in core.keys]
            + [
                _write_nothing(column.name, column.type, is_key=False, is_count=measure.is_whole_count)
                for column, measure in core.measures
            ]
        )
        if core.keys:
            made.set("where", exp.Where(this=exp.Boolean(this=False)))
        return exp.Subquery(this=made, alias=exp.TableAlias(this=exp.to_identifier(core.name)))

    # -- Clauses --------------------------------------------------------------------------------------------

    def _rewrite_outputs(self) -> list[exp.Expr]:
        outputs: list[exp.Expr] = []
        names: list[str] = []
        for projection in self.select.expressions:
            star = isinstance(projection, exp.Star) or (
                isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
            )
            if star:
                refuse_query(
                    f"«{format_snippet(projection)}» over groups has no meaning.",
                    "Name the keys and the aggregates.",
                )
            name, inner = split_alias(projection)
            if OWN_NAME.fullmatch(name):
                refuse_query(
                    f"the name {format_snippet(name)} is reserved for interval bounds.", "Choose another."
                )
            made = self._rewrite(inner)
            self.aliases.setdefault(fold_case(name), made)
            names.append(make_unique_name(name, names))
            outputs.append(exp.alias_(made, names[-1], quoted=True))
        return outputs

    def _rewrite_order(self, order: exp.Expr) -> exp.Expr:
        """Return ORDER BY: what is a column of the answer by its position, which no name can shadow."""
        found = []
        for each in order.expressions:
            by = each.this
            place = parse_whole_number(by, max_value=len(self.select.expressions))
            if isinstance(by, exp.Literal) and not by.is_string and not place:
                refuse_query(f"ORDER BY {format_snippet(by)} names no column of SELECT.", "Count from 1.")
            if isinstance(by, exp.Column) and not by.table and fold_case(by.name) in self.aliases:
                made: exp.Expr = exp.Literal.number(self._find_output(by.name))
            else:
                made = by.copy() if place else self._rewrite(by)
            found.append(exp.Ordered(**{**each.args, "this": made}))
        return exp.Order(expressions=found)

    def _find_output(self, name: str) -> int:
        """Return the position of the first column of SELECT with a name."""
        names = [fold_case(split_alias(each)[0]) for each in self.select.expressions]
        return names.index(fold_case(name)) + 1

    # -- Expressions ----------------------------------------------------------------------------------------

    def _rewrite(self, node: exp.Expr) -> exp.Expr:
        """Return an expression over the released table."""
        if isinstance(node, exp.Query):
            return self.split_query(node)
        if isinstance(node, exp.Window):
            return self._rewrite_window(node)
        if isinstance(node, exp.Grouping):
            return self._write_grouping(node)
        if is_aggregate(node):
            return self._add_measure(node)
        key = self._find_key(node)
        if key is not None:
            return self._count(exp.column(f"k{key}", table=self._alias))
        return self._resolve_name(node) if isinstance(node, exp.Column) else self._rebuild(node)

    def _rebuild(self, node: exp.Expr) -> exp.Expr:
        """Return a node with everything below it rewritten."""
        made = type(node)(
            **{
                part: [self._rewrite_part(each) for each in given]
                if isinstance(given, list)
                else self._rewrite_part(given)
                for part, given in node.args.items()
            }
        )
        return self._count(made)

    def _rewrite_part(self, given: object) -> object:
        return self._rewrite(given) if isinstance(given, exp.Expr) else given

    def _rewrite_window(self, window: exp.Expr) -> exp.Expr:
        """Return a window over groups; its own function is no aggregate over rows."""
        parts = {part: given for part, given in window.args.items() if part != "this"}
        made = self._rebuild(exp.Window(**parts)) if parts else exp.Window()
        made.set("this", self._rewrite_window_function(window.this))
        return made

    def _rewrite_window_function(self, function: exp.Expr) -> exp.Expr:
        if not isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            return self._rebuild(function)
        parts = {part: self._rewrite_part(given) for part, given in function.args.items() if part != "this"}
        return type(function)(this=self._rewrite_window_function(function.this), **parts)

    def _add_measure(self, node: exp.Expr) -> exp.Expr:
        validate_query(node)
        assert isinstance(node, exp.Expression)
        measure = resolve_measure(node, self.scope)
        names = tuple(core.add_measure(measure) for core in self.cores)
        if len(self.cores) == 1:
            return self._count(exp.column(names[0], table=self._alias))
        if names not in self.measures:
            self.measures.append(names)
        return self._count(exp.column(f"m{self.measures.index(names)}", table=self._alias))

    def _write_grouping(self, node: exp.Expr) -> exp.Expr:
        """Return GROUPING(a, b): a bit for each key, the last one first, 1 where the set leaves it out."""
        made: exp.Expr | None = None
        for each in node.expressions:
            key = self._find_key(each)
            if key is None:
                self._refuse_name(each)
            bit = exp.column(f"g{key}", table=GROUPED) if len(self.cores) > 1 else exp.Literal.number(0)
            made = (
                bit
                if made is None
                else exp.Add(
                    this=exp.Mul(this=exp.Paren(this=made), expression=exp.Literal.number(2)), expression=bit
                )
            )
        if made is None:
            refuse_query(f"«{format_snippet(node)}» names no key.", "Write GROUPING(key).")
        return self._count(exp.Paren(this=made))

    def _resolve(self, node: exp.Expr) -> Expression:
        """Return an expression over rows."""
        validate_query(node)
        assert isinstance(node, exp.Expression)
        return resolve_scalar(node, self.scope)

    def _find_key(self, node: exp.Expr) -> int | None:
        """Return the number of the group key that an expression is; None for any other."""
        if not self.keys or isinstance(node, exp.Literal | exp.Identifier | exp.Star):
            return None
        try:
            wanted = self._resolve(node)
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return self.keys.index(wanted) if wanted in self.keys else None

    def _resolve_name(self, node: exp.Column) -> exp.Expr:
        known = None if node.table else self.aliases.get(fold_case(node.name))
        if known is None:
            self._refuse_name(node)
        self.nodes += sum(1 for _ in known.walk())
        self._require_moderate_size()
        return exp.Paren(this=known.copy())

    def _refuse_name(self, node: exp.Expr) -> NoReturn:
        if isinstance(node, exp.Column) and self.scope.find_person_source(node) is not None:
            self.scope.resolve_column(node)  # refuses it
        refuse_query(
            f"«{format_snippet(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as AVG.",
        )

    def _count(self, node: exp.Expr) -> exp.Expr:
        self.nodes += 1
        self._require_moderate_size()
        return node

    def _require_moderate_size(self) -> None:
        if self.nodes > MOST_NODES:
            refuse_query(
                f"the question has more than {MOST_NODES:,} terms once its names are written out.",
                "Use a column fewer times in the SELECT around it, or ask for less at once.",
            )


def _write_nothing(name: str, kind: Type, *, is_key: bool, is_count: bool = False) -> exp.Expr:
    """Return the column of a released table over no rows: a count is 0, and everything else NULL."""
    value = exp.Literal.number(0) if is_count else exp.Null()
    return exp.alias_(exp.cast(value, find_sql_type(kind, is_key=is_key), dialect="duckdb"), name)


def _list_grouping_parts(group: exp.Expr) -> list[exp.Expr]:
    """Return the grouping sets of a GROUP BY that the parser keeps beside its expressions."""
    found: list[exp.Expr] = []
    for part in ("grouping_sets", "rollup", "cube"):
        given = group.args.get(part) or []
        found += [
            each for each in (given if isinstance(given, list) else [given]) if isinstance(each, exp.Expr)
        ]
    return found


def _list_sets(node: exp.Expr) -> list[list[exp.Expr]]:
    """Return the sets of keys of GROUPING SETS, ROLLUP or CUBE."""
    elements = [_list_keys(each) for each in node.expressions]
    if isinstance(node, exp.GroupingSets):
        found: list[list[exp.Expr]] = []
        for each in node.expressions:
            nested = isinstance(each, exp.GroupingSets | exp.Rollup | exp.Cube)
            found += _list_sets(each) if nested else [_list_keys(each)]
        return found
    if isinstance(node, exp.Rollup):
        return [[key for keys in elements[:count] for key in keys] for count in range(len(elements), -1, -1)]
    if len(elements) > 10:
        refuse_query(f"«{format_snippet(node)}» has too many keys.", "Write GROUPING SETS ((a, b), (a), ()).")
    return [
        [key for place, keys in enumerate(elements) if mask >> place & 1 for key in keys]
        for mask in range(2 ** len(elements) - 1, -1, -1)
    ]


def _list_keys(node: exp.Expr) -> list[exp.Expr]:
    """Return the keys of one element: (a, b), (a), a or ()."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]
