"""Report noisy max: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.sampling import Integers
from tests.mechanisms.selecting import largest_loss, moved, scores
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 6_000
EXAMPLE = NoisyMax(epsilon=Fraction(3), sensitivity=1)
TABLE = scores(1, 0, 1)
TABLES = st.lists(st.integers(-8, 8), min_size=1, max_size=4).map(lambda each: scores(*each))
EPSILONS = st.fractions(Fraction(1, 2), 5, max_denominator=100)


def draw(mechanism: NoisyMax, table: Integers, random: Randomness) -> list[int]:
    return [mechanism.release(Exact(table), random).value for _ in range(TRIALS)]


def by_enumeration(table: Integers, rate: float, reach: int, *, first_wins: bool = False) -> list[float]:
    """The law over all noise vectors in a box; what is left out has at most 2 n exp(-rate reach) in all."""
    noise = {z: tanh(rate / 2) * exp(-rate * abs(z)) for z in range(-reach, reach + 1)}
    law = [0.0] * table.size
    for vector in product(noise, repeat=table.size):
        noisy = [int(score) + z for score, z in zip(table, vector, strict=True)]
        weight = float(np.prod([noise[z] for z in vector]))
        winners = [i for i, each in enumerate(noisy) if each == max(noisy)]
        for i in winners[:1] if first_wins else winners:
            law[i] += weight if first_wins else weight / len(winners)
    return law


@pytest.mark.parametrize("table", [scores(0, 0), scores(0, 1, 1), scores(2, 0, -1), scores(5, 5, 5)])
def test_release_has_the_law_of_all_noise_vectors(table: Integers) -> None:
    assert EXAMPLE.probabilities(table) == pytest.approx(by_enumeration(table, 1.5, 14), abs=6 * exp(-21))


def test_release_follows_that_law(random: Randomness) -> None:
    picks = draw(EXAMPLE, TABLE, random)
    for i, probability in enumerate(by_enumeration(TABLE, 1.5, 12)):
        assert_probability(picks.count(i), TRIALS, probability, family=3)


def test_release_check_would_notice_ties_that_go_to_the_first() -> None:
    fair, unfair = (by_enumeration(TABLE, 1.5, 12, first_wins=each) for each in (False, True))
    assert max(power(p, q, TRIALS, family=3) for p, q in zip(fair, unfair, strict=True)) > 0.999


def test_requires_presence_for_monotone_scores() -> None:
    with pytest.raises(InvalidParameterError, match=r"^NoisyMax\.monotone must be False unless"):
        NoisyMax(epsilon=Fraction(1), sensitivity=1, monotone=True)


@settings(max_examples=30)
@given(TABLES, EPSILONS)
def test_guarantee_bounds_the_loss_at_every_output_ties_included(table: Integers, epsilon: Fraction) -> None:
    mechanism = NoisyMax(epsilon=epsilon, sensitivity=1)
    assert largest_loss(mechanism, table, (-1, 0, 1)) <= epsilon + 1e-6


@settings(max_examples=30)
@given(TABLES, EPSILONS)
def test_guarantee_holds_for_monotone_scores_at_twice_the_rate(table: Integers, epsilon: Fraction) -> None:
    mechanism = NoisyMax(epsilon=epsilon, sensitivity=1, monotone=True, relation=Relation.PRESENCE)
    assert largest_loss(mechanism, table, (0, 1)) <= epsilon + 1e-6


def test_guarantee_is_broken_by_ties_that_are_broken_with_the_data() -> None:
    """The twin lets the larger *exact* score win a tie: an order that knows the data."""
    rate, reach = 2.0, 12

    def twin(table: Integers) -> list[float]:
        order = np.argsort(-table, kind="stable")
        sorted_law = by_enumeration(table[order], rate, reach, first_wins=True)
        return [sorted_law[int(np.flatnonzero(order == i)[0])] for i in range(table.size)]

    base = scores(0, 0)
    losses = [
        np.abs(np.log(np.array(twin(base)) / np.array(twin(other)))).max()
        for other in moved(base, (-1, 0, 1))
    ]
    honest = NoisyMax(epsilon=Fraction(4), sensitivity=1)
    assert largest_loss(honest, base, (-1, 0, 1)) <= 4
    assert max(losses) > 4.2


def test_guarantee_is_broken_by_half_the_sensitivity() -> None:
    assert largest_loss(NoisyMax(epsilon=Fraction(2), sensitivity=1), scores(0, 9), (-2, 2)) > 3.5


def test_guarantee_survives_an_audit_that_catches_half_the_sensitivity(random: Randomness) -> None:
    here, there = scores(0, 4), scores(2, 2)
    found = []
    for sensitivity in (2, 1):
        mechanism = NoisyMax(epsilon=Fraction(4), sensitivity=sensitivity)
        hits, others = (draw(mechanism, table, random).count(0) for table in (there, here))
        found.append(compute_epsilon_lower_bound(hits, others, TRIALS, error_rate=FALSE_ALARM))
    assert 2 < found[0] <= 4 < found[1]


def test_one_sided_noise_would_be_permute_and_flip() -> None:
    """With geometric noise and fair ties the law is the one of permute-and-flip, integer ties included."""
    table, rate = scores(2, 0, 1), 0.75
    noise = {z: (1 - exp(-rate)) * exp(-rate * z) for z in range(40)}
    law = np.zeros(3)
    for vector in product(range(40), repeat=3):
        noisy = table + np.array(vector)
        winners = np.flatnonzero(noisy == noisy.max())
        law[winners] += noise[vector[0]] * noise[vector[1]] * noise[vector[2]] / winners.size
    flip = PermuteAndFlip(epsilon=Fraction(3, 2), sensitivity=1)
    assert law == pytest.approx(flip.probabilities(table), abs=3 * exp(-rate * 40) + 1e-12)


@settings(max_examples=30)
@given(TABLES, EPSILONS, st.floats(0.01, 0.99))
def test_utility_bounds_how_far_the_pick_is_behind(
    table: Integers, epsilon: Fraction, confidence: float
) -> None:
    mechanism = NoisyMax(epsilon=epsilon, sensitivity=1)
    late = table.max() - table > mechanism.shortfall(table.size, confidence)
    assert mechanism.probabilities(table)[late].sum() <= 1 - confidence + 1e-12


def test_utility_of_two_candidates_is_attained() -> None:
    chance = EXAMPLE.probabilities(scores(0, 3))[0]
    ahead = sum(
        tanh(0.75) ** 2 * exp(-1.5 * (abs(z) + abs(w))) * (1 if z - w > 3 else 0.5 if z - w == 3 else 0)
        for z, w in product(range(-40, 41), repeat=2)
    )
    assert chance == pytest.approx(ahead)
    assert EXAMPLE.shortfall(2, 1 - 1.01 * 2 * ahead) <= 3


@settings(max_examples=30)
@given(TABLES, EPSILONS)
def test_utility_is_not_better_than_permute_and_flip(table: Integers, epsilon: Fraction) -> None:
    behind = table.max() - table
    ours, theirs = (
        float(kind(epsilon=epsilon, sensitivity=1).probabilities(table) @ behind)
        for kind in (NoisyMax, PermuteAndFlip)
    )
    assert theirs <= ours + 1e-9


def test_probabilities_do_not_depend_on_the_order_of_candidates() -> None:
    for order in permutations(range(3)):
        assert EXAMPLE.probabilities(TABLE[list(order)]) == pytest.approx(
            EXAMPLE.probabilities(TABLE)[list(order)]
        )
