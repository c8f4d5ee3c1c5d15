"""Composition with parameters fixed in advance: published values, truth by enumeration, refusals."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import LossDistribution, RepeatedDP, compose, compose_parallel, find_least_epsilon
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
)
from discreet.core.neighbor_relations import Relation
from tests.accounting.worlds import Response, exact_delta

LAPLACE: dict[Guarantee, int] = {LaplaceDP(epsilon=0.01): 1_000}
GAUSSIAN: dict[Guarantee, int] = {GaussianDP(mu=0.01): 1_000}
SMALL = st.floats(0.01, 1)
EVENTS = st.one_of(
    st.builds(PureDP, epsilon=SMALL),
    st.builds(LaplaceDP, epsilon=SMALL),
    st.builds(GaussianDP, mu=SMALL),
    st.builds(ApproximateDP, epsilon=SMALL, delta=st.just(1e-9)),
)
PURE: dict[Guarantee, int] = {PureDP(epsilon=0.01): 1_000}
PRESENCE = Relation.PRESENCE


def test_thousand_laplace_releases_reach_the_published_values() -> None:
    found = compose(LAPLACE, delta=1e-6).alternatives
    assert found["sequential"] == 10
    assert found["advanced"] == pytest.approx(1.763, abs=5e-4)
    assert found["renyi"] == pytest.approx(1.4658, abs=5e-5)
    assert found["optimal"] == pytest.approx(1.36545, abs=5e-6)
    assert found["loss distribution"] == pytest.approx(1.3629, abs=5e-5)


def test_zcdp_of_a_thousand_pure_releases_is_the_published_value() -> None:
    found = compose(PURE, delta=1e-6).alternatives
    assert found["concentrated"] == pytest.approx(1.4716, abs=5e-5)


def test_thousand_gaussians_are_exact() -> None:
    found = compose(GAUSSIAN, delta=1e-6)
    assert found.theorem == "gaussian"
    assert found.epsilon == pytest.approx(1.36757, abs=5e-6)


def test_laplace_and_gaussian_together_reach_the_published_values() -> None:
    found = compose(LAPLACE | GAUSSIAN, delta=1e-6)
    pure = compose(PURE | GAUSSIAN, delta=1e-6)
    assert pure.alternatives["concentrated"] == pytest.approx(2.1419, abs=5e-5)
    assert found.alternatives["renyi"] == pytest.approx(2.1397, abs=5e-5)
    assert found.theorem == "loss distribution"
    assert found.epsilon == pytest.approx(1.9919, abs=5e-5)


def test_the_tightest_theorem_is_named_and_its_guarantee_holds_what_it_says() -> None:
    for events in (LAPLACE, GAUSSIAN, LAPLACE | GAUSSIAN, PURE):
        found = compose(events, delta=1e-6)
        assert found.epsilon == min(found.alternatives.values()) == found.alternatives[found.theorem]
        assert found.guarantee.profile(found.epsilon) <= 1e-6


@given(
    st.lists(st.fractions(Fraction(21, 20), 3, max_denominator=20), min_size=1, max_size=6),
    st.sampled_from([1e-1, 1e-2, 1e-4]),
)
@settings(max_examples=40)
def test_no_theorem_claims_less_than_the_truth(gammas: list[Fraction], delta: float) -> None:
    releases = [Response(gamma) for gamma in gammas]
    found = compose([PureDP(epsilon=each.epsilon) for each in releases], delta=delta)
    for theorem, epsilon in found.alternatives.items():
        truth = exact_delta(releases, Fraction(math.exp(epsilon)))
        assert float(truth) <= delta * (1 + 1e-9) + 1e-15, theorem


@given(st.lists(EVENTS, min_size=1, max_size=6), EVENTS)
@settings(max_examples=40)
def test_one_more_release_never_lowers_epsilon(events: list[Guarantee], more: Guarantee) -> None:
    before, after = (compose(each, delta=1e-6).epsilon for each in (events, [*events, more]))
    assert after >= before - 1e-4


def test_order_does_not_matter_and_equal_events_are_counted() -> None:
    one, two = PureDP(epsilon=0.2), LaplaceDP(epsilon=0.3)
    listed, counted = compose([one, two, one], delta=1e-6), compose({two: 1, one: 2}, delta=1e-6)
    assert listed.theorem == counted.theorem
    assert listed.alternatives == pytest.approx(counted.alternatives)


def test_without_delta_epsilons_add_up_exactly() -> None:
    found = compose([PureDP(epsilon=Fraction(1, 3))] * 3, delta=0)
    assert (found.theorem, found.epsilon) == ("sequential", 1.0)
    assert found.guarantee == PureDP(epsilon=1)


def test_nothing_released_is_nothing_lost() -> None:
    assert compose([], delta=1e-6).epsilon == 0
    assert compose({PureDP(epsilon=1): 0}, delta=0).epsilon == 0


def test_a_single_release_keeps_its_own_profile() -> None:
    whole = GroupOf(member=RenyiDP(order=4, epsilon=0.01), size=2, relation=Relation.VALUE)
    found = compose([whole], delta=1e-2)
    assert found.theorem == "single"
    assert whole.profile(found.epsilon) <= 1e-2 < whole.profile(found.epsilon - 1e-6)


def test_moments_of_one_order_add_up_at_that_order() -> None:
    found = compose([RenyiDP(order=8, epsilon=0.1), GaussianDP(mu=0.1)], delta=1e-6)
    assert found.theorem == "renyi"
    assert found.epsilon == pytest.approx(
        find_least_epsilon(RenyiDP(order=8, epsilon=0.1 + 8 * 0.01 / 2), 1e-6), rel=1e-9
    )


def test_renyi_curve_of_pure_releases_is_the_one_of_randomized_response() -> None:
    e, order = 0.8, 3.0
    found = compose([PureDP(epsilon=e), RenyiDP(order=order, epsilon=0)], delta=1e-3)
    p, q = math.exp(e) / (1 + math.exp(e)), 1 / (1 + math.exp(e))
    divergence = math.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
    truth = RenyiDP(order=order, epsilon=divergence)
    assert found.alternatives["renyi"] == pytest.approx(find_least_epsilon(truth, 1e-3), rel=1e-9)


def test_leaks_of_concentrated_releases_are_kept() -> None:
    leaky = [ZeroConcentratedDP(rho=0.01, delta=1e-7)] * 5
    found = compose(leaky, delta=1e-6)
    assert found.epsilon > compose([ZeroConcentratedDP(rho=0.01)] * 5, delta=1e-6).epsilon
    with pytest.raises(RequestError, match="no epsilon at delta 4e-07"):
        compose(leaky, delta=4e-7)


def test_every_kind_of_release_composes_with_every_other() -> None:
    kinds: list[Guarantee] = [
        PureDP(epsilon=0.1),
        LaplaceDP(epsilon=0.1),
        ApproximateDP(epsilon=0.1, delta=1e-9),
        GaussianDP(mu=0.1),
        DiscreteGaussianDP(variance=Fraction(100), shift=1),
        ZeroConcentratedDP(rho=0.005),
        RepeatedDP(epsilon=0.01, times=5),
        compose([LaplaceDP(epsilon=0.1), GaussianDP(mu=0.1)], delta=1e-6).guarantee,
    ]
    for one, two in product(kinds, kinds):
        together = compose([one, two], delta=1e-6).epsilon
        assert max(compose([each], delta=1e-6).epsilon for each in (one, two)) <= together < 1.8


@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.9999])
@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP(epsilon=1e300),
        PureDP(epsilon=1e-300),
        LaplaceDP(epsilon=1e300),
        LaplaceDP(epsilon=1e-300),
        GaussianDP(mu=1e150),
        GaussianDP(mu=1e-300),
        ZeroConcentratedDP(rho=1e-300),
        ZeroConcentratedDP(rho=1e6),
        DiscreteGaussianDP(variance=Fraction(1, 10**6), shift=1),
    ],
)
def test_the_smallest_and_the_largest_losses_get_an_epsilon_or_a_sentence(
    guarantee: Guarantee, delta: float
) -> None:
    try:
        found = compose([guarantee, guarantee, PureDP(epsilon=0.1)], delta=delta).epsilon
    except RequestError:
        found = math.inf
    assert found >= compose([PureDP(epsilon=0.1)], delta=delta).epsilon - 1e-6


def test_different_neighbours_are_refused_unless_a_relation_is_named() -> None:
    mixed = [PureDP(epsilon=1), PureDP(epsilon=1, relation=PRESENCE)]
    with pytest.raises(RequestError, match="replaced values and some for added or removed"):
        compose(mixed, delta=0)
    assert compose(mixed, delta=0, relation="value").epsilon == 3
    with pytest.raises(RequestError, match="says nothing about presence"):
        compose(mixed, delta=0, relation=PRESENCE)


def test_without_delta_a_gaussian_is_refused() -> None:
    with pytest.raises(RequestError, match="no epsilon at delta 0"):
        compose([GaussianDP(mu=0.1)], delta=0)


@pytest.mark.parametrize("delta", [-1e-9, 1, math.nan, math.inf, "0.1", True, None])
def test_refuses_a_delta_that_is_no_probability(delta: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^compose: `delta=` must be a number in \[0, 1\); got"):
        compose([PureDP(epsilon=1)], delta=delta)


@pytest.mark.parametrize("thing", [0.5, "pure", None])
def test_refuses_what_is_no_guarantee(thing: Guarantee) -> None:
    with pytest.raises(InvalidParameterError, match=r"guarantees must be guarantees; got"):
        compose([thing], delta=1e-6)
    with pytest.raises(InvalidParameterError, match=r"guarantees must be guarantees; got"):
        compose_parallel([thing], "value")


def presence(epsilon: float) -> PureDP:
    return PureDP(epsilon=epsilon, relation=PRESENCE)


def test_parts_cost_the_largest_epsilon_under_presence_and_twice_that_under_value() -> None:
    parts = [presence(e) for e in (0.5, 2, 1.25)]
    assert compose_parallel(parts, "presence") == PureDP(epsilon=2, relation=PRESENCE)
    assert compose_parallel(parts, "value") == PureDP(epsilon=4)
    assert compose_parallel([presence(2)], "value").cap == 4
    assert compose_parallel([], "value").cap == 0


def test_a_replaced_record_that_changes_part_reaches_the_sum_of_two() -> None:
    """Two parts answer with geometric noise how many they hold; a replacement moves one person across."""
    one, two = 0.7, 0.4

    def log_mass(epsilon: float, z: int) -> float:
        return math.log(math.tanh(epsilon / 2)) - epsilon * abs(z)

    def loss(y: tuple[int, ...], before: tuple[int, int], after: tuple[int, int]) -> float:
        return sum(
            log_mass(e, out - b) - log_mass(e, out - a)
            for e, out, b, a in zip((one, two), y, before, after, strict=True)
        )

    outputs = list(product(range(-10, 20), repeat=2))
    moved = max(loss(y, (5, 3), (4, 4)) for y in outputs)
    added = max(loss(y, (5, 3), (6, 3)) for y in outputs)
    parts = [presence(one), presence(two)]
    assert moved == pytest.approx(one + two)
    assert moved <= compose_parallel(parts, "value").cap
    assert added == pytest.approx(compose_parallel(parts, "presence").cap)
    assert moved > max(one, two) + 0.3


def test_a_replaced_record_that_stays_in_its_part_reaches_twice_the_largest() -> None:
    """A part sums x in [-1, 1] with geometric noise for added and removed people; x goes from -1 to 1."""
    epsilon = 0.7
    losses = [epsilon * (abs(y + 1) - abs(y - 1)) for y in range(-5, 6)]
    assert max(losses) == pytest.approx(compose_parallel([presence(epsilon), presence(0.4)], "value").cap)


def test_a_leak_is_not_lost_by_any_theorem() -> None:
    """Whatever releases it is hidden in, a leak of 1e-5 leaves no epsilon at delta 1e-6."""
    repeated = RepeatedDP(epsilon=0.1, delta=1e-7, times=100)
    for leaky in (
        repeated,
        LossDistribution.from_guarantee(repeated),
        ApproximateDP(epsilon=1, delta=1e-5),
        ZeroConcentratedDP(rho=0.1, delta=1e-5),
    ):
        with pytest.raises(RequestError, match="no epsilon at delta"):
            compose([leaky, PureDP(epsilon=0.1)], delta=1e-6)
        assert compose([leaky, PureDP(epsilon=0.1)], delta=1e-4).epsilon > 0


def test_a_leak_of_everything_has_no_optimal_composition() -> None:
    leaky = RepeatedDP(epsilon=1, delta=0.3, times=5)
    assert "optimal" not in compose([leaky], delta=0.9).alternatives


def test_parts_with_delta_or_without_a_cap_are_bounded_too() -> None:
    leaky = [
        ApproximateDP(epsilon=e, delta=d, relation=PRESENCE) for e, d in ((1, 1e-6), (0.5, 3e-6), (0.2, 2e-6))
    ]
    found = compose_parallel(leaky, "value")
    assert isinstance(found, ApproximateDP)
    assert float(found.epsilon) == 2
    assert float(found.delta) == pytest.approx(3e-6 * (1 + math.e))
    gaussians = [GaussianDP(mu=mu, relation=PRESENCE) for mu in (1, 0.5, 0.1)]
    assert compose_parallel(gaussians, "presence") == ZeroConcentratedDP(
        rho=Fraction(1, 2), relation=PRESENCE
    )
    assert compose_parallel(gaussians, "value") == ZeroConcentratedDP(rho=2)


def test_parts_that_are_proven_for_replaced_values_only_are_refused() -> None:
    with pytest.raises(RequestError, match="reveal the size of its part"):
        compose_parallel([PureDP(epsilon=1)], "value")


def test_parts_with_a_moment_of_one_order_only_are_refused() -> None:
    with pytest.raises(RequestError, match="neither an epsilon nor a rho"):
        compose_parallel([RenyiDP(order=2, epsilon=1, relation=PRESENCE)], "presence")
