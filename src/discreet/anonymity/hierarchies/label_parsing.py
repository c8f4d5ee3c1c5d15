"""Parsing labels back into the values that they may stand for, as an attacker would.

    *            any value
    [20, 24]     a number between the ends, both included; also 20-24, as in ARX's files
    [0.5, 1[     a number from the lower end up to, and without, the upper one; also [0.5, 1)
    < 40, ≥ 40   a number below, or of at least; also <=, >, >=, ≤
    29           the number in any notation: 29.0
    130**        five characters that begin with 130; or fewer, because shorter codes get the same mask
    2023-05      a day of that month, and likewise of a quarter, year or decade; or the text itself
    [2023-05-17, 2023-06-02]   a day between the ends, both included; also 2023-05-17–2023-06-02
    Asian        given the hierarchy, a value with this label at some level; otherwise the text itself

A label with several readings covers the values of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from discreet.anonymity.hierarchies.date_periods import find_period_bounds, parse_day
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP

NUMBER = r"(-?\d+(?:\.\d+)?)"
PLAIN = re.compile(NUMBER)
BETWEEN = re.compile(rf"\[{NUMBER}, ?{NUMBER}([\[\])])|{NUMBER}[-–]{NUMBER}")
ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥) ?{NUMBER}")
MASKED = re.compile(r"[^*]+\*+|\*+[^*]+|\*{2,}")
ENDS = re.compile(r"\[(.+), (.+)\]|(.+)–(.+)")
PERIOD = re.compile(r"\d{4}(-(0[1-9]|1[0-2])|-Q[1-4])?|\d{3}0s")


@dataclass(frozen=True, kw_only=True)
class NumberRange:
    """Numbers from `low` to `high`, both included unless open; None means unbounded."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False

    def covers(self, value: str) -> bool:
        found = parse_number(value)
        if found is None:
            return False
        above = self.low is None or self.low < found or (self.low == found and not self.low_open)
        below = self.high is None or found < self.high or (self.high == found and not self.high_open)
        return above and below


@dataclass(frozen=True, kw_only=True)
class DateRange:
    """Days from `first` to `last`, and times on these days."""

    first: date
    last: date

    def covers(self, value: str) -> bool:
        day = parse_day(value)
        return day is not None and self.first <= day <= self.last


@dataclass(frozen=True, kw_only=True)
class Affix:
    """Texts of at most `longest` characters that begin with `text`, or end with it."""

    text: str
    longest: int
    at_end: bool = False

    def covers(self, value: str) -> bool:
        fits = value.endswith(self.text) if self.at_end else value.startswith(self.text)
        return fits and len(value) <= self.longest


Reading = NumberRange | DateRange | Affix


def parse_readings(label: str) -> list[Reading]:
    """Return the readings of a label besides its own text; the caller handles "*"."""
    return [reading for form in FORMS if (reading := form(label)) is not None]


def parse_number(value: str) -> Decimal | None:
    """Return the finite number that a text denotes, or None."""
    try:
        found = Decimal(value)
    except ArithmeticError:
        return None
    return found if found.is_finite() else None


def _parse_plain_number(label: str) -> Reading | None:
    return NumberRange(low=Decimal(label), high=Decimal(label)) if PLAIN.fullmatch(label) else None


def _parse_number_range(label: str) -> Reading | None:
    match = BETWEEN.fullmatch(label)
    if match is None:
        return None
    low, high = (Decimal(match[1] or match[4]), Decimal(match[2] or match[5]))
    return NumberRange(low=low, high=high, high_open=match[3] not in (None, "]"))


def _parse_one_sided(label: str) -> Reading | None:
    match = ONE_SIDED.fullmatch(label)
    if match is None:
        return None
    bound, is_open = Decimal(match[2]), match[1] in ("<", ">")
    if match[1][0] in "<≤":
        return NumberRange(high=bound, high_open=is_open)
    return NumberRange(low=bound, low_open=is_open)


def _parse_mask(label: str) -> Reading | None:
    if MASKED.fullmatch(label) is None:
        return None
    kept = label.strip(TOP)
    return Affix(text=kept, longest=len(label), at_end=not label.startswith(kept))


def _parse_period(label: str) -> Reading | None:
    if PERIOD.fullmatch(label) is None or re.match("0000(?!s)", label):
        return None
    first, last = find_period_bounds(label)
    return DateRange(first=first, last=last)


def _parse_days(label: str) -> Reading | None:
    """Parse one day, or an interval of days."""
    match = ENDS.fullmatch(label)
    if match is None and len(label) != 10:
        return None
    first, last = (parse_day(label),) * 2 if match is None else map(parse_day, filter(None, match.groups()))
    return None if first is None or last is None else DateRange(first=first, last=last)


FORMS: tuple[Callable[[str], Reading | None], ...] = (
    _parse_plain_number,
    _parse_number_range,
    _parse_one_sided,
    _parse_mask,
    _parse_period,
    _parse_days,
)
