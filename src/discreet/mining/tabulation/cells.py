"""Cells: combinations of the bins of some columns, and those that can never have a row (structural zeros).

The policy declares structural zeros, as `impossible` of a table, so they are public and cost nothing. A
number or date is named by bounds; its bins are cut there, so that every bin is possible as a whole or not at
all.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from discreet.core.errors import RequestError
from discreet.core.table_entry import Impossible, Table, ValueRange
from discreet.mechanisms.sampling import Booleans, Floats
from discreet.mining.attributes import Attribute, Cut
from discreet.mining.schema import Schema

Columns = tuple[int, ...]
"""Columns by their places in a schema, in increasing order."""


def count_cells(columns: Iterable[int], shape: Sequence[int]) -> int:
    """Return the number of combinations of the columns' bins.

    >>> count_cells([0, 2], [2, 3, 5])
    10
    """
    return prod(shape[each] for each in columns)


def cut_at_impossible_ranges(schema: Schema, table: Table) -> Schema:
    """Return the schema with cuts at the ends of every impossible range."""

    def cut_attribute(attribute: Attribute) -> Attribute:
        conditions = [entry.get(attribute.name) for entry in table.impossible]
        ranges = [each for each in conditions if isinstance(each, ValueRange)]
        if not ranges:
            return attribute
        column = table.columns[attribute.name]
        whole: Any = _round_range(attribute, ValueRange(low=column.low, high=column.high))
        ends = {end for each in ranges for end in _list_range_ends(attribute, each)}
        inside: set[Any] = {*attribute.cuts, *(end for end in ends if whole[0] < end <= whole[1])}
        return replace(attribute, cuts=tuple(sorted(inside)))

    return replace(schema, attributes=tuple(map(cut_attribute, schema.attributes)))


def find_impossible_cells(schema: Schema, impossible: Sequence[Impossible]) -> dict[Columns, Floats]:
    """Return per set of columns an array with minus infinity at impossible combinations, else 0.

    An entry that names a column which is not synthesized says nothing about the others.
    """
    places = {each.name: place for place, each in enumerate(schema.attributes)}
    found: dict[Columns, Floats] = {}
    for entry in impossible:
        if set(entry) <= set(places):
            columns = tuple(sorted(places[name] for name in entry))
            attributes = [schema.attributes[place] for place in columns]
            never = found.setdefault(columns, np.zeros([each.bins for each in attributes]))
            never[np.ix_(*(_match_bins(each, entry[each.name]) for each in attributes))] = -np.inf
    for columns, never in found.items():
        if np.isneginf(never).all():
            names = ", ".join(schema.attributes[place].name for place in columns)
            raise RequestError(
                f"impossible: everything is declared impossible of {names}.",
                hint="Leave some combination possible in the policy.",
            )
    return found


def _match_bins(attribute: Attribute, condition: ValueRange | tuple[str | None, ...]) -> Booleans:
    """Return the mask of the bins that a condition matches."""
    chosen = np.zeros(attribute.bins, np.bool_)
    if isinstance(condition, ValueRange):
        cuts: Sequence[Any] = attribute.cuts
        low, high = _round_range(attribute, condition)
        begin = 0 if low is None else bisect_right(cuts, low)
        end = attribute.regular_bins if high is None else bisect_right(cuts, high) + 1
        chosen[begin:end] = True
        return chosen
    for word in condition:
        if word is not None:
            chosen[attribute.values.index(word)] = True
        elif attribute.has_missing_bin:
            chosen[attribute.missing_bin] = True
    return chosen


def _list_range_ends(attribute: Attribute, condition: ValueRange) -> list[Cut]:
    """Return the first value of a range, and the first one after it."""
    low, high = _round_range(attribute, condition)
    ends: list[Cut] = [] if low is None else [low]
    if isinstance(high, date):
        ends.append(high + timedelta(days=1))
    elif high is not None:
        ends.append(high + (attribute.step or 0))
    return ends


def _round_range(attribute: Attribute, condition: ValueRange) -> tuple[Cut | None, Cut | None]:
    """Return the first and last value within the bounds: multiples of the step, if there is one."""
    return _round_bound(attribute, condition.low, math.ceil), _round_bound(
        attribute, condition.high, math.floor
    )


def _round_bound(
    attribute: Attribute, bound: object, round_fraction: Callable[[Fraction], int]
) -> Cut | None:
    if bound is None or isinstance(bound, date):
        return bound
    exact = Fraction(str(bound))
    return exact if attribute.step is None else attribute.step * round_fraction(exact / attribute.step)
