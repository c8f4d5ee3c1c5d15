"""Intervals of numbers, with widths that are multiples of each other, or between given cut points.

Labels      whole numbers: [20, 24], both ends included. Other numbers: [0.5, 1[, without the upper end,
            except for the last, [9.5, 10]. `label_parsing` parses them.
Domain      from `low` to `high`, in steps; widths are counted from `low`. A share is a fraction of these
            steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cached_property

from discreet.anonymity.hierarchies.generalization_hierarchy import (
    Hierarchy,
    hierarchy_from_keys,
    refuse_uncovered,
)
from discreet.core.errors import RequestError

# Sums and quotients of numbers that a policy takes are exact within this precision.
EXACT = Context(prec=200)
MOST_SHOWN = 100_000  # example values; a longer domain is sampled evenly

Place = Callable[[Decimal], int]
Bounds = Callable[[int], tuple[Decimal, Decimal]]


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Intervals of `widths`, or intervals that begin at `low` and at the `cuts` of each level."""

    name: str
    low: Decimal
    high: Decimal
    step: Decimal = Decimal(1)
    whole: bool = True
    widths: tuple[Decimal, ...] = ()
    cuts: tuple[tuple[Decimal, ...], ...] = ()

    def __post_init__(self) -> None:
        outside = [cut for level in self.cuts for cut in level if not self.low < cut <= self.high]
        if outside:
            raise RequestError(
                f"The hierarchy {self.name} has a cut at {format_decimal(outside[0])}, which is outside "
                f"{format_decimal(self.low)} to {format_decimal(self.high)}.",
                hint="Remove the cut, or correct low and high.",
            )

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        with localcontext(EXACT):
            distinct = set(values)
            read = {value: number for value in distinct if (number := self._parse_number(value)) is not None}
            refuse_uncovered(self.name, len(distinct) - len(read))
            ordered = sorted(read, key=lambda value: (read[value], value))
            numbers = [read[value] for value in ordered]
            levels = [
                ([place(number) for number in numbers], self._make_describer(bounds))
                for place, bounds in self._build_levels()
            ]
            size = float(self._count_steps(self._end))
            return hierarchy_from_keys(
                self.name, ordered, levels, size=size, add_top=not self._has_single_root()
            )

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        with localcontext(EXACT):
            return tuple(value for value in values if self._parse_number(value) is None)

    def list_example_values(self) -> tuple[str, ...]:
        with localcontext(EXACT):
            size = self._count_steps(self._end)
            every = -(-size // MOST_SHOWN)
            return tuple(format_decimal(self.low + self.step * place) for place in range(0, size, every))

    def _parse_number(self, value: str) -> Decimal | None:
        try:
            number = Decimal(value)
        except ArithmeticError:
            return None
        # Comparing with NaN raises, and infinity is beyond every domain.
        if not number.is_finite() or not self.low <= number <= self.high:
            return None
        return None if self.whole and number != number.to_integral_value() else number

    @cached_property
    def _end(self) -> Decimal:
        return self.high + self.step

    def _build_levels(self) -> list[tuple[Place, Bounds]]:
        """Return for each level a function to an interval's number, and one from the number to its ends."""
        if self.cuts:
            return [self._level_from_cuts([self.low, *level, self._end]) for level in self.cuts]
        return [self._level_from_width(width) for width in self.widths]

    def _level_from_cuts(self, edges: Sequence[Decimal]) -> tuple[Place, Bounds]:
        return (lambda number: bisect_right(edges, number) - 1), lambda place: (
            edges[place],
            edges[place + 1],
        )

    def _level_from_width(self, width: Decimal) -> tuple[Place, Bounds]:
        def get_bounds(place: int) -> tuple[Decimal, Decimal]:
            start = self.low + width * place
            return start, self._end if place == last else start + width

        # The upper bound of numbers that are not whole belongs to the last interval, not to one of its own.
        reach = self._end if self.whole else self.high
        last = max(int(_round_up((reach - self.low) / width)) - 1, 0)
        return (lambda number: min(int((number - self.low) // width), last)), get_bounds

    def _make_describer(self, bounds: Bounds) -> Callable[[int], tuple[str, float]]:
        def describe(place: int) -> tuple[str, float]:
            start, end = bounds(place)
            part = (self._count_steps(end) - self._count_steps(start)) / self._count_steps(self._end)
            return self._format_label(start, end), part

        return describe

    def _format_label(self, start: Decimal, end: Decimal) -> str:
        if self.whole:
            return f"[{format_decimal(_round_up(start))}, {format_decimal(_round_up(end) - 1)}]"
        return (
            f"[{format_decimal(start)}, {format_decimal(self.high)}]"
            if end == self._end
            else f"[{format_decimal(start)}, {format_decimal(end)}["
        )

    def _count_steps(self, end: Decimal) -> int:
        """Return how many steps of the domain lie before an end."""
        return int(_round_up((end - self.low) / self.step))

    def _has_single_root(self) -> bool:
        """Return whether the last level is a single interval already."""
        return not self.cuts and self.low + self.widths[-1] >= (self._end if self.whole else self.high)


def format_decimal(number: Decimal) -> str:
    """Return a number as plain decimal text.

    >>> format_decimal(Decimal("1E+2")), format_decimal(Decimal("0.50"))
    ('100', '0.5')
    """
    with localcontext(EXACT):
        return format(number.normalize() + 0, "f")


def _round_up(number: Decimal) -> Decimal:
    return number.to_integral_value("ROUND_CEILING")
