"""Supports of itemsets: unbiased, with the stated variance, wherever the reports are."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

from discreet.belief import Promise
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.local.baskets import CutAndPaste, SelectASize, pack_baskets
from discreet.local.baskets.basket_operator import BasketOperator
from discreet.local.baskets.basket_packing import count_items
from discreet.local.baskets.itemset_counts import PackedReports, count_patterns, transpose_bits
from discreet.local.bit_sampling import unpack_bits
from discreet.local.design import design_baskets
from tests.statistical import FALSE_ALARM, assert_probability

TRIALS = 200_000
SMALL = [
    SelectASize.for_epsilon(2, items=6, size=3),
    SelectASize(items=6, size=3, noise=Fraction(3, 10), kept=tuple(Fraction(j, 10) for j in (1, 2, 3, 4))),
    CutAndPaste(items=6, size=3, cutoff=3, noise=Fraction(1, 4)),
    CutAndPaste.for_epsilon(2, items=5, size=3),
]
over_small = pytest.mark.parametrize("operator", SMALL, ids=lambda each: type(each).__name__)


def worth_of_reports(operator: BasketOperator, itemset: tuple[int, ...]) -> np.ndarray:
    """The estimated support from a single report, for every possible report."""
    reports = np.arange(1 << operator.items, dtype=np.uint64)[:, None]
    return np.array(
        [operator.estimate(reports[y : y + 1]).estimate(itemset).value for y in range(len(reports))]
    )


@over_small
@pytest.mark.parametrize("itemset", [(2,), (0, 4), (1, 2, 4)])
def test_support_is_unbiased_for_every_basket(operator: BasketOperator, itemset: tuple[int, ...]) -> None:
    expected = operator.matrix() @ worth_of_reports(operator, itemset)
    mask = np.uint64(sum(1 << item for item in itemset))
    holds = (operator.enumerate_baskets()[:, 0] & mask) == mask
    assert expected == pytest.approx(holds.astype(float), abs=1e-9)


@over_small
@pytest.mark.parametrize("itemset", [(2,), (0, 4), (1, 2, 4)])
def test_variance_is_that_of_the_law(operator: BasketOperator, itemset: tuple[int, ...]) -> None:
    k, worth, matrix = len(itemset), worth_of_reports(operator, itemset), operator.matrix()
    mask = np.uint64(sum(1 << item for item in itemset))
    shared = count_items(operator.enumerate_baskets() & mask)
    each = matrix @ worth**2 - (matrix @ worth) ** 2
    for l in range(k + 1):
        partial = np.eye(k + 1)[l]
        wanted = each[shared == l]
        assert wanted / 100 == pytest.approx(operator.variance(k, 100, partial.tolist()), rel=1e-9)
    assert operator.variance(k, 100) == operator.variance(k, 100, [1.0] + [0.0] * k)


@over_small
@pytest.mark.parametrize("k", [1, 2, 3])
def test_worth_is_the_inverse_of_the_matrix_of_partial_supports(operator: BasketOperator, k: int) -> None:
    transition = operator.transition_matrix(k)
    assert transition.sum(axis=1) == pytest.approx(np.ones(k + 1))
    assert np.linalg.inv(transition)[:, k] == pytest.approx(operator.unbiased_support_values(k), rel=1e-8)


@pytest.mark.parametrize("l", [0, 1, 2])
def test_partial_supports_go_through_the_transition_matrix(l: int, random: Randomness) -> None:
    operator = SelectASize.for_epsilon(math.log(19), items=100, size=5)
    basket = [*range(l), 50, 60, 70][: max(l, 3)]
    reports = operator.randomize_baskets(pack_baskets([basket] * TRIALS, 100), random)
    shown = np.bincount(count_items(reports & pack_baskets([[0, 1]], 100)), minlength=3)
    for hits, chance in zip(shown.tolist(), operator.transition_matrix(2)[l].tolist(), strict=True):
        assert_probability(hits, TRIALS, chance, family=9)


def test_squared_error_of_pair_supports_is_as_predicted(random: Randomness) -> None:
    # 300 pairs without a common item, in no basket: their estimates are independent, and normal for so many
    # clients, so that the sum of their squared errors is chi-squared; it would notice 35% more error
    operator, clients = SelectASize.for_epsilon(math.log(19), items=606, size=5), 50_000
    baskets = pack_baskets([list(range(600, 605))] * clients, 606)
    found = operator.estimate(operator.randomize_baskets(baskets, random)).estimate_each(
        np.arange(600).reshape(300, 2)
    )
    total = float((found.supports**2).sum()) / operator.variance(2, clients)
    low, high = chi2.ppf(FALSE_ALARM / 2, 300), chi2.isf(FALSE_ALARM / 2, 300)
    assert low <= total <= high
    assert high / 300 < 1.35**2
    # one estimated variance has a standard deviation of 7.7%, the mean of 300 one of 0.45%: 6.2 times that
    assert float((found.errors**2).mean()) == pytest.approx(operator.variance(2, clients), rel=0.028)


def test_intervals_hold_the_supports_of_the_clients(random: Randomness) -> None:
    operator, clients = SelectASize.for_epsilon(3, items=100, size=4), 100_000
    lists = [[0, 1, 2]] * (clients // 4) + [[0, 1]] * (clients // 4) + [[5]] * (clients // 2)
    found = operator.estimate(operator.randomize_baskets(pack_baskets(lists, 100), random))
    for itemset, support in (((0,), 0.5), ((5,), 0.5), ((1, 0), 0.5), ((0, 1, 2), 0.25), ((0, 5), 0.0)):
        figure = found.estimate(itemset, 1 - 1e-9)
        assert figure.low <= support <= figure.high
        assert figure.high - figure.low < 0.5


def test_design_for_a_million_baskets_is_better_than_the_bar() -> None:
    best, other = design_baskets(Promise(0.05, 0.5), items=1000, size=5, clients=10**6)
    assert isinstance(best.operator, SelectASize)
    assert best.operator.gamma == pytest.approx(19, rel=1e-9)
    assert best.error == pytest.approx(0.0022769, rel=1e-4)
    assert other.error > best.error


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_no_law_of_at_least_t_shared_items_has_less_error_for_pairs(size: int) -> None:
    best = SelectASize.for_epsilon(math.log(19), items=100, size=size)
    for t in range(1, size + 1):
        for noise in (np.arange(1, 64) / 64).tolist():
            alone = [math.comb(size, j) * noise**j * (1 - noise) ** (size - j) for j in range(size + 1)]
            weights = np.array(alone) * np.where(np.arange(size + 1) >= t, 19.0, 1.0)
            law = tuple(Fraction(each) for each in (weights / weights.sum()).tolist())
            other = SelectASize(items=100, size=size, noise=Fraction(noise), kept=law)
            assert other.contrast(2) == 0 or other.variance(2, 1) >= best.variance(2, 1) * (1 - 1e-6)


@pytest.mark.parametrize("kind", [SelectASize, CutAndPaste])
@pytest.mark.parametrize("itemset", [1, 2, 3])
def test_an_operator_for_one_size_of_itemsets_is_the_best_for_it(kind: type, itemset: int) -> None:
    own = kind.for_epsilon(2.5, items=100, size=4, itemset=itemset).variance(itemset, 1)  # type: ignore[attr-defined]
    for other in (1, 2, 3):
        theirs = kind.for_epsilon(2.5, items=100, size=4, itemset=other)  # type: ignore[attr-defined]
        assert theirs.contrast(itemset) == 0 or own <= theirs.variance(itemset, 1) * (1 + 1e-6)


def test_bits_turn_about_and_patterns_are_counted(random: Randomness) -> None:
    words = random.draw_words(3 * 200).reshape(200, 3)
    held_by = unpack_bits(words, 192)
    assert np.array_equal(unpack_bits(transpose_bits(words), 200), held_by.T)
    tally = PackedReports(clients=200, columns=transpose_bits(words))
    itemsets = np.array([[0, 70, 191], [5, 6, 130]])
    found = count_patterns(tally, itemsets)
    for itemset, counts in zip(itemsets, found, strict=True):
        seen = np.bincount(held_by[:, itemset] @ np.array([1, 2, 4]), minlength=8)
        assert np.array_equal(counts, seen)


def test_an_engine_tells_the_same_supports(random: Randomness, tmp_path: Path) -> None:
    operator = SelectASize.for_epsilon(2, items=70, size=4)
    lists = [[i % 70, (i + 7) % 70, 3] for i in range(3000)]
    reports = operator.randomize_baskets(pack_baskets(lists, 70), random)
    pq.write_table(operator.report_format.to_arrow(reports), tmp_path / "reports.parquet")
    here = operator.estimate(reports)
    with DuckDB({"reports": tmp_path / "reports.parquet"}) as engine:
        there = operator.estimate_stored(engine, "reports")
        for k in (1, 2, 3):
            itemsets = np.array(list(combinations((0, 3, 40, 63, 64, 69), k)))
            assert np.array_equal(
                here.estimate_each(itemsets).supports, there.estimate_each(itemsets).supports
            )
            assert np.array_equal(here.estimate_each(itemsets).errors, there.estimate_each(itemsets).errors)
    assert there.clients == here.clients == 3000
