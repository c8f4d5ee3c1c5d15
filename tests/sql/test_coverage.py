"""Intervals hold the truth at least as often as they say: by the exact law, or in many runs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.sql.aggregates.average import estimate_mean
from discreet.sql.aggregates.count import estimate_count
from discreet.sql.aggregates.sum import estimate_sum, estimate_sum_from_mean
from discreet.sql.aggregates.variance import estimate_variance
from discreet.sql.expression_tree import Column
from discreet.sql.expression_types import make_number_type
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.primitives import Grid
from tests.statistical import acceptance

CONFIDENCE = 0.95
RUNS = 20_000
LAPLACE = DiscreteLaplace(epsilon=Fraction(1, 3), sensitivity=2)
GAUSSIAN = DiscreteGaussian.from_rho(Fraction(1, 18), squared_sensitivity=2)
HALF = Fraction(1, 2)
ON = Grid(argument=Column(name="x", type=make_number_type()), step=HALF, low=-3, high=20)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("truth", [0, 1, 7, 1_000_000])
def test_counts_and_sums_are_covered_by_the_exact_law(noise: IntegerNoise, truth: int) -> None:
    reach = 40 * noise.half_width(CONFIDENCE)
    drawn = np.arange(-reach, reach + 1)
    masses = np.array([noise.mass(int(z)) for z in drawn])
    released = ReleasedPrimitive(numbers=truth + drawn, noise=noise)
    assert masses[_holds(estimate_count(released, CONFIDENCE), truth)].sum() >= CONFIDENCE
    assert masses[_holds(estimate_sum(released, HALF, CONFIDENCE), truth / 2)].sum() >= CONFIDENCE


def test_an_interval_one_step_narrower_does_not_hold() -> None:
    half = LAPLACE.half_width(CONFIDENCE) - 1
    assert sum(LAPLACE.mass(z) for z in range(-half, half + 1)) < CONFIDENCE


@dataclass(frozen=True)
class Rows:
    """Values in steps of the grid, and what is released of them, many times."""

    values: NDArray[np.int64]
    noise: tuple[IntegerNoise, IntegerNoise, IntegerNoise]

    def released(self, random: Randomness) -> tuple[ReleasedPrimitive, ReleasedPrimitive, ReleasedPrimitive]:
        y = 2 * self.values - (ON.low + ON.high)
        truths = (int(y.sum()), len(y), int((2 * y**2 - ON.width**2).sum()))
        return tuple(  # type: ignore[return-value]
            ReleasedPrimitive(
                numbers=noise.release_many(Exact(np.full(RUNS, truth)), random).value, noise=noise
            )
            for truth, noise in zip(truths, self.noise, strict=True)
        )


def _noises(epsilon: Fraction) -> tuple[IntegerNoise, IntegerNoise, IntegerNoise]:
    moved = (2 * ON.width, 2, 2 * ON.width**2)
    first, second, third = (DiscreteLaplace(epsilon=epsilon, sensitivity=each) for each in moved)
    return first, second, third


TABLES = {
    "all at the upper end": np.full(300, 20),
    "all at the lower end": np.full(300, -3),
    "half at each end": np.array([-3, 20] * 150),
    "spread": np.arange(3000) % 24 - 3,
    "few": np.array([20, 20, -3, 5]),
    "one": np.array([7]),
}
EPSILONS = (Fraction(1, 10), Fraction(2))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_means_sums_and_variances_are_covered(name: str, epsilon: Fraction, random: Randomness) -> None:
    values = TABLES[name].astype(np.int64)
    centred, rows, squares = Rows(values, _noises(epsilon)).released(random)
    true, parts = values * 0.5, (centred, rows, squares)
    assert_covered(estimate_mean(centred, rows, ON, CONFIDENCE), true.mean())
    assert_covered(estimate_mean(centred, len(values), ON, CONFIDENCE), true.mean())
    assert_covered(estimate_sum_from_mean(centred, rows, ON, CONFIDENCE), true.sum())
    assert_covered(estimate_variance(parts, ON, CONFIDENCE, is_sample=False, takes_root=False), true.var())
    assert_covered(estimate_variance(parts, ON, CONFIDENCE, is_sample=False, takes_root=True), true.std())
    if len(values) > 1:
        assert_covered(
            estimate_variance(parts, ON, CONFIDENCE, is_sample=True, takes_root=False), true.var(ddof=1)
        )
        assert_covered(
            estimate_variance(parts, ON, CONFIDENCE, is_sample=True, takes_root=True), true.std(ddof=1)
        )


def assert_covered(found: Estimate, truth: float) -> None:
    least, _ = acceptance(CONFIDENCE, RUNS)
    assert _holds(found, truth).sum() >= least
    shown = ~np.isnan(found.values.astype(np.float64))
    inside = (found.low <= found.values) & (found.values <= found.high)
    assert inside[shown].all(), "a shown value stands outside of its own interval"


def _holds(found: Estimate, truth: float) -> NDArray[np.bool_]:
    slack = 1e-9 * max(1.0, abs(truth))
    return (found.low - slack <= truth) & (truth <= found.high + slack)


def test_narrower_parts_would_be_noticed(random: Randomness) -> None:
    """A mean whose parts each had the whole confidence, and half of the noise, is not covered."""
    values = TABLES["spread"].astype(np.int64)
    centred, rows, _ = Rows(values, _noises(Fraction(1, 2))).released(random)
    twin = DiscreteLaplace(epsilon=Fraction(2), sensitivity=2 * ON.width)
    narrow = estimate_mean(ReleasedPrimitive(numbers=centred.numbers, noise=twin), rows, ON, CONFIDENCE)
    assert _holds(narrow, values.mean() / 2).sum() < acceptance(CONFIDENCE, RUNS)[0]


def test_noise_beyond_64_bits_still_has_an_interval() -> None:
    noise = DiscreteLaplace(epsilon=Fraction(1, 1000), sensitivity=1 << 60)
    found = estimate_sum(ReleasedPrimitive(numbers=np.array([0]), noise=noise), Fraction(1), CONFIDENCE)
    assert found.low[0] < -(2**63) < 2**63 < found.high[0]


def test_a_wide_grid_of_many_rows_does_not_wrap_around() -> None:
    on = Grid(argument=ON.argument, step=Fraction(1), low=0, high=1 << 40)
    rows = ReleasedPrimitive(numbers=np.array([1 << 30]), noise=LAPLACE)
    found = estimate_sum_from_mean(
        ReleasedPrimitive(numbers=np.array([0]), noise=LAPLACE), rows, on, CONFIDENCE
    )
    assert found.values[0] == 2.0**69
