"""Randomized response: one of k answers, true with a stated probability, drawn by or for each person.

Release     M(x) = x with probability p = exp(epsilon) / (exp(epsilon) + k - 1), else one of the other k - 1
            values, each with probability q = 1 / (exp(epsilon) + k - 1).
Requires    x in 0 .. k - 1; what lies outside is moved to the nearer end. In a vector each person has one
            entry; r entries of the same person cost r epsilon.
Guarantee   epsilon-DP for replaced values, in the local model: nobody but the person sees x. Every output
            has probability p or q whatever x is, and p / q = exp(epsilon). Participation is not hidden.
Utility     The share of value v among n people is estimated without bias by (c_v / n - q) / (p - q), c_v the
            number of answers v. If the true share is f, its variance is
            (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2), and Pr[|error| > alpha] is at most
            2 exp(-2 n (alpha (p - q))**2), since c_v is a sum of n independent coins [Hoeffding].
Why exact   Every coin is settled by `mechanisms.sampling`: its odds are (k - 1) exp(-epsilon) to 1 in full.

[Warner65]  Warner, Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias.
[KOV16]     Kairouz, Oh & Viswanath, Extremal Mechanisms for Local Differential Privacy: the k-ary form.
[Hoeffding] Probability Inequalities for Sums of Bounded Random Variables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import coerce_positive_fraction, require_count, require_nonnegative
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import require_integer, require_integer_column
from discreet.mechanisms.sampling import (
    LARGEST,
    Floats,
    Integers,
    sample_bernoulli_odds,
    sample_uniform_below,
)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """A true answer that is more probable than any one false answer, by a factor of exp(epsilon).

    >>> RandomizedResponse(epsilon=1, values=2).matrix().round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    epsilon: Fraction
    values: int = 2

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        require_count(self, "values", self.values, minimum=2)
        require_parameter(self.values <= LARGEST, self, "values", self.values, "at most 2**62")

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=Relation.VALUE)

    @property
    def truth_probability(self) -> float:
        """p, the probability of the true answer."""
        return 1 / (1 + (self.values - 1) * math.exp(-self.epsilon))

    @property
    def lie_probability(self) -> float:
        """q, the probability of any one other answer."""
        return math.exp(-self.epsilon) * self.truth_probability

    def matrix(self) -> Floats:
        """Return the channel: Pr[output = column | truth = row]."""
        channel = np.full((self.values, self.values), self.lie_probability)
        np.fill_diagonal(channel, self.truth_probability)
        return channel

    def likelihood(self, output: int, truth: int) -> float:
        """Return Pr[M(truth) = output]."""
        return self.truth_probability if output == truth else self.lie_probability

    def release(self, answer: Exact[int], random: Randomness) -> Released[int]:
        one = np.array([min(max(require_integer(self, answer), 0), self.values - 1)], dtype=np.int64)
        return Released(int(self._randomize(one, random)[0]), self.guarantee)

    def release_many(self, answers: Exact[Integers], random: Randomness) -> Released[Integers]:
        """Release one answer for each person, each with coins of its own."""
        kept = np.clip(require_integer_column(self, answers), 0, self.values - 1)
        return Released(self._randomize(kept, random), self.guarantee)

    def _randomize(self, answers: Integers, random: Randomness) -> Integers:
        lies = sample_bernoulli_odds(self.epsilon, self.values - 1, answers.size, random)
        given = answers.copy()
        moved = 1 + sample_uniform_below(self.values - 1, int(np.count_nonzero(lies)), random)
        given[lies] = (given[lies] + moved) % self.values
        return given

    def estimate(self, answers: Integers) -> Floats:
        """Return the unbiased estimate of every value's true share, from the released answers.

        With few people a share may come out below 0 or above 1, as an unbiased estimate must allow.
        """
        shares = np.bincount(answers, minlength=self.values) / max(answers.size, 1)
        return np.asarray((shares - self.lie_probability) / (self.truth_probability - self.lie_probability))

    def variance(self, share: float, people: int) -> float:
        """Return the variance of the estimate of a true `share` among `people`."""
        require_count(self, "people", people)
        p, q = self.truth_probability, self.lie_probability
        spread = share * p * (1 - p) + (1 - share) * q * (1 - q)
        return spread / (people * (p - q) ** 2)

    def beta(self, alpha: float, people: int) -> float:
        """Return a bound on Pr[an estimated share is off by more than alpha]."""
        require_nonnegative(self, "alpha", alpha)
        require_count(self, "people", people)
        return min(
            1.0, 2 * math.exp(-2 * people * (alpha * (self.truth_probability - self.lie_probability)) ** 2)
        )
