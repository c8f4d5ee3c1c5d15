"""A hierarchy: every value of a column at every level, from itself to the top.

Level 0 is the value itself; each level is coarser than the one before it, and two values that share a label
once share one at every level above (nested). The top has one label.

Shares      `shares[level][label]` is the part of the domain that a label stands for. Where the hierarchy is a
            list of values (a file, a tree) it is the part of its rows, as in ARX; where the domain is an
            interval or a pattern, the part of that. A label's share is what a row costs that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import RequestError

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

TOP = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The values of one column and what each becomes.

    `labels[level]` names the labels of a level, `maps[level][value]` is the place of a value's label there;
    level 0 is the values themselves. `shares` as above; `size` is how many values the domain has (ARX's H).
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    maps: tuple[Codes, ...]
    shares: tuple[Floats, ...]
    size: float

    def __post_init__(self) -> None:
        for level in range(1, len(self.maps)):
            pairs = np.stack([self.maps[level - 1], self.maps[level]], axis=1)
            if len(np.unique(pairs, axis=0)) != len(np.unique(self.maps[level - 1])):
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
    """The hierarchy whose rows are a value and its labels, as in ARX's files."""
    levels = list(zip(*rows, strict=True))
    labels, maps, shares = [], [], []
    for level in levels:
        names = tuple(dict.fromkeys(level))
        place = {label: number for number, label in enumerate(names)}
        codes = np.array([place[label] for label in level], np.int32)
        labels.append(names)
        maps.append(codes)
        shares.append(np.bincount(codes, minlength=len(names)) / len(rows))
    return Hierarchy(
        name=name, labels=tuple(labels), maps=tuple(maps), shares=tuple(shares), size=float(len(rows))
    )
