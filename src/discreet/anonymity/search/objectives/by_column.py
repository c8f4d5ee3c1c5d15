"""Objectives that are a sum over columns: loss, precision, entropy and height.

The cost of a column of a node is that of its labels, which depends on that column alone, plus a cost for
suppressed rows. The rows of classes that are not `certain` are suppressed below as well, where labels are
finer and suppression costs more: so their extra cost here is a lower bound there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.search.lattice import Floats, outer_sum
from discreet.anonymity.search.objectives.objective import ANY, Gone, Setting, View


@dataclass(frozen=True, kw_only=True, eq=False)
class ByColumn:
    """The sum over columns of weight times `term` of the column's cost.

    `costs[j][level]` is the cost of column j at a level without suppression; `extra` is the cost that
    suppressed classes add, which never falls with more suppression or finer labels; `term` is increasing.
    """

    setting: Setting
    costs: Sequence[Floats]
    extra: Callable[[int, Gone], float]
    term: Callable[[Floats], Floats] = np.asarray
    unit: Callable[[float], float] = float

    def bounds(self) -> Floats:
        return outer_sum([self._terms(j, cost, 0.0) for j, cost in enumerate(self.costs)])

    def score(self, view: View) -> float:
        here = np.array([self.costs[j][level] for j, level in enumerate(view.levels)])
        return float(self.setting.weights @ self.term(here + self._extras(view.gone)))

    def below(self, view: View) -> Floats | float:
        if not view.surely_gone.rows:  # then the initial bounds are as good
            return ANY
        extras = self._extras(view.surely_gone)
        costs = [self.costs[j][: level + 1] for j, level in enumerate(view.levels)]
        return outer_sum([self._terms(j, cost, float(extras[j])) for j, cost in enumerate(costs)])

    def above(self, view: View) -> float:
        return ANY

    def shown(self, score: float) -> float:
        return self.unit(score)

    def _terms(self, j: int, costs: Floats, extra: float) -> Floats:
        return float(self.setting.weights[j]) * self.term(costs + extra)

    def _extras(self, gone: Gone) -> Floats:
        if not gone.rows:
            return np.zeros(len(self.costs))
        return np.array([self.extra(j, gone) for j in range(len(self.costs))])
