"""Odds: the arithmetic that every other statement about belief stands on."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.belief import (
    bound_chance_of_reaching,
    gamma,
    highest_posterior,
    largest_gain,
    logit,
    lowest_posterior,
    sigmoid,
)
from discreet.belief.odds import log_gamma
from discreet.core.errors import InvalidParameterError

PRIORS = st.floats(1e-12, 1 - 1e-12)
LOSSES = st.floats(0, 30)


def by_bayes(prior: float, ratio: Decimal) -> float:
    """The posterior from Bayes' rule itself, in 60 digits."""
    getcontext().prec = 60
    p = Decimal(prior)
    return float(p * ratio / (p * ratio + 1 - p))


@given(PRIORS, LOSSES)
def test_highest_and_lowest_are_bayes_rule_at_the_largest_likelihood_ratio(prior: float, loss: float) -> None:
    assert highest_posterior(prior, loss) == pytest.approx(by_bayes(prior, Decimal(loss).exp()), rel=1e-13)
    assert lowest_posterior(prior, loss) == pytest.approx(by_bayes(prior, (-Decimal(loss)).exp()), rel=1e-13)


@given(PRIORS, st.floats(1e-9, 20))
def test_log_gamma_leads_back_from_the_posterior_to_the_loss(prior: float, loss: float) -> None:
    posterior = by_bayes(prior, Decimal(loss).exp())
    if prior < posterior < 1 - 1e-6:
        rounded = 1e-15 / (prior * (1 - prior))  # what rounding a posterior to a double does to its log odds
        assert log_gamma(prior, posterior) == pytest.approx(loss, rel=1e-6, abs=rounded)


def test_gamma_keeps_its_digits_for_tiny_priors() -> None:
    assert gamma(1e-300, 1e-299) == pytest.approx(10)
    close = [log_gamma(p, p * (1 + 1e-12)) for p in (3e-15, 7e-13, 1e-10)]
    assert close == pytest.approx([1e-12] * 3, rel=1e-3, abs=0)
    assert log_gamma(5e-324, 0.5) == pytest.approx(-math.log(5e-324))
    assert gamma(Fraction(1, 100), Fraction(1, 20)) == pytest.approx(99 / 19)


@pytest.mark.parametrize(("prior", "loss", "posterior"), [(0.01, 1.6, 0.0476), (0.1, math.log(3), 0.25)])
def test_published_examples(prior: float, loss: float, posterior: float) -> None:
    assert highest_posterior(prior, loss) == pytest.approx(posterior, abs=5e-5)


def test_nothing_bounds_a_belief_when_the_loss_is_infinite() -> None:
    assert (highest_posterior(0.01, math.inf), lowest_posterior(0.01, math.inf)) == (1.0, 0.0)


@given(st.floats(0.01, 10))
def test_largest_gain_is_larger_than_at_every_other_prior(epsilon: float) -> None:
    found = largest_gain(epsilon)
    grid = np.linspace(0.001, 0.999, 999)
    gains = grid / (grid + (1 - grid) * math.exp(-epsilon)) - grid
    assert found.gain >= gains.max() - 1e-12
    assert highest_posterior(found.prior, epsilon) - found.prior == pytest.approx(found.gain)


@given(PRIORS)
def test_sigmoid_undoes_logit(p: float) -> None:
    assert sigmoid(logit(p)) == pytest.approx(p, rel=1e-12)


def test_sigmoid_never_overflows() -> None:
    assert (sigmoid(-1e4), sigmoid(1e4)) == (0.0, 1.0)


@given(st.integers(0, 10_000))
def test_no_release_reaches_a_posterior_more_often_than_markov_allows(seed: int) -> None:
    random = np.random.default_rng(seed)
    prior, cap = np.sort(random.uniform(0.01, 0.99, 2)).tolist()
    true, false = random.dirichlet(np.full(6, 0.3), 2)
    joint = prior * true
    predicted = joint + (1 - prior) * false
    reached = predicted[joint >= cap * predicted].sum()
    assert reached <= bound_chance_of_reaching(prior, cap) + 1e-12


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, math.nan, math.inf, "0.5", True, None, 10**400])
def test_a_prior_must_be_a_probability(bad: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^highest_posterior: `prior=` must be a prob.*; got "):
        highest_posterior(bad, 1.0)


@pytest.mark.parametrize("bad", [-1, math.nan, "1", None])
def test_a_loss_must_be_a_number_of_at_least_zero(bad: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^largest_gain: `epsilon=` must be .*; got "):
        largest_gain(bad)
    with pytest.raises(InvalidParameterError, match=r"^lowest_posterior: `loss=` must be .*; got "):
        lowest_posterior(0.5, bad)
