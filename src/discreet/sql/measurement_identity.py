"""Identity of measurements: equal for the same quantity over the same rows, however a query spells it.

A measurement is one primitive over all groups of a core: the rows below an aggregation, bounded, and the
group keys. Two queries that differ in aliases, in the order of conditions, columns or keys, or in anything
above the aggregation, need the same measurements, and the second query is free. Identities say nothing
about noise: a measurement is stored with its law.

Rows        by table, stored column and structure. A subquery that only selects or renames columns leaves the
            rows as they are; a column that it computes is the expression, marked, because it is rounded to
            its type there. It has the number of the subquery's first table, too: COUNT(*) of one side of a
            join is not that of the other, and a constant of an outer join's right side may be NULL.
Conditions  AND and OR as sets; a > b as b < a; a BETWEEN x AND y as two comparisons; several equalities of
            one expression, joined by OR, as IN; NOT of all these by De Morgan's laws. What is counted where a
            condition of FILTER holds, or where an argument is not NULL, is what is counted of rows that WHERE
            selects, unless rows are bounded, or groups selected, in between.
Keys        as a set.
Family      rows before WHERE and the function: what measurements with other keys and conditions share, of
            whose cells another may be made (`sql.cell_maps`).
Policy      is not a part of it: the caller adds the entries of the tables and columns that are read.

If equal quantities get different identities, one is charged although it was released; nothing else depends on
it. Different quantities never get one identity: the form has everything from which the statement is compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from discreet.sql.aggregates.selection import SelectedAggregate
from discreet.sql.contribution_bounding import BoundedQuery
from discreet.sql.expression_tree import Call, Column, Expression, Literal, ReleasedConstant
from discreet.sql.expression_types import Family, Numeric, can_share_grid
from discreet.sql.primitives import Grid, Meaning
from discreet.sql.relational_algebra import (
    KEY,
    LINK,
    Filter,
    Join,
    PersonTotals,
    Project,
    Rows,
    Scan,
    TruncatedRows,
    WeightedRows,
)

Form = tuple[Any, ...]
"""A nested tuple of texts and numbers, which is equal for equal meanings."""
Columns = Mapping[str, Form]

FLIPPED = {"more": "less", "at_least": "at_most"}
NEGATED = {"less": "at_most", "at_most": "less"}
SYMMETRIC = frozenset({"equal", "unequal", "add", "multiply"})


@dataclass(frozen=True, kw_only=True)
class MeasurementIdentity:
    """The identity of a measurement, and the columns of the policy that it reads, by table."""

    text: str
    tables: Mapping[str, frozenset[str]]


@dataclass(frozen=True, kw_only=True)
class CellIdentity:
    """The family and the conditions of a measurement: whether its cells may make up another one.

    `conditions` are the identities of the conditions that AND joins.
    """

    family: MeasurementIdentity
    conditions: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class CoreIdentity:
    """The rows and keys of a core in normal form, and the identities of its keys by name.

    `rest` is what else the form has: how rows are bounded, and how groups are selected.
    """

    rows: Form = field(repr=False)
    keys: Form = field(repr=False)
    rest: Form = field(repr=False)
    columns: Columns = field(repr=False)
    scanned_tables: tuple[str, ...]
    key_identities: Mapping[str, str]
    selects_groups: bool = False

    def identify_primitive(self, meaning: Meaning) -> MeasurementIdentity:
        """Return the identity of a primitive over this core."""
        parts, argument, conditions = self._normalize_meaning(meaning)
        if self.selects_groups:  # by people in the rows that WHERE leaves
            condition = _join_parts("and", conditions) if conditions else None
            return self._identify((self.rows, self.keys, *self.rest), parts, argument, condition)
        rows = self.rows
        for each in conditions:
            rows = _filter_rows(rows, each)
        return self._identify((rows, self.keys, *self.rest), parts, argument, None)

    def identify_cells(self, meaning: Meaning) -> CellIdentity | None:
        """Return the identity of a primitive's family, and its conditions; None if groups are selected."""
        if self.selects_groups:
            return None
        parts, argument, conditions = self._normalize_meaning(meaning)
        rows = self.rows
        if rows[0] == "filter":
            _, rows, filters = rows
            conditions += filters
        return CellIdentity(
            family=self._identify("family", rows, self.rest, parts, argument),
            conditions=frozenset(_hash_form(each) for each in conditions),
        )

    def _normalize_meaning(self, meaning: Meaning) -> tuple[Form, Form | None, list[Form]]:
        """Return the function, its argument and its conditions; SUM(1) is COUNT(*)."""
        argument, function = meaning.argument, meaning.function
        conditions = [] if meaning.condition is None else self._list_conditions(meaning.condition)
        if function == "count" and argument is not None:
            conditions.append(_negate(("is_null", (), normalize_expression(argument, self.columns))))
        elif function == "sum" and isinstance(argument, Literal) and {*meaning.constants} == {1}:
            function = "count"
        if function == "count":
            return ("count",), None, conditions
        form = None if argument is None else normalize_expression(argument, self.columns)
        return (function, *(str(each) for each in meaning.constants)), form, conditions

    def _list_conditions(self, condition: Expression) -> list[Form]:
        return _list_parts("and", normalize_expression(condition, self.columns))

    def identify_conditions(self, condition: Expression) -> frozenset[str]:
        """Return the identities of the conditions that AND joins."""
        return frozenset(_hash_form(each) for each in self._list_conditions(condition))

    def identify_expression(self, expression: Expression) -> str:
        """Return the identity of an expression over its rows, as that of a key."""
        return _hash_form(normalize_expression(expression, self.columns))

    def identify_selection(self, measure: SelectedAggregate, grid: Grid | None) -> MeasurementIdentity:
        """Return the identity of a value that is selected privately in each group, from a grid if any."""
        options = tuple(str(getattr(measure, each.name)) for each in fields(measure)[2:])
        steps = () if grid is None else (str(grid.step), grid.low, grid.high)
        read = (
            None if each is None else normalize_expression(each, self.columns)
            for each in (measure.argument, measure.condition)
        )
        return self._identify((self.rows, self.keys, *self.rest), (measure.name, options, steps), tuple(read))

    def _identify(self, *form: object) -> MeasurementIdentity:
        return MeasurementIdentity(
            text=_hash_form(form), tables=_find_read_columns(self.scanned_tables, form)
        )


def identify_core(bounding: BoundedQuery, *, selection: object = None) -> CoreIdentity:
    """Return the identity of a bounded query's rows and keys.

    `selection` is the partition selection, for groups that the policy does not declare.
    """
    question = bounding.question
    reader = _RowReader()
    rows, columns = reader.read(question.rows)
    keys = {column.name: normalize_expression(key, columns) for column, key in question.keys}
    return CoreIdentity(
        rows=rows,
        keys=_sort_forms(keys.values()),
        rest=(bounding.rule, repr(bounding.contribution), bounding.weight_denominator, repr(selection)),
        columns=columns,
        scanned_tables=tuple(reader.tables),
        key_identities=_identify_keys(keys),
        selects_groups=selection is not None,
    )


def _identify_keys(keys: Columns) -> dict[str, str]:
    """Return identities of keys that differ, even if two are one quantity in other words."""
    forms = list(keys.values())
    repeated = {name: forms[:place].count(form) for place, (name, form) in enumerate(keys.items())}
    return {
        name: _hash_form((form, repeated[name]) if repeated[name] else form) for name, form in keys.items()
    }


# -- Rows ---------------------------------------------------------------------------------------------------


@dataclass
class _RowReader:
    """Reads the form of rows; tables are numbered in the order of the statement."""

    tables: list[str] = field(default_factory=list)

    def read(self, node: Rows) -> tuple[Form, Columns]:
        """Return the form of a node's rows, and the forms of its columns by name."""
        if isinstance(node, Scan | Join):
            return self._read_scan(node) if isinstance(node, Scan) else self._read_join(node)
        place = len(self.tables)
        rows, columns = self.read(node.source)
        if isinstance(node, Filter):
            return _filter_rows(rows, normalize_expression(node.condition, columns)), columns
        if isinstance(node, Project):
            return rows, {
                column.name: _project_column(expression, columns, place)
                for column, expression in zip(node.columns, node.expressions, strict=True)
            }
        if isinstance(node, PersonTotals):
            return _total_rows(node, rows, columns, place)
        return _bound_rows(node, rows, columns), columns

    def _read_scan(self, node: Scan) -> tuple[Form, Columns]:
        place = len(self.tables)
        self.tables.append(node.table)
        columns: dict[str, Form] = {
            column.name: ("column", place, stored)
            for column, stored in zip(node.columns, node.stored, strict=True)
        }
        # the rows that a person keeps are the first by rank or by hash
        limit = node.row_limit
        return ("scan", place, node.table, str(node.people), node.rows, limit, str(node.order)), columns

    def _read_join(self, node: Join) -> tuple[Form, Columns]:
        left, left_columns = self.read(node.left)
        right, right_columns = self.read(node.right)
        columns = {**left_columns, **right_columns}
        keys = None
        if node.keys is not None:
            keys = tuple(normalize_expression(each, columns) for each in node.keys)
        return ("join", left, right, keys, node.is_outer, node.is_unique_match), columns


def _filter_rows(rows: Form, condition: Form) -> Form:
    """Return the form of filtered rows; filters over filters are one, and their order does not matter."""
    conditions = _list_parts("and", condition)
    if rows[0] == "filter":
        _, rows, known = rows
        conditions += known
    return ("filter", rows, _sort_forms({*conditions}))


def _project_column(expression: Expression, columns: Columns, place: int) -> Form:
    form = normalize_expression(expression, columns)
    return form if isinstance(expression, Column) else ("projected", place, form)


def _bound_rows(node: TruncatedRows | WeightedRows, rows: Form, columns: Columns) -> Form:
    if isinstance(node, WeightedRows):
        return ("weighted", rows, node.max_rows)
    by = () if node.max_groups is None else node.keys  # without groups the keys do not matter
    keys = _sort_forms(normalize_expression(each, columns) for each in by)
    return ("truncated", rows, node.max_rows, node.max_groups, keys)


def _total_rows(node: PersonTotals, rows: Form, columns: Columns, place: int) -> tuple[Form, Columns]:
    keys = {column.name: ("key", place, normalize_expression(key, columns)) for column, key in node.keys}
    totals: dict[str, Form] = {}
    for column, (function, argument, condition) in node.totals:
        read = (
            None if each is None else normalize_expression(each, columns) for each in (argument, condition)
        )
        totals[column.name] = ("total", place, function, node.source.rows, *read)
    return ("totals", rows, _sort_forms(keys.values())), {**keys, **totals}


# -- Expressions --------------------------------------------------------------------------------------------


def normalize_expression(expression: Expression, columns: Columns) -> Form:
    """Return the form of an expression, in which columns are what `columns` says of their names."""
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, ReleasedConstant):
        return ("open", expression.name)  # until it has a value, nothing is stored of what it compares with
    if isinstance(expression, Literal):
        return _normalize_literal(expression)
    assert isinstance(expression, Call)
    arguments = [normalize_expression(each, columns) for each in expression.arguments]
    if expression.function in ("between", "in") and not _compares_in_pairs(expression.arguments):
        return (f"{expression.function} together", expression.options, *arguments)
    return _normalize_call(expression.function, arguments, expression.options)


def _normalize_literal(literal: Literal) -> Form:
    """Return the form of a constant: 0.1 and 1e-1 are one number, of two types that compute differently."""
    value, kind = literal.value, literal.type
    form = ("literal", type(value).__name__, str(value), kind.family.value)
    written = Numeric.INTEGER if isinstance(value, int) else Numeric.DECIMAL
    return (
        form if kind.family is not Family.NUMBER or kind.numeric is written else (*form, kind.numeric.value)
    )


def _compares_in_pairs(arguments: Sequence[Expression]) -> bool:
    """Return whether IN or BETWEEN compares its first argument with each other as `=` or `<=` alone would.

    Where one of them makes all be compared in DOUBLE, exact numbers that differ may be equal.
    """
    numbers = [each.type for each in arguments if each.type.family is Family.NUMBER]
    if not arguments[0].type.is_exact or all(each.is_integral for each in numbers):
        return True
    return can_share_grid(numbers)


def _normalize_call(function: str, arguments: list[Form], options: tuple[str, ...]) -> Form:
    if function in NORMALIZERS:
        return NORMALIZERS[function](arguments)
    if function in FLIPPED:
        return (FLIPPED[function], options, *reversed(arguments))
    return (function, options, *(_sort_forms(arguments) if function in SYMMETRIC else arguments))


def _normalize_between(arguments: list[Form]) -> Form:
    tested, low, high = arguments
    return _join_parts("and", [("at_most", (), low, tested), ("at_most", (), tested, high)])


def _normalize_and(arguments: list[Form]) -> Form:
    return _join_parts("and", [part for each in arguments for part in _list_parts("and", each)])


def _normalize_or(arguments: list[Form]) -> Form:
    parts = [part for each in arguments for part in _list_parts("or", each)]
    return _join_parts("or", _gather_equalities(parts))


def _normalize_not(arguments: list[Form]) -> Form:
    return _negate(arguments[0])


def _normalize_in(arguments: list[Form]) -> Form:
    return _test_membership(arguments[0], arguments[1:])


NORMALIZERS: dict[str, Callable[[list[Form]], Form]] = {
    "and": _normalize_and,
    "between": _normalize_between,
    "in": _normalize_in,
    "not": _normalize_not,
    "or": _normalize_or,
}


def _negate(form: Form) -> Form:
    if form[0] == "not":
        inner: Form = form[2]
        return inner
    if form[0] in ("and", "or"):  # De Morgan, which holds where a part is unknown, too
        parts = [_negate(each) for each in form[2]]
        return _normalize_or(parts) if form[0] == "and" else _normalize_and(parts)
    if form[0] == "in":
        return _normalize_and([_negate(("equal", (), *_sort_forms((form[2], each)))) for each in form[3]])
    if form[0] in NEGATED:
        _, options, one, other = form
        return (NEGATED[str(form[0])], options, other, one)
    if form[0] == "equal":
        return ("unequal", *form[1:])
    return ("equal", *form[1:]) if form[0] == "unequal" else ("not", (), form)


def _test_membership(tested: Form, values: Iterable[Form]) -> Form:
    options = _sort_forms(set(values))
    if len(options) == 1:
        return ("equal", (), *_sort_forms((tested, options[0])))
    return ("in", (), tested, options)


def _gather_equalities(parts: list[Form]) -> list[Form]:
    """Return the parts of an OR with all equalities and memberships of one expression as one membership."""
    values: dict[Form, set[Form]] = {}
    others: list[Form] = []
    for each in parts:
        found = _split_membership(each)
        if found is None:
            others.append(each)
        else:
            values.setdefault(found[0], set()).update(found[1])
    return [*others, *(_test_membership(tested, own) for tested, own in values.items())]


def _split_membership(form: Form) -> tuple[Form, set[Form]] | None:
    """Return the expression and its values, of an equality with a literal or of a list of literals."""
    if form[0] == "in" and all(each[0] == "literal" for each in form[3]):
        return form[2], set(form[3])
    if form[0] != "equal":
        return None
    one, other = form[2], form[3]
    for tested, value in ((one, other), (other, one)):
        if value[0] == "literal" and tested[0] != "literal":
            return tested, {value}
    return None


def _list_parts(function: str, form: Form) -> list[Form]:
    return list(form[2]) if form[0] == function else [form]


def _join_parts(function: str, parts: Iterable[Form]) -> Form:
    distinct = _sort_forms(set(parts))
    return distinct[0] if len(distinct) == 1 else (function, (), distinct)


def _sort_forms(forms: Iterable[Form]) -> Form:
    return tuple(sorted(forms, key=repr))


# -- What is read -------------------------------------------------------------------------------------------


def _find_read_columns(tables: Sequence[str], form: Form) -> dict[str, frozenset[str]]:
    """Return the stored columns that a form reads, by table; a link or key is that of its hidden column."""
    found: dict[str, set[str]] = {table: set() for table in tables}

    def visit(part: object) -> None:
        if not isinstance(part, tuple):
            return
        if len(part) == 3 and part[0] == "column":
            stored = str(part[2])
            for prefix in (f"{LINK} ", f"{KEY} "):
                stored = stored.removeprefix(prefix)
            found[tables[part[1]]].add(stored)
            return
        for each in part:
            visit(each)

    visit(form)
    return {table: frozenset(columns) for table, columns in found.items()}


def _hash_form(form: object) -> str:
    return hashlib.sha256(repr(form).encode()).hexdigest()
