"""Lower bound on epsilon from the frequency of an event on two neighboring inputs, with stated confidence."""

from __future__ import annotations

import math

from discreet.core.binomial import clopper_pearson
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count, require_probability


def compute_epsilon_lower_bound(
    hits: int, neighbor_hits: int, trials: int, *, error_rate: float, delta: float = 0.0
) -> float:
    """Return the loss proved by `hits` against `neighbor_hits`, both out of `trials` runs.

    The event must be fixed without looking at the runs that are counted here; then the result is above the
    epsilon that holds with `delta` with probability at most `error_rate`.

    >>> compute_epsilon_lower_bound(700, 300, 1000, error_rate=0.05)
    0.710...
    """
    require_count("epsilon_lower_bound", "trials", trials)
    require_probability("epsilon_lower_bound", "miss", error_rate)
    for name, count in (("hits", hits), ("neighbour_hits", neighbor_hits)):
        require_parameter(0 <= count <= trials, "epsilon_lower_bound", name, count, f"between 0 and {trials}")
    at_least = clopper_pearson(hits, trials, alpha=error_rate)[0] - delta
    at_most = clopper_pearson(neighbor_hits, trials, alpha=error_rate)[1]
    return max(0.0, math.log(at_least / at_most)) if at_least > 0 else 0.0
