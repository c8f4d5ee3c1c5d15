"""Laws of the noise in released integers: public, storable, with exact variances, tails and half-widths.

A released value is `unit * (integer + Z)`. The law of Z is public, so whatever is later computed from
released values has an error of known law, without another look at the data.

    DiscreteLaplaceLaw   Pr[Z = z] = (1 - a) / (1 + a) a**|z|, a = exp(-rate), rate = epsilon / sensitivity
    DiscreteGaussianLaw  Pr[Z = z] proportional to exp(-z**2 / (2 v)), v = `parameter`

Both are symmetric and log-concave on the integers. Two facts about them are used elsewhere:

Unimodal    A sum of such independent integers is symmetric and log-concave, hence unimodal, so
            Pr[|Y + z| <= h] is largest at z = 0. Another independent term therefore never narrows it.
Transform   The characteristic function is positive, and decreases from 0 to pi: for the Laplace law it is
            1 / (1 + k sin(t / 2)**2) with k = 1 / sinh(rate / 2)**2, for the Gaussian law the product
            of 1 + 2 q**(2n - 1) cos t + q**(4n - 2) over n (Jacobi), divided by its value at 0.

Outward     Tails are rounded up, so that an interval covers with at least the stated probability. Variances
            are exact to a double's last digits, and at least 1e-195. `beta` is the probability of a miss:
            .05 for 95%.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.core import discrete_gaussian_tails
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import coerce_positive_fraction, require_probability
from discreet.mechanisms.additive_noise import find_least_integer
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

Floats = NDArray[np.float64]
IntegerNoise = DiscreteLaplace | DiscreteGaussian
"""The mechanisms whose noise has a law here."""

ROUND_UP = 1 + 2.0**-42  # covers the rounding of exp(-x) for all x below 745, where it becomes 0
STEEPEST, LEAST_VARIANCE = 450.0, 1e-195  # of noise that is 0 but for less than that; doubles hold its square
NARROW = 1  # below this variance a discrete Gaussian is summed directly, above by Poisson's formula


class NoiseLaw(ABC):
    """The law of the noise in one released value; `unit` is the value of one step."""

    unit: Fraction

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in stored form."""

    @property
    @abstractmethod
    def step_variance(self) -> float:
        """The variance in squared steps."""

    @property
    def moment_scale(self) -> float:
        """The v for which `bound_log_moments` is about v t**2 / 2 for small t."""
        return self.step_variance

    @property
    @abstractmethod
    def rate_limit(self) -> float:
        """The t below which E[exp(t Z)] is finite."""

    @abstractmethod
    def bound_steps_tail(self, m: int) -> float:
        """Return an upper bound on Pr[Z >= m] for m >= 1, exact up to rounding."""

    @abstractmethod
    def estimate_steps(self, beta: float) -> int:
        """Return about the least h with Pr[|Z| > h] <= beta."""

    @abstractmethod
    def compute_masses(self, z: Floats) -> Floats:
        """Return Pr[Z = z] of every integer in `z`."""

    @abstractmethod
    def compute_log_transform(self, t: Floats) -> Floats:
        """Return ln E[exp(i t Z)] for t in [-pi, pi], to a relative error of 64 units of rounding."""

    @abstractmethod
    def bound_log_moments(self, t: Floats) -> Floats:
        """Return upper bounds on ln E[exp(t Z)] for 0 <= t < rate_limit, up to rounding."""

    @abstractmethod
    def serialize(self) -> dict[str, str]:
        """Return the law as texts, from which `parse_noise_law` makes it again."""

    @property
    def variance(self) -> float:
        return self.step_variance * float(self.unit) ** 2

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.variance)

    @property
    def in_steps(self) -> Self:
        """The law of Z itself, with unit 1."""
        return self if self.unit == 1 else replace(self, unit=Fraction(1))  # type: ignore[type-var]

    def bound_miss(self, half_width: Fraction | float) -> float:
        """Return an upper bound on Pr[|error| > half_width], exact up to rounding."""
        steps = math.floor(Fraction(half_width) / self.unit)
        return 1.0 if steps < 0 else min(1.0, 2 * self.bound_steps_tail(steps + 1))

    def half_width(self, beta: float) -> Fraction:
        """Return the least h with Pr[|error| <= h] >= 1 - beta.

        >>> DiscreteLaplaceLaw(rate=Fraction(1, 20)).half_width(0.05)
        Fraction(60, 1)
        """
        return _find_half_steps(self.in_steps, beta) * self.unit


@lru_cache(maxsize=65_536)
def _find_half_steps(law: NoiseLaw, beta: float) -> int:
    require_probability(type(law).__name__, "beta", beta)
    return find_least_integer(
        lambda h: 2 * law.bound_steps_tail(h + 1) <= beta, estimate=law.estimate_steps(beta)
    )


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceLaw(NoiseLaw):
    """Two-sided geometric noise, `rate = epsilon / sensitivity`.

    >>> DiscreteLaplaceLaw(rate=Fraction(1, 20)).standard_deviation
    28.28...
    """

    rate: Fraction
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "rate")
        coerce_positive_fraction(self, "unit")

    @property
    def name(self) -> str:
        return "discrete_laplace"

    @property
    def step_variance(self) -> float:
        return 2 * math.exp(-self.rate_limit) / math.expm1(-self.rate_limit) ** 2

    @property
    def rate_limit(self) -> float:
        """The rate, or the largest for which doubles hold the variance: noise that is almost surely 0."""
        return min(float(self.rate), STEEPEST)

    @property
    def _sharpness(self) -> float:
        """1 / sinh(rate / 2)**2, which is 4 a / (1 - a)**2, twice the variance."""
        return 2 * self.step_variance

    def bound_steps_tail(self, m: int) -> float:
        if m <= 0:
            return 1.0
        return math.exp(-self.rate * m) / (1 + math.exp(-self.rate)) * ROUND_UP

    def estimate_steps(self, beta: float) -> int:
        reach = -math.log(beta * (1 + math.exp(-self.rate)) / 2) / float(self.rate)
        return math.ceil(reach) - 1

    def compute_masses(self, z: Floats) -> Floats:
        return np.asarray(math.tanh(self.rate / 2) * np.exp(-float(self.rate) * np.abs(z)))

    def compute_log_transform(self, t: Floats) -> Floats:
        return np.asarray(-np.log1p(self._sharpness * np.sin(t / 2) ** 2))

    def bound_log_moments(self, t: Floats) -> Floats:
        return np.asarray(-np.log1p(-self._sharpness * np.sinh(t / 2) ** 2))

    def serialize(self) -> dict[str, str]:
        return {"law": self.name, "rate": str(self.rate), "unit": str(self.unit)}


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianLaw(NoiseLaw):
    """Discrete Gaussian noise of parameter v: nearly its variance, and never below it.

    >>> DiscreteGaussianLaw(parameter=Fraction(9)).half_width(0.05)
    Fraction(6, 1)
    """

    parameter: Fraction
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "parameter")
        coerce_positive_fraction(self, "unit")

    @property
    def name(self) -> str:
        return "discrete_gaussian"

    @property
    def step_variance(self) -> float:
        if self.parameter > NARROW * 36:
            # Poisson: v (1 - 8 pi**2 v exp(-2 pi**2 v) ...), which is v in doubles
            return float(self.parameter)
        z = self._inner_integers
        return max(LEAST_VARIANCE, float(2 * (self.compute_masses(z) * z**2)[::-1].sum()))

    @property
    def moment_scale(self) -> float:
        return float(self.parameter)

    @property
    def rate_limit(self) -> float:
        return math.inf

    @property
    def _inner_integers(self) -> Floats:
        reach = math.ceil(discrete_gaussian_tails.REACH * math.sqrt(self.parameter)) + 1
        return np.arange(1, reach + 1, dtype=np.float64)

    def bound_steps_tail(self, m: int) -> float:
        return min(1.0, discrete_gaussian_tails.bound_tail(self.parameter, m)[1])

    def estimate_steps(self, beta: float) -> int:
        reach = math.sqrt(self.parameter) * -float(scipy.special.ndtri(beta / 2))
        return math.ceil(reach - 0.5)

    def compute_masses(self, z: Floats) -> Floats:
        normalizer = discrete_gaussian_tails.compute_normalizer(self.parameter)
        return np.asarray(np.exp(-(z**2) / (2 * float(self.parameter))) / normalizer)

    def compute_log_transform(self, t: Floats) -> Floats:
        v = float(self.parameter)
        if self.parameter <= NARROW:
            # 1 - E[1 - cos(t Z)]: a sum of positive terms, none of which cancels near 0
            total = np.zeros_like(t)
            inner = self._inner_integers
            for z, mass in zip(inner, self.compute_masses(inner), strict=True):
                total += 4 * mass * np.sin(z * t / 2) ** 2
            return np.asarray(np.log1p(-total))
        # the sum over k of exp(-v (t + 2 pi k)**2 / 2); terms beyond k = 3 are below the least double
        t = np.abs(t)
        shifts = [2 * math.pi * k for k in (-1, 1, -2, 2, -3, 3)]
        ratio = sum(np.exp(-v * (2 * t * shift + shift**2) / 2) for shift in shifts)
        at_zero = sum(math.exp(-v * shift**2 / 2) for shift in shifts)
        return np.asarray(-v * t**2 / 2 + np.log1p(ratio) - math.log1p(at_zero))

    def bound_log_moments(self, t: Floats) -> Floats:
        # E[exp(t Z)] <= exp(v t**2 / 2): completing the square, it is that times the sum over integers of
        # exp(-(z - v t)**2 / (2 v)), divided by the sum for t = 0, which is the largest
        return np.asarray(float(self.parameter) * t**2 / 2)

    def serialize(self) -> dict[str, str]:
        return {"law": self.name, "parameter": str(self.parameter), "unit": str(self.unit)}


def describe_noise(mechanism: IntegerNoise, *, unit: Fraction | int = 1) -> NoiseLaw:
    """Return the law of the noise that a mechanism adds to integers, one of which is worth `unit`.

    >>> describe_noise(DiscreteLaplace(epsilon=Fraction(1, 10), sensitivity=2))
    DiscreteLaplaceLaw(rate=Fraction(1, 20), unit=Fraction(1, 1))
    """
    if isinstance(mechanism, DiscreteLaplace):
        return DiscreteLaplaceLaw(rate=mechanism.rate, unit=Fraction(unit))
    return DiscreteGaussianLaw(parameter=mechanism.variance, unit=Fraction(unit))


LAWS: Mapping[str, tuple[type[DiscreteLaplaceLaw] | type[DiscreteGaussianLaw], str]] = {
    "discrete_laplace": (DiscreteLaplaceLaw, "rate"),
    "discrete_gaussian": (DiscreteGaussianLaw, "parameter"),
}


def parse_noise_law(stored: Mapping[str, str]) -> NoiseLaw:
    """Return the law that was serialized.

    >>> parse_noise_law({"law": "discrete_laplace", "rate": "1/20", "unit": "1/100"})
    DiscreteLaplaceLaw(rate=Fraction(1, 20), unit=Fraction(1, 100))
    """
    kind, scale = LAWS.get(stored.get("law", ""), (None, ""))
    try:
        if kind is None or set(stored) != {"law", scale, "unit"}:
            raise ValueError
        return kind(**{name: Fraction(stored[name]) for name in (scale, "unit")})
    except (ValueError, ZeroDivisionError, TypeError):
        raise InvalidParameterError(
            f"a stored noise law must be one of {', '.join(LAWS)} with its scale and unit."
        ) from None
