"""Optimal composition of equal releases, against exact enumeration and the published values."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import binomial, mp, mpf

from discreet.accounting import RepeatedDP, find_least_epsilon
from discreet.core.errors import InvalidParameterError
from discreet.core.guarantees import ApproximateDP, PureDP
from tests.accounting.worlds import Response, exact_delta

GAMMAS = st.fractions(Fraction(21, 20), 6, max_denominator=20)


@given(
    GAMMAS,
    st.fractions(0, Fraction(1, 5), max_denominator=50),
    st.integers(1, 5),
    st.fractions(Fraction(1, 2), 60, max_denominator=10),
)
def test_profile_is_the_truth_about_randomized_response(
    gamma: Fraction, delta: Fraction, times: int, odds: Fraction
) -> None:
    release = Response(gamma, delta)
    claimed = RepeatedDP(epsilon=release.epsilon, delta=delta, times=times).profile(math.log(odds))
    assert claimed == pytest.approx(float(exact_delta([release] * times, odds)), abs=1e-14, rel=1e-11)


def test_a_profile_that_forgets_the_leak_would_be_noticed() -> None:
    release = Response(Fraction(2), Fraction(1, 1000))
    forgetful = RepeatedDP(epsilon=release.epsilon, times=3).profile(1.0)
    assert forgetful < float(exact_delta([release] * 3, Fraction(271828, 100000))) * 0.999


def test_thousand_small_epsilons_reach_the_published_value_between_the_grid_points_of_the_theorem() -> None:
    together = RepeatedDP(epsilon=0.01, times=1_000)
    found = find_least_epsilon(together, 1e-6)
    on_grid = min(k * 0.02 for k in range(500) if together.profile(k * 0.02) <= 1e-6)
    assert found == pytest.approx(1.36545, abs=5e-6)
    assert on_grid == pytest.approx(1.380)


def test_profile_of_many_releases_agrees_with_fifty_digits() -> None:
    k, e, at = 20_000, 0.005, 2.5
    mp.dps = 50
    p = 1 / (1 + mp.exp(-mpf(e)))
    first = math.floor((at / e + k) / 2) + 1
    term = binomial(k, first) * p**first * (1 - p) ** (k - first)
    truth = mpf(0)
    for i in range(first, k + 1):
        truth += term * (1 - mp.exp(at - (2 * i - k) * mpf(e)))
        term *= mpf(k - i) / (i + 1) * p / (1 - p)
    assert RepeatedDP(epsilon=e, times=k).profile(at) == pytest.approx(float(truth), rel=1e-9)


@given(GAMMAS, st.integers(1, 30))
def test_one_more_release_never_loses_less(gamma: Fraction, times: int) -> None:
    e = math.log(gamma)
    fewer, more = (RepeatedDP(epsilon=e, delta=1e-7, times=k) for k in (times, times + 1))
    for at in (0.0, e, 3 * e):
        assert more.profile(at) >= fewer.profile(at) - 1e-15


def test_once_is_the_guarantee_itself() -> None:
    once = RepeatedDP(epsilon=0.7, delta=1e-3, times=1)
    for at in (-1.0, 0.0, 0.3, 0.7, 2.0):
        assert once.profile(at) == pytest.approx(
            ApproximateDP(epsilon=0.7, delta=1e-3).profile(at), abs=1e-15
        )


def test_group_of_a_pure_repetition_scales_epsilon() -> None:
    together = RepeatedDP(epsilon=0.1, times=5)
    assert together.for_group(3).cap == pytest.approx(1.5)
    assert together.for_group(3).profile(0.4) == RepeatedDP(epsilon=3 * 0.1, times=5).profile(0.4)


def test_concentrated_is_the_sum_of_its_parts() -> None:
    one = PureDP(epsilon=0.3).zcdp.rho
    assert RepeatedDP(epsilon=0.3, times=7).zcdp.rho == pytest.approx(7 * one)


def test_least_epsilon_is_where_the_profile_crosses() -> None:
    together = RepeatedDP(epsilon=0.3, delta=1e-9, times=11)
    found = find_least_epsilon(together, 1e-5)
    assert together.profile(found) <= 1e-5 < together.profile(found - 1e-9)


def test_no_epsilon_pays_for_a_leak_above_delta() -> None:
    assert find_least_epsilon(RepeatedDP(epsilon=0.3, delta=1e-3, times=2), 1e-6) == math.inf


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "named"),
    [
        (-1, 0, 1, "epsilon"),
        (math.nan, 0, 1, "epsilon"),
        (1, 1, 1, "delta"),
        (1, -0.1, 1, "delta"),
        (1, 0, 0, "times"),
    ],
)
def test_refuses_what_is_no_release(epsilon: float, delta: float, times: int, named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^RepeatedDP\.{named} must be .*; got"):
        RepeatedDP(epsilon=epsilon, delta=delta, times=times)
