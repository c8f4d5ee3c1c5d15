"""RAPPOR: its two steps, what each protects, and clients that leave one of them out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from discreet.attacks.privacy_audit import audit_epsilon
from discreet.core.errors import InvalidParameterError
from discreet.core.randomness import Randomness
from discreet.local import Rappor
from discreet.local.bit_sampling import unpack_bits
from discreet.mechanisms.sampling import Booleans, Words
from tests.conftest import seeded

SMALL = Rappor(values=2, width=16, hashes=2, cohorts=1)
RUNS = 40_000
SURELY = 1 - 1e-9


@dataclass(frozen=True)
class NeverClears:
    """A client that randomizes only the bits that its value does not set."""

    operator: Rappor

    def sent(self, value: int, count: int, random: Randomness) -> Booleans:
        reports = self.operator.randomize(np.full(count, value), random)
        return unpack_bits(reports, self.operator.width) | unpack_bits(
            self.operator.bloom_filters[0, value][None], self.operator.width
        )


def sent(value: int, count: int, random: Randomness) -> Booleans:
    return unpack_bits(SMALL.randomize(np.full(count, value), random), SMALL.width)


def test_an_audit_finds_no_more_than_the_stated_loss_and_comes_near_it() -> None:
    found = audit_epsilon(
        lambda count: sent(0, count, seeded(1)).astype(float),
        lambda count: sent(1, count, seeded(2)).astype(float),
        claimed=SMALL.epsilon,
        runs=RUNS,
        confidence=SURELY,
    )
    assert 0.5 * SMALL.epsilon < found.lower_bound <= SMALL.epsilon


def test_a_client_that_never_clears_a_true_bit_is_caught() -> None:
    twin = NeverClears(SMALL)
    found = audit_epsilon(
        lambda count: twin.sent(0, count, seeded(1)).astype(float),
        lambda count: twin.sent(1, count, seeded(2)).astype(float),
        claimed=SMALL.epsilon,
        runs=RUNS,
        confidence=SURELY,
    )
    assert not found.holds
    assert found.lower_bound > 5 * SMALL.epsilon


def repeated(value: int, count: int, random: Randomness, *, anew: bool) -> Words:
    """How often each of the bits was set in 200 reports of one client."""
    kept = SMALL.draw_permanent_bits(np.full(count, value), random)
    total = np.zeros((count, SMALL.width), np.int64)
    for _ in range(200):
        kept = SMALL.draw_permanent_bits(np.full(count, value), random) if anew else kept
        total += unpack_bits(SMALL.draw_reports(kept, random), SMALL.width)
    return (total > 100 * (float(SMALL.p) + float(SMALL.q))).astype(np.float64)


def test_many_reports_of_one_client_show_no_more_than_the_lasting_loss() -> None:
    lasting = math.log(SMALL.lasting_gamma)
    found = audit_epsilon(
        lambda count: repeated(0, count, seeded(3), anew=False),
        lambda count: repeated(1, count, seeded(4), anew=False),
        claimed=lasting,
        runs=10_000,
        confidence=SURELY,
    )
    assert SMALL.epsilon < found.lower_bound <= lasting


def test_a_client_that_draws_the_permanent_bits_anew_for_every_report_is_caught() -> None:
    found = audit_epsilon(
        lambda count: repeated(0, count, seeded(5), anew=True),
        lambda count: repeated(1, count, seeded(6), anew=True),
        claimed=math.log(SMALL.lasting_gamma),
        runs=10_000,
        confidence=SURELY,
    )
    assert not found.holds


def test_permanent_bits_stay_and_reports_change(random: Randomness) -> None:
    kept = SMALL.draw_permanent_bits(np.zeros(100, np.int64), random)
    one, other = SMALL.draw_reports(kept, random), SMALL.draw_reports(kept, random)
    assert not np.array_equal(one, other)
    assert not np.array_equal(kept, np.broadcast_to(SMALL.bloom_filters[0, 0], kept.shape))


def test_filters_have_the_stated_number_of_bits_and_differ_by_cohort() -> None:
    operator = Rappor(values=50, width=100, hashes=3, cohorts=4)
    assert np.all(np.bitwise_count(operator.bloom_filters).sum(axis=2) == 3)
    assert len(np.unique(operator.bloom_filters.reshape(200, -1), axis=0)) > 150


def test_values_that_share_a_filter_are_refused_when_estimated(random: Randomness) -> None:
    operator = Rappor(values=10, width=4, hashes=1, cohorts=1)
    with pytest.raises(InvalidParameterError, match="more bits or more cohorts"):
        operator.estimate(operator.randomize(np.arange(10), random))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"f": 0}, "f"),
        ({"f": 1}, "f"),
        ({"q": 0.5}, "q"),
        ({"hashes": 128}, "hashes"),
        ({"width": 1}, "width"),
        ({"values": 5000}, "values"),
        ({"cohorts": 0}, "cohorts"),
        ({"p": 2}, "p"),
    ],
)
def test_parameters_that_protect_nothing_are_refused_by_name(given: dict[str, int], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^Rappor\.{named} must be .*; got .*\.$"):
        Rappor(**{"values": 8, **given})  # type: ignore[arg-type]
