"""Exponential mechanism: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.sampling import Integers
from tests.mechanisms.selecting import largest_loss, scores
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 8_000
EXAMPLE = Exponential(epsilon=Fraction(3, 2), sensitivity=2)
TABLE = scores(3, 0, 4, -2)
TABLES = st.lists(st.integers(-20, 20), min_size=1, max_size=6).map(lambda each: scores(*each))
EPSILONS = st.fractions(Fraction(1, 100), 5, max_denominator=100)


def draw(mechanism: Exponential, table: Integers, random: Randomness) -> list[int]:
    return [mechanism.release(Exact(table), random).value for _ in range(TRIALS)]


def test_release_follows_the_stated_weights(random: Randomness) -> None:
    picks = draw(EXAMPLE, TABLE, random)
    weights = [exp(0.375 * each) for each in TABLE.tolist()]
    for i, weight in enumerate(weights):
        assert_probability(picks.count(i), TRIALS, weight / sum(weights), family=4)


def test_release_check_would_notice_a_quarter_more_epsilon() -> None:
    bolder = Exponential(epsilon=EXAMPLE.epsilon * Fraction(5, 4), sensitivity=2)
    true, other = (each.probabilities(TABLE) for each in (EXAMPLE, bolder))
    assert max(power(float(p), float(q), TRIALS, family=4) for p, q in zip(true, other, strict=True)) > 0.95


def test_release_finds_a_best_that_is_far_ahead_even_at_the_ends_of_64_bits(random: Randomness) -> None:
    table = scores(-(2**63), 2**63 - 1, 0)
    assert EXAMPLE.release(Exact(table), random).value == 1


@given(TABLES, st.integers(-1000, 1000), EPSILONS)
def test_release_does_not_depend_on_where_scores_start(
    table: Integers, start: int, epsilon: Fraction
) -> None:
    mechanism = Exponential(epsilon=epsilon, sensitivity=1)
    assert mechanism.probabilities(table + start) == pytest.approx(mechanism.probabilities(table))


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": 1.5}, "sensitivity"),
        ({"monotone": "yes"}, "monotone"),
        ({"monotone": True, "relation": Relation.VALUE}, "monotone"),
        ({"relation": "neighbours"}, "relation"),
    ],
)
def test_requires_parameters_for_which_it_is_proven(given_: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^Exponential\.{named} must be .*; got .*\."):
        Exponential(**{"epsilon": Fraction(1), "sensitivity": 1, **given_})


@pytest.mark.parametrize(
    "table", [np.array([1.5]), np.array([], dtype=np.int64), np.zeros((2, 2), np.int64), [41]]
)
def test_requires_scores_and_never_prints_them(table: Any, random: Randomness) -> None:
    with pytest.raises(InvalidParameterError, match=r"^Exponential\.scores must be") as refused:
        EXAMPLE.release(Exact(table), random)
    assert "1.5" not in str(refused.value)
    assert "41" not in str(refused.value)


@given(TABLES.filter(lambda table: table.size <= 4), EPSILONS)
def test_guarantee_bounds_the_loss_at_every_output(table: Integers, epsilon: Fraction) -> None:
    mechanism = Exponential(epsilon=epsilon, sensitivity=2)
    assert largest_loss(mechanism, table, (-2, 0, 2)) <= epsilon * (1 + 1e-9)


@given(TABLES.filter(lambda table: table.size <= 5), EPSILONS)
def test_guarantee_holds_for_monotone_scores_at_twice_the_rate(table: Integers, epsilon: Fraction) -> None:
    mechanism = Exponential(epsilon=epsilon, sensitivity=1, monotone=True, relation=Relation.PRESENCE)
    assert mechanism.rate == epsilon
    assert largest_loss(mechanism, table, (0, 1)) <= epsilon * (1 + 1e-9)


def test_guarantee_is_broken_by_scores_that_are_declared_monotone_and_are_not() -> None:
    wrong = Exponential(epsilon=Fraction(1), sensitivity=1, monotone=True, relation=Relation.PRESENCE)
    assert largest_loss(wrong, scores(0, 0, 0, 0, 0, 0, 0), (-1, 1)) > 1.5


def test_guarantee_survives_an_audit_that_catches_half_the_sensitivity(random: Randomness) -> None:
    here, there = scores(0, *[2] * 20), scores(4, *[-2] * 20)
    honest = Exponential(epsilon=Fraction(2), sensitivity=4)
    broken = Exponential(epsilon=Fraction(2), sensitivity=2)
    found = {}
    for mechanism in (honest, broken):
        hits, others = (draw(mechanism, table, random).count(0) for table in (there, here))
        found[mechanism] = compute_epsilon_lower_bound(hits, others, TRIALS, error_rate=FALSE_ALARM)
    assert 1.2 < found[honest] <= 2 < found[broken]


@given(TABLES, EPSILONS, st.floats(0.01, 0.99))
def test_utility_bounds_how_far_the_pick_is_behind(
    table: Integers, epsilon: Fraction, confidence: float
) -> None:
    mechanism = Exponential(epsilon=epsilon, sensitivity=1)
    law, behind = mechanism.probabilities(table), table.max() - table
    reach = mechanism.shortfall(table.size, confidence)
    assert law[behind > reach].sum() <= 1 - confidence + 1e-12
    t = -log(1 - confidence)
    assert law[behind >= 2 / float(epsilon) * (log(table.size) + t)].sum() <= exp(-t) + 1e-12


def test_utility_is_as_tight_as_its_formula() -> None:
    mechanism = Exponential(epsilon=Fraction(1), sensitivity=1)
    reach = mechanism.shortfall(1000, 0.95)
    assert 999 * exp(-(reach + 1) / 2) <= 0.05 < 999 * exp(-reach / 2)


@given(TABLES.filter(lambda table: table.size <= 5), EPSILONS, st.floats(1.01, 60), st.booleans())
def test_concentrated_bounds_every_renyi_divergence(
    table: Integers, epsilon: Fraction, order: float, monotone: bool
) -> None:
    relation = Relation.PRESENCE if monotone else Relation.VALUE
    mechanism = Exponential(epsilon=epsilon, sensitivity=2, monotone=monotone, relation=relation)
    rho = float(mechanism.zcdp.rho)
    here = mechanism.probabilities(table)
    for moves in product((0, 2) if monotone else (-2, 0, 2), repeat=table.size):
        there = mechanism.probabilities(table + np.array(moves))
        for one, two in ((here, there), (there, here)):
            divergence = float(logsumexp(order * np.log(one) + (1 - order) * np.log(two))) / (order - 1)
            assert divergence <= order * rho * (1 + 1e-6) + 1e-9
