"""Averaging: the attacker believes what Bayes' rule says of the answers, and no more than they cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.averaging import compute_expected_posterior
from discreet.belief.odds import highest_posterior
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.statistical import assert_probability, power

NOISE = DiscreteLaplace(epsilon=Fraction(3, 2), sensitivity=2)
TRUE, FALSE = (1, 0), (0, 1)  # the person is in the first group, or in the second
PRIOR = 0.1


def by_bayes_rule(answer: tuple[int, ...], prior: float = PRIOR) -> float:
    here, there = (
        prod(NOISE.likelihood(y, q) for y, q in zip(answer, w, strict=True)) for w in (TRUE, FALSE)
    )
    return prior * here / (prior * here + (1 - prior) * there)


def test_expected_posterior_is_the_sum_over_all_answers() -> None:
    near = range(-45, 46)
    expected = sum(
        NOISE.likelihood(a, TRUE[0]) * NOISE.likelihood(b, TRUE[1]) * by_bayes_rule((a, b))
        for a, b in product(near, near)
    )
    assert compute_expected_posterior(NOISE, prior=PRIOR, answers=1) == pytest.approx(expected, rel=1e-9)


def test_an_attacker_who_gets_fresh_noise_believes_as_stated(random: Randomness) -> None:
    """A claim drawn as true with the posterior's probability is a coin of the expected posterior."""
    trials, answers = 8_000, 5
    released = NOISE.release_many(Exact(np.tile(TRUE, (trials * answers, 1)).ravel()), random).value
    loss = (np.abs(released.reshape(-1, 2) - FALSE) - np.abs(released.reshape(-1, 2) - TRUE)).sum(axis=1)
    total = loss.reshape(trials, answers).sum(axis=1) * float(NOISE.rate)
    posterior = 1 / (1 + (1 - PRIOR) / PRIOR * np.exp(-total))
    coins = random.draw_words(trials) / 2.0**64 < posterior
    stated = compute_expected_posterior(NOISE, prior=PRIOR, answers=answers)
    assert_probability(int(coins.sum()), trials, stated)
    assert (
        power(stated, compute_expected_posterior(NOISE, prior=PRIOR, answers=answers + 1), trials) > 1 - 1e-4
    )


@given(st.fractions(Fraction(1, 50), 3), st.floats(0.001, 0.9), st.integers(1, 40))
def test_belief_stays_within_what_the_answers_cost(epsilon: Fraction, prior: float, answers: int) -> None:
    mechanism = DiscreteLaplace(epsilon=epsilon, sensitivity=2)
    expected = compute_expected_posterior(mechanism, prior=prior, answers=answers)
    assert prior < expected * (1 + 1e-12)
    assert expected <= highest_posterior(prior, epsilon * answers) * (1 + 1e-12)


def test_fresh_noise_would_give_a_person_away() -> None:
    beliefs = [compute_expected_posterior(NOISE, prior=0.01, answers=k) for k in (1, 10, 100)]
    assert beliefs == sorted(beliefs)
    assert beliefs[-1] > 0.99999


def test_noise_that_is_too_small_is_caught() -> None:
    """A twin with half of the noise it states leads to more belief than what it states allows."""
    broken = DiscreteLaplace(epsilon=NOISE.epsilon * 4, sensitivity=2)
    assert compute_expected_posterior(broken, prior=PRIOR, answers=1) > highest_posterior(
        PRIOR, NOISE.epsilon
    )


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"answers": 0}, "answers"),
        ({"answers": 1.5}, "answers"),
        ({"counts": 0}, "counts"),
        ({"prior": 0}, "prior"),
        ({"prior": float("nan")}, "prior"),
    ],
)
def test_parameters_out_of_range_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(
        InvalidParameterError, match=rf"^compute_expected_posterior: `{named}=` must be .*; got "
    ):
        compute_expected_posterior(NOISE, **({"prior": PRIOR, "answers": 1} | wrong))
