"""Information: how much an output reveals about a value, on average and in the worst case.

Definition  With p the prior and p_y the posterior after output y, and t f(t) convex,
            KL^f(p_y || p) = sum over x of p(x) h(p_y(x) / p(x)),  h(t) = t f(t),  h(0) its limit;
            worst-case information I_w^f is its largest value over the possible outputs, and mutual
            information its mean for f = ln (nats) or log2 (bits) [EGS03].
Belief      A property of prior at most rho1 reaches rho2 only if
            rho1 h(rho2 / rho1) + (1 - rho1) h((1 - rho2) / (1 - rho1)) <= I_w^f.
            The left side grows with rho2, so there is a largest rho2. Amplification bounds it as well; the
            smaller of the two is reported.
Under DP    I_w <= K - 1 - ln K nats, K = epsilon / (1 - exp(-epsilon)): about epsilon**2 / 8.
Limits      A small mutual information does not exclude breaches: a rare output that reveals everything
            hardly counts in a mean.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from discreet.belief.breaches import Floats, amplification, require_channel, require_distribution
from discreet.belief.odds import highest_posterior
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import Real, require_nonnegative, require_probability

WeightFunction = Callable[[Floats], Floats]


def mutual_information(channel: ArrayLike, prior: ArrayLike, f: WeightFunction = np.log) -> float:
    """Return the mean of KL^f over the outputs: in nats for `np.log`, in bits for `np.log2`."""
    divergences, weights = _compute_divergences(channel, prior, f)
    return float(divergences @ weights)


def worst_case_information(channel: ArrayLike, prior: ArrayLike, f: WeightFunction = np.log) -> float:
    """Return the largest KL^f over the outputs that can occur.

    >>> worst_case_information([[0.6, 0.4], [0.4, 0.6]], [0.5, 0.5], np.log2)
    0.029...
    """
    return float(_compute_divergences(channel, prior, f)[0].max())


def worst_case_information_for_epsilon(epsilon: Real) -> float:
    """Return the most nats that any output of an epsilon-DP channel reveals about one record.

    >>> worst_case_information_for_epsilon(1)
    0.1233...
    """
    require_nonnegative("worst_case_information_for_epsilon", "epsilon", epsilon)
    e = float(epsilon)
    if e < 1e-5:
        return e * e / 8
    excess = e / -math.expm1(-e) - 1
    return excess - math.log1p(excess)


@refuse_wrong_types
def bound_posterior_from_information(rho1: Real, information: Real, f: WeightFunction = np.log) -> float:
    """Return the largest posterior that a property of prior at most `rho1` can reach, given I_w^f."""
    require_probability("bound_posterior_from_information", "rho1", rho1)
    h = _build_convex_function(f)
    at_zero = _estimate_limit_at_zero(h)
    p = float(rho1)

    def compute_information(rho2: float) -> float:
        ratios = np.array([rho2 / p, (1 - rho2) / (1 - p)])
        return float(np.array([p, 1 - p]) @ _evaluate_at_ratios(h, ratios, at_zero))

    information = float(information)
    if not information >= compute_information(p) - 1e-12:
        raise InvalidParameterError(
            f"`information=` must be at least {compute_information(p):g}; got {information:g}."
        )
    if information >= compute_information(1.0):
        return 1.0
    low, high = p, 1.0
    while high - low > 1e-15 * high and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if compute_information(middle) <= information else (low, middle)
    return high


def bound_posterior(channel: ArrayLike, prior: ArrayLike, rho1: Real, f: WeightFunction = np.log) -> float:
    """Return the smaller of the bounds from worst-case information and from amplification."""
    require_probability("bound_posterior", "rho1", rho1)
    gamma = amplification(channel).overall
    by_amplification = 1.0 if math.isinf(gamma) else highest_posterior(rho1, math.log(gamma))
    return min(
        by_amplification, bound_posterior_from_information(rho1, worst_case_information(channel, prior, f), f)
    )


def _compute_divergences(channel: ArrayLike, prior: ArrayLike, f: WeightFunction) -> tuple[Floats, Floats]:
    """Return KL^f after every possible output, and the probability of each output."""
    matrix = require_channel(channel)
    p = require_distribution("prior", prior, matrix.shape[0])
    h = _build_convex_function(f)
    matrix, p = matrix[p > 0], p[p > 0]
    outputs = p @ matrix
    possible = outputs > 0
    # p_y(x) / p(x) is Pr[x -> y] / Pr[y]
    ratios = matrix[:, possible] / outputs[possible]
    return p @ _evaluate_at_ratios(h, ratios, _estimate_limit_at_zero(h)), outputs[possible]


def _evaluate_at_ratios(h: WeightFunction, ratios: Floats, at_zero: float) -> Floats:
    zero = ratios <= 0
    return np.where(zero, at_zero, h(np.where(zero, 1.0, ratios)))


def _build_convex_function(f: WeightFunction) -> WeightFunction:
    """Return t f(t); raise an error unless it is convex."""

    def multiply_by_ratio(t: Floats) -> Floats:
        return t * np.asarray(f(t), dtype=np.float64)

    t = np.geomspace(1e-6, 1e6, 2001)
    try:
        with np.errstate(all="ignore"):
            values = multiply_by_ratio(t)
    except Exception:
        raise InvalidParameterError(
            "`f=` must be a function of arrays such as numpy.log; this one failed."
        ) from None
    if values.shape != t.shape or not np.all(np.isfinite(values)) or not _is_convex(t, values):
        raise InvalidParameterError(
            "`f=` must make t f(t) finite and convex for t > 0, as numpy.log does; this one does not."
        )
    return multiply_by_ratio


def _is_convex(t: Floats, values: Floats) -> bool:
    """Return whether no value lies above the chord of its neighbors, except by rounding."""
    share = (t[2:] - t[1:-1]) / (t[2:] - t[:-2])
    chord = share * values[:-2] + (1 - share) * values[2:]
    size = np.abs(values)
    return bool(np.all(values[1:-1] - chord <= 1e-12 * (size[:-2] + size[1:-1] + size[2:])))


def _estimate_limit_at_zero(h: WeightFunction) -> float:
    """Return h(0+), finite or infinite for a convex h; still moving at 1e-200 is taken as infinite."""
    with np.errstate(all="ignore"):
        nearer, near = h(np.array([1e-300, 1e-200])).tolist()
    settled = math.isfinite(nearer) and abs(nearer - near) <= 1e-9 * (1 + abs(nearer))
    return float(nearer) if settled else math.inf
