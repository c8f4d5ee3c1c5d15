"""Loss distributions: never below the truth, and close to it."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import LossDistribution, RepeatedDP, find_least_epsilon
from discreet.core import discrete_gaussian_tails
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import (
    ApproximateDP,
    DiscreteGaussianDP,
    GaussianDP,
    Guarantee,
    LaplaceDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from discreet.core.neighbor_relations import Relation
from tests.accounting.worlds import Response, exact_delta

SIZES = st.floats(1e-3, 6)
GUARANTEES = st.one_of(
    st.builds(PureDP, epsilon=SIZES),
    st.builds(LaplaceDP, epsilon=SIZES),
    st.builds(ApproximateDP, epsilon=SIZES, delta=st.floats(1e-12, 0.5)),
    st.builds(GaussianDP, mu=SIZES),
    st.builds(
        DiscreteGaussianDP,
        variance=st.fractions(Fraction(1, 4), 400, max_denominator=8),
        shift=st.integers(1, 3),
    ),
)


def shortfall(found: Callable[[float], float], truth: Guarantee | RepeatedDP, furthest: float) -> float:
    """By how much `found` claims less than the truth somewhere."""
    return max(truth.profile(e) - found(e) for e in np.linspace(-furthest / 4, furthest, 60))


@given(GUARANTEES)
def test_profile_of_each_guarantee_is_bounded_from_above_and_met(guarantee: Guarantee) -> None:
    """A closed form is itself raised by what rounding may change, 2**-46 for tails of discrete Gaussians."""
    law = LossDistribution.from_guarantee(guarantee)
    furthest = min(1.2 * guarantee.cap, 20.0)
    raised = (
        2 * discrete_gaussian_tails.COVER if isinstance(guarantee, DiscreteGaussianDP | GaussianDP) else 0
    )
    assert shortfall(law.profile, guarantee, furthest) <= raised
    for e in np.linspace(0, furthest, 60):
        assert law.profile(e) <= guarantee.profile(e) + 1e-3


@pytest.mark.parametrize("times", [2, 31, 1_000, 100_000])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_equal_releases_stay_above_the_exact_composition_and_close(times: int, delta: float) -> None:
    epsilon = 0.3 / math.sqrt(times)
    law = LossDistribution.from_events({ApproximateDP(epsilon=epsilon, delta=delta): times})
    truth = RepeatedDP(epsilon=epsilon, delta=delta, times=times)
    assert shortfall(law.profile, truth, 3.0) <= 0
    if delta * times < 1e-6:
        assert find_least_epsilon(law, 1e-6) == pytest.approx(find_least_epsilon(truth, 1e-6), rel=1e-3)


def test_rounding_losses_down_would_be_noticed() -> None:
    law = LossDistribution.from_guarantee(PureDP(epsilon=0.01003))
    down = replace(
        law, masses=np.append(law.masses[1:], 0.0) + np.append(law.masses[:1], np.zeros(law.masses.size - 1))
    )
    assert shortfall(down.repeat(100).profile, RepeatedDP(epsilon=0.01003, times=100), 1.0) > 1e-5


def test_thousand_gaussians_are_one_gaussian() -> None:
    law = LossDistribution.from_events({GaussianDP(mu=0.01): 1_000})
    truth = GaussianDP(mu=math.sqrt(1_000) / 100)
    assert shortfall(law.profile, truth, 3.0) <= 0
    assert find_least_epsilon(law, 1e-6) == pytest.approx(1.36757, abs=5e-5)


@given(
    st.lists(st.fractions(Fraction(21, 20), 3, max_denominator=20), min_size=1, max_size=7),
    st.fractions(1, 20),
)
@settings(max_examples=50)
def test_unequal_releases_lie_between_the_truth_and_a_thousandth_above(
    gammas: list[Fraction], odds: Fraction
) -> None:
    releases = [Response(gamma) for gamma in gammas]
    truth = float(exact_delta(releases, odds))
    found = LossDistribution.from_events([PureDP(epsilon=each.epsilon) for each in releases]).profile(
        math.log(odds)
    )
    assert truth - 1e-15 <= found <= truth + 1e-3


def test_laplace_and_gaussian_together_agree_with_dp_accounting() -> None:
    other = PLDAccountant()
    other.compose(dp_accounting.LaplaceDpEvent(100), 1_000)
    laplace = find_least_epsilon(LossDistribution.from_events({LaplaceDP(epsilon=0.01): 1_000}), 1e-6)
    assert laplace == pytest.approx(other.get_epsilon(1e-6), abs=2e-4)
    assert laplace == pytest.approx(1.3629, abs=1e-4)
    other.compose(dp_accounting.GaussianDpEvent(100), 1_000)
    both = LossDistribution.from_events({LaplaceDP(epsilon=0.01): 1_000, GaussianDP(mu=0.01): 1_000})
    assert find_least_epsilon(both, 1e-6) == pytest.approx(other.get_epsilon(1e-6), abs=2e-4)
    assert find_least_epsilon(both, 1e-6) == pytest.approx(1.9919, abs=1e-4)


@given(GUARANTEES, st.floats(0, 5))
def test_a_coarser_grid_claims_no_less(guarantee: Guarantee, epsilon: float) -> None:
    fine = LossDistribution.from_guarantee(guarantee)
    coarse = fine.coarsen().coarsen().coarsen()
    assert coarse.interval == 8 * fine.interval
    assert coarse.profile(epsilon) >= fine.profile(epsilon) - 1e-14
    assert coarse.masses.sum() == pytest.approx(fine.masses.sum())


def test_adding_one_by_one_comes_to_the_same_as_all_at_once() -> None:
    events = [LaplaceDP(epsilon=0.1 + i / 100) for i in range(20)] + [
        GaussianDP(mu=0.2 + i / 100) for i in range(20)
    ]
    one_by_one = LossDistribution.from_events(events[:5])
    for event in events[5:]:
        one_by_one = one_by_one.add_event(event)
    at_once = LossDistribution.from_events(events)
    assert one_by_one.events == at_once.events == 40
    for delta in (1e-3, 1e-6, 1e-9):
        assert find_least_epsilon(one_by_one, delta) == pytest.approx(
            find_least_epsilon(at_once, delta), rel=1e-4
        )


def test_a_million_equal_events_still_have_a_law() -> None:
    law = LossDistribution.from_events({PureDP(epsilon=0.001): 1_000_000})
    truth = RepeatedDP(epsilon=0.001, times=1_000_000)
    assert find_least_epsilon(law, 1e-6) == pytest.approx(find_least_epsilon(truth, 1e-6), rel=0.01)
    assert shortfall(law.profile, truth, 10.0) <= 0


def test_large_losses_do_not_outgrow_the_grid() -> None:
    law = LossDistribution.from_events([LaplaceDP(epsilon=200), PureDP(epsilon=90.5)])
    assert law.cap == pytest.approx(290.5)
    assert law.masses.size < 300_000
    assert law.profile(250.0) > 0.3
    assert law.profile(290.6) == 0


def test_nothing_beyond_the_cap_and_nothing_released_is_no_loss() -> None:
    assert LossDistribution.from_events([PureDP(epsilon=0.5)] * 4).profile(2.0001) == 0
    assert LossDistribution.from_events([]).profile(0.0) == 0


def test_a_plan_that_was_composed_keeps_its_sum_of_rho() -> None:
    parts: list[Guarantee] = [LaplaceDP(epsilon=0.3), GaussianDP(mu=0.2), PureDP(epsilon=0.1)]
    law = LossDistribution.from_events(parts)
    assert float(law.zcdp.rho) == pytest.approx(0.3 + math.expm1(-0.3) + 0.02 + 0.1 * math.tanh(0.05))
    assert law.for_group(2).profile(4.0) >= law.profile(2.0)


@pytest.mark.parametrize("guarantee", [ZeroConcentratedDP(rho=0.1), RenyiDP(order=2, epsilon=0.1)])
def test_moments_alone_have_no_law(guarantee: Guarantee) -> None:
    with pytest.raises(RequestError, match="determine no distribution"):
        LossDistribution.from_guarantee(guarantee)


def test_different_neighbours_are_not_mixed() -> None:
    with pytest.raises(RequestError, match=r"replace-one.*add/remove"):
        LossDistribution.from_guarantee(PureDP(epsilon=1)).add_event(
            PureDP(epsilon=1, relation=Relation.PRESENCE)
        )


@pytest.mark.parametrize("interval", [0, -1.0, math.nan, math.inf])
def test_refuses_an_interval_that_is_none(interval: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^LossDistribution\.interval must be .*; got"):
        LossDistribution.from_guarantee(PureDP(epsilon=1), interval=interval)


@pytest.mark.parametrize("times", [0, -1, 1.5])
def test_refuses_to_repeat_less_than_once(times: int) -> None:
    with pytest.raises(InvalidParameterError, match=r"^LossDistribution\.times must be .*; got"):
        LossDistribution.from_guarantee(PureDP(epsilon=1)).repeat(times)
