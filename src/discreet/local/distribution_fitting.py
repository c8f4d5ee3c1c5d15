"""Distributions fitted to counts of reports: water-filling, iterative Bayes and maximum likelihood.

Filling     the exact maximum-likelihood distribution where counts c_i have probabilities proportional to
            f_i + floor: f_i = max(0, c_i / mu - floor), with mu such that they sum to 1. By the conditions of
            Karush, Kuhn and Tucker: the likelihood's slope is c_i / (f_i + floor), equal (mu) at all shares
            above 0, and no larger at the others. Sorted counts give mu in closed form: water-filling.

Iterative Bayes: a distribution fitted to the reports of any channel, smoother the earlier it stops.

Step        Every report is spread over the values by the posterior under the present distribution; the mean
            of these posteriors is the next one [AS00]. The likelihood never falls: these are the steps of
            expectation-maximization [AA01].
Stopping    It starts from the uniform distribution and ends when a step gains less than a given number of
            nats. It has not reached the likeliest distribution then, and is far from it for noisy channels:
            the remainder is a bias toward smooth distributions, which helps if the truth is smooth and hides
            peaks if it is not. So callers choose it explicitly, and it reports how far it went.
Deficit     The likelihood is concave, so ln L(best) - ln L(f) <= n (max over x of the mean over the reports
            of p(x -> y) / p_f(y), minus 1): a bound on the nats that are missing to the likeliest.

Maximum likelihood: the distribution that makes the counts of any matrix most likely, with a certificate.

Problem     Minimize F(f) = - sum over y of c_y / n ln (f P)_y + sum over x of f_x, f >= 0. The second sum
            replaces the constraint that shares sum to 1: scaling f shows that the minimum satisfies it.
Method      Primal-dual Newton steps: with slopes z of F, f_x z_x = mu at every x, mu falling to 0. A step
            solves one positive definite system of the size of the domain; some twenty suffice, where
            iterative Bayes would need thousands for a noisy matrix.
Certificate The deficit of the result, in nats; steps continue until it is below 0.01.

[AS00]      Agrawal & Srikant, Privacy-Preserving Data Mining.
[AA01]      Agrawal & Aggarwal, On the Design and Quantification of Privacy Preserving Data Mining Algorithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.core.number_checks import require_count, require_positive
from discreet.mechanisms.sampling import Floats, Integers


def fit_by_water_filling(counts: Integers, floor: float) -> Floats:
    """Return the likeliest distribution if a count's probability is proportional to its share plus `floor`.

    >>> fit_by_water_filling(np.array([60, 30, 10]), 0.25)
    array([0.75, 0.25, 0.  ])
    """
    ordered = np.sort(counts)[::-1].astype(np.float64)
    slopes = np.cumsum(ordered) / (1 + floor * np.arange(1, counts.size + 1))
    mu = slopes[np.flatnonzero(ordered > floor * slopes)[-1]]
    return np.asarray(np.maximum(counts / mu - floor, 0.0))


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
    require_positive("fit_iterative_bayes", "gain", gain)
    require_count("fit_iterative_bayes", "most_steps", most_steps)
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


MAX_DEFICIT = 0.01  # nats: a seventh of a standard error in any direction
MAX_NEWTON_STEPS = 200
CENTERING = 0.1
BOUNDARY_SHARE = 0.995


def fit_maximum_likelihood(counts: Integers, matrix: Floats) -> FittedShares:
    """Fit the likeliest distribution, to within a hundredth of a nat."""
    channel, n = channel_from_matrix(matrix), float(counts.sum())
    seen = counts > 0
    weights, columns = counts[seen] / n, matrix[:, seen]
    shares = np.full(len(matrix), 1 / len(matrix))
    dual, steps = np.ones(len(matrix)), 0
    deficit = bound_deficit(compute_slopes(shares @ matrix, counts, channel), counts)
    while deficit > MAX_DEFICIT and steps < MAX_NEWTON_STEPS:
        shares, dual = _take_newton_step(shares, dual, weights, columns)
        steps += 1
        candidate = shares / shares.sum()
        deficit = bound_deficit(compute_slopes(candidate @ matrix, counts, channel), counts)
    return FittedShares(shares=shares / shares.sum(), steps=steps, deficit=deficit)


def _take_newton_step(
    shares: Floats, dual: Floats, weights: Floats, columns: Floats
) -> tuple[Floats, Floats]:
    """Return shares and dual after one Newton step toward f z = mu, shortened to keep both positive."""
    expected = shares @ columns
    gradient = 1 - columns @ (weights / expected)
    scaled = columns * (np.sqrt(weights) / expected)
    mu = CENTERING * float(shares @ dual) / shares.size
    system = scaled @ scaled.T
    system[np.diag_indices(shares.size)] += dual / shares
    move = cho_solve(cho_factor(system, check_finite=False), mu / shares - gradient, check_finite=False)
    turn = mu / shares - dual - dual / shares * move
    return shares + _compute_step_length(shares, move) * move, dual + _compute_step_length(dual, turn) * turn


def _compute_step_length(vector: Floats, move: Floats) -> float:
    """Return the longest step, up to 1, that keeps every entry positive."""
    falling = move < 0
    return min(1.0, BOUNDARY_SHARE * float((-vector[falling] / move[falling]).min(initial=np.inf)))
