"""Errors: the mean squared error that theory states is the one that is measured, for every frequency oracle.

n MSE does not depend on n, so thousands of small collections tell it more exactly than twenty large ones: the
mean over them is normal, and 6.1 of its standard errors (a chance of 1e-9) are within 3% of the stated value.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.core.randomness import Randomness
from discreet.local import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.estimates import FrequencyOracle
from discreet.local.frequency_oracles import PureFrequencyOracle

SURELY = 6.1
CLIENTS = 512
ORACLES: tuple[type[PureFrequencyOracle], ...] = (
    KaryResponse,
    HadamardResponse,
    LocalHashing,
    UnaryEncoding,
    SubsetSelection,
)

every_oracle = pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)


@pytest.mark.parametrize(
    ("kind", "values", "stated"),
    [
        (KaryResponse, 128, 44.2),
        (KaryResponse, 10_000, 3388),
        (UnaryEncoding, 128, 3.69),
        (UnaryEncoding, 10_000, 3.68),
        (LocalHashing, 128, 3.70),
        (LocalHashing, 10_000, 3.69),
        (HadamardResponse, 128, 4.67),
        (HadamardResponse, 10_000, 4.68),
        (SubsetSelection, 128, 3.62),
        (SubsetSelection, 10_000, 3.68),
    ],
)
def test_stated_errors_at_epsilon_1_are_those_of_the_literature(
    kind: type[PureFrequencyOracle], values: int, stated: float
) -> None:
    found = kind.for_epsilon(1, values).variance(1 / values, 1)
    assert found == pytest.approx(stated, rel=2e-3)


def squared_errors(operator: FrequencyOracle, times: int, random: Randomness) -> list[float]:
    """n MSE of the raw shares in each of many collections, values being equally common."""
    truth = np.arange(CLIENTS) % operator.values
    shares = np.bincount(truth, minlength=operator.values) / CLIENTS
    reports = operator.randomize(np.tile(truth, times), random)
    parts = np.split(reports, times)
    return [
        CLIENTS
        * float(np.mean((operator.estimate_raw_shares(operator.report_format.count(y)) - shares) ** 2))
        for y in parts
    ]


@every_oracle
def test_measured_error_is_within_three_percent_of_the_stated_one(
    kind: type[PureFrequencyOracle], random: Randomness
) -> None:
    operator = kind.for_epsilon(1, 128)
    found = np.array(squared_errors(operator, 1500, random))
    stated = operator.variance(1 / 128, 1)
    assert SURELY * found.std(ddof=1) / math.sqrt(found.size) < 0.03 * stated
    assert abs(found.mean() - stated) < 0.03 * stated


def test_measured_error_of_rappor_is_within_ten_percent_of_the_stated_one(random: Randomness) -> None:
    operator = Rappor(values=8, width=32, cohorts=4)
    found = np.array(squared_errors(operator, 4000, random))
    clients = np.mean([operator.variance(1 / 8, CLIENTS) * CLIENTS])
    # the values of the clients are fixed here and a sample there, which adds f (1 - f)
    stated = float(clients) - 7 / 64
    assert SURELY * found.std(ddof=1) / math.sqrt(found.size) < 0.1 * stated
    assert abs(found.mean() - stated) < 0.1 * stated


@every_oracle
def test_twenty_large_collections_agree_with_the_law_value_by_value(
    kind: type[PureFrequencyOracle], random: Randomness
) -> None:
    """Each support is a sum of coins of known chances: none of 2,560 is further off than 1e-9 allows."""
    operator, clients = kind.for_epsilon(1, 128), 20_000
    truth = np.arange(clients) % 128
    expected = operator.q + (operator.p - operator.q) * np.bincount(truth, minlength=128) / clients
    # the chance to be further off is below twice that of a binomial, by Hoeffding's inequality for sums
    reach = math.sqrt(math.log(2 * 2560 / 1e-9) / 2 / clients)
    for _ in range(20):
        counts = operator.report_format.count(operator.randomize(truth, random))
        assert np.abs(operator.count_supports(counts) / clients - expected).max() < reach


def test_many_values_are_collected_in_little_memory_and_the_law_holds(random: Randomness) -> None:
    operator = UnaryEncoding.for_epsilon(1, 10_000)
    truth = np.arange(2000) % 3
    counts = operator.report_format.count(operator.randomize(truth, random))
    found = operator.estimate(counts)
    assert counts.clients == 2000
    low, high = found.intervals(1 - 1e-9 / 10_000)
    shares = np.bincount(truth, minlength=10_000) / 2000
    assert np.all((low <= shares) & (shares <= high))
