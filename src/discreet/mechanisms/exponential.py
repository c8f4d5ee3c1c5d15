"""Exponential mechanism: the best of several candidates, by integer scores.

Release     M(D) = i with Pr[i] proportional to exp(rate * score_i(D)), rate = epsilon / (2 s); for monotone
            scores rate = epsilon / s.
Requires    |score_i(D) - score_i(D')| <= s for every candidate i and all neighbors D, D'. The candidates
            are public. `monotone` only where between neighbors all scores rise or all fall.
Guarantee   epsilon-DP. With w_i = exp(rate * score_i), W their sum, the loss at i is
            ln w_i / w'_i + ln W' / W. Each term is at most rate * s, since every w'_j <= exp(rate * s) w_j.
            In general both count: 2 rate * s = epsilon. If all scores rise from D to D', the first term is at
            most 0 and the second at most rate * s; if all fall, the other way round: rate * s = epsilon.
Concentrated  rho = epsilon**2 / 8. The second term is the same for all i, and the first lies in an interval
            of length epsilon, so all losses do: a bounded range, which has that rho [CR21].
Utility     A candidate that is g behind the best has Pr[i] <= exp(-rate * g), so the pick is s or more behind
            with probability at most (n - 1) exp(-rate * s): (ln n + t) / rate or more with at most exp(-t).
Why exact   The pick is drawn by `sampling.sample_index`: no weight is rounded, and none underflows to 0.

[MT07]      McSherry & Talwar, Mechanism Design via Differential Privacy.
[CR21]      Cesar & Rogers, Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import ZeroConcentratedDP
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Floats, Integers, sample_index
from discreet.mechanisms.selection import Selection, compute_gaps


@dataclass(frozen=True, kw_only=True)
class Exponential(Selection):
    """A selection whose odds grow exponentially with the score of a candidate.

    >>> Exponential(epsilon=1, sensitivity=1).probabilities(np.array([24, 8, 28, 5])).round(2)
    array([0.12, 0.  , 0.88, 0.  ])
    """

    @property
    def zcdp(self) -> ZeroConcentratedDP:
        """The cost of the pick where rho is summed: at most a quarter of the rho of epsilon-DP."""
        return ZeroConcentratedDP(rho=self.epsilon**2 / 8, relation=self.relation)

    def probabilities(self, scores: Integers) -> Floats:
        """Return Pr[M(D) = i] for every i: the law, for tests, audits and plans."""
        weights = np.exp(-compute_gaps(self, scores) * float(self.rate))
        return np.asarray(weights / weights.sum())

    def release(self, scores: Exact[Integers], random: Randomness) -> Released[int]:
        return Released(sample_index(compute_gaps(self, scores.secret), self.rate, random), self.guarantee)
