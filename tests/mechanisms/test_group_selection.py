"""Group selection: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.partition_selection import GroupCounts, GroupSelection
from discreet.mechanisms.sampling import Integers
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 100_000
EXAMPLE = GroupSelection(epsilon=Fraction(1), delta=Fraction(1, 100), relation=Relation.PRESENCE)
# k small beside 1 / epsilon: drawn from uniform instead of from discrete Laplace
FLAT = GroupSelection(epsilon=Fraction(1, 50), delta=Fraction(1, 10), relation=Relation.PRESENCE)
MECHANISMS = st.builds(
    GroupSelection,
    epsilon=st.fractions(Fraction(1, 50), 8, max_denominator=100),
    delta=st.sampled_from([Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**9)]),
    groups_per_person=st.integers(1, 3),
    relation=st.sampled_from(Relation),
)


def groups(*people: int) -> GroupCounts:
    return GroupCounts(np.array([f"key {i}" for i in range(len(people))]), np.array(people, dtype=np.int64))


def noisy(mechanism: GroupSelection, people: int, random: Randomness) -> Integers:
    """What is shown of TRIALS groups of so many people each."""
    asked = GroupCounts(np.arange(TRIALS), np.full(TRIALS, people))
    return mechanism.release(Exact(asked), random).value.people


@pytest.mark.parametrize("mechanism", [EXAMPLE, FLAT], ids=["laplace", "uniform"])
def test_release_shows_the_stated_noisy_numbers(mechanism: GroupSelection, random: Randomness) -> None:
    k, a = mechanism.threshold, exp(-mechanism.epsilon)
    weights = {z: a ** abs(z) for z in range(-k, k + 1)}
    people = k + 2
    shown = noisy(mechanism, people, random)
    assert shown.min() > k
    for z, weight in weights.items():
        if people + z > k:
            probability = weight / sum(weights.values())
            assert_probability(int((shown == people + z).sum()), TRIALS, probability, family=50)


def test_release_check_would_notice_ten_percent_less_noise() -> None:
    other = GroupSelection(epsilon=Fraction(11, 10), delta=EXAMPLE.delta, relation=Relation.PRESENCE)
    assert power(EXAMPLE.mass(0), other.mass(0), TRIALS, family=50) > 0.999


def test_release_keeps_keys_with_their_numbers_and_never_shows_an_empty_group(random: Randomness) -> None:
    shown = EXAMPLE.release(Exact(groups(0, 50, 1000, 0, 200)), random).value
    assert shown.keys.tolist() == ["key 1", "key 2", "key 4"]
    assert np.abs(shown.people - [50, 1000, 200]).max() <= EXAMPLE.threshold


def test_release_does_not_depend_on_whether_empty_groups_are_listed() -> None:
    source = np.random.Generator(np.random.Philox(5)).bytes(80_000)

    def repeated() -> Randomness:
        stream = iter(range(0, len(source)))

        def read(size: int) -> bytes:
            return bytes(source[next(stream)] for _ in range(size))

        return Randomness(source=read)

    with_empty, without = (
        EXAMPLE.release(Exact(each), repeated()).value for each in (groups(6, 0, 7), groups(6, 7))
    )
    assert with_empty.people.tolist() == without.people.tolist()


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"groups_per_person": 0}, "groups_per_person"),
        ({"relation": "none"}, "relation"),
    ],
)
def test_requires_parameters_for_which_it_is_proven(given_: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^GroupSelection\.{named} must be .*; got .*\."):
        GroupSelection(**{"epsilon": Fraction(1), "delta": 1e-6, **given_})


def test_requires_one_key_for_each_number() -> None:
    with pytest.raises(InvalidParameterError, match=r"^GroupCounts\.keys must be"):
        GroupCounts(np.array(["a"]), np.array([1, 2]))
    with pytest.raises(InvalidParameterError, match=r"^GroupCounts\.people must be"):
        GroupCounts(np.array(["a"]), np.array([1.5]))


@given(MECHANISMS)
def test_guarantee_threshold_is_the_papers(mechanism: GroupSelection) -> None:
    t = mechanism.groups_per_person * (2 if mechanism.relation is Relation.VALUE else 1)
    e, d = float(mechanism.epsilon) / t, float(mechanism.delta) / t
    assert mechanism.threshold == ceil(log((exp(e) + 2 * d - 1) / ((exp(e) + 1) * d)) / e - 1e-9)


@settings(max_examples=40)
@given(MECHANISMS)
def test_guarantee_holds_for_every_number_of_people_and_is_tight(mechanism: GroupSelection) -> None:
    """The full law of one group against the same with one person more, both ways, shown numbers included."""
    e = float(mechanism.epsilon / mechanism.groups_changed_per_person)
    d = float(mechanism.delta / mechanism.groups_changed_per_person)
    k = mechanism.threshold

    def law(people: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """First the chance of not being shown, then of every number from k + 1 on."""
        shown = (
            [mechanism.mass(y - people) for y in range(k + 1, 3 * k + 5)] if people else [0.0] * (2 * k + 4)
        )
        return np.array([1 - sum(shown), *shown])

    worst = 0.0
    for people in {0, 1, 2, 3, k - 1, k, k + 1, 2 * k, 2 * k + 1, 2 * k + 2} - {-1}:
        here, there = law(people), law(people + 1)
        worst = max(worst, *(np.maximum(a - exp(e) * b, 0).sum() for a, b in ((here, there), (there, here))))
    assert worst <= d * (1 + 1e-6)
    assert worst >= d * exp(-e) / 2


def test_guarantee_splits_over_the_groups_that_one_person_changes() -> None:
    both = GroupSelection(epsilon=Fraction(6), delta=Fraction(6, 10**6), groups_per_person=3)
    one = GroupSelection(epsilon=Fraction(1), delta=Fraction(1, 10**6), relation=Relation.PRESENCE)
    assert both.threshold == one.threshold
    assert both.mass(3) == one.mass(3)


def test_guarantee_is_broken_by_a_threshold_one_lower() -> None:
    """A group of one person would be shown more often than delta allows: exact, by the recomputed law."""
    k, a = EXAMPLE.threshold - 1, exp(-1)
    alone = a**k * (1 - a) / (1 + a - 2 * a ** (k + 1))
    assert EXAMPLE.selection_probability(1) <= 0.01 < alone


def test_guarantee_survives_an_audit_that_catches_a_relation_mistaken_for_the_other(
    random: Randomness,
) -> None:
    """One person moves between two groups: under value both noisy numbers change."""
    found = []
    for relation in (Relation.VALUE, Relation.PRESENCE):
        mechanism = GroupSelection(epsilon=Fraction(2), delta=Fraction(1, 10**6), relation=relation)
        far = 4 * mechanism.threshold
        hits = []
        for first, second in ((far, far + 1), (far + 1, far)):
            a, b = noisy(mechanism, first, random), noisy(mechanism, second, random)
            hits.append(int(((a <= far) & (b > far)).sum()))
        found.append(compute_epsilon_lower_bound(hits[0], hits[1], TRIALS, error_rate=FALSE_ALARM))
    assert 1.7 < found[0] <= 2 < found[1]


@given(MECHANISMS)
def test_utility_chance_of_being_shown_is_the_sum_of_its_law(mechanism: GroupSelection) -> None:
    k = mechanism.threshold
    chances = [mechanism.selection_probability(people) for people in range(2 * k + 3)]
    assert chances[0] == 0
    assert chances[2 * k + 1] == chances[2 * k + 2] == 1
    assert all(a <= b + 1e-15 for a, b in pairwise(chances))
    assert chances[k + 1] > 0.5
    for people in {1, 2, k, k + 1, k + 2, 2 * k}:
        direct = sum(mechanism.mass(z) for z in range(k + 1 - people, k + 1))
        assert chances[people] == pytest.approx(direct, rel=1e-9)


def best_rule(epsilon: float, delta: float, people: int) -> list[float]:
    """The largest chance of being shown that (epsilon, delta)-DP allows, person by person."""
    chances = [0.0]
    for _ in range(people):
        p = chances[-1]
        chances.append(min(exp(epsilon) * p + delta, 1 - exp(-epsilon) * (1 - p - delta), 1.0))
    return chances


def test_utility_is_the_best_there_is_where_k_needs_no_rounding() -> None:
    k, e = 9, 1.0
    delta = (1 - exp(-e)) / (exp(e * k) * (1 + exp(-e)) - 2 * exp(-e))  # Pr[Z = k] at this k
    mechanism = GroupSelection(epsilon=e, delta=delta * (1 + 1e-12), relation=Relation.PRESENCE)  # type: ignore[arg-type]
    assert mechanism.threshold == k
    ours = [mechanism.selection_probability(people) for people in range(25)]
    assert ours == pytest.approx(best_rule(e, delta, 24), rel=1e-9)


@given(MECHANISMS)
def test_utility_is_at_most_two_people_behind_the_best_there_is(mechanism: GroupSelection) -> None:
    e, d = float(mechanism.rate), float(mechanism.delta / mechanism.groups_changed_per_person)
    best = best_rule(e, d, 2 * mechanism.threshold + 2)
    for people in range(2, len(best)):
        assert best[people - 2] - 1e-9 <= mechanism.selection_probability(people) <= best[people] + 1e-9
