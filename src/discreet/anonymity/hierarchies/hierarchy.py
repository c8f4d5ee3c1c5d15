"""A hierarchy: every value of a column at every level, from itself to the top.

Level 0 is the value itself; each level is coarser than the one before it, and two values that share a label
once share one at every level above (nested). The top has one label.

Shares      `shares[level][label]` is the part of the domain that a label stands for. Where the hierarchy is a
            list of values (a file, a tree) it is the part of its rows, as in ARX; where the domain is an
            interval or a pattern, the part of that. A label's share is what a row costs that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import RequestError

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

Key = TypeVar("Key", bound=Hashable)

TOP = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The values of one column and what each becomes.

    `labels[level]` names the labels of a level, `maps[level][value]` is the place of a value's label there;
    level 0 is the values themselves. `shares` as above; `size` is how many values the domain has (ARX's H).
    `declared` says that its levels follow from the policy alone; else how many there are tells of the data.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    maps: tuple[Codes, ...]
    shares: tuple[Floats, ...]
    size: float
    declared: bool = True

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
        """The level of the top; 0 where a column cannot be made coarser."""
        return len(self.maps) - 1

    @property
    def values(self) -> tuple[str, ...]:
        return self.labels[0]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each value stands."""
        return {value: place for place, value in enumerate(self.values)}

    def label(self, value: str, level: int) -> str:
        """What a value becomes."""
        return self.labels[level][int(self.maps[level][self.places[value]])]


def listed(name: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """The hierarchy whose rows are a value and its labels, as in ARX's files; "*" is put on top if needed.

    A row that repeats another counts once more for the shares, and is no value of its own.
    """
    levels = [_encoded(level) for level in zip(*rows, strict=True)]
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


def _encoded(texts: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """The distinct texts in the order in which they come, and where each stands."""
    distinct = tuple(dict.fromkeys(texts))
    return distinct, places(texts, distinct)


def keyed(
    name: str,
    values: Sequence[str],
    levels: Sequence[tuple[Sequence[Key], Callable[[Key], tuple[str, float]]]],
    *,
    size: float,
    topped: bool = True,
    declared: bool = True,
) -> Hierarchy:
    """The hierarchy over a domain that is not listed: a key for each value, a label and a share for each key.

    `topped` puts "*" over the last level.
    """
    labels, maps = [tuple(values)], [np.arange(len(values), dtype=np.int32)]
    shares = [np.full(len(values), 1 / size)]
    for keys, describe in levels:
        distinct = tuple(dict.fromkeys(keys))
        described = [describe(key) for key in distinct]
        labels.append(tuple(label for label, _ in described))
        maps.append(places(keys, distinct))
        shares.append(np.array([share for _, share in described], np.float64))
    if topped:
        labels.append((TOP,))
        maps.append(np.zeros(len(values), np.int32))
        shares.append(np.ones(1))
    return Hierarchy(
        name=name,
        labels=tuple(labels),
        maps=tuple(maps),
        shares=tuple(shares),
        size=size,
        declared=declared,
    )


def places(keys: Sequence[Key], distinct: Sequence[Key]) -> Codes:
    """Where each key stands among the distinct ones."""
    place = {key: number for number, key in enumerate(distinct)}
    return np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))
