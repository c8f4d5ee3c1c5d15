"""What median and weights know: the paper's formulas by brute force, and how far a person moves the test."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, exp, isclose

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.sampling import Booleans
from discreet.mining.stream import median_mechanism
from discreet.mining.stream.median_mechanism import (
    CandidateDatabases,
    compute_grid_sensitivity,
    count_databases,
    find_largest_size,
    list_databases,
)
from discreet.mining.stream.multiplicative_weights import MultiplicativeWeights
from discreet.mining.stream.sparse_vector import SparseVector
from tests.mining.stream.worlds import at_least

CELLS = 3
SUBSETS = st.lists(st.booleans(), min_size=CELLS, max_size=CELLS).map(lambda each: np.array(each, np.bool_))
LEARNED = st.lists(st.tuples(SUBSETS, st.integers(0, 30)), max_size=3)


def brute(size: int) -> list[tuple[int, ...]]:
    """Every database of so many rows, as counts."""
    return [
        tuple(rows.count(cell) for cell in range(CELLS))
        for rows in combinations_with_replacement(range(CELLS), size)
    ]


@given(st.integers(1, 5), st.integers(0, 6))
def test_every_small_database_is_listed_once(cells: int, size: int) -> None:
    found = list_databases(cells, size)
    assert len({tuple(each) for each in found.tolist()}) == len(found) == count_databases(cells, size)
    assert (found.sum(axis=1) == size).all()
    assert count_databases(cells, size) == comb(size + cells - 1, size)


def test_sizes_are_as_large_as_a_machine_can_list() -> None:
    assert [find_largest_size(cells) for cells in (2, 3, 10_000_000)] == [1_000, 1_000, 0]
    assert count_databases(6, find_largest_size(6) + 1) * 6 > median_mechanism.MAX_ENTRIES


@given(SUBSETS, st.integers(0, 20), st.integers(1, 5))
def test_hardness_and_median_are_the_paper_s(asked: Booleans, count: int, size: int) -> None:
    rows, width = 20, 30
    known = CandidateDatabases(CELLS, size=size, rows=rows, width=width, band=0.0)
    wide = max(width, -(-4 * rows // size))
    shares = [sum(n for n, holds in zip(each, asked, strict=True) if holds) / size for each in brute(size)]
    r = sum(exp(-abs(count - rows * share) / wide) for share in shares) / len(shares)
    assert isclose(known.compute_hardness(asked, count) / median_mechanism.GRID, 1 - r, abs_tol=1e-6)
    assert known.estimate_count(asked) == round(rows * sorted(shares)[-(-len(shares) // 2) - 1])


@given(SUBSETS, LEARNED, st.integers(0, 30), st.integers(1, 4), st.integers(1, 400))
def test_no_person_moves_the_hardness_further_than_claimed(
    asked: Booleans,
    learned: list[tuple[Booleans, int]],
    count: int,
    rows_per_person: int,
    width: int,
) -> None:
    median = CandidateDatabases(CELLS, size=4, rows=30, width=width, band=2.0)
    weights = MultiplicativeWeights(CELLS, rows=30, deviation=1.0)
    for cells, answer in learned:
        median.update(cells, answer)
        weights.update(cells, answer)
    assert len(median) > 0
    for other in range(count - rows_per_person, count + rows_per_person + 1):
        moved = abs(median.compute_hardness(asked, count) - median.compute_hardness(asked, other))
        assert moved <= compute_grid_sensitivity(rows_per_person, width)
        assert (
            abs(weights.compute_hardness(asked, count) - weights.compute_hardness(asked, other))
            <= rows_per_person
        )


@given(SUBSETS, st.integers(0, 20))
def test_candidates_that_disagree_with_a_released_count_are_left_out(asked: Booleans, answer: int) -> None:
    known = CandidateDatabases(CELLS, size=5, rows=20, width=1, band=0.0)
    known.update(asked, answer)
    off = [abs(20 * sum(np.array(each)[asked]) / 5 - answer) for each in brute(5)]
    band = max(16 / 50, 20 / 10)
    assert len(known) == sum(each <= max(band, min(off)) for each in off)


def test_weights_learn_what_they_are_told_and_keep_it() -> None:
    known = MultiplicativeWeights(4, rows=1_000, deviation=1.0)
    told = {
        (True, False, False, False): 600,
        (True, True, False, False): 800,
        (False, True, True, False): 300,
    }
    for cells, answer in told.items():
        known.update(np.array(cells), answer)
    assert all(abs(known.estimate_count(np.array(cells)) - answer) <= 1 for cells, answer in told.items())
    assert known.estimate_count(np.array([False, False, False, True])) == 100
    known.update(np.array([True] * 4), 3)
    known.update(np.array([False] * 4), 9)
    assert known.estimate_count(np.array([True] * 4)) == 1_000


@given(st.floats(0.001, 0.4), st.integers(1, 50), st.integers(1, 5), st.booleans())
def test_the_noise_of_a_test_stays_within_its_reach(
    miss: float, passes: int, moved: int, renewed: bool
) -> None:
    vector = SparseVector.from_epsilon(
        Fraction(1), passes=passes, sensitivity=moved, redraws_threshold=renewed
    )
    far, limit = vector.bound_error(miss), vector.threshold_noise
    w = np.arange(-3 * far - 200, 3 * far + 200)
    masses = np.tanh(float(limit.rate) / 2) * np.exp(-float(limit.rate) * np.abs(w))
    assert float(masses @ at_least(vector.score_noise, far + w + 1)) <= miss
    nearer = round(0.8 * far) - 4
    assert float(masses @ at_least(vector.score_noise, nearer + w + 1)) > miss or nearer < 4
