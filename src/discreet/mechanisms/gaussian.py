"""Gaussian mechanism for real numbers, on a declared grid, with the exact calibration.

Release     q(D) is rounded to the multiples of `resolution` and gets discrete Gaussian noise in grid steps,
            of standard deviation at most `sigma`.
Requires    |q(D) - q(D')| <= `sensitivity` (then ceil(sensitivity / resolution) steps, as for `Laplace`).
Guarantee   the discrete Gaussian's own profile (`DiscreteGaussianDP`), which tends to that of the normal
            law, delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu), mu = sensitivity / sigma [BW18].
Utility     Pr[|error| > alpha] from exact sums.
Calibration `exact_sigma` inverts the profile. The textbook's sensitivity * sqrt(2 ln(2 / delta)) / epsilon
            (`textbook_sigma`) is for comparison: at epsilon 1, delta 1e-5 it requires 4.941 where
            3.731 is enough, and above epsilon = 9.4 it is not enough. Under a promise neither is used:
            `Promise.gaussian_scale` calibrates the normal law by the tail. On a grid that is coarse relative
            to sigma the law differs a little; `Promise.admits(mechanism.guarantee)` decides.

[BW18]      Balle & Wang, Improving the Gaussian Mechanism for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import scipy

from discreet.core.errors import require_parameter
from discreet.core.guarantees import DiscreteGaussianDP, GaussianDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import Real, coerce_positive_fraction, require_positive, require_probability
from discreet.mechanisms.additive_noise import GridMechanism
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian


def exact_sigma(epsilon: Real, delta: float, sensitivity: Real = 1) -> float:
    """Return the least sigma for which normal noise is (epsilon, delta)-DP.

    >>> round(exact_sigma(1, 1e-5), 3)
    3.731
    """
    _check_parameters("exact_sigma", epsilon, delta, sensitivity)

    def compute_excess(log_mu: float) -> float:
        return GaussianDP(mu=math.exp(log_mu)).profile(float(epsilon)) - delta

    low, high = -30.0, 10.0 + math.log1p(float(epsilon))
    reachable = compute_excess(low) < 0 < compute_excess(high)
    require_parameter(
        reachable, "exact_sigma", "delta", delta, f"a probability that fits epsilon = {float(epsilon):g}"
    )
    return float(sensitivity) / math.exp(scipy.optimize.brentq(compute_excess, low, high, xtol=1e-13))


def textbook_sigma(epsilon: Real, delta: float, sensitivity: Real = 1) -> float:
    """Return the sigma of the textbook formula; for comparison, never for use.

    >>> round(textbook_sigma(1, 1e-5), 3)
    4.941
    """
    _check_parameters("textbook_sigma", epsilon, delta, sensitivity)
    return float(sensitivity) * math.sqrt(2 * math.log(2 / delta)) / float(epsilon)


def _check_parameters(owner: str, epsilon: Real, delta: float, sensitivity: Real) -> None:
    require_positive(owner, "epsilon", epsilon)
    require_probability(owner, "delta", delta)
    require_positive(owner, "sensitivity", sensitivity)


@dataclass(frozen=True, kw_only=True)
class Gaussian(GridMechanism):
    """Noise of standard deviation `sigma` on the multiples of `resolution`."""

    sigma: Fraction
    sensitivity: Fraction
    resolution: Fraction
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_relation(self)
        for name in ("sigma", "sensitivity", "resolution"):
            coerce_positive_fraction(self, name)

    @property
    def integer_mechanism(self) -> DiscreteGaussian:
        """The mechanism on grid steps."""
        return DiscreteGaussian(
            variance=(self.sigma / self.resolution) ** 2,
            squared_sensitivity=Fraction(math.ceil(self.sensitivity / self.resolution) ** 2),
            relation=self.relation,
        )

    @property
    def guarantee(self) -> DiscreteGaussianDP | ZeroConcentratedDP:
        return self.integer_mechanism.guarantee

    @property
    def variance(self) -> float:
        """An upper bound on the variance of the noise."""
        return float(self.sigma) ** 2

    def density(self, x: float) -> float:
        """Return the density of the continuous law that the grid approximates."""
        sigma = float(self.sigma)
        return math.exp(-((x / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi))
