"""Projection of noisy counts onto nonnegative counts with a known total."""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.sampling import Floats


def project_onto_simplex(counts: Floats, total: float) -> Floats:
    """Return the nearest counts (in L2) of at least 0 with sum `total`; an array of any shape.

    All are lowered by the same amount and cut at 0 [Held, Wolfe & Crowder 1974].

    >>> project_onto_simplex(np.array([5.0, 2.0, -3.0]), 6.0)
    array([4.5, 1.5, 0. ])
    """
    flat = counts.reshape(-1)
    ranked = np.sort(flat)[::-1]
    excess = (np.cumsum(ranked) - total) / np.arange(1, ranked.size + 1)
    kept = int(np.flatnonzero(ranked > excess)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(counts - excess[kept], 0.0))
