"""The values that a label covers, decided one by one: what faster readers of labels are compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP
from discreet.anonymity.hierarchies.label_parsing import parse_readings

Covers = Callable[[str], bool]


def parse_label(label: str, hierarchy: Hierarchy | None = None) -> Covers:
    """Return a function that decides whether the label covers a value.

    >>> [parse_label(label)("28") for label in ("[20, 29]", "2*", "< 30", "*", "29", "[20, 28[")]
    [True, True, True, True, False, False]
    """
    if label == TOP:
        return lambda value: True
    found = parse_readings(label)
    members = frozenset() if hierarchy is None else find_members(label, hierarchy)
    return lambda value: value == label or value in members or any(each.covers(value) for each in found)


def find_members(label: str, hierarchy: Hierarchy) -> frozenset[str]:
    """Return the values that have a label at some level."""
    found: set[str] = set()
    for names, codes in zip(hierarchy.labels, hierarchy.maps, strict=True):
        if label in names:
            found.update(hierarchy.values[place] for place in np.flatnonzero(codes == names.index(label)))
    return frozenset(found)
