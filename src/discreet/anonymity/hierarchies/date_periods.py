"""Date hierarchy by periods: 2023-05-17 → 2023-05 → 2023 → 2020s.

Values are ISO dates or times; a time with a zone is converted to UTC. A share is the fraction of the days
from `low` to `high`; where values are times, each is one second of those days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from discreet.anonymity.hierarchies.generalization_hierarchy import (
    Hierarchy,
    hierarchy_from_keys,
    refuse_uncovered,
)
from discreet.core.hierarchy_entry import Period

SECONDS = 86_400  # per day
MOST_SHOWN = 100_000  # example values; a longer domain is sampled evenly


@dataclass(frozen=True, kw_only=True)
class Dates:
    """Days or times from `low` to `high`, generalized to longer and longer periods."""

    name: str
    low: date
    high: date
    periods: tuple[Period, ...]
    times: bool = False

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        distinct = set(values)
        read = {value: day for value in distinct if (day := self._parse_day_in_domain(value)) is not None}
        refuse_uncovered(self.name, len(distinct) - len(read))
        ordered = sorted(read)
        levels = [
            ([format_period(read[value], period) for value in ordered], self._make_describer(period))
            for period in self.periods
        ]
        size = self._days * (SECONDS if self.times else 1)
        return hierarchy_from_keys(self.name, ordered, levels, size=float(size))

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if self._parse_day_in_domain(value) is None)

    def list_example_values(self) -> tuple[str, ...]:
        every = -(-self._days // MOST_SHOWN)
        return tuple((self.low + timedelta(place)).isoformat() for place in range(0, self._days, every))

    @property
    def _days(self) -> int:
        return (self.high - self.low).days + 1

    def _parse_day_in_domain(self, value: str) -> date | None:
        day = parse_day(value)
        return day if day is not None and self.low <= day <= self.high else None

    def _make_describer(self, period: Period) -> Callable[[str], tuple[str, float]]:
        def describe(label: str) -> tuple[str, float]:
            first, last = find_period_bounds(label)
            days = (min(last, self.high) - max(first, self.low)).days + 1
            return label, days / self._days

        return describe


def parse_day(text: str) -> date | None:
    """Return the day of an ISO date or time, or None.

    >>> parse_day("2023-05-17 23:30:00-02"), parse_day("2023")
    (datetime.date(2023, 5, 18), None)
    """
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    except (ValueError, OverflowError):
        return None


def format_period(day: date, period: Period) -> str:
    """Return the label of the period that contains a day.

    >>> [format_period(date(2023, 5, 17), period) for period in Period]
    ['2023-05-17', '2023-05', '2023-Q2', '2023', '2020s']
    """
    year = f"{day.year:04}"
    return {
        Period.DAY: day.isoformat(),
        Period.MONTH: f"{year}-{day.month:02}",
        Period.QUARTER: f"{year}-Q{(day.month + 2) // 3}",
        Period.YEAR: year,
        Period.DECADE: f"{year[:3]}0s",
    }[period]


def find_period_bounds(label: str) -> tuple[date, date]:
    """Return the first and the last day of a period.

    >>> find_period_bounds("2023-Q4")
    (datetime.date(2023, 10, 1), datetime.date(2023, 12, 31))
    """
    year, months = int(label[:4]), (1, 12)
    if label.endswith("s"):
        return date(max(year, 1), 1, 1), date(year + 9, 12, 31)
    if len(label) == 10:
        return (day := date.fromisoformat(label)), day
    if "Q" in label:
        months = (3 * int(label[-1]) - 2, 3 * int(label[-1]))
    elif len(label) == 7:
        months = (int(label[-2:]), int(label[-2:]))
    following = months[1] % 12 + 1
    last = date(year, 12, 31) if following == 1 else date(year, following, 1) - timedelta(1)
    return date(year, months[0], 1), last
