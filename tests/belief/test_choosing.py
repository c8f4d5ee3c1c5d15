"""Ways to choose epsilon: each against the definition of what it is meant to achieve."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from discreet.belief import (
    EpsilonChoice,
    Promise,
    accuracy_first,
    epsilon_generation,
    highest_posterior,
    identifiability,
    limiting_breaches,
    possible_worlds,
    relative_error,
    risk_profile,
    tight_identifiability,
)
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.discrete_laplace import DiscreteLaplace

CHOICES = [
    limiting_breaches(0.01, 0.05),
    identifiability(74, 0.5),
    possible_worlds(4, Fraction(1, 3), sensitivity=Fraction(17, 6), spread=3),
    relative_error(0.1, 0.95, 100),
    accuracy_first(10, 0.05),
    risk_profile(0.5, 0.1, 2),
    epsilon_generation(32_561, 15),
]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda each: each.name)
def test_every_choice_comes_with_the_beliefs_it_allows(choice: EpsilonChoice) -> None:
    assert [prior for prior, _ in choice.beliefs] == [0.001, 0.01, 0.05, 0.1, 0.5]
    for prior, top in choice.beliefs:
        assert top == pytest.approx(highest_posterior(prior, choice.epsilon))
    promise = choice.to_promise(0.01)
    assert isinstance(promise, Promise)
    assert promise.epsilon == pytest.approx(choice.epsilon)
    assert promise.secret is choice.relation
    text = choice.explain()
    assert choice.relation.neighbours in text
    assert "from   50% to at most " in text
    assert choice.note in text


def test_limiting_breaches_is_the_promise() -> None:
    assert limiting_breaches(0.2, 0.5, secret="presence").to_promise(0.2).posterior == pytest.approx(0.5)
    assert limiting_breaches(0.2, 0.5, secret="presence").relation is Relation.PRESENCE


@given(st.integers(2, 10_000), st.floats(0.001, 0.99))
def test_identifiability_is_limiting_breaches_from_a_guess(m: int, share: float) -> None:
    rho = 1 / m + (1 - 1 / m) * share
    assert highest_posterior(1 / m, identifiability(m, rho).epsilon) == pytest.approx(rho, rel=1e-9)


def test_a_tight_what_if_cannot_set_a_parameter_and_says_why() -> None:
    ages = tight_identifiability([Fraction(age, 48_842) for age in range(17, 91)], 0.5)
    assert ages.against_this_attacker == pytest.approx(50.6, abs=0.05)
    assert ages.safe.epsilon == pytest.approx(4.29, abs=5e-3)
    assert not isinstance(ages, EpsilonChoice)
    assert not hasattr(ages, "epsilon")
    assert not hasattr(ages, "promise")
    assert "never set a parameter by it" in ages.explain()
    assert "could reach 100%" in ages.explain()


@given(st.lists(st.integers(0, 200), min_size=2, max_size=8, unique=True), st.floats(0.05, 0.95))
def test_a_tight_what_if_holds_an_equally_guessing_attacker_to_rho(answers: list[int], share: float) -> None:
    rho = 1 / len(answers) + (1 - 1 / len(answers)) * share
    found = tight_identifiability(answers, rho)
    scale = (max(answers) - min(answers)) / found.against_this_attacker
    outputs = np.linspace(min(answers) - 1, max(answers) + 1, 2_001)
    outputs = np.concatenate([outputs, answers])
    likelihood = np.exp(-np.abs(outputs[:, None] - np.array(answers)[None, :]) / scale)
    assert (likelihood / likelihood.sum(axis=1, keepdims=True)).max() == pytest.approx(rho, rel=1e-6)
    assert found.against_this_attacker >= found.safe.epsilon * (1 - 1e-9)


def test_relative_error_and_accuracy_agree_on_a_count() -> None:
    assert relative_error(0.1, 0.95, 100).epsilon == pytest.approx(0.29957, abs=5e-6)
    assert accuracy_first(10, 0.05).epsilon == pytest.approx(relative_error(0.1, 0.95, 100).epsilon)
    assert accuracy_first(10, 0.05).to_promise(0.01).posterior == pytest.approx(0.0134, abs=5e-5)


@given(st.floats(0.1, 100), st.floats(0.001, 0.5), st.integers(1, 20))
def test_accuracy_first_gives_laplace_noise_its_stated_error(
    alpha: float, beta: float, sensitivity: int
) -> None:
    scale = sensitivity / accuracy_first(alpha, beta, sensitivity=sensitivity).epsilon
    assert math.exp(-alpha / scale) == pytest.approx(beta)


@given(st.floats(0, 100), st.floats(0.001, 0.5), st.integers(1, 20))
def test_accuracy_first_gives_geometric_noise_its_stated_error(
    alpha: float, beta: float, sensitivity: int
) -> None:
    epsilon = accuracy_first(alpha, beta, sensitivity=sensitivity, noise="geometric").epsilon
    noise = DiscreteLaplace(epsilon=Fraction(epsilon), sensitivity=sensitivity)
    outside = 1 - sum(noise.mass(z) for z in range(-math.floor(alpha), math.floor(alpha) + 1))
    assert outside == pytest.approx(beta, rel=1e-6)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.01, 0.95))
def test_risk_profile_is_the_largest_epsilon_of_kazan_and_reiters_bound(
    p: float, q: float, share: float
) -> None:
    ratio = 1 + share * (1 / (p * q) - 1)

    def bound(epsilon: float) -> float:
        return 1 / (p * q + p * (1 - q) * math.exp(-2 * epsilon) + (1 - p) * math.exp(-epsilon))

    expected = brentq(lambda epsilon: bound(epsilon) - ratio, 0, 100, xtol=1e-13)
    assert risk_profile(p, q, ratio).epsilon == pytest.approx(expected, rel=1e-6)


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.1, 0.9), st.integers(0, 1_000))
def test_risk_profile_holds_for_add_remove_mechanisms(p: float, q: float, share: float, seed: int) -> None:
    """Worlds: absent, present with the value, present without; only the first is next to the others."""
    choice = risk_profile(p, q, 1 + share * (1 / (p * q) - 1))
    random = np.random.default_rng(seed)
    absent = 0.0
    with_value, without = random.uniform(-choice.epsilon, choice.epsilon, 2)
    prior = np.array([1 - p, p * q, p * (1 - q)])
    joint = prior * np.exp([absent, with_value, without])
    assert joint[1] / joint.sum() <= prior[1] * (1 + share * (1 / (p * q) - 1)) * (1 + 1e-9)


def test_epsilon_generation_is_labelled_as_what_it_is() -> None:
    choice = epsilon_generation(32_561, 15)
    assert "heuristic without a belief meaning" in choice.explain()
    assert choice.to_promise(0.5).posterior == pytest.approx(0.667, abs=5e-4)
    assert choice.to_promise(0.01).posterior == pytest.approx(0.0198, abs=5e-5)


def test_a_choice_that_allows_certainty_makes_no_promise() -> None:
    with pytest.raises(RequestError, match="become certain"):
        accuracy_first(0.01, 0.05).to_promise(0.5)


@pytest.mark.parametrize(
    ("attempt", "named"),
    [
        (lambda: limiting_breaches(0.5, 0.2), r"Promise\.posterior"),
        (lambda: identifiability(1, 0.5), r"identifiability: `m=`"),
        (lambda: identifiability(4, 0.25), r"identifiability: `rho=`"),
        (lambda: identifiability(4, math.nan), r"identifiability: `rho=`"),
        (lambda: tight_identifiability([1, 1], 0.6), r"tight_identifiability: `answers=`"),
        (lambda: tight_identifiability([1, math.nan], 0.6), r"tight_identifiability: `answers=`"),
        (lambda: tight_identifiability([1, 2], 0.6, sensitivity=0), r"tight_identifiability: `sensitivity=`"),
        (lambda: possible_worlds(4, 0.5, sensitivity=-1, spread=1), r"possible_worlds: `sensitivity=`"),
        (lambda: possible_worlds(4, 0.5, sensitivity=1, spread=math.inf), r"possible_worlds: `spread=`"),
        (
            lambda: possible_worlds(4, 0.5, sensitivity=1, spread=1, relation="x"),
            r"possible_worlds: `relation=`",
        ),
        (lambda: relative_error(0, 0.95, 100), r"relative_error: `w=`"),
        (lambda: relative_error(0.1, 1, 100), r"relative_error: `p=`"),
        (lambda: relative_error(0.1, 0.95, 0), r"relative_error: `count=`"),
        (lambda: accuracy_first(0, 0.05), r"accuracy_first: `alpha=`"),
        (lambda: accuracy_first(10, 0), r"accuracy_first: `beta=`"),
        (lambda: accuracy_first(10, 0.05, sensitivity=math.nan), r"accuracy_first: `sensitivity=`"),
        (lambda: accuracy_first(10, 0.05, noise="pink"), r"accuracy_first: `noise=`"),
        (lambda: risk_profile(0, 0.5, 2), r"risk_profile: `p=`"),
        (lambda: risk_profile(0.5, 1, 2), r"risk_profile: `q=`"),
        (lambda: risk_profile(0.5, 0.5, 1), r"risk_profile: `ratio=`"),
        (lambda: epsilon_generation(2, 15), r"epsilon_generation: `rows=`"),
        (lambda: epsilon_generation(100, 0), r"epsilon_generation: `columns=`"),
    ],
)
def test_requires_parameters_with_an_answer(attempt: Callable[[], object], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^{named} must be .*; got .*\.$"):
        attempt()


def test_a_ratio_that_any_epsilon_keeps_is_refused_with_the_largest_that_binds() -> None:
    with pytest.raises(RequestError, match=r"allows any epsilon: the belief starts at 25% .* more than 4\."):
        risk_profile(0.5, 0.5, 4)
