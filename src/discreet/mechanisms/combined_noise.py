"""The noise of a released number, whether it was drawn for it or combined from released numbers.

Drawn       by a mechanism: `DiscreteLaplace`, `DiscreteGaussian`.
Combined    the number is a sum of released ones with whole weights: a total over cells, or the weighted mean
            of several measurements of one quantity, in whole parts of a common denominator. Its noise is the
            same sum of theirs, whose law is known (`mechanisms.linear_combinations`).

Both have `variance` and `half_width`, in the steps of the number; `describe_error` returns the law.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.number_checks import require_probability
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import IntegerNoise, describe_noise

MECHANISMS = {"discrete_laplace": DiscreteLaplace, "discrete_gaussian": DiscreteGaussian}


@dataclass(frozen=True, kw_only=True)
class CombinedNoise:
    """The noise of a sum of released integers with whole weights; `error` is its law, in steps.

    `looks` are the entries of measurements that were bought after others of the same quantity were seen:
    statements about the number divide their miss probability by them (`sql.repeated_looks`).

    >>> noise = CombinedNoise.from_cells(DiscreteLaplace(epsilon=Fraction(1, 10), sensitivity=2), 656)
    >>> round(noise.variance**0.5), noise.half_width(0.95)
    (724, 1420)
    """

    error: LinearCombination
    looks: frozenset[int] = frozenset()

    @classmethod
    def from_weights(cls, weighted: Iterable[tuple[ReleasedNoise, int]]) -> CombinedNoise:
        """Return the noise of the sum of weight * number over independent released numbers."""
        total, looks = LinearCombination(()), frozenset[int]()
        for noise, weight in weighted:
            total += describe_error(noise).scale(weight)
            looks |= get_looks(noise)
        return cls(error=total, looks=looks)

    @classmethod
    def from_cells(cls, noise: ReleasedNoise, cells: int) -> CombinedNoise:
        """Return the noise of the sum of `cells` numbers with independent noise of one law."""
        groups = [(law, weight, copies * cells) for law, weight, copies in describe_error(noise).terms]
        return cls(error=LinearCombination.from_counts(groups), looks=get_looks(noise))

    @property
    def variance(self) -> float:
        return self.error.variance

    def half_width(self, confidence: float) -> int:
        """Return an h with Pr[|Z| <= h] >= confidence, the least one up to the slack of the table."""
        require_probability(self, "confidence", confidence)
        # all weights are whole, so the noise is too
        return math.floor(self.error.half_width(1 - confidence))


ReleasedNoise = IntegerNoise | CombinedNoise


def describe_error(noise: ReleasedNoise, *, unit: Fraction | int = 1) -> LinearCombination:
    """Return the law of the noise of a number in steps, one of which is worth `unit`.

    >>> describe_error(DiscreteLaplace(epsilon=Fraction(1, 10), sensitivity=2)).half_width(0.05)
    Fraction(60, 1)
    """
    if isinstance(noise, CombinedNoise):
        return noise.error if unit == 1 else noise.error.scale(unit)
    return LinearCombination.from_equal_cells(describe_noise(noise), 1, unit)


def get_looks(noise: object) -> frozenset[int]:
    """Return the later measurements that a noise combines; none for a noise that was drawn."""
    return noise.looks if isinstance(noise, CombinedNoise) else frozenset()


def find_mechanism(noise: ReleasedNoise) -> type:
    """Return the mechanism that drew the noise, or the widest part of it."""
    if not isinstance(noise, CombinedNoise):
        return type(noise)
    widest = max(noise.error.terms, key=lambda term: term.coefficient**2 * Fraction(term.law.step_variance))
    return MECHANISMS[widest.law.name]
