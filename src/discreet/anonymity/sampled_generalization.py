"""Differentially private generalization: sample rows, generalize them as declared, suppress small classes.

Release     Every row is kept with probability beta, independently. All columns of the kept rows are
            generalized to levels that were declared without looking at the data. A class is the
            set of rows that show the same in all columns; the number of its sampled rows is published if it
            is at least k, and nothing otherwise.
Requires    Every published column is generalized, the sensitive ones too: a class is all that a row shows.
            The levels are the custodian's; a search that looks at the data is not covered. A person has one
            row. beta <= 1 - exp(-epsilon).
Guarantee   (epsilon, delta)-DP for added and removed people [LQS12, BKP18], with
            delta = max over n >= k of  Pr[B(n) >= a] - exp(epsilon) Pr[B(n - 1) >= a],
            B(n) binomial of n and beta, a = max(k, floor(gamma n) + 1), gamma = 1 - (1 - beta) exp(-epsilon).
            One person more makes n rows of n - 1 in one class, and changes no other. At j >= k the ratio
            Pr[B(n) = j] / Pr[B(n - 1) = j] = n (1 - beta) / (n - j) is above exp(epsilon) just for
            j > gamma n, and that nothing is published is less probable with n rows; so the sum above is all
            that exceeds. The other way round, the ratio is (n - j) / (n (1 - beta)) <= 1 / (1 - beta) for
            every j, and so it is for sums over j < k: at most exp(epsilon), and nothing exceeds.
            [LQS12, BKP18] take Pr[B(n) > gamma n] for delta, which is more than is needed; k is smaller here.
Utility     A class of n rows is published as about beta n, and is suppressed if that is below k.
Why exact   beta is a multiple of 2**-32, so a coin compares whole numbers. Beyond n the terms are at most
            exp(-n KL(gamma || beta)), by Chernoff's bound, which ends the maximum. Each term is rounded up
            by a part of 1e-9, where the binomial tails are right to 1e-12.

[LQS12]     Li, Qardaji & Su, On sampling, anonymization, and differential privacy, 2012.
[BKP18]     Bild, Kuhn & Prasser, SafePub, PETS 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from discreet.anonymity.equivalence_classes import Integers
from discreet.core.errors import RequestError, require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import ApproximateDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import (
    Real,
    coerce_positive_fraction,
    is_real,
    require_count,
    require_probability,
)
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import bound_exp

GRID = 2**32  # beta is a multiple of 1 / GRID, so that a coin is an exact integer comparison
BLOCK = 2048  # sizes n whose terms are computed at once
CHUNK = 1 << 20  # coins drawn at once, which bounds memory
COVER = 1e-9  # relative rounding up of each term, far above the error of the binomial tails
LARGEST_K = 10**6
LARGEST_EPSILON = 16


@dataclass(frozen=True, kw_only=True)
class SampledGeneralization:
    """Mechanism that samples rows with probability beta and suppresses classes below k.

    >>> for_guarantee(epsilon=1, delta=1e-6).k
    58
    """

    epsilon: Fraction
    beta: Fraction
    k: int

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        coerce_positive_fraction(self, "beta")
        require_count(self, "k", self.k)
        on_grid = GRID % self.beta.denominator == 0
        require_parameter(on_grid, self, "beta", self.beta, "a multiple of 2**-32", hint="Use for_guarantee.")
        covered = self.beta <= 1 - bound_exp(self.epsilon, 40)[1]
        require_parameter(covered, self, "beta", float(self.beta), "at most 1 - exp(-epsilon)")

    @property
    def guarantee(self) -> ApproximateDP:
        delta = compute_least_delta(self.epsilon, self.beta, self.k)
        return ApproximateDP(epsilon=self.epsilon, delta=delta, relation=Relation.PRESENCE)

    def release(self, counts: Exact[Integers], random: Randomness) -> Released[Integers]:
        """Return how many sampled rows of each class are published; 0 where it is suppressed."""
        sampled = sample_rows(counts.secret, self.beta, random)
        return Released(np.where(sampled >= self.k, sampled, 0), self.guarantee)


def for_guarantee(*, epsilon: Real, delta: Real, beta: Real | None = None) -> SampledGeneralization:
    """Return the mechanism with the smallest k that gives (epsilon, delta).

    beta is the largest that epsilon allows, unless it is given.
    """
    require_probability("for_guarantee", "delta", delta)
    chosen = (
        _find_largest_beta(epsilon) if beta is None else Fraction(math.floor(Fraction(beta) * GRID), GRID)
    )
    mechanism = SampledGeneralization(epsilon=Fraction(epsilon), beta=chosen, k=1)
    low, high = 0, 1
    while compute_least_delta(mechanism.epsilon, chosen, high) > delta:
        low, high = high, 2 * high
        if high > LARGEST_K:
            raise RequestError(
                f"(epsilon {float(epsilon):g}, delta {float(delta):g}) needs classes above {LARGEST_K:,}.",
                hint="Use a larger delta, or a smaller epsilon, which needs smaller classes.",
            )
    while high - low > 1:  # a larger k only leaves out more of the output, so delta does not rise
        middle = (low + high) // 2
        enough = compute_least_delta(mechanism.epsilon, chosen, middle) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return SampledGeneralization(epsilon=mechanism.epsilon, beta=chosen, k=high)


def compute_least_delta(epsilon: Fraction, beta: Fraction, k: int) -> float:
    """Return the delta of the module's docstring, rounded up; no smaller one holds but for that rounding."""
    rate, chance = float(epsilon), float(beta)
    gamma = 1 - (1 - chance) * math.exp(-rate)
    divergence = gamma * math.log(gamma / chance) + (1 - gamma) * math.log((1 - gamma) / (1 - chance))
    tail, best, first = scipy.stats.binom.sf, 0.0, k
    while -first * divergence > math.log(max(best, 1e-300)):
        n = np.arange(first, first + BLOCK)
        from_here = np.maximum(k, np.floor(gamma * n) + 1) - 1
        more, fewer = tail(from_here, n, chance), tail(from_here, n - 1, chance)
        best = max(best, float(np.max(more * (1 + COVER) - math.exp(rate) * fewer)))
        first += BLOCK
    return min(1.0, max(best, 1e-300))


def sample_rows(counts: Integers, beta: Fraction, random: Randomness) -> Integers:
    """Return how many rows of each class are sampled, each with probability beta, a multiple of 2**-32."""
    edges = np.concatenate([[0], np.cumsum(counts)])
    bound = np.uint64(beta * GRID)
    drawn = np.zeros(len(counts), np.int64)
    for begin in range(0, int(edges[-1]), CHUNK):
        end = min(begin + CHUNK, int(edges[-1]))
        heads = (random.draw_words(end - begin) >> np.uint64(32)) < bound
        up_to = np.concatenate([[0], np.cumsum(heads)])
        low = int(np.searchsorted(edges, begin, side="right")) - 1
        high = int(np.searchsorted(edges, end, side="left"))
        drawn[low:high] += np.diff(up_to[np.clip(edges[low : high + 1], begin, end) - begin])
    return drawn


def _find_largest_beta(epsilon: Real) -> Fraction:
    holds = is_real(epsilon) and 0 < epsilon <= LARGEST_EPSILON
    require_parameter(
        holds, "for_guarantee", "epsilon", epsilon, f"a number above 0 and at most {LARGEST_EPSILON}"
    )
    most = 1 - bound_exp(Fraction(epsilon), 40)[1]
    beta = Fraction(math.floor(most * GRID), GRID)
    require_parameter(beta > 0, "for_guarantee", "epsilon", epsilon, "large enough to sample any row")
    return beta
