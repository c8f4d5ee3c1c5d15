"""Columns whose values stand in an order: numbers and days, by the values themselves.

Only such a column can be cut into intervals, or shown by a mean. A missing value has no place in any order,
and two texts of one number (0.5 and 0.50) would be the ends of intervals that overlap: a column with either
is cut by its hierarchy instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from discreet.anonymity.hierarchies.dates import read_day
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.hierarchies.labels import number
from discreet.anonymity.recoding import Floats


def ordered(hierarchies: Sequence[Hierarchy], among: Collection[str]) -> frozenset[str]:
    """Those of some columns whose values rise."""
    return frozenset(each.name for each in hierarchies if each.name in among and rises(each))


def rises(hierarchy: Hierarchy) -> bool:
    """Whether the values of a hierarchy stand in the order of numbers, or of days and times."""
    numbers = [number(value) for value in hierarchy.values]
    if None not in numbers:
        return all(one < other for one, other in pairwise(numbers))  # type: ignore[operator]
    days = [read_day(value) for value in hierarchy.values]
    in_order = all(one < other for one, other in pairwise(hierarchy.values))
    return in_order and None not in days and all(one <= other for one, other in pairwise(days))  # type: ignore[operator]


def numbers_of(hierarchy: Hierarchy) -> Floats | None:
    """The values of a hierarchy as numbers; None where one of them is none."""
    found = [number(value) for value in hierarchy.values]
    return None if None in found else np.array([float(each) for each in found if each is not None])
