"""Generation: rows whose counts are the model's, rounded."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.synthesis.graphical_model import GraphicalModel, Measurement, fit_model
from discreet.mining.synthesis.row_generation import generate_rows
from tests.conftest import seeded
from tests.statistical import assert_probability


def model_of(
    whole: Floats, sets: list[tuple[int, ...]], never: dict[tuple[int, ...], Floats] | None = None
) -> GraphicalModel:
    measurements = [
        Measurement(
            columns=each,
            counts=whole.sum(axis=tuple(place for place in range(whole.ndim) if place not in each)),
            deviation=1.0,
        )
        for each in sets
    ]
    return fit_model(whole.shape, measurements, never or {}, rows=float(whole.sum()), steps=300)


def counted(codes: Integers, shape: tuple[int, ...]) -> Integers:
    return np.bincount(np.ravel_multi_index(codes.T, shape), minlength=int(np.prod(shape))).reshape(shape)


@given(st.integers(0, 30), st.integers(1, 500))
def test_the_first_column_is_never_one_or_more_off_and_no_run_of_its_bins_is(seed: int, rows: int) -> None:
    dice = np.random.default_rng(seed)
    model = model_of(dice.integers(1, 50, (5, 3)).astype(np.float64), [(0, 1)])
    codes = generate_rows(model, rows, seeded(seed))
    expected = np.cumsum(model.tree.compute_marginal(model.beliefs, (0,)) * rows)
    found = np.cumsum(np.bincount(codes[:, 0], minlength=5))
    assert np.abs(found - expected).max() < 1
    assert found[-1] == rows


def test_each_group_divides_as_the_model_says_to_a_row() -> None:
    whole = np.array([[30.0, 10.0, 5.0], [2.0, 40.0, 13.0]])
    model = model_of(whole, [(0, 1)])
    counts = counted(generate_rows(model, 1000, seeded(3)), whole.shape)
    joint = model.tree.compute_marginal(model.beliefs, (0, 1))
    expected = counts.sum(axis=1, keepdims=True) * joint / joint.sum(axis=1, keepdims=True)
    assert np.abs(counts - expected).max() < 1


def test_rounding_is_right_on_average(random: Randomness) -> None:
    whole = np.array([3.0, 5.0, 2.0])
    model = model_of(whole, [(0,)])
    share = model.beliefs[0][1] * 7
    runs = 3_000
    more = sum(
        int(np.count_nonzero(generate_rows(model, 7, random)[:, 0] == 1) > np.floor(share))
        for _ in range(runs)
    )
    assert_probability(more, runs, float(share - np.floor(share)))


def test_impossible_combinations_never_appear() -> None:
    whole = np.full((3, 3, 3), 10.0)
    never = np.where(np.eye(3) > 0, -np.inf, 0.0)
    model = model_of(whole, [(0, 1), (1, 2)], {(0, 2): never})
    codes = generate_rows(model, 5_000, seeded(2))
    assert not np.any(codes[:, 0] == codes[:, 2])


def test_rows_of_a_group_are_dealt_out_at_random() -> None:
    codes = generate_rows(model_of(np.full((2, 2), 25.0), [(0,), (1,)]), 2_000, seeded(4))
    assert counted(codes, (2, 2)) == pytest.approx(np.full((2, 2), 500), abs=1)
    assert len(set(map(tuple, codes[:20].tolist()))) > 1
