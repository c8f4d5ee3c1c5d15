"""What a label says of the value behind it: read back from its text, as an attacker would.

    *            anything
    [20, 24]     a number within both ends; also 20-24, as ARX's files have it
    [0.5, 1[     a number from the lower end on and below the upper one; also [0.5, 1)
    < 40, ≥ 40   a number below, or from there on; also <=, >, >=, ≤
    130**        five characters, the first three of them these; or fewer, as short codes are masked alike
    2023-05      a day of that month; quarters, years and decades alike; or the text itself
    Asian        with the hierarchy at hand, a value that has this label at some level; else the text itself

A label that can be read in several ways covers what any of them covers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from discreet.anonymity.hierarchies.dates import read_day, span
from discreet.anonymity.hierarchies.hierarchy import TOP, Hierarchy

Covers = Callable[[str], bool]

NUMBER = r"(-?\d+(?:\.\d+)?)"
BETWEEN = re.compile(rf"\[{NUMBER}, ?{NUMBER}([\[\])])|{NUMBER}[-–]{NUMBER}")
ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥) ?{NUMBER}")
MASKED = re.compile(r"[^*]+\*+|\*+[^*]+|\*{2,}")
PERIOD = re.compile(r"\d{4}(-(0[1-9]|1[0-2])|-Q[1-4])?|\d{3}0s")


def read(label: str, hierarchy: Hierarchy | None = None) -> Covers:
    """Whether a label covers a value.

    >>> [read(label)("28") for label in ("[20, 29]", "2*", "< 30", "*", "29", "[20, 28[")]
    [True, True, True, True, False, False]
    """
    if label == TOP:
        return lambda value: True
    readings = [reading for form in FORMS if (reading := form(label)) is not None]
    members = frozenset() if hierarchy is None else members_of(label, hierarchy)
    return lambda value: value == label or value in members or any(reading(value) for reading in readings)


def members_of(label: str, hierarchy: Hierarchy) -> frozenset[str]:
    """The values that have a label at some level."""
    found: set[str] = set()
    for names, codes in zip(hierarchy.labels, hierarchy.maps, strict=True):
        if label in names:
            found.update(hierarchy.values[place] for place in np.flatnonzero(codes == names.index(label)))
    return frozenset(found)


def _between(label: str) -> Covers | None:
    match = BETWEEN.fullmatch(label)
    if match is None:
        return None
    low, high = (Decimal(match[1] or match[4]), Decimal(match[2] or match[5]))
    closed = match[3] in (None, "]")

    def covers(value: str) -> bool:
        number = _number(value)
        return number is not None and low <= number and (number < high or (closed and number == high))

    return covers


def _one_sided(label: str) -> Covers | None:
    match = ONE_SIDED.fullmatch(label)
    if match is None:
        return None
    sign, bound = match[1], Decimal(match[2])

    def covers(value: str) -> bool:
        number = _number(value)
        if number is None:
            return False
        beyond = number < bound if sign[0] in "<≤" else number > bound
        return beyond or (number == bound and sign in ("<=", ">=", "≤", "≥"))

    return covers


def _masked(label: str) -> Covers | None:
    if MASKED.fullmatch(label) is None:
        return None
    kept = label.strip(TOP)
    begins = label.startswith(kept)

    def covers(value: str) -> bool:
        fits = value.startswith(kept) if begins else value.endswith(kept)
        return fits and len(value) <= len(label)

    return covers


def _period(label: str) -> Covers | None:
    if PERIOD.fullmatch(label) is None or re.match("0000(?!s)", label):
        return None
    first, last = span(label)

    def covers(value: str) -> bool:
        day = read_day(value)
        return day is not None and first <= day <= last

    return covers


def _day(label: str) -> Covers | None:
    day = read_day(label) if len(label) == 10 else None
    return None if day is None else lambda value: read_day(value) == day


def _number(value: str) -> Decimal | None:
    try:
        number = Decimal(value)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


FORMS: tuple[Callable[[str], Covers | None], ...] = (_between, _one_sided, _masked, _period, _day)
