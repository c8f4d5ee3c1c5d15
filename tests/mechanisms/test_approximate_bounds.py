"""Approximate bounds: one group of tests per labelled line of its docstring."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.privacy_audit import audit_epsilon
from discreet.core import discrete_gaussian_tails
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.guarantees import ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.approximate_bounds import ApproximateBounds, BinRange, PowerBins
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.sensitivity import ContributionBounds
from tests.statistical import FALSE_ALARM, assert_probability

FEW = PowerBins(least=0, most=4)
BINS = st.builds(PowerBins, least=st.integers(-(2**63), 0), most=st.integers(1, 2**63 - 1))
LEARNERS = st.builds(
    ApproximateBounds,
    epsilon=st.fractions(Fraction(1, 50), 3, max_denominator=100),
    sensitivity=st.integers(1, 50).map(lambda rows: ContributionBounds(rows=rows).count_sensitivity()),
    bins=BINS,
    false_positives=st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)]),
    is_gaussian=st.booleans(),
)


def learner(rows: int = 1, relation: Relation = Relation.VALUE, **others: Any) -> ApproximateBounds:
    bounds = ContributionBounds(rows=rows, relation=relation)
    given_ = {"epsilon": Fraction(1, 20), "sensitivity": bounds.count_sensitivity(), **others}
    return ApproximateBounds(relation=relation, **given_)


# -- Release ------------------------------------------------------------------------------------------------


@given(BINS)
def test_bins_are_runs_between_powers_of_two_and_hold_every_integer_once(bins: PowerBins) -> None:
    ends = [(bins.get_first(place), bins.get_last(place)) for place in range(bins.size)]
    assert ends[0][0] == bins.least
    assert ends[-1][1] == bins.most
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(ends))
    for first, last in ends:
        assert first <= last
        assert (first, last) == (0, 1) or last <= 2 * max(first - 1, 1) or first >= 2 * min(last, 0)
    assert bins.size <= 128


def test_sixty_four_bits_take_128_bins() -> None:
    assert PowerBins().size == 128


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_counts_are_of_the_bin_that_holds_a_value(values: list[int]) -> None:
    bins = PowerBins()
    counts = bins.count(values)
    for place in range(bins.size):
        held = [value for value in values if bins.get_first(place) <= value <= bins.get_last(place)]
        assert counts[place] == len(held)


@settings(max_examples=50)
@given(LEARNERS, st.data())
def test_release_gives_the_outermost_bins_that_pass(mechanism: ApproximateBounds, data: Any) -> None:
    t = mechanism.threshold
    drawn = data.draw(
        st.lists(
            st.sampled_from([-t, 0, t - 1, t, t + 1]),
            min_size=mechanism.bins.size,
            max_size=mechanism.bins.size,
        )
    )
    found = mechanism.find_range(np.array(drawn))
    passed = [place for place, count in enumerate(drawn) if count >= t]
    assert (found.first, found.last) == ((passed[0], passed[-1]) if passed else (None, None))
    assert found.is_empty == (not passed)
    assert found.noisy == tuple(drawn)


def test_release_of_many_rows_finds_their_bins(random: Randomness) -> None:
    mechanism = learner()
    found = mechanism.release(Exact(mechanism.bins.count([*[17] * 5_000, *[90] * 5_000])), random).value
    assert found.first is not None
    assert found.last is not None
    assert (mechanism.bins.get_first(found.first), mechanism.bins.get_last(found.last)) == (17, 128)


# -- Requires -----------------------------------------------------------------------------------------------


def test_requires_one_count_for_each_bin(random: Randomness) -> None:
    with pytest.raises(InvalidParameterError, match=r"^ApproximateBounds\.counts must be an array of one"):
        learner(bins=FEW).release(Exact(np.array([1, 2])), random)


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan")])
def test_requires_a_probability_of_false_positives(share: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^ApproximateBounds\.false_positives must be"):
        learner(false_positives=share)


def test_requires_bins_on_both_sides_of_zero() -> None:
    with pytest.raises(InvalidParameterError, match=r"^PowerBins\.least must be at most 0"):
        PowerBins(least=1, most=4)


# -- Guarantee ----------------------------------------------------------------------------------------------


def compute_law(mechanism: ApproximateBounds, counts: tuple[int, ...]) -> dict[tuple[Any, Any], float]:
    """Return the probability of every outcome (first, last), from the law of each bin's noise."""
    noise, t, reach = mechanism.noise, mechanism.threshold, 400
    passing = [sum(noise.mass(z) for z in range(t - count, t - count + reach)) for count in counts]
    found: dict[tuple[Any, Any], float] = {}
    for passed in product((False, True), repeat=len(counts)):
        places = [place for place, each in enumerate(passed) if each]
        outcome = (places[0], places[-1]) if places else (None, None)
        chance = float(np.prod([p if each else 1 - p for p, each in zip(passing, passed, strict=True)]))
        found[outcome] = found.get(outcome, 0.0) + chance
    return found


def list_neighbors(rows: int, relation: Relation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return every pair of tables of 3 bins that differ in one person of `rows` rows, around 2 others."""
    others = list(product(range(3), repeat=3))
    moved = [each for each in product(range(rows + 1), repeat=3) if sum(each) <= rows]
    pairs = []
    for other, here, there in product(others, moved, moved):
        if relation is Relation.PRESENCE and any(there):
            continue  # the person's rows against none
        first, second = (tuple(a + b for a, b in zip(other, each, strict=True)) for each in (here, there))
        pairs.append((first, second))
    return pairs


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [1, 2])
def test_guarantee_holds_for_every_outcome_and_all_neighbours_of_small_tables(
    rows: int, relation: Relation
) -> None:
    mechanism = learner(rows, relation, epsilon=Fraction(1, 2), bins=FEW, false_positives=Fraction(1, 2))
    laws: dict[tuple[int, ...], dict[tuple[Any, Any], float]] = {}
    worst = 0.0
    for here, there in list_neighbors(rows, relation):
        for counts in (here, there):
            if counts not in laws:
                laws[counts] = compute_law(mechanism, counts)
                assert sum(laws[counts].values()) == pytest.approx(1)
        worst = max(
            [worst, *(abs(log(laws[here][outcome] / laws[there][outcome])) for outcome in laws[here])]
        )
    assert worst <= 0.5 + 1e-9
    assert worst > 0.2  # a bound that is nowhere near would not test anything


@pytest.mark.parametrize("relation", list(Relation))
def test_guarantee_holds_for_the_noisy_counts_themselves(relation: Relation) -> None:
    mechanism = learner(2, relation, epsilon=Fraction(1, 2), bins=FEW)
    mass = mechanism.noise.mass
    for here, there in list_neighbors(2, relation):
        for noisy in product(range(-3, 8, 2), repeat=3):
            loss = sum(log(mass(y - a) / mass(y - b)) for y, a, b in zip(noisy, here, there, strict=True))
            assert loss <= 0.5 + 1e-9


def test_guarantee_of_gaussian_noise_is_the_zcdp_of_epsilon() -> None:
    pure, gaussian = learner(46), learner(46, is_gaussian=True)
    assert isinstance(gaussian.guarantee, ZeroConcentratedDP)
    assert gaussian.guarantee.rho == pytest.approx(float(pure.guarantee.zcdp.rho), rel=1e-12)
    assert Fraction(gaussian.guarantee.rho) <= Fraction(pure.guarantee.zcdp.rho)


def test_guarantee_survives_an_audit_that_catches_a_forgotten_second_bin(
    random: Randomness,
) -> None:
    """One row moves: two bins change. A twin with the sensitivity of one bin loses twice its epsilon."""
    true = learner(epsilon=Fraction(1), bins=FEW)
    twin = replace(
        true, sensitivity=ContributionBounds(rows=1, relation=Relation.PRESENCE).count_sensitivity()
    )

    def audit(mechanism: ApproximateBounds) -> float:
        def sampler(counts: Integers) -> Any:
            return lambda runs: [mechanism.release(Exact(counts), random).value.noisy for _ in range(runs)]

        samplers = (sampler(mechanism.bins.count([value])) for value in (0, 4))
        return audit_epsilon(*samplers, claimed=1.0, runs=40_000, confidence=1 - FALSE_ALARM).lower_bound

    assert audit(true) <= 1
    assert audit(twin) > 1.3


# -- Utility ------------------------------------------------------------------------------------------------


def test_threshold_is_the_stated_one() -> None:
    assert learner().threshold == 286
    assert learner(46).threshold == 13_119
    assert learner(relation=Relation.PRESENCE).threshold < 286
    assert learner(46, is_gaussian=True).threshold < 13_119 / 2


@settings(max_examples=60)
@given(LEARNERS)
def test_threshold_is_the_least_that_keeps_to_the_false_positives(mechanism: ApproximateBounds) -> None:
    p, t = mechanism.false_positives_per_bin, mechanism.threshold
    assert 1 - (1 - p) ** mechanism.bins.size == pytest.approx(float(mechanism.false_positives), rel=1e-6)

    def tail(reach: int) -> float:
        if mechanism.is_gaussian:
            return discrete_gaussian_tails.bound_tail(mechanism.noise.variance, reach)[1]  # type: ignore[arg-type]
        rate = float(mechanism.noise.rate)  # type: ignore[union-attr]
        return exp(-rate * reach) / (1 + exp(-rate))

    assert tail(t) <= p * (1 + 1e-12)
    assert t == 1 or tail(t - 1) > p * (1 - 1e-12)
    assert mechanism.pass_probability(t) > 0.5
    assert mechanism.pass_probability(0) <= p


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_empty_bins_pass_as_often_as_stated(is_gaussian: bool, random: Randomness) -> None:
    mechanism = learner(false_positives=Fraction(1, 2), is_gaussian=is_gaussian)
    empty = Exact(np.zeros(mechanism.bins.size, np.int64))
    runs = 3_000
    wrong = sum(not mechanism.release(empty, random).value.is_empty for _ in range(runs))
    exact = 1 - (1 - mechanism.pass_probability(0)) ** mechanism.bins.size
    assert_probability(wrong, runs, exact)


def test_result_holds_what_later_steps_need() -> None:
    found = learner(bins=FEW).find_range(np.array([500, 0, 500]))
    assert found == BinRange(first=0, last=2, noisy=(500, 0, 500))
