"""Objectives that are a sum over columns: loss, precision, entropy and height.

The cost of a column of a node is that of its labels, which depends on that column alone, plus a cost for
suppressed rows. The rows of classes that are not `certain` are suppressed below as well, where labels are
finer and suppression costs more: so their extra cost here is a lower bound there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.search.lattice import Floats, compute_outer_sum
from discreet.anonymity.search.objectives.objective import ANY, JudgedNode, SearchSetting, SuppressedClasses


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnSumObjective:
    """The sum over columns of weight times `term` of the column's cost.

    `costs[j][level]` is the cost of column j at a level without suppression; `extra` is the cost that
    suppressed classes add, which never falls with more suppression or finer labels; `term` is increasing.
    """

    setting: SearchSetting
    costs: Sequence[Floats]
    extra: Callable[[int, SuppressedClasses], float]
    term: Callable[[Floats], Floats] = np.asarray
    unit: Callable[[float], float] = float

    def compute_bounds(self) -> Floats:
        return compute_outer_sum([self._compute_terms(j, cost, 0.0) for j, cost in enumerate(self.costs)])

    def score(self, view: JudgedNode) -> float:
        here = np.array([self.costs[j][level] for j, level in enumerate(view.levels)])
        return float(self.setting.weights @ self.term(here + self._compute_extras(view.suppressed_classes)))

    def bound_below(self, view: JudgedNode) -> Floats | float:
        if not view.surely_suppressed_classes.rows:  # then the initial bounds are as good
            return ANY
        extras = self._compute_extras(view.surely_suppressed_classes)
        costs = [self.costs[j][: level + 1] for j, level in enumerate(view.levels)]
        return compute_outer_sum(
            [self._compute_terms(j, cost, float(extras[j])) for j, cost in enumerate(costs)]
        )

    def bound_above(self, view: JudgedNode) -> float:
        return ANY

    def convert_score(self, score: float) -> float:
        return self.unit(score)

    def _compute_terms(self, j: int, costs: Floats, extra: float) -> Floats:
        return float(self.setting.weights[j]) * self.term(costs + extra)

    def _compute_extras(self, gone: SuppressedClasses) -> Floats:
        if not gone.rows:
            return np.zeros(len(self.costs))
        return np.array([self.extra(j, gone) for j in range(len(self.costs))])
