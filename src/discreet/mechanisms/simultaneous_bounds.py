"""Half-widths that hold for all cells at once, and therefore for any that are selected by their noisy values.

Selected rows (HAVING, ORDER BY … LIMIT, a maximum over groups) are those whose noise was large: of the top 3
of 656 groups none was covered by its ±60. An interval that holds for *all* candidates with probability
1 - beta holds for any selection among them, however it was made, also later and by someone who has seen the
cells.

Cells       independent noises: the least h with the product of Pr[|Z_i| <= h_i] at least 1 - beta. Where
            laws differ, every cell has the same miss probability alpha, the largest for which the product
            suffices: 1 - (1 - beta)**(1/n), or more where lattices leave room.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from discreet.core.number_checks import require_count, require_probability
from discreet.mechanisms.noise_laws import NoiseLaw

ROUND_DOWN = 1 - 2.0**-45  # covers the rounding of logarithms and their sums


def find_simultaneous_half_width(law: NoiseLaw, cells: int, beta: float) -> Fraction:
    """Return the least h that bounds the errors of all `cells` independent values with 1 - beta.

    >>> from discreet.mechanisms.noise_laws import DiscreteLaplaceLaw
    >>> find_simultaneous_half_width(DiscreteLaplaceLaw(rate=Fraction(1, 20)), 656, 0.05)
    Fraction(189, 1)
    """
    return law.half_width(split_miss_probability(beta, cells))


def split_miss_probability(beta: float, cells: int) -> float:
    """Return the alpha with (1 - alpha)**cells = 1 - beta, rounded down: each independent cell's share."""
    require_probability("simultaneous bounds", "beta", beta)
    require_count("simultaneous bounds", "cells", cells)
    return beta if cells == 1 else -math.expm1(math.log1p(-beta) / cells) * ROUND_DOWN


def find_cell_half_widths(cells: Mapping[NoiseLaw, int], beta: float) -> dict[NoiseLaw, Fraction]:
    """Return a half-width per law that bounds the errors of all cells of a measurement at once.

    These are also the half-widths for *later* statements about cells that were already shown: whoever asks
    for one row may have picked it from the measurement by its noise, so the interval of that row is the one
    that holds for all rows of the measurement.
    """
    return dict(_find_cell_half_widths(tuple(sorted(cells.items(), key=str)), beta))


@lru_cache(maxsize=4_096)
def _find_cell_half_widths(
    cells: tuple[tuple[NoiseLaw, int], ...], beta: float
) -> tuple[tuple[NoiseLaw, Fraction], ...]:
    """Bisect for the largest common miss probability; from the equal share on, every step is checked."""
    least = math.log1p(-beta) * ROUND_DOWN
    share = split_miss_probability(beta, sum(count for _, count in cells))
    best = tuple((law, law.half_width(share)) for law, _ in cells)
    low, high = share, beta
    while high / low > 1 + 1e-4:
        middle = math.sqrt(low * high)
        widths = tuple((law, law.half_width(middle)) for law, _ in cells)
        misses = [law.bound_miss(width) for law, width in widths]
        held = math.fsum(
            count * math.log1p(-miss) for (_, count), miss in zip(cells, misses, strict=True) if miss < 1
        )
        if max(misses) < 1 and held >= least:
            low, best = middle, widths
        else:
            high = middle
    return best
