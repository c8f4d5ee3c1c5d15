"""Randomized response: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sampling import Integers
from tests.statistical import FALSE_ALARM, assert_probability, power

TRIALS = 200_000
EXAMPLE = RandomizedResponse(epsilon=Fraction(3, 2), values=5)
MECHANISMS = st.builds(
    RandomizedResponse,
    epsilon=st.fractions(Fraction(1, 100), 10, max_denominator=1_000),
    values=st.integers(2, 12),
)


def answers(mechanism: RandomizedResponse, truth: int, random: Randomness) -> Integers:
    return mechanism.release_many(Exact(np.full(TRIALS, truth)), random).value


@pytest.mark.parametrize("truth", [0, 3, 4])
def test_release_follows_the_stated_channel(truth: int, random: Randomness) -> None:
    given_ = answers(EXAMPLE, truth, random)
    kept = exp(1.5) / (exp(1.5) + 4)
    for value in range(5):
        probability = kept if value == truth else (1 - kept) / 4
        assert_probability(int((given_ == value).sum()), TRIALS, probability, family=15)


def test_release_check_would_notice_five_percent_more_epsilon() -> None:
    bolder = RandomizedResponse(epsilon=EXAMPLE.epsilon * Fraction(21, 20), values=5)
    assert power(EXAMPLE.truth_probability, bolder.truth_probability, TRIALS, family=15) > 1 - 1e-6


def test_release_of_one_answer_has_the_same_law(random: Randomness) -> None:
    given_ = [EXAMPLE.release(Exact(2), random).value for _ in range(4_000)]
    for value in range(5):
        assert_probability(given_.count(value), 4_000, EXAMPLE.likelihood(value, 2), family=5)


def test_release_settles_coins_that_fall_on_the_edge_by_more_bits() -> None:
    """The first word of U equals the first 64 bits of Pr[lie] = 1 / (e + 1): only further bits decide."""
    edge = int(2**64 / (Decimal(1).exp() + 1))
    found = set()
    for rest in (b"\x00", b"\xff"):
        words = iter([edge.to_bytes(8, "little")])
        random = Randomness(source=lambda size, rest=rest, words=words: next(words, rest * size))  # type: ignore[misc]
        found.add(RandomizedResponse(epsilon=Fraction(1)).release(Exact(0), random).value)
    assert found == {0, 1}


def test_requires_answers_in_range_and_moves_others_to_the_end(random: Randomness) -> None:
    sure = RandomizedResponse(epsilon=Fraction(60), values=3)
    assert sure.release_many(Exact(np.array([-7, 1, 99])), random).value.tolist() == [0, 1, 2]
    assert sure.release(Exact(12), random).value == 2


@pytest.mark.parametrize("values", [1, 0, -3, 2.0, True])
def test_requires_two_values_or_more(values: int) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^RandomizedResponse\.values must be an integer of at least 2"
    ):
        RandomizedResponse(epsilon=Fraction(1), values=values)


@given(MECHANISMS)
def test_guarantee_is_the_largest_ratio_in_the_channel(mechanism: RandomizedResponse) -> None:
    channel = mechanism.matrix()
    assert channel.sum(axis=1) == pytest.approx(np.ones(mechanism.values))
    assert log((channel.max(axis=0) / channel.min(axis=0)).max()) == pytest.approx(float(mechanism.epsilon))
    assert mechanism.guarantee.relation is Relation.VALUE


def test_guarantee_survives_an_audit_that_catches_a_coin_of_doubled_epsilon(random: Randomness) -> None:
    found = []
    for factor in (1, 2):
        mechanism = RandomizedResponse(epsilon=EXAMPLE.epsilon * factor, values=5)
        hits, others = (int((answers(mechanism, truth, random) == 0).sum()) for truth in (0, 1))
        found.append(compute_epsilon_lower_bound(hits, others, TRIALS, error_rate=FALSE_ALARM))
    assert 1.4 < found[0] <= 1.5 < found[1]


@given(MECHANISMS, st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_utility_estimate_is_unbiased(mechanism: RandomizedResponse, truth: list[int]) -> None:
    truth = [each % mechanism.values for each in truth]
    expected = mechanism.matrix()[truth].mean(axis=0)
    # the estimate is linear in the shares of answers, so its mean is the estimate of the mean shares
    counted = np.round(expected * 10**5).astype(np.int64)
    found = mechanism.estimate(np.repeat(np.arange(mechanism.values), counted))
    true = np.bincount(truth, minlength=mechanism.values) / len(truth)
    rounding = mechanism.values / 10**5 / (mechanism.matrix()[0, 0] - mechanism.matrix()[0, 1])
    assert found == pytest.approx(true, abs=rounding)


def test_utility_variance_is_that_of_repeated_surveys(random: Randomness) -> None:
    people, surveys = 200, 4_000
    truth = np.tile(np.repeat(np.array([0, 1]), [60, 140]), surveys)
    mechanism = RandomizedResponse(epsilon=Fraction(1), values=3)
    given_ = mechanism.release_many(Exact(truth), random).value.reshape(surveys, people)
    estimates = np.array([mechanism.estimate(each) for each in given_])
    for value, share in enumerate((0.3, 0.7, 0.0)):
        deviation = np.sqrt(mechanism.variance(share, people))
        # a mean of 4,000 is off by 7 of its deviations, a variance by 20%, with chance below 1e-9 each
        assert estimates[:, value].mean() == pytest.approx(share, abs=7 * deviation / surveys**0.5)
        assert estimates[:, value].var() == pytest.approx(deviation**2, rel=0.2)
        assert np.mean(np.abs(estimates[:, value] - share) > 0.3) <= mechanism.beta(0.3, people)


def test_utility_bound_is_close_to_the_normal_tail() -> None:
    assert 0.0 < EXAMPLE.beta(0.05, 10_000) < 1e-3
    assert EXAMPLE.beta(0, 10_000) == 1
