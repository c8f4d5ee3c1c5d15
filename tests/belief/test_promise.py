"""The promise: what it costs, what keeps it, what it says of itself."""

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.belief import Promise, highest_posterior
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import ApproximateDP, GaussianDP, LaplaceDP, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation

USUAL = Promise(0.01, 0.05)


@st.composite
def promises(draw: st.DrawFn) -> Promise:
    prior = draw(st.floats(1e-6, 0.9))
    posterior = prior + (1 - prior) * draw(st.floats(0.01, 0.95))
    return Promise(prior, posterior, group=draw(st.integers(1, 12)), secret=draw(st.sampled_from(Relation)))


def threshold_breach(mu: float, gamma: float) -> float:
    """The largest Pr[N(mu, 1) > t] with Pr[N(mu, 1) > t] >= gamma Pr[N(0, 1) > t], over a fine grid of t."""
    t = np.linspace(-10, 40, 2_000_001)
    tells = norm.logsf(t - mu) - norm.logsf(t) >= math.log(gamma)
    return float(norm.sf(t[np.argmax(tells)] - mu))


def test_epsilon_is_the_distance_in_log_odds() -> None:
    assert USUAL.epsilon == pytest.approx(1.6507, abs=5e-5)
    assert USUAL.gamma == pytest.approx(99 / 19)
    assert Promise(prior=Fraction(1, 5), posterior=Fraction(1, 2)).epsilon == pytest.approx(math.log(4))


@given(promises())
def test_the_groups_whole_loss_leads_from_prior_to_posterior(promise: Promise) -> None:
    assert highest_posterior(promise.prior, promise.group * promise.epsilon) == pytest.approx(
        promise.posterior, rel=1e-12
    )


def test_a_family_of_ten() -> None:
    assert highest_posterior(0.01, PureDP(epsilon=0.1).for_group(10).cap) == pytest.approx(0.0267, abs=5e-5)
    assert highest_posterior(0.01, PureDP(epsilon=1.0).for_group(10).cap) == pytest.approx(0.9955, abs=5e-5)
    assert Promise(0.01, 0.05, group=10).epsilon == pytest.approx(0.165, abs=5e-4)


def test_a_value_promise_is_served_by_an_add_remove_mechanism_at_half() -> None:
    assert USUAL.epsilon_for("value") == USUAL.epsilon_for(Relation.VALUE) == USUAL.epsilon
    assert USUAL.epsilon_for("presence") == USUAL.epsilon / 2
    assert USUAL.admits(PureDP(epsilon=USUAL.epsilon_for("presence"), relation=Relation.PRESENCE))
    assert not USUAL.admits(PureDP(epsilon=USUAL.epsilon_for("presence") * 1.001, relation=Relation.PRESENCE))


def test_a_presence_promise_is_refused_a_replace_one_mechanism() -> None:
    presence = Promise(0.01, 0.05, secret="presence")
    assert presence.epsilon_for("add/remove") == presence.epsilon
    with pytest.raises(RequestError, match="promise about presence cannot be kept"):
        presence.epsilon_for("value")
    assert not presence.admits(PureDP(epsilon=1e-9, relation=Relation.VALUE))


@given(promises(), st.floats(1e-3, 1e3))
def test_laplace_noise_of_the_stated_scale_just_keeps_the_promise(
    promise: Promise, sensitivity: float
) -> None:
    scale = promise.laplace_scale(sensitivity)
    # one person moves the answer by `sensitivity`, the group by `group` times that
    density_ratio = math.exp(promise.group * sensitivity / scale)
    p = promise.prior
    assert p * density_ratio / (p * density_ratio + 1 - p) == pytest.approx(promise.posterior, rel=1e-9)
    assert promise.admits(LaplaceDP(epsilon=sensitivity / scale, relation=promise.secret))
    assert not promise.admits(LaplaceDP(epsilon=1.001 * sensitivity / scale, relation=promise.secret))


@pytest.mark.parametrize("tail", [1e-9, 1e-6, 1e-3, 0.2])
@pytest.mark.parametrize(("prior", "posterior"), [(0.01, 0.05), (0.3, 0.35), (1e-6, 0.5)])
def test_gaussian_noise_of_the_stated_scale_just_keeps_the_promise(
    prior: float, posterior: float, tail: float
) -> None:
    promise = Promise(prior, posterior, tail=tail)
    mu = 1 / promise.gaussian_scale(1)
    assert threshold_breach(mu, promise.gamma) == pytest.approx(tail, rel=2e-3, abs=0)
    assert promise.admits(GaussianDP(mu=mu))
    assert not promise.admits(GaussianDP(mu=mu * 1.001))


def test_gaussian_scale_of_the_usual_promise() -> None:
    promise = Promise(0.01, 0.05, tail=1e-6)
    assert promise.gaussian_scale(1) == pytest.approx(3.0923, abs=5e-5)
    assert promise.gaussian_scale(Fraction(5, 2)) == pytest.approx(2.5 * promise.gaussian_scale(1))
    family = dataclasses.replace(promise, group=10)
    assert family.gaussian_scale(1) == pytest.approx(10 * promise.gaussian_scale(1))
    assert family.admits(GaussianDP(mu=1 / family.gaussian_scale(1)))


def test_a_gaussian_is_refused_without_a_tail() -> None:
    with pytest.raises(RequestError, match=r"its cap is 100%.* Allow a small tail"):
        USUAL.gaussian_scale(1)


def test_a_gaussian_is_refused_for_a_promise_finer_than_arithmetic() -> None:
    with pytest.raises(RequestError, match="finer than the tail of Gaussian noise can be computed"):
        Promise(0.5, 0.5 + 1e-9, tail=1e-6).gaussian_scale(1)


def test_without_a_tail_only_capped_guarantees_are_admitted() -> None:
    for loose in (
        GaussianDP(mu=1e-3),
        ZeroConcentratedDP(rho=1e-6),
        ApproximateDP(epsilon=0.01, delta=1e-12),
    ):
        assert not USUAL.admits(loose)
        assert Promise(0.01, 0.05, tail=1e-6).admits(loose)
    assert USUAL.admits(ApproximateDP(epsilon=1.65, delta=0))


def test_a_promise_admits_nothing_whose_group_guarantee_is_empty() -> None:
    assert not Promise(0.01, 0.05, group=50, tail=0.1).admits(ApproximateDP(epsilon=1, delta=1e-6))


def test_approximate_dp_must_leave_room_between_epsilon_and_the_cap() -> None:
    """epsilon = ln gamma + ln(1 - delta / tail) is the most that (epsilon, delta)-DP may spend."""
    promise = Promise(0.01, 0.05, tail=1e-5)
    most = promise.epsilon + math.log1p(-1e-6 / 1e-5)
    assert promise.admits(ApproximateDP(epsilon=most - 1e-9, delta=1e-6))
    assert not promise.admits(ApproximateDP(epsilon=most + 1e-6, delta=1e-6))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"prior": 0.0}, "prior must be a probability"),
        ({"prior": math.nan}, "prior must be a probability"),
        ({"prior": "1.5"}, "prior must be a probability"),
        ({"posterior": 1.0}, "posterior must be a probability"),
        ({"posterior": math.nan}, "posterior must be a probability"),
        ({"posterior": 0.01}, r"posterior must be above the prior, which is 0\.01"),
        ({"posterior": 0.001}, r"posterior must be above the prior, which is 0\.01"),
        ({"secret": "both"}, "secret must be 'value'"),
        ({"secret": None}, "secret must be 'value'"),
        ({"group": 0}, "group must be an integer of at least 1"),
        ({"group": 2.5}, "group must be an integer of at least 1"),
        ({"group": math.nan}, "group must be an integer of at least 1"),
        ({"tail": -1e-9}, "tail must be a probability of at least 0 and below 1"),
        ({"tail": 1}, "tail must be a probability of at least 0 and below 1"),
        ({"tail": math.nan}, "tail must be a probability of at least 0 and below 1"),
    ],
)
def test_requires_a_promise_that_can_be_kept(arguments: dict[str, float], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^Promise\.{named}.*; got .*\.$"):
        Promise(**({"prior": 0.01, "posterior": 0.05} | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan, "1", None, 10**400])
def test_requires_a_finite_positive_sensitivity(bad: float) -> None:
    for scale in (USUAL.laplace_scale, Promise(0.01, 0.05, tail=1e-6).gaussian_scale):
        with pytest.raises(
            InvalidParameterError, match=r"^Promise\.sensitivity must be a finite number above 0"
        ):
            scale(bad)


def test_explain_states_the_promise_and_what_a_value_promise_leaves_open() -> None:
    text = USUAL.explain()
    for part in ("at most 1% beforehand", "more than 5%", "1 to 99 becomes 1 to 19", "5.21", "1.6507"):
        assert part in text
    assert "does not hide who is in the data" in text
    assert "knows all other records" in text
    assert "with-you against without-you" in text
    assert "to be expected" not in text


def test_explain_says_how_far_a_presence_promise_lets_value_beliefs_go() -> None:
    text = Promise(0.01, 0.05, secret="presence").explain()
    assert "what a record says may go from 1% to 21.5%" in text
    assert "does not hide who" not in text


def test_explain_counts_the_breaches_to_be_expected() -> None:
    promise = Promise(0.01, 0.05, tail=1e-4)
    assert "among 10,000 people, up to 1 such breaches" in promise.explain()
    assert "among 50,000 people, up to 5 such breaches" in promise.explain(people=50_000)
    assert "if it is true" in promise.explain()
    with pytest.raises(InvalidParameterError, match=r"^Promise\.people must be an integer"):
        promise.explain(people=0)


def test_explain_names_the_group_and_what_each_of_it_may_spend() -> None:
    text = Promise(0.01, 0.05, group=10).explain()
    assert "the records of any 10 people" in text
    assert "ln gamma / 10 = 0.16507" in text


def test_with_you_and_without_you_differ_by_no_more_than_explained() -> None:
    """A correlated attacker: odds of a claim about the table as it is, and with one record blank."""
    random = np.random.default_rng(1)
    epsilon, worst = USUAL.epsilon, 0.0
    for _ in range(2_000):
        with_you = np.exp(random.choice([0.0, -epsilon], 4))
        without = with_you * np.exp(random.choice([-epsilon, 0.0, epsilon], 4))
        prior = random.dirichlet(np.ones(4))
        odds = [(prior[:2] @ each[:2]) / (prior[2:] @ each[2:]) for each in (with_you, without)]
        worst = max(worst, odds[0] / odds[1])
    stated = float(re.findall(r"by a factor of ([0-9.]+) at most", USUAL.explain())[0])
    assert 0.99 * stated < worst < 1.01 * stated


@given(promises(), st.sampled_from([0.0, 1e-12, 3e-5, 0.25]))
def test_explanations_are_never_unreadable(promise: Promise, tail: float) -> None:
    text = dataclasses.replace(promise, tail=tail).explain()
    assert not re.search(r"[1-9]\d*\.\d{6,}|0\.0*[1-9]\d{5,}|\de-\d|nan\b|inf\b|anonymous", text)
    assert not re.search(r"(?<![\d.])(0|(?<!as good as )100)%", text)


def test_explain_does_not_claim_certainty_for_what_is_nearly_certain() -> None:
    assert "for 4 people 1 in 1,000,000 may become as good as 100%" in Promise(1e-6, 0.95).explain()
