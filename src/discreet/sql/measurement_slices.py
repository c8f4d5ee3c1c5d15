"""Slices: a condition on declared values is a key of a finer measurement, of which some cells are wanted.

    SELECT month, COUNT(*) FROM visits WHERE disease = 'Flu' GROUP BY month

asks for the cells with disease = 'Flu' of the counts by month and disease. Where these are stored, it is
answered from them. Where they are not, they are what is measured: every count has the same noise for the same
epsilon, since one person moves no more rows between more groups, and another disease is then free.

Sound where  each wanted group is one cell: the condition is an equality of a stored column with one of its
             declared values, and rows are bounded before it. Where a person's rows are truncated or weighted
             after the filter, a filter and a key bound other rows; such filters are below the truncation and
             are not found here. A row outside the declared values is in no cell, and meets no such condition.
Not better   without groups one count moves by R, a histogram by up to 2R if a value may change: then finer
             cells serve if they are stored with noise as narrow as the question's own, and are not bought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

from discreet.belief import Promise
from discreet.core.policy import Policy
from discreet.sql.core_planning import CorePlan, plan_finer_core
from discreet.sql.expression_tree import Call, Column, Expression, Literal
from discreet.sql.expression_types import Family, to_shown_type
from discreet.sql.key_domains import derive_group_domain, find_base_names, find_declared_column
from discreet.sql.measurement_identity import MeasurementIdentity, identify_core
from discreet.sql.query import Query
from discreet.sql.relational_algebra import Filter, Rows

MOST_CELLS = 4_096  # of a finer core that is bought: what is not asked for is measured and stored, too
MOST_PINS = 3
SLACK = 1 + 1e-9  # equal noise whose variance was rounded differently
Pins = Mapping[str, str | bool]
"""The values of keys, by the identity of the key, that the wanted cells of a measurement have."""


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The cells of a finer measurement that are a wanted one."""

    identity: MeasurementIdentity
    pins: Pins


@dataclass(frozen=True, kw_only=True)
class FinerCore:
    """A core that is measured in place of a coarser one, and the cells of it that are wanted."""

    core: CorePlan = field(repr=False)
    pins: Pins


@dataclass(frozen=True, kw_only=True)
class _Pin:
    """A condition that a stored column has a declared value."""

    column: Column
    value: str | bool
    condition: Expression


def find_slices(core: CorePlan, name: str, policy: Policy) -> Iterator[Slice]:
    """Yield the finer measurements of which a primitive of a core is a slice, the finest first."""
    if core.partition_selection is not None:
        return
    meaning = core.noisy_primitives[name].primitive.meaning
    rows, filters = _peel_filters(core.question.rows)
    wheres = _find_pins(filters, core.question, rows, policy)
    taken = {name for pin in wheres for name in find_base_names(pin.column, rows)}
    filtered = () if meaning.condition is None else tuple(_list_conditions(meaning.condition))
    own = [
        pin
        for pin in _find_pins(filtered, core.question, rows, policy)
        if not find_base_names(pin.column, rows) & taken
    ]
    pins = [*wheres, *own][:MOST_PINS]
    for count in range(len(pins), 0, -1):
        for chosen in combinations(pins, count):
            pinned = {id(pin.condition) for pin in chosen}
            question = _add_keys(core.question, rows, filters, chosen)
            identity = identify_core(replace(core.bounding, question=question))
            rest = _join_conditions([each for each in filtered if id(each) not in pinned])
            yield Slice(
                identity=identity.identify_primitive(replace(meaning, condition=rest)),
                pins=_name_pins(identity.key_identities, question, chosen),
            )


def find_finer_core(
    core: CorePlan, policy: Policy, promise: Promise, epsilon: Fraction, shares: Mapping[str, Fraction]
) -> FinerCore | None:
    """Return the core whose measurements are worth more for the same price; None if there is none."""
    if core.partition_selection is not None or core.value_selections:
        return None
    rows, filters = _peel_filters(core.question.rows)
    chosen = _find_pins(filters, core.question, rows, policy)[:MOST_PINS]
    if not chosen:
        return None
    question = _add_keys(core.question, rows, filters, chosen)
    domain = derive_group_domain(question, policy)
    if domain is None or domain.size > MOST_CELLS:
        return None
    finer = plan_finer_core(core, question, domain, policy, promise, epsilon, shares)
    if not _is_as_precise(finer, core):
        return None
    return FinerCore(core=finer, pins=_name_pins(finer.identity.key_identities, question, chosen))


def _is_as_precise(finer: CorePlan, core: CorePlan) -> bool:
    """Return True if every measurement has no more noise, for the same guarantee."""
    if finer.noisy_primitives.keys() != core.noisy_primitives.keys():
        return False
    pairs = [
        (each.mechanism, core.noisy_primitives[name].mechanism)
        for name, each in finer.noisy_primitives.items()
    ]
    return all(
        fine.guarantee == asked.guarantee and float(fine.variance) <= float(asked.variance) * SLACK
        for fine, asked in pairs
    )


# -- Conditions ---------------------------------------------------------------------------------------------


def _peel_filters(rows: Rows) -> tuple[Rows, list[Expression]]:
    """Return the rows below the outermost filters, and the conditions of these that AND joins."""
    conditions: list[Expression] = []
    while isinstance(rows, Filter):
        conditions += _list_conditions(rows.condition)
        rows = rows.source
    return rows, conditions


def _list_conditions(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "and":
        for each in condition.arguments:
            yield from _list_conditions(each)
    else:
        yield condition


def _join_conditions(conditions: Sequence[Expression]) -> Expression | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Call(function="and", arguments=tuple(conditions), type=conditions[0].type)


def _find_pins(conditions: Sequence[Expression], question: Query, rows: Rows, policy: Policy) -> list[_Pin]:
    """Return the conditions that say which value a column has, one for each column that is no key."""
    read = {name for _, key in question.keys for name in find_base_names(key, rows)}
    pins = []
    for condition in conditions:
        pin = _read_pin(condition, rows, policy)
        if pin is None:
            continue
        # a column that is grouped by keeps its condition, and so does one with two, under whatever names: no
        # cell has both values
        names = find_base_names(pin.column, rows)
        if not names & read:
            read |= names
            pins.append(pin)
    return pins


def _read_pin(condition: Expression, rows: Rows, policy: Policy) -> _Pin | None:
    """Return a condition of the form column = value, if the policy declares this value; else None."""
    if isinstance(condition, Column):
        return _pin_column(condition, True, condition, rows, policy)
    if not isinstance(condition, Call):
        return None
    arguments = condition.arguments
    if condition.function == "not" and isinstance(arguments[0], Column):
        return _pin_column(arguments[0], False, condition, rows, policy)
    if condition.function not in ("equal", "in") or len(arguments) != 2:
        return None
    for tested, value in (arguments, arguments[::-1]):
        if isinstance(tested, Column) and isinstance(value, Literal):
            return _pin_column(tested, value.value, condition, rows, policy)
    return None


def _pin_column(
    column: Column, value: object, condition: Expression, rows: Rows, policy: Policy
) -> _Pin | None:
    declared = find_declared_column(column, rows, policy)
    if declared is None:
        return None
    if isinstance(value, bool) and column.type.family is Family.BOOLEAN:
        return _Pin(column=column, value=value, condition=condition)
    if isinstance(value, str) and declared.values is not None and value in declared.values:
        return _Pin(column=column, value=value, condition=condition)
    return None


# -- Finer groups -------------------------------------------------------------------------------------------


def _add_keys(question: Query, rows: Rows, filters: Sequence[Expression], pins: Sequence[_Pin]) -> Query:
    """Return a question with pinned columns as keys, and without their conditions among the filters."""
    pinned = {id(pin.condition) for pin in pins}
    others = [each for each in filters if id(each) not in pinned]
    if len(others) == len(filters):
        rows = question.rows
    elif others:
        rows = Filter(source=rows, condition=_join_conditions(others) or others[0])
    return replace(question, rows=rows, keys=(*question.keys, *_name_keys(question, pins)))


def _name_keys(question: Query, pins: Sequence[_Pin]) -> list[tuple[Column, Expression]]:
    first = len(question.keys)
    return [
        (Column(name=f"k{place}", type=to_shown_type(pin.column.type)), pin.column)
        for place, pin in enumerate(pins, first)
    ]


def _name_pins(identities: Mapping[str, str], question: Query, pins: Sequence[_Pin]) -> dict[str, str | bool]:
    """Return the values of pinned keys, which are the last ones, by the identity of the key."""
    names = [column.name for column, _ in question.keys[len(question.keys) - len(pins) :]]
    return {identities[name]: pin.value for name, pin in zip(names, pins, strict=True)}
