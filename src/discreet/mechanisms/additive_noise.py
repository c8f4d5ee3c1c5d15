"""Helpers of mechanisms that add integer noise: sums that cannot overflow, exact interval widths.

Mechanisms for real numbers on a declared grid, which round first and then add integer noise.

A value becomes the nearest multiple of `resolution`, and from there on a number of steps. The noise is that
of the mechanism on the steps, whose guarantee holds: the output is an integer times a constant.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Rational
from typing import Protocol

import numpy as np

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import require_nonnegative, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import LARGEST, Integers


def add_noise(values: Integers, noise: Integers) -> Integers:
    """Return values + noise without overflow.

    Sums beyond 64 bits are moved to the end of the range, which is post-processing.
    """
    within = values.min(initial=0) > -LARGEST and values.max(initial=0) < LARGEST
    if within and noise.dtype != object:
        return values + noise
    total = values.astype(object) + noise.astype(object)
    ends = np.iinfo(np.int64)
    return np.asarray(np.clip(total, int(ends.min), int(ends.max)), dtype=np.int64)


def find_least_integer(is_enough: Callable[[int], bool], estimate: int) -> int:
    """Return the least integer of at least 0 from which `is_enough` holds.

    The search starts at a float's `estimate`, in steps that double, and then bisects: for wide noise the
    estimate is off by as much as it is large.
    """
    low, high, step = -1, max(estimate, 0), 1
    while not is_enough(high):
        low, high, step = high, high + step, 2 * step
    step = 1
    while high - step > low and is_enough(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def require_integer(owner: object, value: Exact[int]) -> int:
    """Return the integer inside; only its type can be wrong, so the error reveals nothing about its value."""
    secret = value.secret
    fits = isinstance(secret, Integral) and not isinstance(secret, bool)
    require_parameter(fits, owner, "value", f"a {type(secret).__name__}", "an integer")
    return int(secret)


def require_integer_column(owner: object, values: Exact[Integers]) -> Integers:
    """Return the integers inside: a one-dimensional array, so that every one gets noise of its own."""
    secret = values.secret
    fits = isinstance(secret, np.ndarray) and secret.ndim == 1 and secret.dtype == np.int64
    require_parameter(fits, owner, "values", f"a {type(secret).__name__}", "a one-dimensional array of int64")
    return secret


class IntegerMechanism(Protocol):
    """A mechanism for integers."""

    @property
    def guarantee(self) -> Guarantee: ...

    def beta(self, alpha: float) -> float: ...

    def half_width(self, confidence: float) -> int: ...

    def release(self, value: Exact[int], random: Randomness) -> Released[int]: ...


class GridMechanism(Protocol):
    """A mechanism for real numbers by one on the grid; subclasses define the members without a body."""

    resolution: Fraction

    @property
    @abstractmethod
    def integer_mechanism(self) -> IntegerMechanism:
        """The mechanism on grid steps."""

    @abstractmethod
    def density(self, x: float) -> float:
        """Return the density of the continuous law that the grid approximates."""

    def likelihood(self, output: float, truth: float) -> float:
        """Return a number proportional to Pr[M(D) = output] where q(D) = truth, for numbers on the grid."""
        return self.density(output - truth)

    def beta(self, alpha: float) -> float:
        """Return an upper bound on Pr[|error| > alpha], rounding included."""
        require_nonnegative(self, "alpha", alpha)
        steps = Fraction(alpha) / self.resolution - Fraction(1, 2)
        return self.integer_mechanism.beta(float(steps)) if steps >= 0 else 1.0

    def half_width(self, confidence: float) -> float:
        """Return the h for which answer ± h covers the value with at least `confidence`."""
        require_probability(self, "confidence", confidence)
        # half a step more, for the rounding to the grid
        return float((self.integer_mechanism.half_width(confidence) + Fraction(1, 2)) * self.resolution)

    def release(self, value: Exact[Fraction], random: Randomness) -> Released[Fraction]:
        released = self.integer_mechanism.release(round_to_grid(self, value, self.resolution), random)
        return Released(released.value * self.resolution, released.guarantee)


def round_to_grid(owner: object, value: Exact[Fraction], resolution: Fraction) -> Exact[int]:
    """Return the nearest multiple of `resolution`, in steps; halves are rounded up for every value."""
    secret = value.secret
    fits = isinstance(secret, Rational) and not isinstance(secret, bool)
    require_parameter(fits, owner, "value", f"a {type(secret).__name__}", "an integer or a fraction")
    # NumPy's integers would stay such inside a fraction, and wrap around
    exact = Fraction(int(secret.numerator), int(secret.denominator))
    return Exact(math.floor(exact / resolution + Fraction(1, 2)))
