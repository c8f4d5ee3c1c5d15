"""Median by smooth sensitivity: the definition by brute force, then one group of tests per labelled line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement as multisets
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.attacks.privacy_audit import compute_epsilon_lower_bound
from discreet.core.errors import InvalidParameterError
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.quantile import ValueCounts
from discreet.mechanisms.smooth_median import SmoothMedian, smooth_rank_sensitivity
from tests.statistical import FALSE_ALARM, assert_probability, power

Rows = tuple[int, ...]
HIGH = 4
DOMAIN = range(HIGH + 1)
TRIALS = 2_000


def grouped(rows: Rows) -> ValueCounts:
    return ValueCounts.from_rows(np.array(rows, dtype=np.int64))


def middle(rows: Rows) -> int:
    return sorted(rows)[(len(rows) + 1) // 2 - 1]


def apart(rows: Rows, other: Rows) -> int:
    """How many rows must be replaced to turn one table into the other."""
    return sum((Counter(rows) - Counter(other)).values())


def neighbours(rows: Rows) -> Iterator[Rows]:
    for i in range(len(rows)):
        for new in DOMAIN:
            yield tuple(sorted((*rows[:i], *rows[i + 1 :], new)))


@cache
def local_sensitivity(rows: Rows) -> int:
    return max(abs(middle(rows) - middle(other)) for other in neighbours(rows))


def smooth_by_definition(rows: Rows, beta: float) -> float:
    """max over all tables of the same size: LS(there) exp(-beta distance)."""
    tables = multisets(DOMAIN, len(rows))
    return max(local_sensitivity(other) * exp(-beta * apart(rows, other)) for other in tables)


def law(mechanism: SmoothMedian, rows: Rows, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
    rate = float(mechanism.alpha / mechanism.scale(grouped(rows)))
    return np.asarray(np.tanh(rate / 2) * np.exp(-rate * np.abs(outputs - middle(rows))))


def largest_delta(mechanism: SmoothMedian, epsilon: float, size: int) -> float:
    """The least delta that all neighbours of `size` rows allow: the full law, the rest counted in."""
    reach = int(50 * HIGH / float(mechanism.alpha)) + HIGH  # less than 2 exp(-50) lies beyond
    outputs = np.arange(-reach, reach + 1)
    laws = {rows: law(mechanism, rows, outputs) for rows in multisets(DOMAIN, size)}
    excess = (np.maximum(laws[a] - exp(epsilon) * laws[b], 0).sum() for a in laws for b in set(neighbours(a)))
    return float(max(excess)) + 2 * exp(-50)


@pytest.mark.parametrize("beta", [0.05, 0.3, 1.2])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_smooth_sensitivity_is_its_definition_on_all_small_tables(beta: float, size: int) -> None:
    for rows in multisets(DOMAIN, size):
        found = smooth_rank_sensitivity(
            grouped(rows), (size + 1) // 2, low=0, high=HIGH, beta=beta, floor=1e-12
        )
        assert found == pytest.approx(smooth_by_definition(rows, beta), rel=1e-12)


def test_smooth_sensitivity_of_many_rows_looks_at_every_distance() -> None:
    """Against the plain double loop over pairs of ranks around the middle."""
    generator = np.random.Generator(np.random.Philox(7))
    for beta in (0.01, 0.1, 0.7):
        rows = np.sort((generator.standard_cauchy(301) * 20).astype(np.int64).clip(-500, 500))
        padded = np.concatenate([np.full(400, -500), rows, np.full(400, 500)])
        at = 400 + 150
        plain = max(
            (padded[j] - padded[i]) * exp(-beta * (j - i - 1))
            for i in range(at - 380, at + 1)
            for j in range(max(at, i + 1), at + 380)
        )
        found = smooth_rank_sensitivity(
            ValueCounts.from_rows(rows), 151, low=-500, high=500, beta=beta, floor=1e-9
        )
        assert found == pytest.approx(float(plain), rel=1e-12)


def test_release_adds_noise_of_the_smooth_scale_to_the_middle_row(random: Randomness) -> None:
    mechanism, rows = (
        SmoothMedian(epsilon=Fraction(2), delta=Fraction(1, 100), low=0, high=HIGH),
        (0, 2, 2, 2, 9),
    )
    beta = log(1 + 2 / (2 * log(200)))
    rate = 1 / smooth_by_definition((0, 2, 2, 2, 4), beta)
    drawn = [mechanism.release(Exact(grouped(rows)), random).value - 2 for _ in range(TRIALS)]
    a = exp(-rate)
    for z in range(-3, 4):
        assert_probability(drawn.count(z), TRIALS, (1 - a) / (1 + a) * a ** abs(z), family=7)
        assert mechanism.likelihood(2 + z, grouped(rows)) == pytest.approx((1 - a) / (1 + a) * a ** abs(z))
    assert power((1 - a) / (1 + a), (1 - a**2) / (1 + a**2), TRIALS, family=7) > 0.99


def test_release_needs_no_noise_where_all_rows_agree(random: Randomness) -> None:
    rows = ValueCounts(np.array([37]), np.array([1_000_000]))
    mechanism = SmoothMedian(epsilon=Fraction(1), delta=1e-6, low=17, high=90)  # type: ignore[arg-type]
    assert mechanism.release(Exact(rows), random).value == 37
    assert mechanism.scale(rows) == pytest.approx(1 / 128)


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"delta": 0}, "delta"),
        ({"delta": 0.6}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"low": 4}, "high"),
        ({"high": 4.5}, "high"),
        ({"epsilon": 1e-9}, "epsilon"),
    ],
)
def test_requires_parameters_for_which_it_is_proven(given_: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"^SmoothMedian\.{named} must be .*; got .*\."):
        SmoothMedian(**{"epsilon": Fraction(1), "delta": 1e-6, "low": 0, "high": HIGH, **given_})


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (2.0, 1e-4), (2.0, 0.5), (6.0, 1e-6)])
def test_guarantee_holds_for_all_small_neighbours(size: int, epsilon: float, delta: float) -> None:
    mechanism = SmoothMedian(epsilon=epsilon, delta=delta, low=0, high=HIGH)  # type: ignore[arg-type]
    assert largest_delta(mechanism, epsilon, size) <= delta
    assert mechanism.guarantee.relation is Relation.VALUE


def test_guarantee_of_scales_is_smooth_among_neighbours() -> None:
    mechanism = SmoothMedian(epsilon=Fraction(1), delta=Fraction(1, 1000), low=0, high=HIGH)
    most = exp(log(1 + 1 / (2 * log(2000))))
    for rows in multisets(DOMAIN, 5):
        for other in set(neighbours(rows)):
            here, there = (mechanism.scale(grouped(each)) for each in (rows, other))
            assert here <= there * Fraction(most)
            assert here >= abs(middle(rows) - middle(other))


def test_guarantee_is_broken_by_local_sensitivity_and_by_half_the_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = SmoothMedian(epsilon=Fraction(2), delta=Fraction(1, 10_000), low=0, high=HIGH)
    honest = SmoothMedian.scale

    def half(self: SmoothMedian, rows: ValueCounts) -> Fraction:
        return honest(self, rows) / 2

    def local(self: SmoothMedian, rows: ValueCounts) -> Fraction:
        table = tuple(np.repeat(rows.values, rows.counts).tolist())
        return max(Fraction(local_sensitivity(table)), self.alpha / 64)

    for twin in (half, local):
        monkeypatch.setattr(SmoothMedian, "scale", twin)
        assert largest_delta(mechanism, 2.0, 5) > 100 * mechanism.delta


def test_guarantee_survives_an_audit_that_catches_a_quarter_of_the_noise(random: Randomness) -> None:
    here, there = grouped((0, 0, 4)), grouped((0, 4, 4))
    found = []
    for factor in (1, 4):
        mechanism = SmoothMedian(epsilon=Fraction(2 * factor), delta=Fraction(1, 10**6), low=0, high=HIGH)
        hits, others = (
            sum(mechanism.release(Exact(rows), random).value <= 0 for _ in range(TRIALS))
            for rows in (here, there)
        )
        found.append(compute_epsilon_lower_bound(hits, others, TRIALS, error_rate=FALSE_ALARM))
    assert 0.3 < found[0] <= 2 < found[1]


def test_utility_scale_shrinks_with_the_number_of_rows() -> None:
    mechanism = SmoothMedian(epsilon=Fraction(1), delta=1e-6, low=0, high=10**6)  # type: ignore[arg-type]
    scales = []
    for size in (1_001, 10_001, 100_001):
        normal = np.random.Generator(np.random.Philox(3)).normal(500_000, 100_000, size)
        scales.append(float(mechanism.scale(ValueCounts.from_rows(normal.astype(np.int64)))))
    assert scales[0] > 4 * scales[1] > 16 * scales[2]
    # in the middle of a normal rows are sqrt(2 pi) sd / n apart; the best of k exp(-beta k) is 1 / (e beta)
    assert scales[2] == pytest.approx(
        sqrt(2 * np.pi) * 100_000 / 100_001 / (mechanism.beta * exp(1)), rel=0.5
    )
