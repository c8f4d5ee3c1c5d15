"""The law of the loss under each guarantee: the position of its mass, before it is put on a grid.

Between grid points a continuous law is given cell by cell: a cell with probability p in one world and q in
the other is placed at the loss ln(p / q), which lies in the cell, so that the grid keeps p and q.

(epsilon, delta)    randomized response with a leak of delta: epsilon or -epsilon          [KOV15] Laplace
epsilon with probability 1/2, -epsilon with exp(-epsilon) / 2, else in between Gaussian            normal with
mean mu**2 / 2 and standard deviation mu discrete Gaussian   (2 z shift + shift**2) / (2 variance) at the
noise z

[KOV15]     Kairouz, Oh & Viswanath, The Composition Theorem for Differential Privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    Guarantee,
    LaplaceDP,
    PureDP,
)

SPREAD = 10.0
"""Standard deviations of a normal loss that are kept: 8e-24 lies above and counts as leaked."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LossLaw:
    """Mass `masses[i]` at `losses[i]`, and `leak` at infinity."""

    losses: Floats
    masses: Floats
    leak: float = 0.0


def find_largest_loss(guarantee: Guarantee) -> float | None:
    """Return the largest finite |loss|, or None for a guarantee that determines no law."""
    match guarantee:
        case PureDP(epsilon=e) | LaplaceDP(epsilon=e) | ApproximateDP(epsilon=e):
            return float(e)
        case GaussianDP(mu=mu):
            return float(mu) * (SPREAD + float(mu) / 2)
        case DiscreteGaussianDP(variance=variance, shift=shift):
            return (mu := shift / math.sqrt(variance)) * (SPREAD + mu)
    return None


def build_loss_law(guarantee: Guarantee, interval: float) -> LossLaw:
    """Return the loss of the worst release that keeps `guarantee`; cells are as wide as `interval`."""
    match guarantee:
        case PureDP(epsilon=e):
            return _build_randomized_response_law(float(e), 0.0)
        case ApproximateDP(epsilon=e, delta=delta):
            return _build_randomized_response_law(float(e), float(delta))
        case LaplaceDP(epsilon=e):
            return _build_laplace_law(float(e), interval)
        case GaussianDP(mu=mu) if mu > 0:
            return _build_gaussian_law(float(mu), interval)
        case DiscreteGaussianDP():
            return _build_discrete_gaussian_law(guarantee)
    return LossLaw(losses=np.zeros(1), masses=np.ones(1))


def _build_randomized_response_law(epsilon: float, delta: float) -> LossLaw:
    true = 1 / (1 + math.exp(-epsilon))
    masses = (1 - delta) * np.array([true, math.exp(-epsilon) * true])
    return LossLaw(losses=np.array([epsilon, -epsilon]), masses=masses, leak=delta)


def _build_laplace_law(epsilon: float, interval: float) -> LossLaw:
    edges = _compute_edges(-epsilon, epsilon, interval)
    here = np.exp((edges[:-1] - epsilon) / 2) * np.expm1(np.diff(edges) / 2) / 2
    there = np.exp((-edges[1:] - epsilon) / 2) * np.expm1(np.diff(edges) / 2) / 2
    ends = np.array([0.5, math.exp(-epsilon) / 2])
    between = _compute_cell_losses(edges, here, there)
    return LossLaw(losses=np.append(between, [epsilon, -epsilon]), masses=np.append(here, ends))


def _build_gaussian_law(mu: float, interval: float) -> LossLaw:
    middle = mu**2 / 2
    edges = _compute_edges(-middle - SPREAD * mu, middle + SPREAD * mu, interval)
    here, there = _compute_normal_masses(edges, middle, mu), _compute_normal_masses(edges, -middle, mu)
    losses = _compute_cell_losses(edges, here, there)
    # mass below the first edge is moved up to it, which is pessimistic
    below = float(scipy.special.ndtr((edges[0] - middle) / mu))
    return LossLaw(
        losses=np.append(losses, edges[0]),
        masses=np.append(here, below),
        leak=float(scipy.special.ndtr((middle - edges[-1]) / mu)),
    )


def _build_discrete_gaussian_law(guarantee: DiscreteGaussianDP) -> LossLaw:
    variance, shift = float(guarantee.variance), guarantee.shift
    furthest = math.ceil(40 * math.sqrt(variance))
    z = np.arange(-furthest, furthest + 1, dtype=np.float64)
    masses = np.exp(-(z**2) / (2 * variance))
    kept = np.abs(z) <= SPREAD * math.sqrt(variance) + 1
    total = float(masses.sum())
    low, high = z[kept][0], z[kept][-1]
    masses /= total
    law = masses[kept].copy()
    law[0] += masses[z < low].sum()
    return LossLaw(
        losses=(2 * z[kept] * shift + shift**2) / (2 * variance),
        masses=law,
        leak=float(masses[z > high].sum()),
    )


def _compute_edges(low: float, high: float, interval: float) -> Floats:
    """Return `low`, the grid points in between, and `high`."""
    inside = np.arange(math.floor(low / interval) + 1, math.ceil(high / interval)) * interval
    return np.concatenate(([low], inside[(inside > low) & (inside < high)], [high]))


def _compute_normal_masses(edges: Floats, mean: float, deviation: float) -> Floats:
    """Return the mass of each cell, from the tails that are nearer to its edges."""
    z = (edges - mean) / deviation
    beyond = scipy.special.ndtr(-np.abs(z))
    between = np.abs(np.diff(beyond))
    middle = np.flatnonzero((z[:-1] < 0) & (z[1:] > 0))
    between[middle] = 1 - beyond[middle] - beyond[middle + 1]
    return np.asarray(between, dtype=np.float64)


def _compute_cell_losses(edges: Floats, here: Floats, there: Floats) -> Floats:
    """Return the loss at which each cell is placed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log(here / there)
    found: Floats = np.clip(np.nan_to_num(losses, nan=math.inf), edges[:-1], edges[1:])
    return found
