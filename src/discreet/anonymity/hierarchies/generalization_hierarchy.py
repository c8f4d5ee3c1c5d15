"""A hierarchy: the label of every value of a column at every level, from the value itself to the top.

Level 0 is the value itself. Each level is coarser than the one below: two values that share a label at one
level share a label at every higher level (nested). The top has one label.

Shares      `shares[level][label]` is the fraction of the domain that a label covers. In a hierarchy that
            lists its values (a file, a tree) it is the fraction of the rows, as in ARX; for an interval or a
            pattern, the fraction of that domain. It is the information loss of a row that shows the label.

The protocol of a hierarchy's specification, and the treatment of values that it does not cover.

Missing     NULL and the empty text are both a missing value. The column declares its treatment: a category of
            its own, shown as the empty text at every level below the top, or suppression of its rows. A list
            that contains the empty text gives it labels like any value. Otherwise a missing value is refused.
Uncovered   values are refused with their number, never by value: an error message may end in a log.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import DataError, RequestError
from discreet.core.hierarchy_entry import MissingValues

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

Key = TypeVar("Key", bound=Hashable)

TOP = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The values of one column and their labels at each level.

    `labels[level]` lists the labels of a level; `maps[level][value]` is the position of a value's label in
    it. Level 0 holds the values themselves. `size` is the number of values in the domain (ARX's H).
    `is_declared` means that the levels follow from the policy alone; otherwise their number discloses
    something of the data.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    maps: tuple[Codes, ...]
    shares: tuple[Floats, ...]
    size: float
    is_declared: bool = True

    def __post_init__(self) -> None:
        if len(self.labels[-1]) > 1:
            raise RequestError(
                f"The hierarchy {self.name} has {len(self.labels[-1])} labels at its top.",
                hint='Let its last level have one label, such as "*".',
            )
        for level in range(1, len(self.maps)):
            fine, coarse = self.maps[level - 1].astype(np.int64), self.maps[level]
            pairs = np.unique(fine * len(self.labels[level]) + coarse)
            if len(pairs) != len(np.unique(fine)):
                raise RequestError(
                    f"The hierarchy {self.name} is not nested: values of one label at level {level - 1} have "
                    f"different labels at level {level}.",
                    hint="Make every level coarser than the one before it.",
                )

    @property
    def height(self) -> int:
        """The level of the top; 0 if the column cannot be made coarser."""
        return len(self.maps) - 1

    @property
    def values(self) -> tuple[str, ...]:
        return self.labels[0]

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each value."""
        return {value: place for place, value in enumerate(self.values)}

    def generalize(self, value: str, level: int) -> str:
        """Return the label of a value at a level."""
        return self.labels[level][int(self.maps[level][self.positions[value]])]


def hierarchy_from_rows(name: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """Return the hierarchy whose rows are a value and its labels, as in ARX's files.

    "*" is added as the top if needed. A repeated row counts again for the shares, and adds no value.
    """
    levels = [_encode_texts(level) for level in zip(*rows, strict=True)]
    if len(levels[-1][0]) > 1:
        levels.append(((TOP,), np.zeros(len(rows), np.int32)))
    _, firsts = np.unique(levels[0][1], return_index=True)
    if len(firsts) < len(rows) and len(set(map(tuple, rows))) > len(firsts):
        raise RequestError(f"The hierarchy {name} has a value with two rows that differ.", hint="Keep one.")
    return Hierarchy(
        name=name,
        labels=tuple(labels for labels, _ in levels),
        maps=tuple(codes[firsts] for _, codes in levels),
        shares=tuple(np.bincount(codes, minlength=len(labels)) / len(rows) for labels, codes in levels),
        size=float(len(rows)),
    )


def _encode_texts(texts: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """Return the distinct texts by first appearance, and the position of each text among them."""
    distinct = tuple(dict.fromkeys(texts))
    return distinct, find_positions(texts, distinct)


def hierarchy_from_keys(
    name: str,
    values: Sequence[str],
    levels: Sequence[tuple[Sequence[Key], Callable[[Key], tuple[str, float]]]],
    *,
    size: float,
    add_top: bool = True,
    is_declared: bool = True,
) -> Hierarchy:
    """Return the hierarchy over a domain that is not listed, from keys for values and labels for keys.

    Each level has a key for every value, and a function from a key to its label and share. `add_top` adds
    "*" above the last level.
    """
    labels, maps = [tuple(values)], [np.arange(len(values), dtype=np.int32)]
    shares = [np.full(len(values), 1 / size)]
    for keys, describe in levels:
        distinct = tuple(dict.fromkeys(keys))
        described = [describe(key) for key in distinct]
        labels.append(tuple(label for label, _ in described))
        maps.append(find_positions(keys, distinct))
        shares.append(np.array([share for _, share in described], np.float64))
    if add_top:
        labels.append((TOP,))
        maps.append(np.zeros(len(values), np.int32))
        shares.append(np.ones(1))
    return Hierarchy(
        name=name,
        labels=tuple(labels),
        maps=tuple(maps),
        shares=tuple(shares),
        size=size,
        is_declared=is_declared,
    )


def find_positions(keys: Sequence[Key], distinct: Sequence[Key]) -> Codes:
    """Return the position of each key among the distinct ones."""
    place = {key: number for number, key in enumerate(distinct)}
    return np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))


MISSING = ""


class HierarchySpec(Protocol):
    """One kind of hierarchy with its parameters; a frozen dataclass."""

    @property
    def name(self) -> str:
        """The name of the hierarchy in the policy."""

    def build_hierarchy(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy for these and all listed values; raise if a value is not covered."""

    def find_uncovered(self, values: Iterable[str]) -> tuple[str, ...]:
        """Return the values that it does not cover, for the custodian."""

    def list_example_values(self) -> tuple[str, ...]:
        """Return values to illustrate it without data: its own, or a sample where they are too many."""


def build_column_hierarchy(
    spec: HierarchySpec,
    values: Iterable[str | None],
    *,
    missing: MissingValues | None = None,
    column: str = "",
) -> Hierarchy:
    """Return the hierarchy over the values of a column, some of which may be missing."""
    distinct = set(values)
    present = sorted(value for value in distinct if value)
    if not distinct - set(present):
        return spec.build_hierarchy(present)
    if not spec.find_uncovered([MISSING]):
        return spec.build_hierarchy([*present, MISSING])
    if missing is None:
        raise DataError(
            f"Some rows have no value in column {column or spec.name}, and the policy does not declare how "
            "to treat them.",
            hint="Add missing: category (they form their own group) or missing: suppress to the column.",
        )
    hierarchy = spec.build_hierarchy(present)
    return hierarchy if missing == MissingValues.SUPPRESS else add_missing_value(hierarchy)


def add_missing_value(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with a missing value that joins the others only at the top."""
    if hierarchy.height == 0:
        hierarchy = _add_top(hierarchy)
    below = range(hierarchy.height)
    size = hierarchy.size + 1  # the missing value is one more value of the domain
    labels = [(*hierarchy.labels[level], MISSING) for level in below]
    maps = [np.append(hierarchy.maps[level], np.int32(len(hierarchy.labels[level]))) for level in below]
    shares = [np.append(hierarchy.shares[level] * hierarchy.size, 1.0) / size for level in below]
    return Hierarchy(
        name=hierarchy.name,
        labels=(*labels, (TOP,)),
        maps=(*maps, np.zeros(len(labels[0]), np.int32)),
        shares=(*shares, np.ones(1)),
        size=size,
        is_declared=hierarchy.is_declared,
    )


def build_listed_hierarchy(
    spec: HierarchySpec, rows: Sequence[Sequence[str]], values: Iterable[str]
) -> Hierarchy:
    """Return the hierarchy of a list, after checking that it covers all values."""
    refuse_uncovered(spec.name, len(spec.find_uncovered(values)))
    return hierarchy_from_rows(spec.name, rows)


def refuse_uncovered(name: str, uncovered: int) -> None:
    """Raise if a hierarchy does not cover some values of the data."""
    if uncovered:
        values = "one value" if uncovered == 1 else f"{uncovered} of the values"
        raise DataError(
            f"The hierarchy {name} does not cover {values} in the data.",
            hint="Add the missing values, or widen its domain; where a policy declares the column, "
            f"`discreet hierarchy {name} --uncovered` lists them.",
        )


def _add_top(hierarchy: Hierarchy) -> Hierarchy:
    return replace(
        hierarchy,
        labels=(*hierarchy.labels, (TOP,)),
        maps=(*hierarchy.maps, np.zeros(len(hierarchy.values), np.int32)),
        shares=(*hierarchy.shares, np.ones(1)),
    )
