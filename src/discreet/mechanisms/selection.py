"""The base of all mechanisms that pick one of several candidates.

Scores are integers, higher is better, and `sensitivity` bounds how far any one of them moves between
neighbors. *Monotone* scores are those that between any two neighbors all rise or all fall: counts under
add/remove, never counts under replace-one, where one rises as another falls. For them the mechanisms here may
weigh a unit of score twice as much, so `rate` is epsilon / sensitivity instead of half of that.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction, require_count, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import find_least_integer
from discreet.mechanisms.sampling import LARGEST, Floats, Integers

NODES = 400


@dataclass(frozen=True, kw_only=True)
class Selection(Protocol):
    """A mechanism that picks one of several candidates by their scores.

    Subclasses define the members without a body, and inherit the others.
    """

    epsilon: Fraction
    sensitivity: int
    monotone: bool = False
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        require_count(self, "sensitivity", self.sensitivity)
        require_parameter(isinstance(self.monotone, bool), self, "monotone", self.monotone, "True or False")
        coerce_relation(self)
        require_parameter(
            not self.monotone or self.relation == Relation.PRESENCE,
            self,
            "monotone",
            self.monotone,
            "False unless relation is 'presence' (add/remove)",
            hint="A replaced value lowers one score as it raises another.",
        )

    @abstractmethod
    def probabilities(self, scores: Integers) -> Floats:
        """Return Pr[M(D) = i] for every i: the law, for tests, audits and plans."""

    @abstractmethod
    def release(self, scores: Exact[Integers], random: Randomness) -> Released[int]:
        """Return the index of the picked candidate."""

    @property
    def rate(self) -> Fraction:
        """The logarithmic weight of one unit of score: of the odds, or of the decay of the noise."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=self.relation)

    def likelihood(self, output: int, truth: Integers) -> float:
        """Return Pr[M(D) = output] where the scores are `truth`."""
        return float(self.probabilities(truth)[output])

    def shortfall(self, candidates: int, confidence: float) -> int:
        """Return a gap to the best score that the pick stays within, with at least `confidence`."""
        return bound_shortfall(self, self.rate, candidates, confidence)


def clip_scores(owner: object, scores: Integers) -> Integers:
    """Return the scores clipped to a fixed range, so that their differences cannot overflow.

    Clipping brings no two scores further apart and reverses no direction, so sensitivity and monotonicity are
    unchanged.
    """
    fits = isinstance(scores, np.ndarray) and scores.ndim == 1 and scores.dtype == np.int64
    require_parameter(fits, owner, "scores", type(scores).__name__, "a one-dimensional array of int64")
    require_parameter(scores.size > 0, owner, "scores", "none", "at least one")
    return np.clip(scores, -LARGEST // 2, LARGEST // 2)


def compute_gaps(owner: object, scores: Integers) -> Integers:
    """Return the gap of each score to the best."""
    kept = clip_scores(owner, scores)
    return np.asarray(kept.max() - kept)


def bound_shortfall(owner: object, rate: Fraction, candidates: int, confidence: float) -> int:
    """Return the least s with (candidates - 1) exp(-rate (s + 1)) <= 1 - confidence.

    Where a candidate that is s behind is picked with probability at most exp(-rate s), the pick is more than
    this behind the best with probability at most 1 - confidence.
    """
    require_count(owner, "candidates", candidates)
    require_probability(owner, "confidence", confidence)
    others, miss = candidates - 1, 1 - float(confidence)
    around = math.log(max(others, 1) / miss) / float(rate)
    return find_least_integer(
        lambda s: others * math.exp(-rate * (s + 1)) <= miss, estimate=math.ceil(around)
    )


def compute_tie_shares(below: Floats, at: Floats) -> Floats:
    """Return, for each i, the chance that i wins a uniform draw among all that are `at` its level.

    Each other j is independently `at` the same level with probability at[..., j], below it with below[..., j]
    and otherwise above, where i cannot win. That is the integral over t in [0, 1] of the product over j != i
    of (below_j + at_j t), because 1 / (c + 1) is the integral of t**c. The integrand is a polynomial, so
    Gauss-Legendre quadrature is exact for up to 2 NODES candidates.
    """
    count = at.shape[-1]
    nodes, weights = np.polynomial.legendre.leggauss(min(NODES, count // 2 + 1))
    total = np.zeros(at.shape)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        factors = below + at * node
        ones = np.ones((*at.shape[:-1], 1))
        before = np.cumprod(np.concatenate([ones, factors[..., :-1]], axis=-1), axis=-1)
        after = np.cumprod(np.concatenate([ones, factors[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
        total += weight * before * after
    return total
