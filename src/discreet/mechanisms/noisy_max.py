"""Report noisy max: the candidate whose score is largest after integer noise, ties drawn uniformly.

Release     M(D) = the i for which score_i + Z_i is largest, Z_i independent discrete Laplace noise:
            Pr[Z = z] is proportional to exp(-rate |z|). Among equals one is drawn uniformly.
            rate = epsilon / (2 s); for monotone scores rate = epsilon / s. The noisy scores stay secret.
Requires    |score_i(D) - score_i(D')| <= s for every candidate i and all neighbors D, D'. The candidates are
            public. `monotone` only where between neighbors all scores rise or all fall.
Guarantee   epsilon-DP. Drawing among equals is the same as giving all candidates a random order beforehand
            and letting the first of the equals win; fix that order and the noise of all but i. Then i wins
            exactly if score_i + Z_i >= T_i, the largest over j != i of score_j + Z_j, plus 1 where j comes
            before i. T_i moves by at most s between neighbors, like every term in it, and score_i by at most
            s. The tail of Z, Pr[Z >= x], shrinks by at most exp(-rate) per unit of x, so i's chance changes
            by a factor of at most exp(2 rate * s) = exp(epsilon). If all scores rise, or all fall, T_i and
            score_i move the same way, T_i - score_i by at most s: exp(rate * s) = exp(epsilon).
            Ties are common with integer noise; the argument holds for them because an order that does not
            depend on the data fixes the winner of each.
Utility     The pick is g or more behind with probability at most (n - 1) Pr[Z - Z' >= g], Z and Z' two of the
            noises; permute-and-flip does better at the same epsilon.

[DR14]      Dwork & Roth, The Algorithmic Foundations of Differential Privacy, section 3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.exact_values import Exact, Released
from discreet.core.number_checks import require_count, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import find_least_integer
from discreet.mechanisms.sampling import Floats, Integers, sample_discrete_laplace
from discreet.mechanisms.selection import Selection, clip_scores, compute_gaps, compute_tie_shares

NEGLIGIBLE = 45  # exp(-45) is below 2**-64


@dataclass(frozen=True, kw_only=True)
class NoisyMax(Selection):
    """Report noisy max: every score gets noise, and only the index of the winner is released.

    >>> NoisyMax(epsilon=1, sensitivity=1).probabilities(np.array([24, 8, 28, 5])).round(2)
    array([0.13, 0.  , 0.87, 0.  ])
    """

    def probabilities(self, scores: Integers) -> Floats:
        """Return Pr[M(D) = i] for every i, summed over where the winner may land.

        Landings beyond NEGLIGIBLE / rate below or above all candidates are left out; they have a probability
        of less than exp(-45) on either side for every candidate.
        """
        behind, rate = compute_gaps(self, scores), float(self.rate)
        reach = math.ceil(NEGLIGIBLE / rate)
        landings = np.arange(-reach, reach + 1)[:, None] + behind[None, :]
        at = math.tanh(rate / 2) * np.exp(-rate * np.abs(landings))
        tail = np.exp(-rate * np.abs(landings)) / (1 + math.exp(-rate))
        below = np.where(landings <= 0, tail * math.exp(-rate), 1 - tail)
        return np.asarray((at * compute_tie_shares(below, at)).sum(axis=0))

    def shortfall(self, candidates: int, confidence: float) -> int:
        """Return a gap to the best score that the pick stays within, with at least `confidence`."""
        require_count(self, "candidates", candidates)
        require_probability(self, "confidence", confidence)
        others, miss = candidates - 1, 1 - float(confidence)
        around = math.log(max(others, 1) / miss) / float(self.rate)
        return find_least_integer(
            lambda s: others * self._overtake_probability(s + 1) <= miss, estimate=math.ceil(around)
        )

    def _overtake_probability(self, gap: int) -> float:
        """Return Pr[Z - Z' >= gap], gap >= 1.

        Pr[Z - Z' = g] is ((1-a) / (1+a))**2 a**g (g + (1+a*a) / (1-a*a)).
        """
        a, rest = math.exp(-self.rate), -math.expm1(-self.rate)
        mixed = (1 + a * a) / ((1 + a) * rest)
        return math.exp(-self.rate * gap) * rest * (gap + a / rest + mixed) / (1 + a) ** 2

    def release(self, scores: Exact[Integers], random: Randomness) -> Released[int]:
        kept = clip_scores(self, scores.secret)
        noisy = kept + sample_discrete_laplace(self.rate, kept.size, random)
        winners = np.flatnonzero(noisy == noisy.max())
        return Released(int(winners[random.draw_below(winners.size)]), self.guarantee)
