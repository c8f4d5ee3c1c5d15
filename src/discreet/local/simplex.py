"""The simplex: shares that are at least 0 and sum to 1.

Projection  the nearest distribution in the Euclidean sense: max(0, v_i - theta) [DSSC08]. For operators whose
            raw estimate has nearly the same variance at every value, it is the likeliest to first order.
Filling     the exact maximum-likelihood distribution where counts c_i have probabilities proportional to
            f_i + floor: f_i = max(0, c_i / mu - floor), with mu such that they sum to 1. By the conditions of
            Karush, Kuhn and Tucker: the likelihood's slope is c_i / (f_i + floor), equal (mu) at all shares
            above 0, and no larger at the others. Sorted counts give mu in closed form: water-filling.

[DSSC08]    Duchi, Shalev-Shwartz, Singer & Chandra, Efficient Projections onto the l1-Ball.
"""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.sampling import Floats, Integers


def project_to_simplex(raw: Floats) -> Floats:
    """Return the distribution nearest to `raw`.

    >>> project_to_simplex(np.array([0.8, 0.5, -0.3]))
    array([0.65, 0.35, 0.  ])
    """
    ordered = np.sort(raw)[::-1]
    thetas = (np.cumsum(ordered) - 1) / np.arange(1, raw.size + 1)
    theta = thetas[np.flatnonzero(ordered > thetas)[-1]]
    return np.asarray(np.maximum(raw - theta, 0.0))


def fit_by_water_filling(counts: Integers, floor: float) -> Floats:
    """Return the likeliest distribution if a count's probability is proportional to its share plus `floor`.

    >>> fit_by_water_filling(np.array([60, 30, 10]), 0.25)
    array([0.75, 0.25, 0.  ])
    """
    ordered = np.sort(counts)[::-1].astype(np.float64)
    slopes = np.cumsum(ordered) / (1 + floor * np.arange(1, counts.size + 1))
    mu = slopes[np.flatnonzero(ordered > floor * slopes)[-1]]
    return np.asarray(np.maximum(counts / mu - floor, 0.0))
