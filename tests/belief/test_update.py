"""From a loss back to belief, for every form in which a loss is known."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.belief import compute_belief, highest_posterior, lowest_posterior, tail_probability
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import ApproximateDP, GaussianDP, LaplaceDP, PureDP, RenyiDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from tests.belief.finite import Channel, random_channel

PRIORS = st.floats(0.001, 0.99)


@given(PRIORS, st.floats(0, 10))
def test_a_pure_loss_bounds_belief_on_both_sides(prior: float, epsilon: float) -> None:
    found = compute_belief(prior, epsilon)
    assert (found.highest, found.lowest, found.tail) == (
        highest_posterior(prior, epsilon),
        lowest_posterior(prior, epsilon),
        0,
    )
    assert found == compute_belief(prior, PureDP(epsilon=epsilon)) == compute_belief(prior, (epsilon, 0))


@pytest.mark.parametrize(
    "loss", [(1.0, 1e-9), GaussianDP(mu=0.1), ZeroConcentratedDP(rho=0.01), RenyiDP(order=4, epsilon=0.1)]
)
def test_without_a_tail_an_uncapped_loss_allows_certainty(loss: tuple[float, float]) -> None:
    found = compute_belief(0.01, loss)
    assert (found.highest, found.lowest, found.tail) == (1.0, 0.0, 0.0)


@given(PRIORS, st.floats(0.1, 2), st.floats(1e-9, 1e-4))
def test_a_cap_is_exceeded_as_rarely_as_the_right_statement_says(
    prior: float, epsilon: float, delta: float
) -> None:
    cap = highest_posterior(prior, epsilon + 1)
    found = compute_belief(prior, (epsilon, delta), posterior=cap)
    assert found.highest == cap
    assert found.lowest == pytest.approx(lowest_posterior(prior, epsilon + 1))
    assert found.tail == pytest.approx(delta / (1 - math.exp(-1)), rel=1e-6, abs=0)


@pytest.mark.parametrize("loss", [(0.5, 1e-7), GaussianDP(mu=0.3), ZeroConcentratedDP(rho=0.02)])
@pytest.mark.parametrize("allowed", [1e-6, 1e-3])
def test_the_two_questions_answer_each_other(loss: tuple[float, float], allowed: float) -> None:
    found = compute_belief(0.02, loss, tail=allowed)
    assert found.tail == allowed
    assert compute_belief(0.02, loss, posterior=found.highest).tail == pytest.approx(allowed, rel=1e-6, abs=0)


def test_the_bounds_hold_in_an_attack_by_threshold_on_either_side() -> None:
    """Gaussian noise, mu = 1: whoever learns only whether the output passes t stays within the bounds."""
    prior, allowed = 0.1, 1e-3
    found = compute_belief(prior, GaussianDP(mu=1), tail=allowed)
    for t in (x / 100 for x in range(-400, 600)):
        true, false = float(norm.sf(t - 1)), float(norm.sf(t))
        if prior * true / (prior * true + (1 - prior) * false) > found.highest * (1 + 1e-9):
            assert true <= allowed
        true, false = float(norm.cdf(t - 1)), float(norm.cdf(t))
        if prior * true / (prior * true + (1 - prior) * false) < found.lowest * (1 - 1e-9):
            assert false <= allowed


def test_any_guarantee_with_a_profile_is_a_loss() -> None:
    channel: Channel = random_channel(np.random.default_rng(3), 2, 5)
    assert compute_belief(0.1, channel).highest == pytest.approx(highest_posterior(0.1, channel.cap))
    cap = highest_posterior(0.1, channel.cap / 2)
    assert compute_belief(0.1, channel, posterior=cap).tail == pytest.approx(
        tail_probability(channel, math.exp(channel.cap / 2))
    )


def test_the_worst_laplace_posterior_is_attained_half_of_the_time() -> None:
    almost = highest_posterior(0.01, 1 - 1e-9)
    assert compute_belief(0.01, LaplaceDP(epsilon=1), posterior=almost).tail == pytest.approx(0.5, rel=1e-4)


def test_a_presence_loss_bounds_values_by_twice_and_never_the_other_way() -> None:
    presence = PureDP(epsilon=Fraction(8, 10), relation=Relation.PRESENCE)
    assert compute_belief(0.01, presence).secret is Relation.PRESENCE
    assert compute_belief(0.01, presence, secret="value").highest == pytest.approx(
        highest_posterior(0.01, 1.6)
    )
    with pytest.raises(RequestError, match="says nothing about presence"):
        compute_belief(0.01, PureDP(epsilon=1), secret="presence")
    assert compute_belief(0.01, 1.0, secret="presence").secret is Relation.PRESENCE


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"prior": 1.5}, r"compute_belief: `prior=` must be a probability"),
        ({"loss": -1}, r"compute_belief: `loss=` must be a finite number of at least 0"),
        ({"loss": math.nan}, r"compute_belief: `loss=` must be a finite number of at least 0"),
        ({"loss": (1, 1)}, r"ApproximateDP\.delta must be a number in \[0, 1\)"),
        ({"loss": (1, 2, 3)}, r"compute_belief: `loss=` must be epsilon or \(epsilon, delta\)"),
        ({"loss": "1"}, r"compute_belief: `loss=` must be epsilon, \(epsilon, delta\) or a guarantee"),
        ({"loss": None}, r"compute_belief: `loss=` must be epsilon, \(epsilon, delta\) or a guarantee"),
        ({"posterior": 0.01}, r"compute_belief: `posterior=` must be above the prior"),
        ({"posterior": math.nan}, r"compute_belief: `posterior=` must be a probability"),
        ({"tail": 1}, r"compute_belief: `tail=` must be a number in \[0, 1\)"),
        (
            {"tail": 0.1, "posterior": 0.05},
            r"compute_belief: `tail=` must be left out where posterior is given",
        ),
        ({"secret": "both"}, r"compute_belief: `secret=` must be 'value'"),
    ],
)
def test_requires_a_question_that_has_an_answer(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{named}.*; got .*\.$"):
        compute_belief(**({"prior": 0.01, "loss": ApproximateDP(epsilon=1, delta=0.1)} | arguments))  # type: ignore[arg-type]
