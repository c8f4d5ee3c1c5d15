"""Floating point: the last bits give away what naive noise was added to, and nothing about ours."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attacks.floating_point import FloatingPoint
from discreet.attacks.neighbor_pairs import make_sampler
from discreet.core.errors import RequestError
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.attacks.cases.queries import LESS_NOISE, float_laplace, grid_laplace
from tests.conftest import seeded


def test_naive_noise_claimed_at_epsilon_1_is_shown_to_have_more_than_7() -> None:
    found = FloatingPoint(runs=100_000).run(float_laplace)
    assert found.figures["epsilon"] >= 7.2
    assert found.figures["fine outputs near 0, if it is 1"] == 0
    assert found.victims[0].posterior > 0.999


def geometric(value: int, runs: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    noise: DiscreteLaplace = LESS_NOISE
    return np.asarray(make_sampler(noise, value, seeded(value))(runs), np.float64)


@pytest.mark.parametrize("release", [grid_laplace, geometric])
def test_noise_on_a_grid_gives_nothing_away(release: object) -> None:
    found = FloatingPoint(runs=100_000).run(release)  # type: ignore[arg-type]
    assert found.figures["epsilon"] <= 1
    assert found.interval[0] <= found.baseline


def test_a_release_of_another_length_is_refused() -> None:
    with pytest.raises(RequestError, match="one number for each run"):
        FloatingPoint(runs=200).run(lambda value, runs: np.zeros(runs - 1))
