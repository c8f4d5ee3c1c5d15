"""Drafts of hierarchies from a column's declaration in the policy, never from the data.

Numbers     intervals of equal width within the declared bounds, doubling from level to level; or intervals
            between public quantiles, such as a statistical office's, of which each level keeps every second.
Dates       those periods of which the declared bounds contain more than one.
Categories  a balanced tree over the declared values: runs in the policy's order, doubling. Codes of equal
            length that contain digits are masked.
Text        masked from the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.core.hierarchy_entry import LONGEST_CODE, HierarchyEntry, MaskSide, Period
from discreet.core.policy import Column, ColumnType

FINEST = 25  # intervals at the finest level, about
COARSEST = 3  # intervals at the coarsest level, at most
SHORTEST_CODE = 3  # shorter texts with digits are rarely codes


def draft_hierarchy(column: Column, quantiles: Sequence[Decimal] = ()) -> HierarchyEntry | None:
    """Return a proposed hierarchy, or None where the declaration suggests none ("*" is then all above)."""
    if column.type in (ColumnType.INTEGER, ColumnType.DECIMAL):
        return _draft_cuts(column, quantiles) if quantiles else _draft_equal_widths(column)
    if column.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return _draft_periods(column)
    if column.type is ColumnType.TEXT:
        return HierarchyEntry(mask=MaskSide.RIGHT)
    if column.values is not None and _are_codes(column.values):
        return HierarchyEntry(mask=MaskSide.RIGHT, length=len(column.values[0]))
    if column.values is not None and len(column.values) > 2:
        return HierarchyEntry(order=column.values)
    return None


def _draft_equal_widths(column: Column) -> HierarchyEntry | None:
    """Draft about FINEST intervals that begin at round numbers, halving their number until few are left."""
    grid = column.grid_bounds
    if grid is None or grid[1] == grid[0]:
        return None
    steps = grid[1] - grid[0] + 1
    widths = [_round_up_width(-(-steps // FINEST))]
    while steps > COARSEST * widths[-1]:
        widths.append(2 * widths[-1])
    low = grid[0] // widths[-1] * widths[-1]
    high = -(-(grid[1] + 1) // widths[0]) * widths[0] - 1 if column.type is ColumnType.INTEGER else grid[1]
    return HierarchyEntry(
        low=_to_number(low * column.grid_step),
        high=_to_number(high * column.grid_step),
        widths=tuple(_to_number(width * column.grid_step) for width in widths if width > 1),
    )


def _round_up_width(width: int) -> int:
    """Return the next of 2, 5, 10, 20, 50, …; a width of one step would change nothing."""
    scale = int("1".ljust(len(str(width)), "0"))
    return next(nice * scale for nice in (2, 5, 10, 20) if nice * scale >= max(width, 2))


def _draft_cuts(column: Column, quantiles: Sequence[Decimal]) -> HierarchyEntry:
    cuts = [[str(cut) for cut in sorted(set(quantiles))]]
    while len(cuts[-1]) > 1:
        cuts.append(cuts[-1][1::2])
    return HierarchyEntry(low=column.low, high=column.high, cuts=tuple(map(tuple, cuts)))


def _draft_periods(column: Column) -> HierarchyEntry | None:
    if column.low is None or column.high is None:
        return None
    low, high = to_day(column.low), to_day(column.high)
    spans = (
        (Period.DAY, column.type is ColumnType.TIMESTAMP),
        (Period.MONTH, (low.year, low.month) != (high.year, high.month)),
        (Period.YEAR, low.year != high.year),
        (Period.DECADE, low.year // 10 != high.year // 10),
    )
    periods = tuple(period for period, worth in spans if worth)
    return HierarchyEntry(dates=periods) if periods else None


def to_day(bound: object) -> date:
    """Return the day of a declared bound of dates or times."""
    assert isinstance(bound, date)
    return bound.date() if isinstance(bound, datetime) else bound


def _are_codes(values: Sequence[str]) -> bool:
    (length, *others) = {len(value) for value in values}
    return (
        not others
        and SHORTEST_CODE <= length <= LONGEST_CODE
        and len(values) > 2
        and all(any(letter.isdigit() for letter in value) and "*" not in value for value in values)
    )


def _to_number(number: Fraction) -> int | Decimal:
    return int(number) if number.denominator == 1 else Decimal(number.numerator) / Decimal(number.denominator)
