"""Inference: the fit to what was measured, and what it may not do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.sampling import Floats
from discreet.mining.synthesis.graphical_model import (
    Measurement,
    estimate_rows,
    fit_model,
    minimize,
    pool_measurements,
)

SHAPE = (3, 2, 4)
SETS = ((0, 1), (1, 2), (0, 2))


def truth(seed: int) -> Floats:
    return np.random.default_rng(seed).integers(50, 400, SHAPE).astype(np.float64)


def measured(whole: Floats, columns: tuple[int, ...], deviation: float = 1.0) -> Measurement:
    others = tuple(place for place in range(whole.ndim) if place not in columns)
    return Measurement(columns=columns, counts=whole.sum(axis=others), deviation=deviation)


@given(st.integers(0, 50))
def test_marginals_without_noise_are_found_again(seed: int) -> None:
    whole = truth(seed)
    sets = [measured(whole, each) for each in SETS]
    model = fit_model(SHAPE, sets, {}, rows=whole.sum(), steps=400)
    for each in sets:
        assert model.compute_counts(each.columns) == pytest.approx(each.counts, abs=1)


def test_every_two_sets_agree_on_what_they_share_although_their_noise_does_not() -> None:
    dice, whole = np.random.default_rng(5), truth(5)
    noisy = [
        Measurement(
            columns=each.columns, counts=each.counts + dice.normal(0, 30, each.counts.shape), deviation=30
        )
        for each in (measured(whole, columns) for columns in SETS)
    ]
    model = fit_model(SHAPE, noisy, {}, rows=estimate_rows(noisy), steps=400)
    assert model.compute_counts((0, 1)).sum(axis=0) == pytest.approx(
        model.compute_counts((1, 2)).sum(axis=1), rel=1e-9
    )
    assert all(model.compute_counts(each).min() >= 0 for each in SETS)


def test_what_was_measured_twice_counts_by_its_precision() -> None:
    coarse = Measurement(columns=(0,), counts=np.array([0.0, 8.0]), deviation=2.0)
    fine = Measurement(columns=(0,), counts=np.array([4.0, 4.0]), deviation=1.0)
    (one,) = pool_measurements([coarse, fine])
    assert one.counts == pytest.approx([3.2, 4.8])
    assert one.deviation == pytest.approx(0.8**0.5)


def test_the_number_of_rows_follows_the_totals_that_are_known_best() -> None:
    sure = Measurement(columns=(0,), counts=np.array([60.0, 40.0]), deviation=1.0)
    vague = Measurement(columns=(1,), counts=np.full(100, 3.0), deviation=10.0)
    assert estimate_rows([sure, vague]) == pytest.approx(100, abs=0.1)
    assert estimate_rows([Measurement(columns=(0,), counts=np.array([-9.0]), deviation=1.0)]) == 1


def test_barred_combinations_stay_empty_whatever_was_measured() -> None:
    whole = truth(1)
    never = np.zeros(SHAPE[:2])
    never[2, 1] = -np.inf
    model = fit_model(
        SHAPE, [measured(whole, (0, 1)), measured(whole, (1, 2))], {(0, 1): never}, rows=whole.sum(), steps=50
    )
    assert model.compute_counts((0, 1))[2, 1] == 0
    assert model.compute_counts((0, 1, 2))[2, 1].sum() == 0


@given(st.integers(1, 6), st.integers(0, 100))
def test_descent_finds_the_minimum_of_a_quadratic(size: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    root, goal = dice.normal(size=(size, size)), dice.normal(size=size)
    bowl = root @ root.T + np.eye(size) / 10

    def function(at: Floats) -> tuple[float, Floats]:
        return float((at - goal) @ bowl @ (at - goal) / 2), bowl @ (at - goal)

    assert minimize(function, np.zeros(size), steps=200, enough=1e-14) == pytest.approx(goal, abs=1e-4)
