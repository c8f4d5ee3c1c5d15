"""Score tables of neighbours and laws by brute force, for every mechanism that picks a candidate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.sampling import Integers


def scores(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def moved(base: Integers, steps: tuple[int, ...]) -> Iterator[Integers]:
    """Every table of scores that one person could make of `base`, each score by one of `steps`."""
    for change in product(steps, repeat=base.size):
        yield base + np.array(change, dtype=np.int64)


def largest_loss(mechanism: Any, base: Integers, steps: tuple[int, ...]) -> float:
    """The largest |loss| at any output against any neighbour: exact enumeration of the law."""
    here = mechanism.probabilities(base)
    return max(
        float(np.abs(np.log(here / mechanism.probabilities(other))).max()) for other in moved(base, steps)
    )


def first_head(tosses: list[float], order: tuple[int, ...]) -> NDArray[np.float64]:
    """Pr[the first head in this order is i's], coin i showing heads with probability tosses[i]."""
    found, open_yet = np.zeros(len(order)), 1.0
    for i in order:
        found[i], open_yet = open_yet * tosses[i], open_yet * (1 - tosses[i])
    return found


def heads(table: Integers, rate: float) -> list[float]:
    return [exp(-rate * int(table.max() - each)) for each in table]
