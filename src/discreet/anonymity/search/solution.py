"""What a search finds, and how much it may say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.anonymity.search.lattice import Levels

Progress = Callable[[int, int], None]
"""Told how many nodes were judged, and how many may still have to be."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A valid node: its levels, its objective, how many rows it suppresses and how many classes it keeps."""

    levels: Levels
    loss: float
    suppressed: int
    classes: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """The solutions of a search, best first; none where there is no valid node, or none was found in time.

    `proven` says that no node is better than these, or, of minimal nodes, that they are all. `predictive`
    says that verdicts on nodes were used for others; where no model is monotone, each is judged by itself.
    `checked` of `nodes` were judged; `valid` counts the valid ones where all are known.
    """

    solutions: tuple[Solution, ...]
    proven: bool
    predictive: bool
    checked: int
    nodes: int
    valid: int | None = None

    @property
    def best(self) -> Solution | None:
        return self.solutions[0] if self.solutions else None
