"""The audit's lower bound is rarely above the truth, and close to it; broken twins are caught."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.distinguishing_events import has_fine_bits
from discreet.attacks.neighbor_pairs import PAIR_BUILDERS, build_pair
from discreet.attacks.privacy_audit import Sampler, audit_epsilon, compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.exact_values import Exact
from discreet.mechanisms import MECHANISMS, get_mechanism_name
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from tests.conftest import seeded
from tests.statistical import FALSE_ALARM


def test_the_bound_exceeds_the_truth_no_more_often_than_stated() -> None:
    generator = np.random.Generator(np.random.Philox(7))
    runs, trials, miss = 2_000, 500, 0.2
    hits, others = generator.binomial(trials, 0.6, runs), generator.binomial(trials, 0.3, runs)
    above = sum(
        compute_epsilon_lower_bound(int(a), int(b), trials, error_rate=miss) > math.log(2)
        for a, b in zip(hits, others, strict=True)
    )
    assert above <= miss * runs


def test_the_bound_comes_close_with_many_trials() -> None:
    assert 0.97 < compute_epsilon_lower_bound(731_059, 268_941, 1_000_000, error_rate=1e-9) < 1.0


@pytest.mark.parametrize(("hits", "others"), [(0, 0), (0, 100), (100, 100), (50, 50)])
def test_no_evidence_gives_no_loss(hits: int, others: int) -> None:
    assert compute_epsilon_lower_bound(hits, others, 100, error_rate=0.05) == 0.0


@pytest.mark.parametrize(
    ("hits", "others", "trials", "miss"), [(-1, 0, 10, 0.1), (11, 0, 10, 0.1), (1, 1, 0, 0.1), (1, 1, 10, 0)]
)
def test_impossible_counts_are_refused(hits: int, others: int, trials: int, miss: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^compute_epsilon_lower_bound: `"):
        compute_epsilon_lower_bound(hits, others, trials, error_rate=miss)


# -- the audit as a whole ------------------------------------------------------------------------------------

SURE = 1 - FALSE_ALARM


def noisy(mechanism: DiscreteLaplace, truth: list[int], seed: int) -> Sampler:
    """Vectors of independent noise on `truth`."""
    random = seeded(seed)

    def drawn(runs: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        tiled = np.tile(np.array(truth, np.int64), runs)
        return mechanism.release_many(Exact(tiled), random).value.reshape(runs, len(truth))

    return drawn


def test_geometric_noise_at_epsilon_1_is_certified_to_nine_tenths() -> None:
    here, there = build_pair("discrete-laplace", epsilon=1).make_samplers(seeded(1))
    found = audit_epsilon(here, there, claimed=1, runs=100_000)
    assert found.confidence == 0.95
    assert found.lower_bound >= 0.9
    assert audit_epsilon(here, there, claimed=1, runs=100_000, confidence=SURE).holds


def test_histograms_are_certified_too() -> None:
    mechanism = DiscreteLaplace(epsilon=Fraction(1), sensitivity=2)
    here, there = noisy(mechanism, [5, 4, 3, 3], 1), noisy(mechanism, [4, 5, 3, 3], 2)
    assert 0.85 <= audit_epsilon(here, there, claimed=1, confidence=SURE).lower_bound <= 1


def test_the_audit_of_a_tight_mechanism_is_wrong_no_more_often_than_stated() -> None:
    """Two answers of odds e to 1: nothing is lost in choosing the event, so the bound is tight."""
    here, there = build_pair("randomized-response", epsilon=1).make_samplers(seeded(2))
    wrong = sum(not audit_epsilon(here, there, claimed=1, runs=400, confidence=0.8).holds for _ in range(400))
    assert wrong <= 0.2 * 400


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_no_mechanism_is_caught(kind: type) -> None:
    audited = build_pair(get_mechanism_name(kind), epsilon=1)
    here, there = audited.make_samplers(seeded(3))
    delta = max(0.0, audited.mechanism.guarantee.profile(1))
    assert audit_epsilon(here, there, claimed=1, delta=delta, runs=2_000, confidence=SURE).holds


def test_every_mechanism_has_a_pair() -> None:
    assert set(PAIR_BUILDERS) == set(MECHANISMS)


def test_delta_is_taken_off() -> None:
    """With probability 1/10 everything is told, else nothing: epsilon is unbounded at delta 0, 0 at 1/10."""

    def leaky(value: int, seed: int) -> Sampler:
        generator = np.random.default_rng(seed)
        return lambda runs: np.where(generator.random(runs) < 0.1, value, -1)

    assert audit_epsilon(leaky(0, 1), leaky(1, 2), claimed=1, confidence=SURE).lower_bound > 4
    assert audit_epsilon(leaky(0, 1), leaky(1, 2), claimed=1, delta=0.1, confidence=SURE).lower_bound == 0


def test_words_nothing_and_rows_of_different_lengths_can_be_outputs() -> None:
    def mixed(shown: float, seed: int) -> Sampler:
        generator = np.random.default_rng(seed)
        return lambda runs: [
            {"group": "yes", "n": [1, None]} if hit else {"group": "no"}
            for hit in generator.random(runs) < shown
        ]

    found = audit_epsilon(mixed(0.9, 1), mixed(0.1, 2), claimed=1, runs=2_000, confidence=SURE)
    assert 1.5 < found.lower_bound < math.log(9)
    assert not found.holds
    assert found.verdict.startswith("The claim is broken")


# -- twins that break their claim ----------------------------------------------------------------------------


def test_a_twin_whose_sensitivity_is_off_by_2_is_caught() -> None:
    half = DiscreteLaplace(
        epsilon=Fraction(1), sensitivity=1
    )  # where one person moves two counts by one each
    here, there = noisy(half, [5, 4], 1), noisy(half, [4, 5], 2)
    assert audit_epsilon(here, there, claimed=1, runs=10_000, confidence=SURE).lower_bound > 1


def test_a_twin_that_clamps_after_summing_is_caught() -> None:
    """One person has 1000 where the bound is 10; the sum is clamped only when it is there."""

    def summed(values: list[int], seed: int, *, late: bool) -> Sampler:
        kept = min(sum(values), 10 * len(values)) if late else sum(min(value, 10) for value in values)
        return noisy(DiscreteLaplace(epsilon=Fraction(1), sensitivity=10), [kept], seed)

    person, nobody, others = [1_000], [0], [3] * 20
    found = {
        late: audit_epsilon(
            summed(others + person, 1, late=late),
            summed(others + nobody, 2, late=late),
            claimed=1,
            runs=10_000,
            confidence=SURE,
        )
        for late in (True, False)
    }
    assert not found[True].holds
    assert found[False].holds


def test_a_float_twin_is_caught_without_being_told_where_to_look() -> None:
    def floats(value: int) -> Sampler:
        return lambda runs: value + np.random.default_rng(value).laplace(0, 1, runs)

    assert audit_epsilon(floats(0), floats(1), claimed=1, confidence=SURE).lower_bound > 5


def test_fine_numbers_are_those_between_the_doubles_below_1() -> None:
    numbers = np.array([0.5, 0.1, 2.0**-53, 2.0**-54, 3 * 2.0**-54, 0.0, 7.25, math.nan, math.inf, 1e-300])
    assert has_fine_bits(numbers).tolist() == [
        False,
        True,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
        True,
    ]


# -- what is not possible ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "named"), [({"claimed": 0}, "claimed"), ({"delta": 1}, "delta"), ({"runs": 99}, "runs")]
)
def test_parameters_out_of_range_are_named(wrong: dict[str, float], named: str) -> None:
    here, there = build_pair("discrete-laplace", epsilon=1).make_samplers(seeded(1))
    with pytest.raises(InvalidParameterError, match=f"^audit: `{named}=` must be "):
        audit_epsilon(here, there, **({"claimed": 1} | wrong))  # type: ignore[arg-type]


def test_the_geometric_mechanism_is_known_by_its_name_in_the_literature() -> None:
    assert build_pair("geometric", epsilon=1) == build_pair("discrete-laplace", epsilon=1)
    assert build_pair("two-sided geometric", epsilon=1) == build_pair("DiscreteLaplace", epsilon=1)


def test_a_mechanism_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(RequestError, match=r"no mechanism gauss\. There are discrete-laplace, laplace, "):
        build_pair("gauss", epsilon=1)
