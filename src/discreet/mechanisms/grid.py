"""Real numbers on a declared grid: what mechanisms share that round first and then add integer noise.

A value becomes the nearest multiple of `resolution`, and is a number of steps from there on. The noise is
that of the mechanism on the steps, whose guarantee holds: what is released is an integer times a constant.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from numbers import Rational
from typing import Protocol

from discreet.core.errors import require
from discreet.core.guarantees import Guarantee
from discreet.core.numbers import require_nonnegative, require_probability
from discreet.core.randomness import Randomness
from discreet.core.values import Exact, Released


class Steps(Protocol):
    """A mechanism for integers."""

    @property
    def guarantee(self) -> Guarantee: ...

    def beta(self, alpha: float) -> float: ...

    def half_width(self, confidence: float) -> int: ...

    def release(self, value: Exact[int], random: Randomness) -> Released[int]: ...


class OnGrid(Protocol):
    """A mechanism for real numbers by one on the grid; what stands without a body is what it must bring."""

    resolution: Fraction

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """The mechanism on the grid."""

    @abstractmethod
    def density(self, x: float) -> float:
        """The continuous law that the grid refines to."""

    def likelihood(self, output: float, truth: float) -> float:
        """Proportional to Pr[M(D) = output] where q(D) = truth, for numbers on the grid."""
        return self.density(output - truth)

    def beta(self, alpha: float) -> float:
        """At least Pr[|error| > alpha], the rounding included."""
        require_nonnegative(self, "alpha", alpha)
        steps = Fraction(alpha) / self.resolution - Fraction(1, 2)
        return self.steps.beta(float(steps)) if steps >= 0 else 1.0

    def half_width(self, confidence: float) -> float:
        """answer ± this covers the value with at least `confidence`, the rounding included."""
        require_probability(self, "confidence", confidence)
        return float((self.steps.half_width(confidence) + Fraction(1, 2)) * self.resolution)

    def release(self, value: Exact[Fraction], random: Randomness) -> Released[Fraction]:
        released = self.steps.release(to_grid(self, value, self.resolution), random)
        return Released(released.value * self.resolution, released.guarantee)


def to_grid(owner: object, value: Exact[Fraction], resolution: Fraction) -> Exact[int]:
    """The nearest multiple of `resolution`, in steps; halves go up, the same way for every value."""
    secret = value.secret
    fits = isinstance(secret, Rational) and not isinstance(secret, bool)
    require(fits, owner, "value", f"a {type(secret).__name__}", "an integer or a fraction")
    # NumPy's integers would stay such inside a fraction, and wrap around
    exact = Fraction(int(secret.numerator), int(secret.denominator))
    return Exact(math.floor(exact / resolution + Fraction(1, 2)))
