"""Objectives that are a sum over columns: loss, precision, entropy and height.

A column of a node costs what its labels cost, which the single column tells, and more for suppressed rows.
The rows of classes that are not `certain` are suppressed below as well, where labels are finer and
suppression takes away more: so what they add here is added there at the least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.search.kernels import Truths
from discreet.anonymity.search.lattice import Floats, outer_sum
from discreet.anonymity.search.objectives.objective import ANY, Setting, View


@dataclass(frozen=True, kw_only=True, eq=False)
class ByColumn:
    """The sum over columns of weight times `term` of what a column costs.

    `costs[j][level]` is what column j costs at a level where nothing is suppressed; `extra` is what leaving
    out classes adds to it, and never falls when more is left out or labels are finer; `term` is rising.
    """

    setting: Setting
    costs: Sequence[Floats]
    extra: Callable[[int, View, Truths], float]
    term: Callable[[Floats], Floats] = np.asarray
    unit: Callable[[float], float] = float

    def bounds(self) -> Floats:
        return outer_sum([self._terms(j, 0.0) for j in range(len(self.costs))])

    def score(self, view: View) -> float:
        extras = self._extras(view, ~view.kept)
        return float(
            sum(
                float(self._terms(j, extras[j], slice(level, level + 1))[0])
                for j, level in enumerate(view.levels)
            )
        )

    def below(self, view: View) -> Floats | float:
        gone = ~view.certain
        if not gone.any():
            return ANY
        extras = self._extras(view, gone)
        return outer_sum(
            [self._terms(j, extras[j], slice(None, level + 1)) for j, level in enumerate(view.levels)]
        )

    def above(self, view: View) -> float:
        return ANY

    def shown(self, score: float) -> float:
        return self.unit(score)

    def _terms(self, j: int, extra: float, levels: slice = slice(None)) -> Floats:
        return float(self.setting.weights[j]) * self.term(self.costs[j][levels] + extra)

    def _extras(self, view: View, gone: Truths) -> list[float]:
        if not gone.any():
            return [0.0] * len(self.costs)
        return [self.extra(j, view, gone) for j in range(len(self.costs))]
