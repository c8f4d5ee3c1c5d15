"""The result of a search, and whether it is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.anonymity.search.lattice import Levels

Progress = Callable[[int, int], None]
"""Callback with the number of nodes judged, and of those that may still have to be."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A valid node: its levels, its objective, the rows it suppresses and the classes it keeps."""

    levels: Levels
    loss: float
    suppressed: int
    classes: int


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The solutions of a search, best first; none if there is no valid node, or none was found in time.

    `proven` means that no node is better than these, or, for minimal nodes, that the list is complete.
    `predictive` means that verdicts on nodes ruled out others; where no model is monotone, each is judged by
    itself. `checked` of `nodes` were judged; `valid` counts the valid ones if all are known.
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
