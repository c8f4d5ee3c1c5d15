"""Cell maps: which cells of a finer measurement add up to each group of a coarser one.

    SELECT date_trunc('quarter', day), COUNT(*) FROM visits WHERE clinic <> 'north' GROUP BY 1

is the sum of some cells of the counts by month and clinic. Which, follows from the policy: a statement lists
all values that the columns of keys and conditions can have, and what finer and coarser keys are for each.

Sound       where the two have the same rows before WHERE, bounded alike (`CellIdentity`), and the conditions
            of the finer are among those of the coarser; where the keys and further conditions of the coarser
            are the same for all values that share a cell; and where no row that counts is in no cell.
The rest    A value that is not declared is NULL. Where the policy says that NULL is a group, there is a cell
            for it. Else rows without a value are in no cell: nothing is added up over this key, and a
            condition or key is one of cells only if it leaves out rows without a value. So it is, too, where
            the policy says that no value is missing: data may have values that are not declared all the
            same, and a total without them would be wrong by more than its error.
Several     Counts and sums of cells are those of their union. What is not additive (distinct values, people)
            is derived where each group is one cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.sql import expression_sql
from discreet.sql.core_planning import CorePlan
from discreet.sql.expression_tree import Call, Column, Expression, find_columns
from discreet.sql.expression_types import Family, Type
from discreet.sql.key_domains import ColumnDomain, find_column_domain
from discreet.sql.measurement_identity import CellIdentity, CoreIdentity
from discreet.sql.predicates import list_conditions, peel_filters
from discreet.sql.released_constants import find_open_constants

ADDITIVE = frozenset({"count", "sum", "centred sum", "centred squares"})
MOST_COMBINATIONS = 1 << 16  # of values of the columns that keys and conditions are computed from


@dataclass(frozen=True, kw_only=True)
class KeyForm:
    """A key as SQL over columns that are named by their identity.

    `is_covering` says that every row has one of the key's values, or NULL as a group.
    """

    sql: str
    columns: tuple[str, ...]
    is_covering: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"sql": self.sql, "columns": list(self.columns), "is_covering": self.is_covering}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> KeyForm:
        """Return the key of a JSON object."""
        return cls(
            sql=str(stored["sql"]),
            columns=tuple(map(str, stored["columns"])),
            is_covering=bool(stored["is_covering"]),
        )


@dataclass(frozen=True, kw_only=True)
class _Condition:
    """A condition, and the identities of the conditions that it joins."""

    parts: frozenset[str]
    sql: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WantedCells:
    """The keys and conditions of a primitive, which decide of which cells of a finer measurement it is made.

    `keys` are its keys by identity, in the order of the plan.
    """

    identity: CellIdentity
    keys: Mapping[str, KeyForm]
    conditions: tuple[_Condition, ...] = field(repr=False)
    domains: Mapping[str, ColumnDomain | None] = field(repr=False)
    is_additive: bool


@dataclass(frozen=True, kw_only=True)
class MapStatement:
    """The statement that lists how cells and groups belong together: it reads no data.

    Its columns are the keys k0, k1 … of the groups, those of the cells f0, f1 …, which are the keys
    `sources`, `inside` where the conditions hold, and `is_covered` where every column has a declared value.
    """

    text: str
    keys: tuple[str, ...]
    sources: tuple[str, ...]


def describe_keys(core: CorePlan, policy: Policy) -> dict[str, KeyForm]:
    """Return the keys of a core by identity."""
    forms = {}
    for column, key in core.question.keys:
        found = [find_column_domain(each, core.question.rows, policy) for each in find_columns(key)]
        forms[core.identity.key_identities[column.name]] = KeyForm(
            sql=_compile_by_identity(key, core.identity),
            columns=_name_columns(key, core.identity),
            is_covering=all(each is not None and not each.is_open for each in found),
        )
    return forms


def describe_wanted_cells(core: CorePlan, name: str, policy: Policy) -> WantedCells | None:
    """Return what decides of which cells a primitive of a core is made; None if of none."""
    meaning = core.noisy_primitives[name].primitive.meaning
    identity = core.identity.identify_cells(meaning)
    domain, question = core.domain, core.question
    if identity is None or domain is None or {column.name for column, _ in question.keys} & {*domain.sources}:
        return None  # a key whose values do not follow from those of its columns
    if find_open_constants(question):
        return None  # which cells meet a condition is not known before what it compares with
    rows, conditions = peel_filters(question.rows)
    if meaning.condition is not None:
        conditions += list_conditions(meaning.condition)
    if meaning.function == "count" and meaning.argument is not None:
        conditions.append(_require_value(meaning.argument))
    read = [*conditions, *(key for _, key in question.keys)]
    columns = {_name_column(each, core.identity): each for part in read for each in find_columns(part)}
    return WantedCells(
        identity=identity,
        keys=describe_keys(core, policy),
        conditions=tuple(
            _Condition(
                parts=core.identity.identify_conditions(each),
                sql=_compile_by_identity(each, core.identity),
                columns=_name_columns(each, core.identity),
            )
            for each in conditions
        ),
        domains={each: find_column_domain(column, rows, policy) for each, column in columns.items()},
        is_additive=meaning.function in ADDITIVE,
    )


def write_map_statement(
    wanted: WantedCells, keys: Mapping[str, KeyForm], conditions: frozenset[str]
) -> MapStatement | None:
    """Return how the groups of a measurement are made of cells with these keys and conditions; or None."""
    if not conditions <= wanted.identity.conditions:
        return None
    further = [each for each in wanted.conditions if not each.parts <= conditions]
    read = {*_list_columns(wanted.keys.values()), *_list_columns(further)}
    sources = tuple(
        identity for identity, key in keys.items() if key.columns and read.issuperset(key.columns)
    )
    known = {*_list_columns(keys[each] for each in sources)}
    others = (key for identity, key in keys.items() if identity not in sources)
    if not read <= known or not all(key.is_covering for key in others):
        return None
    domains = {name: wanted.domains[name] for name in sorted(read)}
    if prod(_count_values(each) for each in domains.values()) > MOST_COMBINATIONS:
        return None
    outputs = [f"{key.sql} AS k{place}" for place, key in enumerate(wanted.keys.values())]
    outputs += [f"{keys[each].sql} AS f{place}" for place, each in enumerate(sources)]
    inside = " AND ".join(f"({each.sql})" for each in further)
    outputs.append(f"coalesce({inside or 'TRUE'}, FALSE) AS inside")
    known_values = " AND ".join(
        f"{quote_identifier(name)} IS NOT NULL"
        for name, each in domains.items()
        if each is not None and each.is_open
    )
    outputs.append(f"{known_values or 'TRUE'} AS is_covered")
    lists = [_write_values(name, place, each) for place, (name, each) in enumerate(domains.items()) if each]
    source = f" FROM {' CROSS JOIN '.join(lists)}" if lists else ""
    return MapStatement(
        text=f"SELECT DISTINCT {', '.join(outputs)}{source} ORDER BY ALL",
        keys=tuple(wanted.keys),
        sources=sources,
    )


def _list_columns(forms: Sequence[KeyForm | _Condition] | Any) -> Iterator[str]:
    for each in forms:
        yield from each.columns


def _count_values(each: ColumnDomain | None) -> int:
    """Return the number of values to list; too many if they are not declared."""
    return MOST_COMBINATIONS + 1 if each is None else each.domain.count + each.is_open


def _write_values(name: str, place: int, each: ColumnDomain) -> str:
    domain = replace(each.domain, includes_null=each.domain.includes_null or each.is_open)
    return f"(SELECT unnest({domain.list_sql}) AS {quote_identifier(name)}) AS d{place}"


# -- Expressions over columns that are named by their identity ----------------------------------------------


def _compile_by_identity(expression: Expression, identity: CoreIdentity) -> str:
    return expression_sql.compile_value(_rename_columns(expression, identity))


def _rename_columns(expression: Expression, identity: CoreIdentity) -> Expression:
    if isinstance(expression, Column):
        return replace(expression, name=_name_column(expression, identity))
    if isinstance(expression, Call):
        arguments = tuple(_rename_columns(each, identity) for each in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression


def _name_columns(expression: Expression, identity: CoreIdentity) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_name_column(each, identity) for each in find_columns(expression)))


def _name_column(column: Column, identity: CoreIdentity) -> str:
    return f"c{identity.identify_expression(column)}"


def _require_value(argument: Expression) -> Expression:
    """Return the condition that an argument is not NULL."""
    kind = Type(family=Family.BOOLEAN, is_nullable=False)
    missing = Call(function="is_null", arguments=(argument,), type=kind)
    return Call(function="not", arguments=(missing,), type=kind)
