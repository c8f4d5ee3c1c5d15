"""Iterative Bayes: the likeliest distribution behind the reports of any channel, or a smooth one on the way.

Step        Every report is spread over the values by the posterior under the present distribution; the mean
            of these posteriors is the next one [AS00]. The likelihood never falls: these are the steps of
            expectation-maximization [AA01].
Likeliest   `maximum_likelihood` goes on, with extrapolation [VR08], until a certificate holds: the likelihood
            is concave, so ln L(best) - ln L(f) <= n (max over x of the mean of p(x -> y) / p_f(y), minus 1).
Smoothing   `iterative_bayes` starts from the uniform distribution and stops as soon as a step gains less than
            a stated number of nats. It has not found the maximum then: what it leaves near uniform is a bias
            towards smooth distributions, which helps if the truth is smooth and hides peaks if it is not. So
            it is asked for by name, and its result says how many steps were taken.

[AS00]      Agrawal & Srikant, Privacy-Preserving Data Mining.
[AA01]      Agrawal & Aggarwal, On the Design and Quantification of Privacy Preserving Data Mining Algorithms.
[VR08]      Varadhan & Roland, Simple and Globally Convergent Methods for Accelerating the Convergence of any
            EM Algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.core.numbers import require_count, require_positive
from discreet.mechanisms.sampling import Floats, Integers

NEAR_ENOUGH = 0.01  # nats below the best likelihood, where a thousandth of a standard error is at stake
MOST_STEPS = 5_000
GAIN = 0.01

Map = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A matrix as what it does: `forward` from shares of values to those of reports, `back` as its rows."""

    values: int
    forward: Map
    back: Map


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Shares, the steps that led to them, and how many nats at most they fall short of the likeliest."""

    shares: Floats
    steps: int
    short: float


def of_matrix(matrix: Floats) -> Channel:
    """The channel of a matrix that is at hand."""
    return Channel(values=len(matrix), forward=lambda f: f @ matrix, back=lambda w: matrix @ w)


def maximum_likelihood(counts: Integers, channel: Channel, *, most_steps: int = MOST_STEPS) -> Fitted:
    """The likeliest distribution, to within a hundredth of a nat unless `most_steps` ends it first."""
    f, n = np.full(channel.values, 1 / channel.values), float(counts.sum())
    slopes = _slopes(f, counts, channel)
    steps, short = 0, n * (float(slopes.max()) - 1)
    while short > NEAR_ENOUGH and steps < most_steps:
        once = f * slopes
        twice = once * _slopes(once, counts, channel)
        f = _better(_extrapolated(f, once, twice), twice, counts, channel)
        slopes = _slopes(f, counts, channel)
        steps, short = steps + 3, n * (float(slopes.max()) - 1)
    return Fitted(shares=f, steps=steps, short=max(short, 0.0))


def iterative_bayes(
    counts: Integers, channel: Channel, *, gain: float = GAIN, most_steps: int = MOST_STEPS
) -> Fitted:
    """Plain steps from the uniform distribution, until one gains less than `gain` nats: a smoother."""
    require_positive("iterative_bayes", "gain", gain)
    require_count("iterative_bayes", "most_steps", most_steps)
    f, n, steps = np.full(channel.values, 1 / channel.values), float(counts.sum()), 0
    reached, gained = _log_likelihood(f, counts, channel), np.inf
    while gained >= gain and steps < most_steps:
        f = f * _slopes(f, counts, channel)
        now = _log_likelihood(f, counts, channel)
        reached, gained, steps = now, now - reached, steps + 1
    return Fitted(shares=f, steps=steps, short=max(n * (float(_slopes(f, counts, channel).max()) - 1), 0.0))


def _slopes(f: Floats, counts: Integers, channel: Channel) -> Floats:
    """The slope of the mean log-likelihood in every share: 1 at each positive one of the best."""
    expected = channel.forward(f)
    seen = np.divide(counts, expected, out=np.zeros(expected.shape), where=counts > 0)
    return np.asarray(channel.back(seen) / counts.sum())


def _log_likelihood(f: Floats, counts: Integers, channel: Channel) -> float:
    seen = counts > 0
    expected = channel.forward(f)[seen]
    # what an extrapolated step may leave at 0 or below has no likelihood
    if np.any(expected <= 0):
        return -np.inf
    return float(counts[seen] @ np.log(expected))


def _extrapolated(f: Floats, once: Floats, twice: Floats) -> Floats:
    """Along the curve through three successive steps; on the simplex, or else the last of them."""
    first, change = once - f, (twice - once) - (once - f)
    length = float(np.linalg.norm(change))
    if length == 0:
        return twice
    stretch = max(1.0, float(np.linalg.norm(first)) / length)
    ahead = f + 2 * stretch * first + stretch**2 * change
    ahead = np.maximum(ahead, 0.0)
    return np.asarray(ahead / ahead.sum()) if ahead.sum() > 0 else twice


def _better(ahead: Floats, safe: Floats, counts: Integers, channel: Channel) -> Floats:
    """The extrapolation with one step more, unless it is worse than where the plain steps led."""
    if _log_likelihood(ahead, counts, channel) < _log_likelihood(safe, counts, channel):
        ahead = safe
    return ahead * _slopes(ahead, counts, channel)
