"""Mechanisms for real numbers on a declared grid, which round first and then add integer noise.

A value becomes the nearest multiple of `resolution`, and from there on a number of steps. The noise is that
of the mechanism on the steps, whose guarantee holds: the output is an integer times a constant.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from numbers import Rational
from typing import Protocol

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import require_nonnegative, require_probability
from discreet.core.randomness import Randomness


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
