"""Regions: sets of cells of one released table, relative to a row of a query, and how two of them overlap.

Cell      the cell that the row shows, through one scan of the table.
Part      the cells of a region where a condition holds, else none.
Group     the union of a region over the rows of a group.
Window    the union of a region over the rows of a window frame.
Offset    a region of the row that LAG or LEAD refers to.
Side      a region of the rows that come from one side of a UNION ALL, the other's being empty.
Whole     all cells of the table.
Copy      a region of a common table expression, as one of its references sees it.

Two noises over disjoint regions are independent; if one region contains another, the rest of it is
independent. About any other pair nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod


class RegionKind(Enum):
    """The kinds of regions."""

    CELL = "cell"
    PART = "part"
    GROUP = "group"
    WINDOW = "window"
    OFFSET = "offset"
    SIDE = "side"
    WHOLE = "whole"
    COPY = "copy"


@dataclass(frozen=True, kw_only=True)
class Region:
    """A set of cells: `scope` is the number of the SELECT or scan it belongs to, `base` what it is made of.

    `key` tells regions of one kind and scope apart: the text of a condition or a window, or an offset.
    `partition` is that of a window without ORDER BY and frame, and None else; `has_current_row` whether a
    frame has the row itself. `is_subcube` says that the region is all cells that agree in some of the keys.
    `fixed` are the table's keys that have one value in all of its cells.
    """

    kind: RegionKind
    scope: int = 0
    base: Region | None = None
    key: str = ""
    partition: frozenset[str] | None = None
    has_current_row: bool = False
    offset: int = 0
    fixed: frozenset[str] = frozenset()
    is_subcube: bool = False


WHOLE = Region(kind=RegionKind.WHOLE, is_subcube=True)


def is_cell(region: Region) -> bool:
    """Return True for the cell of a row, through whatever references."""
    while region.kind is RegionKind.COPY:
        region = _get_base(region)
    return region.kind is RegionKind.CELL


def find_scan(region: Region) -> int | None:
    """Return the number of the scan that the cells of a region are read by; None of a copy's."""
    while region.base is not None:
        if region.kind is RegionKind.COPY:
            return None
        region = region.base
    return region.scope


def count_most_cells(region: Region, rows: int, key_sizes: Mapping[str, int]) -> int:
    """Return the most cells that a region of a table of so many rows can have."""
    if region.kind is RegionKind.CELL:
        return 1
    if region.kind in (RegionKind.PART, RegionKind.COPY, RegionKind.OFFSET, RegionKind.SIDE):
        return count_most_cells(_get_base(region), rows, key_sizes)
    if all(name in key_sizes for name in region.fixed):
        return rows // prod(key_sizes[name] for name in region.fixed)
    return rows


def copy_region(region: Region, scope: int) -> Region:
    """Return a region of a common table expression as the reference `scope` sees it."""
    return (
        region if region.kind is RegionKind.WHOLE else Region(kind=RegionKind.COPY, scope=scope, base=region)
    )


def contains_region(outer: Region, inner: Region) -> bool:
    """Return True if it is certain that `outer` has all cells of `inner`, both of one table."""
    if outer == inner or outer.kind is RegionKind.WHOLE:
        return True
    if inner.kind is RegionKind.PART and contains_region(outer, _get_base(inner)):
        return True
    if outer.kind is RegionKind.WINDOW and outer.has_current_row and contains_region(_get_base(outer), inner):
        return True
    same = outer.kind is inner.kind and outer.scope == inner.scope
    if not same or outer.base is None or not contains_region(outer.base, _get_base(inner)):
        return False
    if outer.kind is RegionKind.WINDOW:
        wider = outer.partition is not None and outer.partition <= frozenset(inner.key.split("\n")[:-1])
        return outer.key == inner.key or wider
    sides = outer.kind is RegionKind.SIDE and outer.offset == inner.offset
    return outer.kind in (RegionKind.COPY, RegionKind.GROUP) or sides


def are_disjoint(one: Region, other: Region) -> bool:
    """Return True if it is certain that two regions of one table have no cell in common."""
    if one.kind is RegionKind.COPY and other.kind is RegionKind.COPY and one.scope == other.scope:
        return are_disjoint(_get_base(one), _get_base(other))
    if one.kind is RegionKind.SIDE and other.kind is RegionKind.SIDE and one.scope == other.scope:
        return one.offset != other.offset or are_disjoint(_get_base(one), _get_base(other))
    for here, there in ((one, other), (other, one)):
        if here.kind is RegionKind.PART and are_disjoint(_get_base(here), there):
            return True
        if here.kind is RegionKind.OFFSET:
            base = _get_base(here)
            if there == base or (there.kind is RegionKind.PART and there.base == base):
                return True
            if (
                there.kind is RegionKind.OFFSET
                and (there.scope, there.base, there.key) == (here.scope, here.base, here.key)
                and there.offset != here.offset
            ):
                return True
    return False


def _get_base(region: Region) -> Region:
    assert region.base is not None
    return region.base
