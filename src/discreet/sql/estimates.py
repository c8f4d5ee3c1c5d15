"""From released primitives to the numbers that were asked for, with intervals.

An interval covers the clamped and bounded quantity with at least the stated confidence, for each group by
itself; it does not hold what clamping and bounding changed. Where a number is made of several primitives, the
allowed misses are shared among them, and the interval holds every value that primitives within their own
intervals could give.

Weights     Where rows weigh, counts and sums come in parts of one. They are shown as what they are of, whole
            if that is whole, and so up to a half from the middle of their interval.
Negative    A noisy count may be negative, and stays so in whatever is computed from it: the sum of counts
            that were clipped is too high by all that was clipped. `sql.answer` clips what is shown, last of
            all. Its interval is that of the count as it is shown, and so at least as wide on the upper side
            as the noise: cut off on both sides, a count far below 0 would be shown as 0 ± 0.
Few rows    A mean needs a row, a variance two. Where the count's interval does not leave out that there are
            fewer, the value cannot be told: it is NaN, and its interval all that the range allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.sampling import Integers
from discreet.sql.primitives import Grid

Floats = NDArray[np.float64]
Noise = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Values and intervals of one measure over all groups; NaN is "cannot be told"."""

    values: NDArray[Any]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]


class Uncertain(Protocol):
    """How far numbers may be off."""

    def half_width(self, confidence: float) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Released:
    """One primitive as it left: its numbers, in parts of one, and the noise that is in them."""

    numbers: Integers
    noise: Uncertain
    parts: int = 1

    @property
    def values(self) -> Floats:
        """In floating point: wide noise goes beyond 64 bits."""
        return self.numbers.astype(np.float64) / self.parts

    @property
    def nearest(self) -> Integers:
        """The whole numbers next to them; of numbers at the end of 64 bits, twice as much would not fit.

        A half goes to the even one: always upwards, many of them would add up.
        """
        whole, rest = self.numbers // self.parts, 2 * (self.numbers % self.parts)
        return np.asarray(whole + ((rest > self.parts) | ((rest == self.parts) & (whole % 2 == 1))))

    def within(self, confidence: float) -> tuple[Floats, Floats]:
        half = float(self.noise.half_width(confidence)) / self.parts
        return self.values - half, self.values + half


def each(confidence: float, parts: int) -> float:
    """What each of several intervals must hold with, so that all hold together with `confidence`."""
    return 1 - (1 - confidence) / parts


def count(primitive: Released, confidence: float, *, raw: bool = False) -> Estimate:
    """A count: whole; its interval is not negative unless asked `raw`."""
    low, high = primitive.within(confidence)
    if not raw:
        low, high = np.maximum(low, 0), high + np.maximum(-primitive.values, 0)
    return Estimate(values=primitive.nearest, low=low, high=high)


def total(primitive: Released, unit: Fraction, confidence: float) -> Estimate:
    """A sum of whole steps."""
    low, high = primitive.within(confidence)
    scale = float(unit)
    values = primitive.nearest if unit == 1 else primitive.values * scale
    return Estimate(values=values, low=low * scale, high=high * scale)


def total_of_mean(centred: Released, rows: Released, on: Grid, confidence: float) -> Estimate:
    """A sum from the centred sum and the count: (S + (low + high) N) / 2 steps; linear, so unbiased."""
    half, middle = float(on.step) / 2, float(on.low + on.high)
    s_low, s_high = centred.within(each(confidence, 2))
    n_low, n_high = rows.within(each(confidence, 2))
    ends = [middle * n_low, middle * n_high]
    return Estimate(
        values=(centred.values + middle * rows.values) * half,
        low=(s_low + np.minimum(*ends)) * half,
        high=(s_high + np.maximum(*ends)) * half,
    )


def mean(centred: Released, rows: Released | int, on: Grid, confidence: float) -> Estimate:
    """A mean, (low + high) / 2 + S / (2 N) steps; where there may be no rows, it cannot be told.

    With S within h, N within k, N > k, and range w of S / N, the interval reaches no further from the value
    than (h + w k) / (N - k) in half steps. For |S / N| <= w its upper end is at most max(
    (S + h) / (N - k), (S + h) / (N + k)), which is above S / N by (h + k S / N) / (N - k) if S + h >= 0, and
    by (h - k S / N) / (N + k) else. Where S / N is beyond w, value and one end are both cut off at w, and the
    other end is no further from there than if S were w N. The lower end is the same mirrored.
    """
    if isinstance(rows, int):
        n = n_low = n_high = np.full(centred.values.shape, rows, np.float64)
        s_low, s_high = centred.within(confidence)
    else:
        n = rows.values
        n_low, n_high = (np.maximum(end, 0) for end in rows.within(each(confidence, 2)))
        s_low, s_high = centred.within(each(confidence, 2))
    values = _on_range(_ratio(centred.values, n), on)
    low = _on_range(np.fmin(_ratio(s_low, n_low), _ratio(s_low, n_high)), on)
    high = _on_range(np.fmax(_ratio(s_high, n_low), _ratio(s_high, n_high)), on)
    unknown = (n_low < 1) | np.isnan(values)
    bottom, top = float(on.low * on.step), float(on.high * on.step)
    return Estimate(
        values=np.where(unknown, np.nan, values),
        low=np.where(unknown, bottom, low),
        high=np.where(unknown, top, high),
    )


def variance(
    parts: tuple[Released, ...], on: Grid, confidence: float, *, sample: bool, root: bool
) -> Estimate:
    """E[y**2] - E[y]**2 for centred y in half steps, from three primitives."""
    centred, rows, squares = parts
    w2 = float(on.width) ** 2
    n_low, n_high = (np.maximum(end, 0) for end in rows.within(each(confidence, 3)))
    n = np.maximum(rows.values, 0)
    share = each(confidence, 3)
    s_low, s_high = centred.within(share)
    q_low, q_high = squares.within(share)
    value = _spread(centred.values, squares.values, n, w2)
    means = [_ratio(s, m) for s in (s_low, s_high) for m in (n_low, n_high)]
    second = [_clipped((_ratio(q, m) + w2) / 2, 0, w2) for q in (q_low, q_high) for m in (n_low, n_high)]
    largest = np.fmax.reduce([np.abs(m) for m in means])
    crosses = (np.sign(s_low) != np.sign(s_high)) | (n_low < 1)
    smallest = np.where(crosses, 0.0, np.fmin.reduce([np.abs(m) for m in means]))
    low = _clipped(np.fmin.reduce(second) - largest**2, 0, w2)
    high = _clipped(np.fmax.reduce(second) - smallest**2, 0, w2)
    if sample:
        value, low, high = value * _bessel(n), low * _bessel(n_high), high * _bessel(n_low)
    most = w2 / 4 * (2 if sample else 1)
    unknown = n_low < 2
    scale = float(on.step) ** 2 / 4
    ends = [
        np.where(unknown, np.nan, value),
        np.where(unknown, 0.0, low),
        np.where(unknown, 4 * most, high),
    ]
    shown = [np.sqrt(end * scale) if root else end * scale for end in ends]
    return Estimate(values=shown[0], low=shown[1], high=np.minimum(shown[2], _most(on, sample, root)))


def _spread(s: Floats, q: Floats, n: Floats, w2: float) -> Floats:
    first, second = _ratio(s, n), _clipped((_ratio(q, n) + w2) / 2, 0, w2)
    return _clipped(second - first**2, 0, w2)


def _most(on: Grid, sample: bool, root: bool) -> float:
    """The largest variance that values in the range can have: half of them at each end."""
    width = float(on.width * on.step)
    largest = width**2 / 4 * (2 if sample else 1)
    return float(np.sqrt(largest)) if root else largest


def _bessel(n: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, n / (n - 1), np.nan)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)


def _clipped(values: Floats, low: float, high: float) -> Floats:
    return np.clip(values, low, high)


def _on_range(above_middle: Floats, on: Grid) -> Floats:
    """From centred half steps to values, within the declared range."""
    values = (above_middle + (on.low + on.high)) / 2 * float(on.step)
    return np.clip(values, float(on.low * on.step), float(on.high * on.step))
