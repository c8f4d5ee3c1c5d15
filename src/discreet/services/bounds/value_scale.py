"""The scale of a column: how its values become the integers that bins of powers of two are made of.

Numbers     steps of the column's resolution, from the smallest to the largest 64-bit integer. A policy
            declares bounds below 2**53 steps, so bounds beyond are cut to that.
Dates       days from an origin that the request names, over all days of the calendar.
Times       the same; a high bound is the midnight after its day.

The engine compares stored values with the cuts between bins. A column without bounds is stored unrounded, so
a cut lies half a step below the first step of its bin. NULL, NaN, infinities, and what cannot be read are in
no bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from discreet.core.column_entry import WIDEST, Column, ColumnType
from discreet.mechanisms.approximate_bounds import PowerBins
from discreet.mining.attributes import Attribute

HALF = Fraction(1, 2)
Bound = int | Decimal | date


@dataclass(frozen=True, kw_only=True)
class ValueScale:
    """The bins of a number, a date or a timestamp, and the bounds that they mean."""

    kind: ColumnType
    step: Decimal = Decimal(1)
    origin: date = date(2000, 1, 1)

    @classmethod
    def from_column(cls, column: Column, origin: date) -> ValueScale:
        return cls(kind=column.type, step=column.resolution or Decimal(1), origin=origin)

    @property
    def is_time(self) -> bool:
        return self.kind in (ColumnType.DATE, ColumnType.TIMESTAMP)

    @property
    def bins(self) -> PowerBins:
        """The bins of every value that the store can hold."""
        if not self.is_time:
            return PowerBins()
        return PowerBins(least=(date.min - self.origin).days, most=(date.max - self.origin).days)

    def make_attribute(self, name: str) -> Attribute:
        """Return the column divided at the cuts between bins, for counters."""
        return Attribute(name=name, kind=self.kind, cuts=tuple(map(self._place_cut, self.bins.cuts)))

    def _place_cut(self, cut: int) -> Fraction | date:
        if self.is_time:
            return self._to_day(cut)
        return Fraction(cut) if self.kind is ColumnType.INTEGER else (cut - HALF) * Fraction(self.step)

    def get_low(self, place: int) -> Bound:
        """Return the low bound that a bin means."""
        return self._to_value(self.bins.get_first(place))

    def get_high(self, place: int) -> Bound:
        """Return the high bound that a bin means."""
        last = self.bins.get_last(place)
        if self.kind is ColumnType.TIMESTAMP:
            last = min(last + 1, self.bins.most)
        return self._to_value(last)

    def _to_value(self, number: int) -> Bound:
        if self.is_time:
            return self._to_day(number)
        steps = max(-WIDEST + 1, min(WIDEST - 1, number))
        return steps if self.kind is ColumnType.INTEGER else steps * self.step

    def _to_day(self, number: int) -> date:
        """Return a day, which for timestamps is its midnight."""
        day = self.origin + timedelta(days=number)
        return datetime(day.year, day.month, day.day) if self.kind is ColumnType.TIMESTAMP else day


def format_bound(bound: Bound | None) -> str:
    """Return a bound as a policy writes it; midnights are written as days.

    >>> format_bound(datetime(2024, 1, 31)), format_bound(Decimal("0.50"))
    ('2024-01-31', '0.50')
    """
    return str(bound.date() if isinstance(bound, datetime) else bound)
