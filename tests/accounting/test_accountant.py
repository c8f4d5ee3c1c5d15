"""The filter: whatever is accepted keeps the promise, also where budgets are chosen by earlier outputs."""

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Accountant, LossDistribution, RepeatedDP, compose
from discreet.belief import Promise, compute_belief, tail_probability
from discreet.core.errors import BudgetError, InvalidParameterError, RequestError
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
from tests.accounting.worlds import Output, Response, breach_probability, transcripts

PURE = Promise(0.01, 0.05)
TAILED = Promise(0.01, 0.05, tail=1e-6)
LOOSE = Promise(0.2, 0.5, tail=0.05)
PRESENCE = Relation.PRESENCE
EPSILONS = st.one_of(st.floats(1e-6, 2), st.fractions(Fraction(1, 1000), 2, max_denominator=1000))


def accepts(accountant: Accountant, guarantee: Guarantee) -> Accountant:
    return accountant.spend(guarantee) if accountant.has_room_for(guarantee) else accountant


# tail 0


@given(st.lists(EPSILONS, max_size=30))
def test_epsilon_never_passes_the_promise_whatever_is_asked(epsilons: list[float]) -> None:
    accountant, accepted = Accountant(PURE), []
    for epsilon in epsilons:
        if accountant.has_room_for(PureDP(epsilon=epsilon)):
            accountant = accountant.spend(PureDP(epsilon=epsilon))
            accepted.append(Fraction(epsilon))
        else:
            assert sum(accepted) + Fraction(epsilon) > PURE.epsilon
    assert accountant.total_spent == PureDP(epsilon=sum(accepted))
    assert sum(accepted) <= PURE.epsilon * (1 + 1e-15)
    assert accountant.compute_belief().highest <= 0.05 * (1 + 1e-12)


def test_all_of_the_promise_can_be_spent_and_nothing_more() -> None:
    whole = Accountant(PURE).spend(PureDP(epsilon=PURE.epsilon))
    assert whole.remaining_budget == PureDP(epsilon=0)
    assert whole.compute_belief().highest == pytest.approx(0.05)
    assert not whole.has_room_for(PureDP(epsilon=1e-9))


def test_what_roundings_leave_over_is_nothing() -> None:
    nearly = PURE.epsilon * (1 - 1e-15)
    assert nearly < PURE.epsilon
    spent = Accountant(PURE).spend(PureDP(epsilon=nearly))
    assert spent.remaining_budget == PureDP(epsilon=0)
    with pytest.raises(BudgetError, match="nothing is left under the promise"):
        spent.spend(PureDP(epsilon=0.1))
    assert Accountant(PURE).spend(PureDP(epsilon=PURE.epsilon - 1e-6)).remaining_budget != PureDP(epsilon=0)


def test_ten_tenths_fit_into_one() -> None:
    promise = Promise(0.1, 1 / (1 + 9 / math.e))
    assert promise.epsilon == pytest.approx(1)
    tenth = PureDP(epsilon=promise.epsilon / 10)
    accountant = Accountant(promise)
    for _ in range(10):
        accountant = accountant.spend(tenth)
    assert not accountant.has_room_for(PureDP(epsilon=1e-12))


def test_laplace_and_capped_plans_count_their_cap() -> None:
    plan = compose([LaplaceDP(epsilon=0.1)] * 3, delta=1e-6).guarantee
    accountant = (
        Accountant(PURE).spend(LaplaceDP(epsilon=0.5)).spend(plan).spend(ApproximateDP(epsilon=0.2, delta=0))
    )
    assert accountant.total_spent.cap == pytest.approx(1.0)


@pytest.mark.parametrize(
    "guarantee",
    [
        GaussianDP(mu=0.001),
        ApproximateDP(epsilon=0.1, delta=1e-9),
        ZeroConcentratedDP(rho=1e-6),
        DiscreteGaussianDP(variance=Fraction(10**6), shift=1),
        RenyiDP(order=2, epsilon=0.1),
    ],
)
def test_what_has_no_cap_is_refused_under_tail_zero(guarantee: Guarantee) -> None:
    accountant = Accountant(PURE)
    for ask in (accountant.has_room_for, accountant.spend, accountant.compute_cost):
        with pytest.raises(RequestError, match="cannot be charged to a promise with tail 0") as refused:
            ask(guarantee)
        assert refused.value.exit_code == 2


def test_a_filter_that_counts_equal_events_once_would_be_caught() -> None:
    @dataclass
    class CountsOnce:
        seen: set[Guarantee] = field(default_factory=set)

        def has_room_for(self, guarantee: Guarantee) -> bool:
            return sum(each.cap for each in self.seen | {guarantee}) <= PURE.epsilon

        def spend(self, guarantee: Guarantee) -> "CountsOnce":
            return CountsOnce(self.seen | {guarantee})

    def loss_after_asking_the_same(keeper: Accountant | CountsOnce) -> float:
        total = 0.0
        for _ in range(50):
            if keeper.has_room_for(PureDP(epsilon=0.25)):
                keeper, total = keeper.spend(PureDP(epsilon=0.25)), total + 0.25
        return total

    assert loss_after_asking_the_same(Accountant(PURE)) == 1.5
    assert loss_after_asking_the_same(CountsOnce()) > PURE.loss


# with a tail


@dataclass(frozen=True)
class History:
    keeper: "Accountant | StopsByOptimalComposition"
    outputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class StopsByOptimalComposition:
    """The broken twin: the tightest bound for fixed parameters, taken as a running stop rule."""

    promise: Promise
    spent: tuple[Guarantee, ...] = ()

    def has_room_for(self, guarantee: Guarantee) -> bool:
        together = LossDistribution.from_events([*self.spent, guarantee])
        return tail_probability(together, self.promise.gamma) <= self.promise.tail

    def spend(self, guarantee: Guarantee) -> "StopsByOptimalComposition":
        return replace(self, spent=(*self.spent, guarantee))


Strategy = Callable[[tuple[int, ...]], Response | None]


def breaches(keeper: Accountant | StopsByOptimalComposition, strategy: Strategy, depth: int) -> float:
    """How probable a posterior above the promised one is, over all transcripts of the strategy."""
    open_histories: dict[History, History] = {}

    def ask(history: History) -> list[Output] | None:
        release = strategy(history.outputs) if len(history.outputs) < depth else None
        if release is None:
            return None
        guarantee = ApproximateDP(epsilon=release.epsilon, delta=release.delta)
        if not history.keeper.has_room_for(guarantee):
            return None
        open_histories[history] = replace(history, keeper=history.keeper.spend(guarantee))
        return [(float(p), float(q)) for p, q in release.outputs]

    def note(history: History, output: int) -> History:
        return replace(open_histories[history], outputs=(*history.outputs, output))

    return breach_probability(transcripts(History(keeper), ask, note), keeper.promise.gamma)


def largest(fits: Callable[[Fraction], bool], high: Fraction) -> Fraction:
    low = Fraction(0)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def greedy(keeper: Accountant | StopsByOptimalComposition, first: Response) -> Strategy:
    """After an output that speaks for the claim the largest epsilon, after the other one the largest leak."""
    opened = keeper.spend(ApproximateDP(epsilon=first.epsilon, delta=0))
    loss = largest(lambda x: opened.has_room_for(ApproximateDP(epsilon=math.log1p(x), delta=0)), Fraction(20))
    leak = largest(lambda x: opened.has_room_for(ApproximateDP(epsilon=0, delta=x)), Fraction(1, 2))

    def strategy(outputs: tuple[int, ...]) -> Response | None:
        if not outputs:
            return first
        if len(outputs) > 1:
            return None
        return Response(1 + loss) if outputs[0] == 0 else Response(Fraction(1), leak)

    return strategy


def test_a_budget_chosen_by_outputs_breaks_optimal_composition_as_a_stop_rule() -> None:
    first = Response(Fraction(3, 2))
    twin = StopsByOptimalComposition(LOOSE)
    assert breaches(twin, greedy(twin, first), depth=2) > 1.2 * LOOSE.tail
    ours = Accountant(LOOSE, leak=Fraction(1, 2))
    small = Response(Fraction(11, 10))
    assert breaches(ours, greedy(ours, small), depth=2) <= LOOSE.tail


RELEASES = st.builds(
    Response,
    st.fractions(1, 2, max_denominator=50),
    st.one_of(st.just(Fraction(0)), st.fractions(0, Fraction(1, 50), max_denominator=1000)),
)


@given(st.data(), st.sampled_from([0, Fraction(1, 20), Fraction(1, 2)]))
@settings(max_examples=60)
def test_no_adaptive_choice_of_budgets_breaks_the_promise(data: st.DataObject, leak: Fraction) -> None:
    chosen: dict[tuple[int, ...], Response] = {}

    def strategy(outputs: tuple[int, ...]) -> Response:
        if outputs not in chosen:
            chosen[outputs] = data.draw(RELEASES)
        return chosen[outputs]

    assert breaches(Accountant(LOOSE, leak=leak), strategy, depth=5) <= LOOSE.tail


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("leak", [0, Fraction(1, 20), Fraction(1, 2)])
def test_the_limit_keeps_the_promise_and_a_little_more_would_not(group: int, leak: Fraction) -> None:
    promise = Promise(0.01, 0.05, tail=1e-6, group=group)
    limit = Accountant(promise, leak=leak).limit
    assert isinstance(limit, ZeroConcentratedDP)
    more = replace(limit, rho=float(limit.rho) * 1.0001)
    assert (
        tail_probability(limit.for_group(group), promise.gamma)
        <= 1e-6
        < tail_probability(more.for_group(group), promise.gamma)
    )


def test_a_group_without_leak_costs_its_square() -> None:
    alone, family = (Accountant(Promise(0.01, 0.05, tail=1e-6, group=g), leak=0).limit for g in (1, 4))
    assert isinstance(alone, ZeroConcentratedDP)
    assert isinstance(family, ZeroConcentratedDP)
    assert float(alone.rho) / float(family.rho) == pytest.approx(16, rel=1e-6)


def test_a_group_shares_epsilon_under_tail_zero() -> None:
    accountant = Accountant(Promise(0.01, 0.05, group=10))
    assert accountant.limit.cap == pytest.approx(0.165, abs=1e-3)
    assert accountant.spend(PureDP(epsilon=accountant.limit.cap)).compute_belief().highest == pytest.approx(
        0.05
    )


@given(st.lists(st.floats(1e-4, 0.3), max_size=40))
@settings(max_examples=40)
def test_rho_never_passes_the_limit(mus: list[float]) -> None:
    accountant = Accountant(TAILED)
    for mu in mus:
        accountant = accepts(accountant, GaussianDP(mu=mu))
    assert TAILED.admits(accountant.total_spent)
    assert accountant.compute_belief().highest <= 0.05 * (1 + 1e-12)
    assert accountant.compute_belief().tail in (0.0, TAILED.tail)


def test_every_mechanism_is_charged_its_rho() -> None:
    cases: list[tuple[Guarantee, float]] = [
        (GaussianDP(mu=0.1), 0.005),
        (PureDP(epsilon=0.1), 0.1 * math.tanh(0.05)),
        (LaplaceDP(epsilon=0.1), 0.1 + math.expm1(-0.1)),
        (DiscreteGaussianDP(variance=Fraction(100), shift=1), 0.005),
        (RepeatedDP(epsilon=0.1, times=3), 0.3 * math.tanh(0.05)),
        (LossDistribution.from_events([GaussianDP(mu=0.1)] * 2), 0.01),
    ]
    for guarantee, rho in cases:
        cost = Accountant(TAILED).compute_cost(guarantee)
        assert isinstance(cost, ZeroConcentratedDP)
        assert float(cost.rho) == pytest.approx(rho)


def test_rho_is_not_traded_for_delta() -> None:
    untouched = Accountant(TAILED)
    assert isinstance(untouched.limit, ZeroConcentratedDP)
    assert not untouched.has_room_for(ApproximateDP(epsilon=0, delta=float(untouched.limit.delta) * 1.01))
    assert untouched.has_room_for(ApproximateDP(epsilon=0, delta=float(untouched.limit.delta) * 0.99))
    assert not Accountant(TAILED, leak=0).has_room_for(ApproximateDP(epsilon=0, delta=1e-30))


def test_a_moment_of_one_order_cannot_be_summed() -> None:
    with pytest.raises(RequestError, match="has no rho for replace-one neighbours"):
        Accountant(TAILED).spend(RenyiDP(order=2, epsilon=0.001))


# what an attacker may believe now


def test_nothing_spent_is_nothing_learned() -> None:
    for promise in (PURE, TAILED):
        now = Accountant(promise).compute_belief()
        assert (now.prior, now.highest, now.lowest) == pytest.approx((0.01, 0.01, 0.01))
        assert now.tail == 0


def test_belief_under_tail_zero_is_the_sum_in_log_odds() -> None:
    now = Accountant(PURE).spend(PureDP(epsilon=math.log(3))).compute_belief(0.1)
    assert now.highest == pytest.approx(0.25)


def test_belief_with_a_tail_grows_to_the_promise_and_covers_what_was_spent() -> None:
    accountant, readings = Accountant(TAILED), [0.01]
    while accountant.has_room_for(GaussianDP(mu=0.05)):
        accountant = accountant.spend(GaussianDP(mu=0.05))
        now = accountant.compute_belief()
        assert now.highest >= min(
            0.05, compute_belief(0.01, accountant.total_spent, tail=TAILED.tail).highest
        )
        readings.append(now.highest)
    assert readings == sorted(readings)
    assert readings[-1] == pytest.approx(0.05)
    assert readings[1] < 0.02


def test_parts_of_the_tail_add_up_to_at_most_the_tail() -> None:
    """At each step below the limit a reading has a tail of its own; all together stay below the promise."""
    accountant = Accountant(TAILED, leak=0)
    assert isinstance(accountant.limit, ZeroConcentratedDP)
    total, previous = 0.0, math.inf
    for j in range(1, 60):
        rho = float(accountant.limit.rho) * 2 ** (-j / 4) * (1 - 1e-12)
        reading = replace(accountant, rho=Fraction(rho)).compute_belief()
        if reading.highest < 0.05 and reading.highest < previous:
            gamma = reading.highest / (1 - reading.highest) * 99
            total += tail_probability(ZeroConcentratedDP(rho=rho), gamma)
        previous = reading.highest
    assert 0.5 * TAILED.tail < total <= TAILED.tail


def test_events_above_a_tightened_promise_are_kept_and_said() -> None:
    events = {PureDP(epsilon=Fraction(1, 2)): 4}
    late = Accountant.from_events(PURE, events)
    assert late.total_spent == PureDP(epsilon=2)
    assert late.remaining_budget == PureDP(epsilon=0)
    assert late.compute_belief().highest > 0.05
    assert not late.has_room_for(PureDP(epsilon=1e-9))
    over = Accountant.from_events(TAILED, {GaussianDP(mu=0.5): 4})
    assert over.compute_belief().highest > 0.05
    assert not over.has_room_for(GaussianDP(mu=1e-9))


# relations, record keeping, refusals


def test_a_presence_release_counts_twice_under_a_value_promise() -> None:
    accountant = Accountant(PURE).spend(PureDP(epsilon=Fraction(1, 2), relation=PRESENCE))
    assert accountant.total_spent == PureDP(epsilon=1)
    spent = Accountant(TAILED).spend(GaussianDP(mu=0.05, relation=PRESENCE)).total_spent
    assert isinstance(spent, ZeroConcentratedDP)
    assert float(spent.rho) == pytest.approx((2 * 0.05) ** 2 / 2)
    plan = LossDistribution.from_guarantee(GaussianDP(mu=0.05, relation=PRESENCE))
    assert Accountant(TAILED).compute_cost(plan).profile(0.5) == pytest.approx(spent.profile(0.5))


def test_a_value_release_cannot_serve_a_presence_promise() -> None:
    with pytest.raises(RequestError, match="says nothing about presence"):
        Accountant(Promise(0.01, 0.05, secret="presence")).spend(PureDP(epsilon=0.1))


@given(st.lists(st.sampled_from([0.1, 0.2, Fraction(1, 3)]), max_size=4))
def test_past_events_in_any_order_give_the_same_accountant(epsilons: list[float]) -> None:
    events = [PureDP(epsilon=each) for each in epsilons]
    one_by_one = Accountant(PURE)
    for event in events:
        one_by_one = one_by_one.spend(event)
    assert one_by_one == Accountant.from_events(PURE, reversed(events))
    assert pickle.loads(pickle.dumps(one_by_one)) == one_by_one
    sums = {"epsilon": one_by_one.epsilon, "rho": one_by_one.rho, "delta": one_by_one.delta}
    assert Accountant(PURE, **sums, events=len(events)) == one_by_one


def test_several_at_once_cost_as_many() -> None:
    event = GaussianDP(mu=0.03)
    assert Accountant(TAILED).spend(event, times=3) == Accountant(TAILED).spend(event).spend(event).spend(
        event
    )


def test_a_refusal_says_what_is_left_and_changes_nothing() -> None:
    accountant = Accountant(PURE).spend(PureDP(epsilon=1.25))
    with pytest.raises(
        BudgetError, match=r"^spend: this costs epsilon 0.5 .* left .* epsilon 0.400\d+, of"
    ) as refused:
        accountant.spend(PureDP(epsilon=0.5))
    assert refused.value.exit_code == 3
    said = float(refused.value.hint.split("epsilon ")[1].split()[0])
    assert accountant.total_spent == PureDP(epsilon=1.25)
    assert accountant.has_room_for(PureDP(epsilon=said))
    assert not accountant.has_room_for(PureDP(epsilon=said + 1e-5))


def test_a_refusal_with_a_tail_says_rho_and_delta() -> None:
    with pytest.raises(
        BudgetError, match=r"this costs rho 0.5 .* left .* rho 0.04\d+ and delta \d"
    ) as refused:
        Accountant(TAILED).spend(GaussianDP(mu=1))
    said = float(refused.value.hint.split("rho ")[1].split()[0])
    assert Accountant(TAILED).has_room_for(ZeroConcentratedDP(rho=said))


@pytest.mark.parametrize("leak", [-0.1, 1, math.nan, "much"])
def test_refuses_a_leak_that_is_no_share(leak: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^Accountant\.leak must be a share in \[0, 1\); got"):
        Accountant(TAILED, leak=leak)


@pytest.mark.parametrize("name", ["epsilon", "rho", "delta"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1"])
def test_refuses_sums_that_are_none(name: str, value: float) -> None:
    sums: dict[str, object] = {name: value}
    with pytest.raises(InvalidParameterError, match=rf"^Accountant\.{name} must be .*; got"):
        Accountant(PURE, **sums)  # type: ignore[arg-type]


def test_refuses_what_is_no_promise_no_guarantee_and_no_count() -> None:
    with pytest.raises(InvalidParameterError, match=r"^Accountant\.promise must be a Promise; got"):
        Accountant(0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"guarantee must be a guarantee; got 0.5"):
        Accountant(PURE).spend(0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"^Accountant\.times must be .*; got 0"):
        Accountant(PURE).spend(PureDP(epsilon=0.1), times=0)
    with pytest.raises(InvalidParameterError, match=r"`prior=` must be"):
        Accountant(PURE).compute_belief(1.5)
