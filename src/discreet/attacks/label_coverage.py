"""The known values that each label of a column covers, as positions in an order of the values.

In an order that suits how the column's labels are read (numbers by size, masks by text, periods by day,
groups as siblings) nearly every label covers one contiguous range, so a class is a box. A label that covers
scattered positions gets the range from its first to its last, and a mask of the positions in it.
`label_parsing` defines what a label covers for one value; this module inverts it, from values to labels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.hierarchies.date_periods import parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy
from discreet.anonymity.hierarchies.label_parsing import (
    Affix,
    DateRange,
    NumberRange,
    Reading,
    parse_number,
    parse_readings,
)
from discreet.anonymity.tuple_counts import natural_sort_key

IndexRange = tuple[int, int]
EXACT = "exact"


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelCoverage:
    """Value v is at position `places[v]`; label i covers the positions `low[i]` to `high[i]` (excluded).

    If `mask_rows[i]` is not -1, label i covers only the positions that this row of `masks` marks.
    """

    positions: Integers
    low: Integers
    high: Integers
    mask_rows: Integers
    masks: NDArray[np.bool_]

    @property
    def sole_labels(self) -> Integers | None:
        """The only label of each value, -1 if it has none; None if labels overlap."""
        filled = np.flatnonzero(self.high > self.low)
        rising = filled[np.argsort(self.low[filled], kind="stable")]
        if (self.mask_rows >= 0).any() or (self.high[rising[:-1]] > self.low[rising[1:]]).any():
            return None
        labels = np.full(len(self.positions), -1, np.int64)
        lengths = self.high[rising] - self.low[rising]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        labels[np.repeat(self.low[rising], lengths) + within] = np.repeat(rising, lengths)
        return labels[self.positions]


def compute_coverage(
    labels: Sequence[str], values: Sequence[str], hierarchy: Hierarchy | None = None
) -> LabelCoverage:
    """Return the known values that each label covers."""
    index = _ValueIndex(values, hierarchy)
    read = [[] if label == TOP else parse_readings(label) for label in labels]
    places = _invert_order(index.sort_by(_choose_order(read, index))[1], len(values))
    low, high = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.int64)
    scattered = np.full(len(labels), -1, np.int64)
    inside: list[NDArray[np.bool_]] = []
    for i, (label, found) in enumerate(zip(labels, read, strict=True)):
        if label == TOP:
            high[i] = len(values)
            continue
        covered = np.unique(places[index.find_covered(label, found)])
        if not len(covered):
            continue
        low[i], high[i] = covered[0], covered[-1] + 1
        if high[i] - low[i] != len(covered):
            scattered[i] = len(inside)
            inside.append(_make_mask(covered, len(values)))
    marks = np.stack(inside) if inside else np.zeros((0, len(values)), np.bool_)
    return LabelCoverage(positions=places, low=low, high=high, mask_rows=scattered, masks=marks)


def _invert_order(order: Integers, number_of_values: int) -> Integers:
    places = np.empty(number_of_values, np.int64)
    places[order] = np.arange(number_of_values)
    return places


def _make_mask(covered: Integers, number_of_values: int) -> NDArray[np.bool_]:
    marks = np.zeros(number_of_values, np.bool_)
    marks[covered] = True
    return marks


def _get_reading_kind(reading: Reading) -> str:
    if isinstance(reading, Affix):
        return "endings" if reading.at_end else "beginnings"
    return "numbers" if isinstance(reading, NumberRange) else "days"


def _choose_order(readings: Sequence[Sequence[Reading]], index: _ValueIndex) -> str:
    """Return the kind of reading that fits most labels, among the kinds that also fit the values."""
    kinds = Counter(_get_reading_kind(reading) for each in readings for reading in each)
    kinds = Counter({kind: count for kind, count in kinds.items() if index.sort_by(kind)[0]})
    if index.values_by_label and len(index.values_by_label) > kinds.total():
        return "siblings"
    return kinds.most_common(1)[0][0] if kinds else EXACT


class _ValueIndex:
    """Known values in the orders in which labels are looked up; each order is built on first use."""

    def __init__(self, values: Sequence[str], hierarchy: Hierarchy | None) -> None:
        self._values = values
        self._hierarchy = hierarchy
        self._orders: dict[str, tuple[list[Any], Integers]] = {}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self._values)}

    @cached_property
    def values_by_label(self) -> dict[str, Integers]:
        """The known values below every label of the hierarchy, except labels that are values."""
        if self._hierarchy is None:
            return {}
        known = np.array([self._positions.get(value, -1) for value in self._hierarchy.values], np.int64)
        found: dict[str, Integers] = {}
        for names, codes in zip(self._hierarchy.labels[1:], self._hierarchy.maps[1:], strict=True):
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
            for i, name in enumerate(names):
                here = known[order[ends[i] : ends[i + 1]]]
                found[name] = np.concatenate([found.get(name, here[:0]), here[here >= 0]])
        return found

    def sort_by(self, kind: str) -> tuple[list[Any], Integers]:
        """Return the sort keys, ascending, and the values in this order; values without a key come last."""
        if kind not in self._orders:
            keys = (
                [SORT_KEYS[kind](value) for value in self._values]
                if kind != "siblings"
                else self._sibling_paths()
            )
            having = [place for place, key in enumerate(keys) if key is not None]
            having.sort(key=lambda place: keys[place])
            without = [place for place, key in enumerate(keys) if key is None]
            self._orders[kind] = [keys[place] for place in having], np.array(having + without, np.int64)
        return self._orders[kind]

    def find_covered(self, label: str, readings: Sequence[Reading]) -> Integers:
        """Return the values that a label covers, possibly with duplicates."""
        parts = [self._find_in_range(reading) for reading in readings]
        if label in self._positions:
            parts.append(np.array([self._positions[label]], np.int64))
        if label in self.values_by_label:
            parts.append(self.values_by_label[label])
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _find_in_range(self, reading: Reading) -> Integers:
        """Return the values in the range that one reading of a label describes."""
        keys, order = self.sort_by(_get_reading_kind(reading))
        if isinstance(reading, NumberRange):
            low, high = _find_interval(keys, reading)
        elif isinstance(reading, DateRange):
            low, high = bisect_left(keys, reading.first), bisect_right(keys, reading.last)
        else:
            text = reading.text[::-1] if reading.at_end else reading.text
            low, high = bisect_left(keys, text), bisect_left(keys, text + chr(0x10FFFF))
            within = order[low:high]
            fits = [len(self._values[place]) <= reading.longest for place in within.tolist()]
            return within[np.array(fits, np.bool_)]
        return order[low:high]

    def _sibling_paths(self) -> list[Any]:
        """Return each value's path in the hierarchy from the top, so that siblings sort together."""
        if self._hierarchy is None:
            return [None] * len(self._values)
        maps = np.stack(self._hierarchy.maps[::-1], axis=1).tolist()
        paths = dict(zip(self._hierarchy.values, maps, strict=True))
        return [paths.get(value) for value in self._values]


def _find_interval(keys: list[Any], reading: NumberRange) -> IndexRange:
    """Return the range of sorted keys that lie in an interval."""
    low, high = 0, len(keys)
    if reading.low is not None:
        low = (bisect_right if reading.low_open else bisect_left)(keys, reading.low)
    if reading.high is not None:
        high = (bisect_left if reading.high_open else bisect_right)(keys, reading.high)
    return low, max(low, high)


SORT_KEYS: dict[str, Callable[[str], Any]] = {
    EXACT: natural_sort_key,
    "numbers": parse_number,
    "beginnings": lambda value: value,
    "endings": lambda value: value[::-1],
    "days": parse_day,
}
