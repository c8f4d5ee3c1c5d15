"""Laplace mechanism for real numbers, on a declared grid: the law of the paper, without floating point.

Release     q(D) is rounded to the grid of multiples of `resolution` and gets discrete Laplace noise in
            grid steps. As the grid is refined the law tends to the density exp(-|x| / scale) / (2 scale).
Requires    |q(D) - q(D')| <= `sensitivity`; then the rounded values differ by at most
            ceil(sensitivity / resolution) steps: a and b at most d steps apart, round(a) and round(b)
            are integers at most ceil(d) apart.
Guarantee   epsilon-DP, that of `DiscreteLaplace` on the steps. Rounding comes before the noise and is part
            of q; the output is an integer times a constant, so its bits carry nothing more.
Utility     Var within one step of 2 scale**2; Pr[|error| > alpha] <= exp(-(alpha - resolution / 2) / scale).
Why a grid  A computer cannot sample a continuous law; the doubles that approximate it leak [Mironov12].

[DMNS06]    Dwork, McSherry, Nissim & Smith, Calibrating Noise to Sensitivity.
[Mironov12] Mironov, On Significance of the Least Significant Bits for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction
from discreet.mechanisms.additive_noise import GridMechanism
from discreet.mechanisms.discrete_laplace import DiscreteLaplace


@dataclass(frozen=True, kw_only=True)
class Laplace(GridMechanism):
    """Noise of scale `sensitivity / epsilon` on the multiples of `resolution`.

    >>> Laplace(epsilon=2, sensitivity=Fraction(9, 4), resolution=Fraction(1, 1000)).scale
    1.125
    """

    epsilon: Fraction
    sensitivity: Fraction
    resolution: Fraction
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        for name in ("epsilon", "sensitivity", "resolution"):
            coerce_positive_fraction(self, name)

    @property
    def integer_mechanism(self) -> DiscreteLaplace:
        """The mechanism on grid steps."""
        sensitivity = math.ceil(self.sensitivity / self.resolution)
        return DiscreteLaplace(epsilon=self.epsilon, sensitivity=sensitivity, relation=self.relation)

    @property
    def guarantee(self) -> PureDP:
        return self.integer_mechanism.guarantee

    @property
    def scale(self) -> float:
        """lambda in the papers, b in the textbook chapter."""
        return float(self.resolution / self.integer_mechanism.rate)

    @property
    def variance(self) -> float:
        return self.integer_mechanism.variance * float(self.resolution) ** 2

    def density(self, x: float) -> float:
        """Return the density of the continuous law that the grid approximates."""
        return math.exp(-abs(x) / self.scale) / (2 * self.scale)
