"""Clopper-Pearson confidence intervals for a probability, from a count of successes.

The interval is the set of probabilities that the observed count does not reject on either side at `alpha /
2`, by the binomial law itself. It therefore contains the true probability with at least 1 - `alpha`, for
every probability and for any number of trials. Its ends are quantiles of beta distributions.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.core.errors import require_parameter

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@overload
def clopper_pearson(hits: int, trials: int, *, alpha: float = 0.05) -> tuple[float, float]: ...


@overload
def clopper_pearson(hits: Integers, trials: int, *, alpha: float = 0.05) -> tuple[Floats, Floats]: ...


def clopper_pearson(hits: int | Integers, trials: int, *, alpha: float = 0.05) -> tuple[Any, Any]:
    """Return intervals that contain the probability of each event with at least 1 - `alpha`.

    >>> clopper_pearson(0, 10)
    (0.0, 0.308...)
    """
    counts = np.asarray(hits)
    within = trials > 0 and bool(((counts >= 0) & (counts <= trials)).all())
    require_parameter(within, "clopper_pearson", "hits", hits, f"between 0 and {trials}")
    with np.errstate(invalid="ignore"):  # 0 hits or all have no quantile on one side; it is 0 or 1 below
        low = scipy.special.betaincinv(counts, trials - counts + 1, alpha / 2)
        high = scipy.special.betainccinv(counts + 1, trials - counts, alpha / 2)
    ends = np.where(counts > 0, low, 0.0), np.where(counts < trials, high, 1.0)
    return ends if counts.ndim else (float(ends[0]), float(ends[1]))
