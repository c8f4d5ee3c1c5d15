"""Profiles against laws that are enumerated or integrated here, conversions, groups, neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    LaplaceDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    convert_guarantee,
)
from discreet.core.neighbor_relations import Relation

EPSILONS = st.floats(0.01, 6)
AT = st.floats(-2, 7)
EXAMPLES: list[Guarantee] = [
    PureDP(epsilon=0.7),
    LaplaceDP(epsilon=0.7),
    ApproximateDP(epsilon=0.7, delta=1e-6),
    GaussianDP(mu=0.4),
    DiscreteGaussianDP(variance=Fraction(9), shift=1),
    ZeroConcentratedDP(rho=0.05),
    ZeroConcentratedDP(rho=0.05, delta=1e-7),
    RenyiDP(order=8, epsilon=0.5),
]


def hockey_stick(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@given(EPSILONS, AT)
def test_pure_profile_is_that_of_randomized_response(epsilon: float, at: float) -> None:
    keep = 1 / (1 + math.exp(-epsilon))
    expected = hockey_stick([keep, 1 - keep], [1 - keep, keep], at)
    assert PureDP(epsilon=epsilon).profile(at) == pytest.approx(expected, abs=1e-12)


@given(EPSILONS, st.floats(0, 0.5), AT)
def test_approximate_profile_leaks_or_responds_at_random(epsilon: float, delta: float, at: float) -> None:
    keep = (1 - delta) / (1 + math.exp(-epsilon))
    flip = 1 - delta - keep
    expected = hockey_stick([delta, keep, flip, 0], [0, flip, keep, delta], at)
    assert ApproximateDP(epsilon=epsilon, delta=delta).profile(at) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("at", [-1.0, 0.0, 0.1, 0.9, 3.5])
def test_laplace_profile_is_the_integral_over_its_density(epsilon: float, at: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, math.exp(-abs(x)) / 2 - math.exp(at) * math.exp(-abs(x - epsilon)) / 2)

    expected, _ = quad(excess, -60, 60, points=[0, epsilon, (epsilon - at) / 2], limit=500)
    assert LaplaceDP(epsilon=epsilon).profile(at) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("at", [-0.5, 0.0, 0.4, 2.0])
def test_gaussian_profile_is_the_integral_over_its_density(mu: float, at: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, math.exp(-(x**2) / 2) - math.exp(at - (x + mu) ** 2 / 2)) / math.sqrt(2 * math.pi)

    expected, _ = quad(excess, -30, 30, points=[at / mu - mu / 2], limit=500)
    assert GaussianDP(mu=mu).profile(at) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.02, 4), st.floats(1.001, 200))
def test_pure_loss_is_concentrated_by_tanh_at_every_order(epsilon: float, order: float) -> None:
    """Randomized response is the worst pure mechanism; its Renyi divergence stays below order * rho."""
    logs = np.logaddexp(order * epsilon, (1 - order) * epsilon) - np.logaddexp(0, epsilon)
    assert logs / (order - 1) <= order * float(PureDP(epsilon=epsilon).zcdp.rho) * (1 + 1e-9)


@given(st.floats(0.02, 4), st.floats(1.001, 200))
def test_laplace_loss_is_concentrated_at_every_order(epsilon: float, order: float) -> None:
    a = order
    inside = np.logaddexp(
        math.log(a / (2 * a - 1)) + (a - 1) * epsilon, math.log((a - 1) / (2 * a - 1)) - a * epsilon
    )
    assert inside / (a - 1) <= order * float(LaplaceDP(epsilon=epsilon).zcdp.rho) * (1 + 1e-9)


def test_concentrated_conversion_gives_the_check_value() -> None:
    """1,000 Laplace answers at 0.01 and delta 1e-6: 1.4716."""
    total = ZeroConcentratedDP(rho=1000 * float(PureDP(epsilon=0.01).zcdp.rho))
    assert total.profile(1.4716) == pytest.approx(1e-6, rel=1e-3)


@given(st.floats(1e-4, 3), st.floats(0.0, 12))
def test_concentrated_profile_covers_the_gaussian_that_has_the_same_rho(rho: float, at: float) -> None:
    assert ZeroConcentratedDP(rho=rho).profile(at) >= GaussianDP(mu=math.sqrt(2 * rho)).profile(at) - 1e-12


@given(st.floats(1e-4, 3), st.floats(0.0, 12), st.floats(1.01, 300))
def test_concentrated_profile_is_the_best_over_orders(rho: float, at: float, order: float) -> None:
    one_order = RenyiDP(order=order, epsilon=order * rho).profile(at)
    assert ZeroConcentratedDP(rho=rho).profile(at) <= one_order * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("guarantee", EXAMPLES)
def test_profiles_fall_from_the_total_variation_towards_zero(guarantee: Guarantee) -> None:
    deltas = [guarantee.profile(e) for e in np.linspace(0, 8, 40)]
    assert all(0 <= d <= 1 for d in deltas)
    assert all(a >= b - 1e-12 for a, b in pairwise(deltas))
    assert deltas[-1] <= 1e-3


@pytest.mark.parametrize("guarantee", EXAMPLES)
def test_a_group_of_one_is_the_guarantee_itself(guarantee: Guarantee) -> None:
    assert guarantee.for_group(1).profile(0.3) == pytest.approx(guarantee.profile(0.3))


@pytest.mark.parametrize("guarantee", EXAMPLES)
@pytest.mark.parametrize("at", [0.5, 1.5, 3.0])
def test_a_closed_form_for_a_group_is_no_looser_than_the_general_one(guarantee: Guarantee, at: float) -> None:
    general = GroupOf(member=guarantee, size=3, relation=guarantee.relation)
    assert guarantee.for_group(3).profile(at) <= general.profile(at) * (1 + 1e-9) + 1e-12


def test_a_family_of_ten_has_the_check_values() -> None:
    for epsilon, expected in ((0.1, 0.0267), (1.0, 0.9955)):
        loss = PureDP(epsilon=epsilon).for_group(10).cap
        assert 1 / (1 + 99 * math.exp(-loss)) == pytest.approx(expected, abs=5e-5)


def test_a_group_whose_delta_passes_one_is_refused() -> None:
    with pytest.raises(RequestError, match="says nothing about a group of 20"):
        ApproximateDP(epsilon=1, delta=1e-6).for_group(20)


@pytest.mark.parametrize("guarantee", [PureDP(epsilon=1), GaussianDP(mu=1), RenyiDP(order=4, epsilon=1)])
def test_presence_is_restated_as_value_by_a_group_of_two(guarantee: Guarantee) -> None:
    presence = type(guarantee)(**{**guarantee.__dict__, "relation": Relation.PRESENCE})
    value = convert_guarantee(presence, Relation.VALUE)
    assert value.relation is Relation.VALUE
    assert value.profile(0.5) == pytest.approx(guarantee.for_group(2).profile(0.5))


def test_value_is_never_restated_as_presence() -> None:
    with pytest.raises(RequestError, match="says nothing about presence"):
        convert_guarantee(PureDP(epsilon=1), Relation.PRESENCE)


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "1", True])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(PureDP, "epsilon"), (ApproximateDP, "epsilon"), (GaussianDP, "mu"), (ZeroConcentratedDP, "rho")],
)
def test_parameters_without_meaning_are_refused(kind: type, name: str, bad: float) -> None:
    others = {"delta": 0.1} if kind is ApproximateDP else {}
    with pytest.raises(InvalidParameterError, match=rf"^{kind.__name__}\.{name} must be"):
        kind(**{name: bad, **others})


@pytest.mark.parametrize("delta", [1, -0.1, math.nan, 2])
def test_a_delta_outside_its_range_is_refused(delta: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^ApproximateDP\.delta must be a number in \[0, 1\)"):
        ApproximateDP(epsilon=1, delta=delta)
