"""Weighted sums of noise: half-widths that cover by exact computation, and are not wider than stated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import tabulated_laws
from discreet.mechanisms.linear_combinations import (
    LinearCombination,
    round_up,
)
from discreet.mechanisms.measurement_combination import combine_measurements
from discreet.mechanisms.noise_laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw
from discreet.mechanisms.tabulated_laws import find_chernoff_reach
from tests.mechanisms.noise_sums import (
    BETAS,
    LAPLACE,
    LAWS,
    NARROW_LAWS,
    TWICE,
    add_in_doubles,
    add_independent,
    list_masses,
    sum_inside,
)

WEIGHTS = st.fractions(Fraction(-3), 3, max_denominator=7).filter(bool)
PARTS = st.lists(st.tuples(NARROW_LAWS, WEIGHTS), min_size=2, max_size=3)


@pytest.mark.parametrize(("cells", "half_width"), [(1, 60), (2, 82), (656, 1420)])
def test_sums_of_cells_of_a_tenth(cells: int, half_width: int) -> None:
    combination = LinearCombination.from_equal_cells(LAPLACE, cells)
    assert combination.half_width(0.05) == half_width
    assert combination.standard_deviation == pytest.approx(28.2813 * math.sqrt(cells), rel=1e-5)


def test_a_union_bound_over_656_cells_would_be_sixty_times_too_wide() -> None:
    union = 656 * LAPLACE.half_width(0.05 / 656)
    assert union > 60 * LinearCombination.from_equal_cells(LAPLACE, 656).half_width(0.05)


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("weights", [(1, 1), (1, Fraction(-1, 2)), (Fraction(2, 3), Fraction(3, 7))])
def test_half_width_against_sums_of_fractions(weights: tuple[Fraction, Fraction], beta: float) -> None:
    laws = DiscreteLaplaceLaw(rate=Fraction(1)), DiscreteGaussianLaw(parameter=Fraction(3))
    masses = add_independent((list_masses(law), Fraction(w)) for law, w in zip(laws, weights, strict=True))
    h = LinearCombination.from_weights(zip(laws, weights, strict=True)).half_width(beta)
    inside = sorted(abs(x) for x in masses if abs(x) <= h)
    assert h == inside[-1]
    assert sum_inside(masses, h) >= 1 - beta
    assert sum_inside(masses, h - Fraction(1, 100)) < 1 - beta


@given(PARTS, BETAS)
@settings(max_examples=40)
def test_half_width_of_a_lattice_sum_is_the_least_that_covers(
    parts: list[tuple[NoiseLaw, Fraction]], beta: float
) -> None:
    combination = LinearCombination.from_weights(parts)
    masses = add_in_doubles([(list_masses(law, left_out=1e-13), weight) for law, weight in parts])
    h = combination.half_width(beta)
    assert sum_inside(masses, h) >= 1 - beta - 1e-9
    assert h == 0 or sum_inside(masses, h - Fraction(1, 10**9)) < 1 - beta + 2e-9


@given(PARTS, BETAS)
@settings(max_examples=40)
def test_half_width_by_smoothing_covers_and_is_hardly_wider(
    parts: list[tuple[NoiseLaw, Fraction]], beta: float
) -> None:
    """Forced where a lattice would do, so that both can be compared with every outcome."""
    combination = LinearCombination.from_weights(parts)
    terms, deviation = combination.terms, combination.standard_deviation
    reach = find_chernoff_reach(terms, tabulated_laws.ALIASED)
    table = tabulated_laws._tabulate_smoothed(terms, reach, deviation, delta=deviation / 150)
    assert table is not None
    h = table.find_half_width(beta)
    assert h is not None
    masses = add_in_doubles([(list_masses(law, left_out=1e-13), weight) for law, weight in parts])
    assert sum_inside(masses, h) >= 1 - beta - 1e-9
    assert sum_inside(masses, h - 2 * table.slack - 2 * table.step) < 1 - beta + 1e-8
    assert table.slack < 0.01 * deviation


@given(PARTS)
@settings(max_examples=20)
def test_masses_of_a_table_are_those_of_every_outcome(parts: list[tuple[NoiseLaw, Fraction]]) -> None:
    table = LinearCombination.from_weights(parts).table
    assert table is not None
    assert table.slack == 0
    masses = add_in_doubles([(list_masses(law, left_out=1e-13), weight) for law, weight in parts])
    found = {
        x: float(table.masses[abs(int(x / table.step))])
        for x in masses
        if abs(x / table.step) < table.masses.size
    }
    assert sum(abs(found[x] - float(masses[x])) for x in found) <= table.error + 1e-9


def test_a_table_without_room_for_the_tail_is_caught() -> None:
    """A broken twin: the period is too short, so that the tail wraps around into the middle."""
    terms = LinearCombination.from_equal_cells(LAPLACE, 2).terms
    twin = tabulated_laws._tabulate_lattice(terms, Fraction(1), reach=60.0)
    h = twin.find_half_width(0.05)
    assert h is None or h < 82


@given(st.lists(st.tuples(LAWS, WEIGHTS, st.integers(1, 10**6)), min_size=1, max_size=3), BETAS)
@settings(max_examples=60)
def test_chernoffs_bound_is_never_below_the_law(
    groups: list[tuple[NoiseLaw, Fraction, int]], beta: float
) -> None:
    combination = LinearCombination.from_counts(groups)
    h = combination.half_width(beta)
    slack = combination.standard_deviation / 30
    assert h <= find_chernoff_reach(combination.terms, beta) + slack
    # Chebyshev's inequality on the other side: no law of this variance is that narrow and that wide
    assert float(h) <= combination.standard_deviation / math.sqrt(beta) + slack + float(h == 0)


@pytest.mark.parametrize("beta", [1e-3, 1e-6, 1e-9, 1e-15, 1e-200])
def test_a_tiny_beta_has_a_half_width_too(beta: float) -> None:
    h = LinearCombination.from_equal_cells(LAPLACE, 2).half_width(beta)
    exact = next(x for x in range(10**6) if _miss_of_two(x) <= beta)
    assert exact <= h <= 1.45 * exact + 1


def _miss_of_two(h: int) -> float:
    """Pr[|Z1 + Z2| > h], in closed form."""
    a = math.exp(-0.05)
    scale = ((1 - a) / (1 + a)) ** 2
    # Pr[Z1 + Z2 = z] = scale a**z (z + (1 + a**2) / (1 - a**2)), summed from h + 1
    first, k = (1 + a * a) / (1 - a * a), h + 1
    tail = a**k / (1 - a) * (k + first) + a ** (k + 1) / (1 - a) ** 2
    return 2 * scale * tail


@pytest.mark.parametrize("cells", [2, 12, 656, 10**5, 10**7])
@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(1, 10**6), Fraction(4)])
def test_wide_sums_tend_to_the_normal_law(cells: int, rate: Fraction) -> None:
    """Also where the lattice is too fine for a table."""
    combination = LinearCombination.from_equal_cells(DiscreteLaplaceLaw(rate=rate), cells)
    ratio = float(combination.half_width(0.05)) / combination.standard_deviation
    steps = 1 / combination.standard_deviation
    assert 1.9599 - steps < ratio < 1.98 + steps + 0.2 / cells


def test_sums_of_gaussian_noise_are_gaussian() -> None:
    combination = LinearCombination.from_equal_cells(DiscreteGaussianLaw(parameter=Fraction(400)), 656)
    assert combination.half_width(0.05) == 1004


def test_a_sum_of_many_different_weights_is_close_to_normal() -> None:
    weights = np.random.default_rng(5).random(2_000)
    combination = LinearCombination.from_weights((LAPLACE, weight) for weight in weights.tolist())
    assert 1.9599 < float(combination.half_width(0.05)) / combination.standard_deviation < 2.0


def test_what_would_take_too_much_work_is_bounded_by_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulated_laws, "LARGEST_WORK", 10)
    weights = np.random.default_rng(6).random(50)
    combination = LinearCombination.from_weights((LAPLACE, weight) for weight in weights.tolist())
    assert combination.table is None
    assert 1.96 < float(combination.half_width(0.05)) / combination.standard_deviation < 2.9


def test_signs_and_order_of_weights_do_not_matter() -> None:
    one = LinearCombination.from_weights([(LAPLACE, 1), (TWICE, -2)])
    other = LinearCombination.from_weights([(TWICE, 2), (LAPLACE, -1)])
    assert one == other
    assert one == LinearCombination.from_weights([(LAPLACE, 1)]) + LinearCombination.from_weights(
        [(TWICE, 2)]
    )
    assert one.scale(-3).half_width(0.05) == 3 * one.half_width(0.05)
    assert LinearCombination.from_weights([(LAPLACE, 0)]).half_width(0.05) == 0


@given(st.fractions())
def test_ends_of_intervals_are_rounded_outward(number: Fraction) -> None:
    assert number <= round_up(number)
    assert math.nextafter(round_up(number), -math.inf) < number


@pytest.mark.parametrize(
    "quiet",
    [
        *(DiscreteLaplaceLaw(rate=Fraction(rate)) for rate in (30, 300, 5_000)),
        *(DiscreteGaussianLaw(parameter=Fraction(1, v)) for v in (20, 5_000, 10**200)),
    ],
)
def test_noise_that_is_almost_surely_0_adds_nothing(quiet: NoiseLaw) -> None:
    assert LinearCombination.from_equal_cells(quiet, 2).half_width(0.05) == 0
    assert LinearCombination.from_weights([(quiet, 1), (LAPLACE, 1)]).half_width(0.05) == 60
    assert (
        combine_measurements(*[LinearCombination.from_weights([(quiet, 1)])] * 2).weights
        == (Fraction(1, 2),) * 2
    )
