"""Marginal measurement: the only place where exact marginals are read, by mechanisms, within a budget.

Noise       a marginal's counts get the noise of a part of the budget.
Choice      of several sets of columns one is picked by the exponential mechanism. Its score is

                sum of |count - expected count| - allowance,

            with expected counts and an allowance (whole numbers) that are computed from what was released. A
            person moves the counts of a set by at most s in L1, whatever the set, so by the triangle
            inequality the score moves by at most s [MMSM22].
Budget      what noise and choices cost is taken from the budget before they happen; what would pass it is
            a mistake of ours, and stops everything.

[MMSM22]    McKenna, Mullins, Sheldon & Miklau, AIM: An Adaptive and Iterative Mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.synthesis.graphical_model import Measurement
from discreet.mining.tabulation.cells import Columns
from discreet.mining.tabulation.noise_budget import NoiseBudget, compute_deviation

Marginals = Mapping[Columns, Integers]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A set of columns that may be measured, with its expected counts."""

    columns: Columns
    expected: Floats = field(repr=False)
    allowance: float = 0.0


@dataclass(kw_only=True)
class MarginalMeasurer:
    """Exact marginals, and the remaining budget for measuring them."""

    marginals: Exact[Marginals]
    budget: NoiseBudget
    random: Randomness
    spent: Fraction = Fraction(0)
    measurements: list[Measurement] = field(default_factory=list)

    @property
    def remaining(self) -> Fraction:
        return self.budget.amount - self.spent

    def measure(self, columns: Columns, cost: NoiseBudget) -> Measurement:
        """Release the counts of a set with noise."""
        self._spend(cost)
        noise = cost.make_noise()
        counts = self.marginals.secret[columns]
        released = noise.release_many(Exact(counts.reshape(-1)), self.random)
        measured = Measurement(
            columns=columns,
            counts=released.value.reshape(counts.shape).astype(np.float64),
            deviation=compute_deviation(noise),
        )
        self.measurements.append(measured)
        return measured

    def select(self, candidates: Sequence[Candidate], cost: NoiseBudget, *, or_none: bool = False) -> int:
        """Select the candidate whose counts differ most from the expected; `or_none` adds one for none."""
        self._spend(cost)
        scores = score_candidates(self.marginals, candidates)
        every = np.append(scores.secret, 0) if or_none else scores.secret
        return cost.make_selection(cost.sensitivity.l1).release(Exact(every), self.random).value

    def _spend(self, cost: NoiseBudget) -> None:
        if cost.amount > self.remaining:
            raise RuntimeError("a synthesis would have spent more than its budget")
        self.spent += cost.amount


def score_candidates(marginals: Exact[Marginals], candidates: Sequence[Candidate]) -> Exact[Integers]:
    """Return the integer score of each candidate."""
    found = []
    for each in candidates:
        expected = np.rint(each.expected).astype(np.int64)
        distance = int(np.abs(marginals.secret[each.columns] - expected).sum())
        found.append(distance - round(each.allowance))
    return Exact(np.array(found, np.int64))
