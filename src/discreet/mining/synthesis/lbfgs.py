"""Descent on a smooth convex function: limited-memory BFGS with backtracking [Nocedal 1980].

SciPy's takes longer for its own bookkeeping, with threads that wait for each other, than small models take to
be evaluated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from discreet.mechanisms.sampling import Floats

Function = Callable[[Floats], tuple[float, Floats]]

MEMORY = 10
SUFFICIENT = 1e-4
SHRINK = 0.4
TRIES = 25
CURVED = 1e-12


def minimize(function: Function, start: Floats, *, steps: int, enough: float) -> Floats:
    """Return the point after `steps` steps, or when a step gains less than `enough`."""
    at, (value, slope) = start, function(start)
    memory: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        found = _search_line(function, at, value, slope, _compute_direction(slope, memory))
        if found is None:
            break
        there, lower, steeper = found
        moved, bent = there - at, steeper - slope
        if moved @ bent > CURVED * np.sqrt((moved @ moved) * (bent @ bent)):
            memory.append((moved, bent))
        gained = value - lower
        at, value, slope = there, lower, steeper
        if gained < enough:
            break
    return at


def _compute_direction(slope: Floats, memory: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the descent direction by the two-loop recursion."""
    if not memory:
        return np.asarray(-slope / max(1.0, float(np.linalg.norm(slope))))
    turned, weights = slope.copy(), []
    for moved, bent in reversed(memory):
        weight = (moved @ turned) / (moved @ bent)
        weights.append(weight)
        turned -= weight * bent
    moved, bent = memory[-1]
    turned *= (moved @ bent) / (bent @ bent)
    for (moved, bent), weight in zip(memory, reversed(weights), strict=True):
        turned += (weight - (bent @ turned) / (moved @ bent)) * moved
    return np.asarray(-turned)


def _search_line(
    function: Function, at: Floats, value: float, slope: Floats, direction: Floats
) -> tuple[Floats, float, Floats] | None:
    """Return the first of ever shorter steps that gains enough, or None."""
    length, descent = 1.0, float(slope @ direction)
    for _ in range(TRIES):
        there = at + length * direction
        lower, steeper = function(there)
        if lower <= value + SUFFICIENT * length * descent:
            return there, lower, steeper
        length *= SHRINK
    return None
