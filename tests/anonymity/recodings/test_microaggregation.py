"""Microaggregation: groups of k rows; the univariate one is the best of all, by enumeration."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, product
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recoding import group_by_recoding
from discreet.anonymity.recodings.microaggregation import (
    Centre,
    compute_centres,
    group_by_mdav,
    group_univariate,
    replace_column,
)
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.core.errors import RequestError
from tests.anonymity.data import tuples_of
from tests.anonymity.tables import labels

VALUES = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 4)), min_size=1, max_size=9)


def error(groups: dict[int, list[int]]) -> float:
    return sum(float(np.var(rows) * len(rows)) for rows in groups.values())


def members(numbers: np.ndarray, counts: np.ndarray, groups: np.ndarray) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for number, count, group in zip(numbers.tolist(), counts.tolist(), groups.tolist(), strict=True):
        found[group] += [number] * count
    return found


def least_error(numbers: np.ndarray, counts: np.ndarray, k: int) -> float:
    """Over every way to cut the sorted distinct values."""
    rows = members(numbers, counts, numbers)
    values, best = sorted(rows), np.inf
    for cuts in product([False, True], repeat=len(values) - 1):
        ends = [0, *(n for n, cut in enumerate(cuts, 1) if cut), len(values)]
        parts = {n: [row for v in values[a:b] for row in rows[v]] for n, (a, b) in enumerate(pairwise(ends))}
        if all(len(part) >= k for part in parts.values()):
            best = min(best, error(parts))
    return best


@given(pairs=VALUES, k=st.integers(1, 6))
def test_univariate_groups_have_k_rows_and_the_least_error(pairs: list[tuple[int, int]], k: int) -> None:
    numbers, counts = np.array([v for v, _ in pairs], float), np.array([c for _, c in pairs])
    if counts.sum() < k:
        with pytest.raises(RequestError, match="fewer than k"):
            group_univariate(numbers, counts, k)
        return
    groups = members(numbers, counts, group_univariate(numbers, counts, k))
    assert min(map(len, groups.values())) >= k
    assert error(groups) == pytest.approx(least_error(numbers, counts, k), abs=1e-6)


@given(pairs=VALUES, k=st.integers(1, 6))
def test_mdav_groups_have_k_rows(pairs: list[tuple[int, int]], k: int) -> None:
    numbers, counts = np.array([v for v, _ in pairs], float), np.array([c for _, c in pairs])
    if counts.sum() < k:
        return
    groups = group_by_mdav(np.stack([numbers, numbers**2], axis=1), counts, k)
    assert groups.min() >= 0
    assert min(np.bincount(groups, counts)) >= k


def test_mdav_finds_clusters_that_are_far_apart() -> None:
    points = np.array([[x, y] for x in (0.0, 100.0) for y in (0.0, 100.0) for _ in range(3)])
    points += np.arange(12)[:, None] % 3
    groups = group_by_mdav(points, np.ones(12, np.int64), 3)
    assert [len(set(groups[n : n + 3].tolist())) for n in (0, 3, 6, 9)] == [1, 1, 1, 1]
    assert len(set(groups.tolist())) == 4


@given(pairs=VALUES, data=st.data())
def test_centres_are_the_mean_and_the_lower_median(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    numbers, counts = np.array([v for v, _ in pairs], float), np.array([c for _, c in pairs])
    drawn = [data.draw(st.integers(0, 2)) for _ in pairs]
    groups = np.unique(drawn, return_inverse=True)[1]
    for group, rows in members(numbers, counts, groups).items():
        assert compute_centres(numbers, counts, groups)[group] == pytest.approx(np.mean(rows))
        middle = compute_centres(numbers, counts, groups, centre=Centre.MEDIAN)[group]
        assert middle == median_low(rows)


def test_a_class_shows_the_mean_of_its_numbers_and_stays_a_class() -> None:
    ages = hierarchy_from_rows("age", [(str(age), "*") for age in range(20, 60)])
    rows = [((age - 20,), "a") for age in (25, 26, 45, 47)]
    tuples, models = tuples_of(rows), [KAnonymity(k=2)]
    recoding = Mondrian(ordered=frozenset({"age"})).recode(tuples, [ages], models)
    shown = replace_column(
        tuples, recoding, "age", np.array([25.0, 26, 45, 47]), models, centre=Centre.MEAN, decimals=1
    )
    assert [labels(shown, n) for n in range(4)] == [("25.5",), ("25.5",), ("46.0",), ("46.0",)]
    assert group_by_recoding(tuples, shown)[0].sizes.tolist() == [2, 2]


def test_all_quasi_identifiers_together_are_k_anonymous() -> None:
    tuples = tuples_of([((v,), "a") for v in (0, 1, 2, 5, 6, 7, 7)])
    numbers = tuples.codes[:, 0].astype(float)
    column = hierarchy_from_rows("c", [(str(v), "*") for v in range(8)])
    whole = Mondrian().recode(tuples, [column], [KAnonymity(k=7)])
    groups = group_univariate(numbers, tuples.counts, 3)
    shown = replace_column(tuples, whole, "c", numbers, [KAnonymity(k=3)], groups=groups, decimals=2)
    assert {labels(shown, n) for n in range(len(tuples))} == {("1.00",), ("6.25",)}
    assert shown.published.all()


def test_a_column_that_is_not_there_is_refused() -> None:
    tuples = tuples_of([((0,), "a")])
    recoding = Mondrian().recode(tuples, [hierarchy_from_rows("c", [("x", "*")])], [KAnonymity(k=1)])
    with pytest.raises(RequestError, match="no column d to aggregate"):
        replace_column(tuples, recoding, "d", np.zeros(1), [])
