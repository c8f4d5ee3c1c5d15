"""Privacy breaches: the effect of one output of a randomization operator on the belief in a property.

Definition  A channel has Pr[x -> y] in row x and column y; a property Q is a set of values x. There is an
            upward breach rho1 -> rho2 when Pr[Q] <= rho1 and Pr[Q | y] > rho2 for some possible output y; a
            downward breach rho2 -> rho1 when Pr[Q] >= rho2 and Pr[Q | y] < rho1. Both are strict, so that a
            mechanism that exactly attains its promise keeps it.
Belief      The amplification of y is max_x Pr[x -> y] / min_x Pr[x -> y]. If it is at most
            gamma(rho1, rho2), then y breaches no property, upward or downward, under any prior [EGS03].

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.argument_types import require_floats
from discreet.core.errors import require_parameter
from discreet.core.number_checks import Real, require_probability

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDING = 1e-9  # of rows and priors that were typed or computed in floats
ENUMERABLE = 16  # values, so at most 65,536 properties


@dataclass(frozen=True, kw_only=True)
class Amplification:
    """The ratio between the likeliest and the unlikeliest cause of each output, and the largest of them."""

    per_output: tuple[float, ...]
    overall: float


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One output after which the belief in a property is higher, or lower, than allowed."""

    output: int
    prior: float
    posterior: float


@dataclass(frozen=True, kw_only=True)
class WorstProperty:
    """The property within a prior bound that one output makes most believed.

    No property within the bound exceeds `limit`. Up to 16 values, `limit` is the posterior itself; above
    that, the property is the best one found by taking likely values first.
    """

    values: tuple[int, ...]
    output: int
    prior: float
    posterior: float
    limit: float


def amplification(channel: ArrayLike) -> Amplification:
    """Return gamma of every output; infinite where an output rules a value out, 1 where it cannot occur.

    >>> amplification([[0.75, 0.25], [0.25, 0.75]]).overall
    3.0
    """
    matrix = require_channel(channel)
    most, least = matrix.max(axis=0), matrix.min(axis=0)
    ratios = np.divide(most, least, out=np.full(most.shape, math.inf), where=least > 0)
    ratios[most == 0] = 1.0
    return Amplification(per_output=tuple(ratios.tolist()), overall=float(ratios.max()))


def compute_posteriors(channel: ArrayLike, prior: ArrayLike, has_property: Sequence[bool] | Mask) -> Floats:
    """Return Pr[Q | y] for every output y, NaN where y cannot occur. `has_property` marks the values in Q."""
    matrix, p, mask = _check_inputs(channel, prior, has_property)
    joint = p[:, None] * matrix
    total = joint.sum(axis=0)
    hit = joint[mask].sum(axis=0)
    missed = joint[~mask].sum(axis=0)
    # hit / (hit + missed), not hit / total: rounding must not lift a certain property above 1
    after: Floats = np.divide(hit, hit + missed, out=np.full(total.shape, math.nan), where=total > 0)
    return after


def find_upward_breaches(
    channel: ArrayLike, prior: ArrayLike, has_property: Sequence[bool] | Mask, rho1: Real, rho2: Real
) -> tuple[Breach, ...]:
    """Return every output that raises a property of prior at most `rho1` above `rho2`."""
    before, after = _compute_beliefs(channel, prior, has_property, rho1, rho2)
    if before > rho1:
        return ()
    return tuple(
        Breach(output=y, prior=before, posterior=float(after[y]))
        for y in np.flatnonzero(after > float(rho2)).tolist()
    )


def find_downward_breaches(
    channel: ArrayLike, prior: ArrayLike, has_property: Sequence[bool] | Mask, rho1: Real, rho2: Real
) -> tuple[Breach, ...]:
    """Return every output that lowers a property of prior at least `rho2` below `rho1`."""
    before, after = _compute_beliefs(channel, prior, has_property, rho1, rho2)
    if before < rho2:
        return ()
    return tuple(
        Breach(output=y, prior=before, posterior=float(after[y]))
        for y in np.flatnonzero(after < float(rho1)).tolist()
    )


def find_worst_property(channel: ArrayLike, prior: ArrayLike, rho1: Real) -> WorstProperty | None:
    """Return the property of prior at most `rho1` with the highest posterior, after its worst output.

    Its complement is the worst one downward, from at least 1 - rho1. None if every value has a larger prior.
    """
    require_probability("find_worst_property", "rho1", rho1)
    matrix, p = require_channel(channel), require_distribution("prior", prior, len(np.asarray(channel)))
    bound = float(rho1) * (1 + ROUNDING)
    if not np.any((p > 0) & (p <= bound)):
        return None
    search = _search_by_enumeration if p.size <= ENUMERABLE else _search_by_likelihood
    possible = np.flatnonzero(p @ matrix > 0)
    found = [search(matrix[:, y], p, bound, y) for y in possible.tolist()]
    best = max(found, key=lambda each: each.posterior)
    limit = max(each.limit for each in found)
    return WorstProperty(
        values=best.values, output=best.output, prior=best.prior, posterior=best.posterior, limit=limit
    )


def require_channel(channel: ArrayLike) -> Floats:
    """Return the channel as a matrix; raise an error unless its rows are distributions."""
    matrix = require_floats("channel", channel)
    require_parameter(
        matrix.ndim == 2 and matrix.size > 0, "", "channel", f"shape {matrix.shape}", "a matrix"
    )
    holds = bool(np.all(matrix >= 0) and np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=ROUNDING))
    require_parameter(holds, "", "channel", "another matrix", "rows of probabilities that sum to 1")
    return matrix


def require_distribution(name: str, values: ArrayLike, size: int) -> Floats:
    """Return `size` probabilities; raise an error unless they sum to 1."""
    p = require_floats(name, values)
    require_parameter(
        p.shape == (size,), "", name, f"shape {p.shape}", f"{size} probabilities, one for each value"
    )
    holds = bool(np.all(p >= 0) and abs(float(p.sum()) - 1) <= ROUNDING)
    require_parameter(holds, "", name, f"a sum of {float(p.sum()):g}", "probabilities that sum to 1")
    return p


def _check_inputs(
    channel: ArrayLike, prior: ArrayLike, has_property: Sequence[bool] | Mask
) -> tuple[Floats, Floats, Mask]:
    matrix = require_channel(channel)
    p = require_distribution("prior", prior, matrix.shape[0])
    mask = np.asarray(has_property)
    fits = mask.shape == p.shape and mask.dtype == np.bool_
    require_parameter(
        fits, "", "has_property", f"shape {mask.shape}", f"{p.size} booleans, one for each value"
    )
    return matrix, p, mask


def _compute_beliefs(
    channel: ArrayLike, prior: ArrayLike, has_property: Sequence[bool] | Mask, rho1: Real, rho2: Real
) -> tuple[float, Floats]:
    """Return Pr[Q], and Pr[Q | y] for every y."""
    require_probability("", "rho1", rho1)
    require_probability("", "rho2", rho2)
    require_parameter(rho1 < rho2, "", "rho2", rho2, f"above rho1, which is {rho1}")
    _, p, mask = _check_inputs(channel, prior, has_property)
    return float(p[mask].sum()), compute_posteriors(channel, prior, has_property)


def _search_by_enumeration(likelihood: Floats, p: Floats, bound: float, output: int) -> WorstProperty:
    """Search all properties: the sums over subset i + 2**k are those over subset i and value k."""
    weight, hit = np.zeros(1), np.zeros(1)
    for each, joint in zip(p, p * likelihood, strict=True):
        weight, hit = np.concatenate([weight, weight + each]), np.concatenate([hit, hit + joint])
    best = int(np.argmax(np.where(weight <= bound, hit, -1.0)))
    values = tuple(k for k in range(p.size) if best >> k & 1 and p[k] > 0)
    found = float(hit[best] / hit[-1])
    return WorstProperty(
        values=values, output=output, prior=float(weight[best]), posterior=found, limit=found
    )


def _search_by_likelihood(likelihood: Floats, p: Floats, bound: float, output: int) -> WorstProperty:
    """Take likely values first; `limit` counts the first value that does not fit in part."""
    joint, left, values = p * likelihood, bound, []
    relaxed, room = 0.0, bound
    for k in np.argsort(-likelihood, kind="stable").tolist():
        if 0 < p[k] <= left:
            values.append(k)
            left -= p[k]
        relaxed += joint[k] * min(1.0, room / p[k]) if p[k] > 0 else 0.0
        room = max(0.0, room - p[k])
    return WorstProperty(
        values=tuple(sorted(values)),
        output=output,
        prior=float(p[values].sum()),
        posterior=float(joint[values].sum() / joint.sum()),
        limit=min(1.0, float(relaxed / joint.sum())),
    )
