"""Permute-and-flip: the best of several candidates, never worse than the exponential mechanism.

Release     Take the candidates in random order; stop at the first whose coin, of probability
            p_i = exp(-rate * (best score - score_i)), shows heads. rate = epsilon / (2 s); for monotone
            scores rate = epsilon / s. Here all coins are tossed at once and one of the heads is drawn
            uniformly: the order is independent of the coins, so the first head in it is uniform among them,
            and the best candidate's coin is always heads.
Requires    |score_i(D) - score_i(D')| <= s for every candidate i and all neighbors D, D'. The candidates
            are public. `monotone` only where between neighbors all scores rise or all fall.
Guarantee   epsilon-DP. Add to each score an exponential variable of the given rate and take the largest sum:
            score_i's sum passes the best score with probability p_i, and by memorylessness those that pass
            are alike from there on, so the largest is uniform among them: the same law [DKS+21]. Now fix all
            sums but i's; i wins if its own passes their largest, m, with probability
            min(1, exp(-rate * (m - score_i))). Between neighbors m and score_i each move by at most s, so
            the exponent by at most 2 rate * s = epsilon; if all scores rise, or all fall, m and score_i move
            the same way, and m - score_i by at most s: rate * s = epsilon.
Utility     Pr[i] <= p_i, so the pick is g or more behind with probability at most (n - 1) exp(-rate * g). Its
            expected shortfall is at most that of the exponential mechanism on every input, down to half.
Why exact   Every coin is decided by `mechanisms.sampling`; nothing is rounded.

[MS20]      McKenna & Sheldon, Permute-and-Flip: A New Mechanism for Differentially Private Selection.
[DKS+21]    Ding, Kifer, Saghaian, Steinke et al., The Permute-and-Flip Mechanism is Identical to
            Report-Noisy-Max with Exponential Noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.exact_values import Exact, Released
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Floats, Integers, sample_bernoulli_exps
from discreet.mechanisms.selection import Selection, compute_gaps, compute_tie_shares


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """A selection by random order: the first candidate whose coin shows heads is picked.

    >>> PermuteAndFlip(epsilon=1, sensitivity=1).probabilities(np.array([24, 8, 28, 5])).round(3)
    array([0.068, 0.   , 0.932, 0.   ])
    """

    def probabilities(self, scores: Integers) -> Floats:
        """Return Pr[M(D) = i] for every i: heads for i, and the draw among all heads."""
        heads = np.exp(-compute_gaps(self, scores) * float(self.rate))
        return np.asarray(heads * compute_tie_shares(1 - heads, heads))

    def release(self, scores: Exact[Integers], random: Randomness) -> Released[int]:
        heads = np.flatnonzero(sample_bernoulli_exps(compute_gaps(self, scores.secret), self.rate, random))
        return Released(int(heads[random.draw_below(heads.size)]), self.guarantee)
