"""Slices: a condition is a key of a finer measurement, of which some cells are wanted.

    SELECT month, COUNT(*) FROM visits WHERE disease = 'Flu' AND age >= 65 GROUP BY month

asks for the cells with disease = 'Flu' and age >= 65 of the counts by month, disease and whether age >= 65.
These are what is measured: every count has the same noise for the same epsilon, since one person moves no
more rows between more groups, and another disease, or those under 65, are then free (`sql.cell_maps`).

Keys        an equality of a column with one of its declared values is a key of its values. What else is said
            of columns with declared values is a key that is true or false.
Sound where each wanted group is one cell, and rows are bounded before the condition. Where a person's rows
            are truncated or weighted after the filter, a filter and a key bound other rows; such filters are
            below the truncation and are not found here. A row outside the declared values is in no cell, and
            meets no such condition.
Not better  without groups one count moves by R, a histogram by up to 2R if a value may change: then the count
            is bought as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.belief import Promise
from discreet.core.policy import Policy
from discreet.sql.core_planning import CorePlan, plan_finer_core
from discreet.sql.expression_tree import Call, Column, Expression, Literal, find_columns
from discreet.sql.expression_types import Family, to_shown_type
from discreet.sql.key_domains import (
    GroupDomain,
    add_truth_key,
    derive_group_domain,
    find_base_names,
    find_column_domain,
    find_declared_column,
)
from discreet.sql.predicates import join_conditions, peel_filters
from discreet.sql.query import Query
from discreet.sql.relational_algebra import Filter, Rows

MOST_CELLS = 4_096  # of a finer core that is bought: what is not asked for is measured and stored, too
MOST_PINS = 3
SLACK = 1 + 1e-9  # equal noise whose variance was rounded differently
Pins = Mapping[str, str | bool]
"""The values of keys, by the identity of the key, that the wanted cells of a measurement have."""


@dataclass(frozen=True, kw_only=True)
class FinerCore:
    """A core that is measured in place of a coarser one, and the cells of it that are wanted."""

    core: CorePlan = field(repr=False)
    pins: Pins


@dataclass(frozen=True, kw_only=True)
class _Pin:
    """A key of finer groups, the value of it that is wanted, and the conditions that say so."""

    key: Expression
    value: str | bool
    conditions: tuple[Expression, ...]

    @property
    def is_condition(self) -> bool:
        """True if the key is what the conditions say, and not a column."""
        return not isinstance(self.key, Column)


def find_finer_core(
    core: CorePlan, policy: Policy, promise: Promise, epsilon: Fraction, shares: Mapping[str, Fraction]
) -> FinerCore | None:
    """Return the core whose measurements are worth more for the same price; None if there is none."""
    if core.partition_selection is not None or core.value_selections:
        return None
    rows, filters = peel_filters(core.question.rows)
    chosen = _find_pins(filters, core.question, rows, policy)[:MOST_PINS]
    if not chosen:
        return None
    question = _add_keys(core.question, rows, filters, chosen)
    domain = _derive_domain(question, chosen, policy)
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


def _find_pins(conditions: Sequence[Expression], question: Query, rows: Rows, policy: Policy) -> list[_Pin]:
    """Return the keys that conditions are about, except where they read a column that is grouped by."""
    read = {name for _, key in question.keys for name in find_base_names(key, rows)}
    pins = []
    for columns, own in _gather_by_columns(conditions, rows):
        if not columns or columns & read:
            continue
        joined = join_conditions(own)
        assert joined is not None
        pin = _read_pin(own[0], rows, policy) if len(own) == 1 else None
        if pin is not None:
            pins.append(pin)
        elif all(find_column_domain(each, rows, policy) for each in find_columns(joined)):
            pins.append(_Pin(key=joined, value=True, conditions=tuple(own)))
    return pins


def _gather_by_columns(
    conditions: Sequence[Expression], rows: Rows
) -> list[tuple[set[str], list[Expression]]]:
    """Return the conditions that are about the same columns, under whatever names, with these."""
    gathered: list[tuple[set[str], list[Expression]]] = []
    for condition in conditions:
        columns, own = find_base_names(condition, rows), [condition]
        for known in [each for each in gathered if each[0] & columns]:
            gathered.remove(known)
            columns, own = columns | known[0], [*known[1], *own]
        gathered.append((columns, own))
    return gathered


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
        return _Pin(key=column, value=value, conditions=(condition,))
    if isinstance(value, str) and declared.values is not None and value in declared.values:
        return _Pin(key=column, value=value, conditions=(condition,))
    return None


# -- Finer groups -------------------------------------------------------------------------------------------


def _add_keys(question: Query, rows: Rows, filters: Sequence[Expression], pins: Sequence[_Pin]) -> Query:
    """Return a question with pinned columns as keys, and without their conditions among the filters."""
    pinned = {id(each) for pin in pins for each in pin.conditions}
    others = [each for each in filters if id(each) not in pinned]
    if len(others) == len(filters):
        rows = question.rows
    elif others:
        rows = Filter(source=rows, condition=join_conditions(others) or others[0])
    return replace(question, rows=rows, keys=(*question.keys, *_name_keys(question, pins)))


def _derive_domain(question: Query, pins: Sequence[_Pin], policy: Policy) -> GroupDomain | None:
    """Return the groups of a question whose last keys are pinned, with every wanted cell among them."""
    first = len(question.keys) - len(pins)
    conditions = [each for each, pin in zip(question.keys[first:], pins, strict=True) if pin.is_condition]
    others = tuple(each for each in question.keys if each not in conditions)
    domain = derive_group_domain(replace(question, keys=others), policy)
    for column, key in conditions if domain is not None else ():
        assert domain is not None
        domain = add_truth_key(domain, column, key, question.rows, policy)
    return domain


def _name_keys(question: Query, pins: Sequence[_Pin]) -> list[tuple[Column, Expression]]:
    first = len(question.keys)
    return [
        (Column(name=f"k{place}", type=to_shown_type(pin.key.type)), pin.key)
        for place, pin in enumerate(pins, first)
    ]


def _name_pins(identities: Mapping[str, str], question: Query, pins: Sequence[_Pin]) -> dict[str, str | bool]:
    """Return the values of pinned keys, which are the last ones, by the identity of the key."""
    names = [column.name for column, _ in question.keys[len(question.keys) - len(pins) :]]
    return {identities[name]: pin.value for name, pin in zip(names, pins, strict=True)}
