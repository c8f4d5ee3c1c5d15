"""Mining from reports: what was planted is found, and nothing else is."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom, multinomial

from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.local.baskets import (
    ItemsetSupports,
    SelectASize,
    find_frequent_itemsets,
    find_rules,
    pack_baskets,
)
from discreet.local.baskets.itemset_mining import generate_candidates
from tests.conftest import seeded
from tests.statistical import FALSE_ALARM

ITEMS, CLIENTS = 60, 100_000
PLANTED = (3, 17, 42)
SURE = 1 - FALSE_ALARM


def planted_baskets() -> list[list[int]]:
    """A third hold the planted three, an eighth only item 3; others are rare."""
    rest = np.random.default_rng(5).integers(0, ITEMS, CLIENTS).tolist()
    third, eighth = CLIENTS // 3, CLIENTS // 8
    own = [list(PLANTED)] * third + [[3]] * eighth + [[]] * (CLIENTS - third - eighth)
    return [[*basket, item] for basket, item in zip(own, rest, strict=True)]


@pytest.fixture(scope="module")
def supports() -> ItemsetSupports:
    operator = SelectASize.for_epsilon(4, items=ITEMS, size=4)
    return operator.estimate(operator.randomize_baskets(pack_baskets(planted_baskets(), ITEMS), seeded(7)))


def parts(itemset: tuple[int, ...]) -> set[tuple[int, ...]]:
    return {some for size in range(1, len(itemset) + 1) for some in combinations(itemset, size)}


def test_planted_itemsets_are_found_and_no_others(supports: ItemsetSupports) -> None:
    mined = find_frequent_itemsets(supports, 0.1, confidence=SURE)
    assert {each.itemset for each in mined.itemsets} == parts(PLANTED)
    for each in mined.itemsets:
        truth = 1 / 3 + (1 / 8 if each.itemset == (3,) else 0) + (1 if len(each.itemset) == 1 else 0) / 90
        assert each.support.low <= truth + 0.02
        assert each.support.high >= truth - 0.02


def test_an_itemset_that_is_too_near_to_the_least_support_is_left_out(supports: ItemsetSupports) -> None:
    figure = supports.estimate(PLANTED[:2])
    mined = find_frequent_itemsets(supports, figure.value - 2 * figure.error)
    assert PLANTED[:2] not in {each.itemset for each in mined.itemsets}


def test_the_doubt_is_shared_among_all_itemsets_of_each_size(supports: ItemsetSupports) -> None:
    mined = find_frequent_itemsets(supports, 0.1, max_size=3, confidence=0.9)
    alarms = sum(math.comb(ITEMS, k) * doubt for k, doubt in enumerate(mined.doubts, start=1))
    assert alarms == pytest.approx(0.1)


@pytest.mark.parametrize("clients", [1, 2, 3, 7, 20, 60])
@pytest.mark.parametrize("epsilon", [0.5, 2, 4])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_an_item_is_found_by_chance_no_more_often_than_stated_however_few_clients_there_are(
    clients: int, epsilon: float, share: float
) -> None:
    """Every number of reports that may show the item, with its probability: an exact sum over the law."""
    operator, doubt = SelectASize.for_epsilon(epsilon, items=8, size=2), 0.01
    chance = float(operator.noise + operator.contrast(1) * Fraction(share))
    wrong = 0.0
    for shown in range(clients + 1):
        reports = np.zeros((clients, 1), np.uint64)
        reports[:shown] = 1
        found = operator.estimate(reports)
        above = found.find_exceeding(np.array([[0]]), share + 1e-12, doubt)[0]
        wrong += above * float(binom.pmf(shown, clients, chance))
    assert wrong <= doubt


@pytest.mark.parametrize("clients", [1, 2, 5, 12])
@pytest.mark.parametrize("basket", [[], [0], [0, 2]])
def test_a_pair_is_found_by_chance_no_more_often_than_stated_however_few_clients_there_are(
    clients: int, basket: list[int]
) -> None:
    """All ways in which the reports can show none, one or both of two items that no client holds together."""
    operator, doubt = SelectASize.for_epsilon(3, items=8, size=2), 0.01
    held = len({0, 1} & set(basket))
    own = operator.transition_matrix(2)[held]
    law = np.array([own[0], own[1] / 2, own[1] / 2, own[2]])
    wrong = 0.0
    for counts in product(range(clients + 1), repeat=3):
        rest = clients - sum(counts)
        if rest >= 0:
            reports = np.repeat(np.arange(4, dtype=np.uint64), [rest, *counts])[:, None]
            found = operator.estimate(reports)
            above = found.find_exceeding(np.array([[0, 1]]), 0.0, doubt)[0]
            wrong += above * float(multinomial.pmf([rest, *counts], clients, law))
    assert wrong <= doubt


@pytest.mark.parametrize("epsilon", [2, 5, 20, 30])
def test_a_pair_that_most_clients_hold_is_found_however_little_noise_there_is(epsilon: float) -> None:
    operator = SelectASize.for_epsilon(epsilon, items=8, size=2)
    baskets = pack_baskets([[0, 1]] * 3_000 + [[2]] * 2_000, 8)
    found = operator.estimate(operator.randomize_baskets(baskets, seeded(3)))
    assert (0, 1) in {each.itemset for each in find_frequent_itemsets(found, 0.2, confidence=SURE).itemsets}


def test_nothing_is_found_where_nothing_is_frequent(random: Randomness) -> None:
    operator = SelectASize.for_epsilon(3, items=ITEMS, size=4)
    baskets = pack_baskets([[i % ITEMS] for i in range(30_000)], ITEMS)
    found = operator.estimate(operator.randomize_baskets(baskets, random))
    assert find_frequent_itemsets(found, 0.1, confidence=SURE).itemsets == ()


def test_rules_that_hold_are_found_and_others_are_not(supports: ItemsetSupports) -> None:
    mined = find_frequent_itemsets(supports, 0.1, max_size=2, confidence=SURE)
    found = {(rule.antecedent, rule.consequent): rule for rule in find_rules(supports, mined, 0.75)}
    # of the baskets with item 3, 72% have 17 or 42; of those with 17, about 97% have 3 or 42
    assert set(found) == {((17,), (3,)), ((17,), (42,)), ((42,), (3,)), ((42,), (17,))}
    for rule in found.values():
        assert rule.strength.low < 0.98
        assert rule.strength.high > 0.95


def test_the_error_of_a_rule_knows_that_its_supports_are_correlated(random: Randomness) -> None:
    # the spread of the rest over repeated collections is its stated error, within 25%: 7 sigma of 400 runs
    operator = SelectASize.for_epsilon(3, items=4, size=2)
    baskets = pack_baskets([[0, 1], [0], [2], []] * 100, 4)
    runs = [
        operator.estimate(operator.randomize_baskets(baskets, random)).estimate_excess((0, 1), (0,), 0.5)
        for _ in range(400)
    ]
    spread = np.std([run[0] for run in runs])
    # the error is for clients who are a sample of many; these are the same in every run
    held = np.array([0.5, -0.5, 0, 0])
    sampled = held.var() / 400
    assert math.sqrt(spread**2 + sampled) == pytest.approx(np.mean([run[1] for run in runs]), rel=0.25)


def test_an_engine_mines_the_same(random: Randomness, tmp_path: Path) -> None:
    operator = SelectASize.for_epsilon(5, items=ITEMS, size=4)
    reports = operator.randomize_baskets(pack_baskets(planted_baskets()[::10], ITEMS), random)
    pq.write_table(operator.report_format.to_arrow(reports), tmp_path / "reports.parquet")
    here = find_frequent_itemsets(operator.estimate(reports), 0.05)
    assert here.itemsets
    with DuckDB({"reports": tmp_path / "reports.parquet"}) as engine:
        assert find_frequent_itemsets(operator.estimate_stored(engine, "reports"), 0.05) == here


def test_candidates_are_all_itemsets_whose_parts_are_there() -> None:
    items = range(6)
    level: list[tuple[int, ...]] = [pair for pair in combinations(items, 2) if sum(pair) % 3]
    wanted = [
        three for three in combinations(items, 3) if all(pair in level for pair in combinations(three, 2))
    ]
    assert list(generate_candidates(level)) == wanted
    assert list(generate_candidates([(item,) for item in items])) == list(combinations(items, 2))
