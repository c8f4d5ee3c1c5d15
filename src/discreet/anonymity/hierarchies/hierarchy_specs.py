"""The hierarchy of a column from the policy: as declared, or drafted from the column, never from the data.

An entry of the policy becomes a `HierarchySpec` of one of `KINDS`. A column uses the hierarchy that it names,
else the one with its own name, else a draft from its declaration, else a flat hierarchy with "*" above its
values. A draft has:

Numbers     intervals of equal width within the declared bounds, doubling from level to level; or intervals
            between public quantiles, such as a statistical office's, of which each level keeps every second.
Dates       those periods of which the declared bounds contain more than one.
Categories  a balanced tree over the declared values: runs in the policy's order, doubling. Codes of equal
            length that contain digits are masked.
Text        masked from the right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from discreet.anonymity.hierarchies.date_periods import Dates
from discreet.anonymity.hierarchies.generalization_hierarchy import HierarchySpec
from discreet.anonymity.hierarchies.hierarchy_formats import read_hierarchy_csv
from discreet.anonymity.hierarchies.interval_hierarchy import Intervals
from discreet.anonymity.hierarchies.listed_hierarchies import Flat, Order, Tree
from discreet.anonymity.hierarchies.mask_hierarchy import Mask
from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import RequestError
from discreet.core.hierarchy_entry import LONGEST_CODE, HierarchyEntry, MaskSide, Period
from discreet.core.policy import Policy

FINEST = 25  # intervals at the finest level, about
COARSEST = 3  # intervals at the coarsest level, at most
SHORTEST_CODE = 3  # shorter texts with digits are rarely codes


def build_spec(name: str, entry: HierarchyEntry, column: Column | None = None) -> HierarchySpec:
    """Return the spec of a policy entry; a domain that the entry lacks is taken from the column."""
    return KINDS[entry.kind](name, entry, column or Column())


def build_column_spec(name: str, column: Column, policy: Policy | None = None) -> HierarchySpec:
    """Return the spec of a column's hierarchy: named, of the column's name, drafted, or flat."""
    known = {} if policy is None else policy.hierarchies
    called = column.hierarchy or name
    entry = known.get(called) or draft_hierarchy(column)
    return Flat(name=name, values=column.values or ()) if entry is None else build_spec(called, entry, column)


def _build_intervals(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    low, high = _require_domain(name, entry, column)
    if isinstance(low, date) or isinstance(high, date):
        raise _build_missing_domain_error(name)
    given = [low, high, *(entry.widths or ()), *(cut for level in entry.cut_numbers for cut in level)]
    numbers = [Decimal(number) for number in given]
    return Intervals(
        name=name,
        low=numbers[0],
        high=numbers[1],
        step=column.resolution or Decimal(1),
        whole=column.type is not ColumnType.DECIMAL and all(number == int(number) for number in numbers),
        widths=tuple(map(Decimal, entry.widths or ())),
        cuts=entry.cut_numbers,
    )


def _build_dates(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    low, high = _require_domain(name, entry, column)
    if not isinstance(low, date) or not isinstance(high, date):
        raise _build_missing_domain_error(name)
    times = column.type is ColumnType.TIMESTAMP
    return Dates(name=name, low=to_day(low), high=to_day(high), periods=entry.dates or (), times=times)


def _require_domain(
    name: str, entry: HierarchyEntry, column: Column
) -> tuple[int | Decimal | date, int | Decimal | date]:
    low, high = (entry.low, entry.high) if entry.low is not None else (column.low, column.high)
    if low is None or high is None:
        raise _build_missing_domain_error(name)
    return low, high


def _build_missing_domain_error(name: str) -> RequestError:
    return RequestError(
        f"The hierarchy {name} has no domain.",
        hint="Add low and high to it or to its column, from what is public.",
    )


def _build_mask(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    return Mask(
        name=name,
        side=entry.mask or MaskSide.RIGHT,
        alphabet=entry.alphabet,
        length=entry.length,
        values=column.values or (),
    )


def _build_order(name: str, entry: HierarchyEntry, column: Column) -> HierarchySpec:
    widths = tuple(map(int, entry.widths or ()))
    return Order(name=name, values=entry.order or (), widths=widths, cuts=entry.cuts or ())


KINDS: dict[str, Callable[[str, HierarchyEntry, Column], HierarchySpec]] = {
    "csv": lambda name, entry, column: read_hierarchy_csv(name, Path(entry.csv or "")),
    "widths": _build_intervals,
    "cuts": _build_intervals,
    "mask": _build_mask,
    "tree": lambda name, entry, column: Tree(name=name, tree=entry.tree),
    "dates": _build_dates,
    "order": _build_order,
}


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
