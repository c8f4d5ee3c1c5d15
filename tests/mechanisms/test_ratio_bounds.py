"""Fieller's sets: coverage by simulation and by every outcome, and ratios that cannot be told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.mechanisms import ratio_bounds
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.noise_laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, Floats, NoiseLaw
from discreet.mechanisms.ratio_bounds import RatioNoise
from discreet.mechanisms.sampling import sample_discrete_laplace
from tests.mechanisms.noise_sums import LAPLACE, NARROW_LAWS, list_masses
from tests.statistical import acceptance

TRIALS = 20_000
CELL = LinearCombination.from_equal_cells(LAPLACE, 1)
NONE = LinearCombination(())


def draw(cells: int, random: Randomness, rate: Fraction = LAPLACE.rate) -> Floats:
    """Sums of the noise of so many cells."""
    noise = sample_discrete_laplace(rate, TRIALS * cells, random)
    return np.asarray(noise.reshape(TRIALS, cells).sum(axis=1), dtype=np.float64)


def find(
    noise: RatioNoise, s: float, n: float, *, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    """The interval of a ratio that can be told."""
    found = noise.find_interval(s, n, 0.05, low=low, high=high)
    assert found is not None
    return list(found)


def count_covered(noise: RatioNoise, top: Floats, bottom: Floats, truth: float) -> int:
    low, high = noise.find_intervals(top, bottom, 0.05)
    return int(((low <= truth) & (truth <= high)).sum())


@pytest.mark.parametrize(("s", "n"), [(500, 1_000), (0, 300), (-900, 2_000), (5_000, 400)])
def test_intervals_of_ratios_cover_and_are_hardly_wider(s: int, n: int, random: Randomness) -> None:
    """Where N is far from 0 the set is an interval, so that coverage is close to what is stated."""
    top, bottom = s + draw(1, random), n + draw(1, random)
    covered = count_covered(RatioNoise(first=CELL, second=CELL), top, bottom, s / n)
    assert acceptance(0.95, TRIALS, family=8)[0] <= covered <= acceptance(0.957, TRIALS, family=8)[1]


@pytest.mark.parametrize("cells", [1, 40])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_intervals_of_shares_use_that_the_part_is_in_the_total(
    cells: int, share: float, random: Randomness
) -> None:
    n, part = 3_000, draw(cells, random)
    noise = RatioNoise(first=LinearCombination.from_equal_cells(LAPLACE, cells), second=CELL, is_share=True)
    covered = count_covered(noise, share * n + part, n + part + draw(1, random), share)
    assert acceptance(0.95, TRIALS, family=12)[0] <= covered <= acceptance(0.957, TRIALS, family=12)[1]


@pytest.mark.parametrize(("s", "n"), [(30, 100), (900, 60), (10, 5)])
def test_ratios_of_small_groups_are_covered_too(s: int, n: int, random: Randomness) -> None:
    top, bottom = s + draw(1, random), n + draw(1, random)
    assert (
        count_covered(RatioNoise(first=CELL, second=CELL), top, bottom, s / n) >= acceptance(0.95, TRIALS)[0]
    )


def test_a_twin_that_forgets_the_noise_of_the_denominator_is_caught(random: Randomness) -> None:
    s, n = 5_000, 400
    twin = RatioNoise(first=CELL, second=NONE)
    covered = count_covered(twin, s + draw(1, random), n + draw(1, random), s / n)
    assert covered < acceptance(0.95, TRIALS)[0]


def test_a_twin_that_takes_a_share_for_independent_is_too_wide(random: Randomness) -> None:
    part = draw(1, random)
    covered = count_covered(RatioNoise(first=CELL, second=CELL), 2_700 + part, 3_000 + part, 0.9)
    assert covered > acceptance(0.957, TRIALS)[1]


@given(NARROW_LAWS, NARROW_LAWS, st.booleans(), st.fractions(-4, 4, max_denominator=6), st.floats(0.005, 0.4))
@settings(max_examples=25)
def test_every_outcome_of_narrow_noise_adds_up_to_the_coverage(
    first: NoiseLaw, second: NoiseLaw, is_share: bool, ratio: Fraction, beta: float
) -> None:
    noise = RatioNoise(
        first=LinearCombination.from_weights([(first, 1)]),
        second=LinearCombination.from_weights([(second, 1)]),
        is_share=is_share,
    )
    outcomes = [
        (float(z), float(z * is_share + y), float(p * q))
        for z, p in list_masses(first, left_out=1e-7).items()
        for y, q in list_masses(second, left_out=1e-7).items()
    ]
    for n in (3, 12, 60):
        s, truth = float(ratio * n), float(ratio)
        z, y, p = np.array(outcomes).T
        low, high = noise.find_intervals(s + z, n + y, beta)
        assert float(p[(low <= truth) & (truth <= high)].sum()) >= 1 - beta - 1e-6


@given(
    st.sampled_from([DiscreteLaplaceLaw(rate=Fraction(1, 20)), DiscreteGaussianLaw(parameter=Fraction(400))]),
    st.integers(1, 30),
    st.booleans(),
    st.floats(-50, 50),
)
@settings(max_examples=40)
def test_half_widths_of_cells_bound_that_of_every_direction(
    law: NoiseLaw, cells: int, is_share: bool, theta: float
) -> None:
    """q(theta), computed from the law of the combination itself, within about 3% of the cell's bound."""
    noise = RatioNoise(first=LinearCombination.from_equal_cells(law, cells), second=CELL, is_share=is_share)
    table = ratio_bounds._tabulate_cells(noise, 0.05)
    assert table.a[0] == table.a[-1] == 0
    assert (table.a[1:-1] > 0).all()
    thetas = table.b[1:-1] / table.a[1:-1]
    assert (np.diff(thetas) > 0).all()
    place = int(np.searchsorted(thetas, theta))
    a, b = table.a[place : place + 2], table.b[place : place + 2]
    u, v = np.linalg.solve(np.array([a, b]), [1.0, theta])
    assert min(u, v) >= -1e-9
    bound = float((u + v) * table.half_widths[place])
    c_first, c_second = noise.get_coefficients(np.array(1.0), np.array(theta))
    direct = noise.first.scale(float(c_first)) + noise.second.scale(float(c_second))
    slack = 0.01 * direct.standard_deviation  # what the half-width of the combination may be too wide by
    assert float(direct.half_width(0.05)) - slack <= bound <= float(direct.half_width(0.05)) * 1.03 + 2


def test_a_ratio_whose_denominator_may_be_0_cannot_be_told() -> None:
    noise = RatioNoise(first=CELL, second=CELL)
    assert noise.find_interval(500, 59, 0.05) is None
    assert noise.find_interval(500, -10, 0.05) is None
    assert find(noise, 500, 59, low=0, high=20) == pytest.approx([4.1, 20], abs=0.2)
    low, high = find(noise, 500, 80)
    assert low < 500 / 80 < high


def test_limits_are_applied_before_the_ends_of_a_set_in_two_parts(random: Randomness) -> None:
    """Coverage holds with limits, also where the set without them is everything beyond two ends."""
    s, n = 300, 40
    noise = RatioNoise(first=CELL, second=CELL)
    low, high = noise.find_intervals(s + draw(1, random), n + draw(1, random), 0.05, low=0, high=20)
    covered = int(((low <= s / n) & (s / n <= high)).sum())
    assert covered >= acceptance(0.95, TRIALS)[0]
    assert float(np.mean(low > 0)) > 0.5


def test_known_limits_cut_the_interval_off() -> None:
    noise = RatioNoise(first=CELL, second=CELL)
    assert find(noise, 5, 1_000, low=0, high=1) == pytest.approx([0, 0.065], abs=0.002)
    assert find(noise, -900, 1_000, low=0, high=1) == [0, 0]
    with pytest.raises(InvalidParameterError):
        noise.find_interval(5, 1_000, 0.05, low=1, high=0)


def test_a_public_denominator_only_scales() -> None:
    low, high = RatioNoise(first=CELL, second=NONE).find_intervals([500.0, -5.0], [1_000, 100], 0.05)
    assert low == pytest.approx([0.44, -0.65])
    assert high == pytest.approx([0.56, 0.55])


def test_a_public_numerator_is_divided_by_the_ends_of_the_denominator() -> None:
    noise = RatioNoise(first=NONE, second=CELL)
    assert find(noise, 500, 1_000) == pytest.approx([500 / 1_060, 500 / 940])
    assert noise.find_interval(500, 60, 0.05) is None


def test_a_share_of_a_public_rest_is_monotone_in_its_one_noise() -> None:
    noise = RatioNoise(first=CELL, second=NONE, is_share=True)
    assert find(noise, 500, 1_000) == pytest.approx([440 / 940, 560 / 1_060])


def test_wide_noise_and_laws_without_a_table_have_intervals_too(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = LinearCombination.from_equal_cells(DiscreteLaplaceLaw(rate=Fraction(1, 10**9)), 1)
    exact = find(RatioNoise(first=wide, second=CELL), 5e11, 1e3)
    assert exact == pytest.approx([4.715e8, 5.322e8], rel=2e-3)
    monkeypatch.setattr(ratio_bounds._Block, "from_table", lambda table, deviation: None)
    # an own beta, so that no table of the cache is found
    boxed = RatioNoise(first=wide, second=CELL).find_interval(5e11, 1e3, 0.0500001)
    assert boxed is not None
    assert boxed[0] < exact[0]
    assert exact[1] < boxed[1]


def test_a_beta_below_the_errors_of_tables_says_nothing() -> None:
    assert RatioNoise(first=CELL, second=CELL).find_interval(500, 1_000, 1e-12) is None


def test_intervals_keep_the_shape_of_their_numbers() -> None:
    low, high = RatioNoise(first=CELL, second=CELL).find_intervals(np.ones((2, 3)), 1_000, 0.05)
    assert low.shape == high.shape == (2, 3)
    assert math.isfinite(float(low[0, 0]))


@pytest.mark.parametrize("theta", [0.001, 0.5, 0.9, 0.99])
def test_a_part_with_little_noise_in_a_total_with_much_can_be_told(theta: float, random: Randomness) -> None:
    """Ratios far from that of the deviations lie in the cell that ends at infinity, and are bounded there."""
    rest = LinearCombination.from_equal_cells(LAPLACE, 10_000)
    noise, n = RatioNoise(first=CELL, second=rest, is_share=True), 100_000
    low, high = find(noise, theta * n, n)
    assert low < theta < high
    assert (
        high - low
        < 2.2 * float(CELL.scale(1 - theta).half_width(0.05) + rest.scale(theta).half_width(0.05)) / n
    )


def test_a_numerator_almost_without_noise_is_as_good_as_a_public_one() -> None:
    for rate in (3, 30, 1_000):
        quiet = LinearCombination.from_weights([(DiscreteLaplaceLaw(rate=Fraction(rate)), 1)])
        interval = find(RatioNoise(first=quiet, second=CELL), 50_000, 1_000)
        assert interval == pytest.approx([50_000 / 1_060, 50_000 / 940], rel=2e-3)
        interval = find(RatioNoise(first=CELL, second=quiet), 500, 1_000)
        assert interval == pytest.approx([0.44, 0.56], rel=5e-3)
