"""Iterative Bayes: a distribution fitted to the reports of any channel, smoother the earlier it stops.

Step        Every report is spread over the values by the posterior under the present distribution; the mean
            of these posteriors is the next one [AS00]. The likelihood never falls: these are the steps of
            expectation-maximization [AA01].
Stopping    It starts from the uniform distribution and ends when a step gains less than a given number of
            nats. It has not reached the likeliest distribution then, and is far from it for noisy channels:
            the remainder is a bias toward smooth distributions, which helps if the truth is smooth and hides
            peaks if it is not. So callers choose it explicitly, and it reports how far it went.
Deficit     The likelihood is concave, so ln L(best) - ln L(f) <= n (max over x of the mean over the reports
            of p(x -> y) / p_f(y), minus 1): a bound on the nats that are missing to the likeliest.

[AS00]      Agrawal & Srikant, Privacy-Preserving Data Mining.
[AA01]      Agrawal & Aggarwal, On the Design and Quantification of Privacy Preserving Data Mining Algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.core.number_checks import require_count, require_positive
from discreet.mechanisms.sampling import Floats, Integers

MAX_STEPS = 10_000
MIN_GAIN = 1e-3

LinearMap = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A matrix as two linear maps: `forward` from value shares to report shares, `backward` its transpose."""

    values: int
    forward: LinearMap
    backward: LinearMap


@dataclass(frozen=True, kw_only=True)
class FittedShares:
    """Shares, the steps taken, and a bound on the nats by which they fall short of the likeliest."""

    shares: Floats
    steps: int
    deficit: float


def channel_from_matrix(matrix: Floats) -> Channel:
    """Return the channel of an explicit matrix."""
    return Channel(values=len(matrix), forward=lambda f: f @ matrix, backward=lambda w: matrix @ w)


def fit_iterative_bayes(
    counts: Integers, channel: Channel, *, gain: float = MIN_GAIN, most_steps: int = MAX_STEPS
) -> FittedShares:
    """Fit shares by steps from the uniform distribution, until one gains less than `gain` nats."""
    require_positive("iterative_bayes", "gain", gain)
    require_count("iterative_bayes", "most_steps", most_steps)
    shares, steps, gained = np.full(channel.values, 1 / channel.values), 0, np.inf
    expected = channel.forward(shares)
    while gained >= gain and steps < most_steps:
        before = expected
        shares = shares * compute_slopes(expected, counts, channel)
        expected, steps = channel.forward(shares), steps + 1
        gained = _compute_gain(before, expected, counts)
    return FittedShares(
        shares=shares, steps=steps, deficit=bound_deficit(compute_slopes(expected, counts, channel), counts)
    )


def compute_slopes(expected: Floats, counts: Integers, channel: Channel) -> Floats:
    """Return the slope of the mean log-likelihood in every share; 1 at the positive shares of the optimum."""
    ratios = np.divide(counts, expected, out=np.zeros(expected.shape), where=counts > 0)
    return np.asarray(channel.backward(ratios) / counts.sum())


def bound_deficit(slopes: Floats, counts: Integers) -> float:
    """Return a bound on the nats by which the maximum exceeds the likelihood with these slopes."""
    return max(0.0, float(counts.sum() * (slopes.max() - 1)))


def _compute_gain(before: Floats, after: Floats, counts: Integers) -> float:
    seen = counts > 0
    return float(counts[seen] @ np.log(after[seen] / before[seen]))
