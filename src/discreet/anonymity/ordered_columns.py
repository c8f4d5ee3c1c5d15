"""Ordered columns: numbers, days and times, ordered by their values.

Only such a column can be cut into intervals or replaced by a mean. A missing value has no place in the order,
and two texts of one number (0.5 and 0.50) would give overlapping intervals; a column with either is cut by
its hierarchy instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from discreet.anonymity.hierarchies.date_periods import parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.hierarchies.label_parsing import parse_number
from discreet.anonymity.recoding import Floats


def find_ordered_columns(hierarchies: Sequence[Hierarchy], candidates: Collection[str]) -> frozenset[str]:
    """Return the names among `candidates` whose columns are ordered."""
    return frozenset(each.name for each in hierarchies if each.name in candidates and is_ordered(each))


def is_ordered(hierarchy: Hierarchy) -> bool:
    """Return whether the values of a hierarchy are sorted numbers, or sorted days or times."""
    numbers = [parse_number(value) for value in hierarchy.values]
    if None not in numbers:
        return all(one < other for one, other in pairwise(numbers))  # type: ignore[operator]
    days = [parse_day(value) for value in hierarchy.values]
    in_order = all(one < other for one, other in pairwise(hierarchy.values))
    return in_order and None not in days and all(one <= other for one, other in pairwise(days))  # type: ignore[operator]


def parse_numbers(hierarchy: Hierarchy) -> Floats | None:
    """Return the values of a hierarchy as numbers, or None if one of them is not a number."""
    found = [parse_number(value) for value in hierarchy.values]
    return None if None in found else np.array([float(each) for each in found if each is not None])
