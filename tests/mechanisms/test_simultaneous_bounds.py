"""Half-widths for all cells at once, against exact products, and against selection of the largest noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.randomness import Randomness
from discreet.mechanisms.noise_laws import NoiseLaw
from discreet.mechanisms.sampling import sample_discrete_laplace
from discreet.mechanisms.simultaneous_bounds import (
    find_cell_half_widths,
    find_simultaneous_half_width,
)
from tests.mechanisms.noise_sums import BETAS, LAPLACE, LAWS, NARROW_LAWS, list_masses, sum_inside
from tests.statistical import acceptance

TRIALS = 4_000


@pytest.mark.parametrize(("cells", "half_width"), [(1, 60), (9, 103), (656, 189)])
def test_all_cells_of_a_tenth(cells: int, half_width: int) -> None:
    assert find_simultaneous_half_width(LAPLACE, cells, 0.05) == half_width
    assert find_cell_half_widths({LAPLACE: cells}, 0.05) == {LAPLACE: half_width}


@given(NARROW_LAWS, st.integers(1, 2_000), BETAS)
def test_the_product_covers_and_one_step_less_does_not(law: NoiseLaw, cells: int, beta: float) -> None:
    masses, h = list_masses(law), find_simultaneous_half_width(law, cells, beta)
    assert sum_inside(masses, h) ** cells >= 1 - beta - 1e-12
    assert h == 0 or sum_inside(masses, h - 1) ** cells < 1 - beta + 1e-8


@given(st.dictionaries(LAWS, st.integers(1, 10**6), min_size=1, max_size=4), BETAS)
def test_different_laws_hold_together_and_are_no_wider_than_equal_shares(
    cells: dict[NoiseLaw, int], beta: float
) -> None:
    widths = find_cell_half_widths(cells, beta)
    held = math.fsum(count * math.log1p(-law.bound_miss(widths[law])) for law, count in cells.items())
    assert held >= math.log1p(-beta) - 1e-12
    total = sum(cells.values())
    assert all(widths[law] <= find_simultaneous_half_width(law, total, beta) for law in cells)


def test_room_on_a_lattice_is_used() -> None:
    """Cells whose noise is almost surely 0 leave their share to others."""
    quiet = type(LAPLACE)(rate=Fraction(60))
    widths = find_cell_half_widths({LAPLACE: 9, quiet: 100_000}, 0.05)
    assert widths == {LAPLACE: 103, quiet: 0}


def test_selected_rows_are_covered_where_single_intervals_are_not(random: Randomness) -> None:
    """The top 3 of 656 equal groups, and the broken twin that prints the interval of one cell."""
    noise = sample_discrete_laplace(LAPLACE.rate, TRIALS * 656, random).reshape(TRIALS, 656)
    top = np.sort(np.abs(noise), axis=1)[:, -3:]
    least, _ = acceptance(0.95, TRIALS)
    covered = int((top <= float(find_simultaneous_half_width(LAPLACE, 656, 0.05))).all(axis=1).sum())
    twin = int((top <= float(LAPLACE.half_width(0.05))).all(axis=1).sum())
    assert covered >= least
    assert covered <= acceptance(0.97, TRIALS)[1]
    assert twin == 0
