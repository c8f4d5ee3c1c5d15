"""Projection onto the simplex: nonnegative shares or counts with a known total.

For operators whose raw estimate has nearly the same variance at every value, the projection is the likeliest
distribution to first order.

[HWC74]     Held, Wolfe & Crowder, Validation of Subgradient Optimization.
[DSSC08]    Duchi, Shalev-Shwartz, Singer & Chandra, Efficient Projections onto the l1-Ball.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def project_to_simplex(raw: Floats, total: float = 1.0) -> Floats:
    """Return the array nearest to `raw` in L2 that is at least 0 and sums to `total`; of any shape.

    All entries are lowered by the same amount and cut at 0 [HWC74] [DSSC08].

    >>> project_to_simplex(np.array([0.8, 0.5, -0.3]))
    array([0.65, 0.35, 0.  ])
    >>> project_to_simplex(np.array([5.0, 2.0, -3.0]), 6.0)
    array([4.5, 1.5, 0. ])
    """
    ordered = np.sort(raw.reshape(-1))[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    # Without anything to share out, no entry stays above the cut: the first one sets it.
    kept = int(np.flatnonzero(ordered > excess)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(raw - excess[kept], 0.0))
