"""Risk: attackers, special uniques and discovery, each against brute force over rows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.risk.quasi_identifier_discovery import discover_quasi_identifiers, make_tuple_counter
from discreet.anonymity.risk.reidentification_risk import assess_risks, find_special_uniques
from discreet.core.errors import InvalidParameterError
from tests.anonymity.data import adult
from tests.anonymity.tables import Table, tables

CLASSES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=8)


def classes_of(pairs: list[tuple[int, int]], *, population: bool) -> EquivalenceClasses:
    sizes = np.array([size for size, _ in pairs])
    people = np.array([size + more for size, more in pairs]) if population else None
    return EquivalenceClasses(sizes=sizes, rows=int(sizes.sum()), population=people)


@given(CLASSES, st.sampled_from([Fraction(1, 9), Fraction(1, 5), Fraction(1, 3), Fraction(1)]))
def test_attackers_agree_with_a_count_of_rows(pairs: list[tuple[int, int]], threshold: Fraction) -> None:
    found = assess_risks(classes_of(pairs, population=True), threshold=threshold)
    for risk, people in (
        (found.prosecutor, [size for size, _ in pairs]),
        (found.journalist, [size + more for size, more in pairs]),
    ):
        rows = [Fraction(1, n) for (size, _), n in zip(pairs, people, strict=True) for _ in range(size)]
        assert risk.highest == pytest.approx(float(max(rows)))
        assert risk.success == pytest.approx(float(sum(rows)) / len(rows))
        assert risk.at_risk == pytest.approx(sum(row > threshold for row in rows) / len(rows))
    assert found.marketer == found.journalist.success


@given(CLASSES)
def test_without_a_population_the_journalist_is_taken_for_a_prosecutor(pairs: list[tuple[int, int]]) -> None:
    found = assess_risks(classes_of(pairs, population=False))
    assert found.journalist == found.prosecutor
    assert found.marketer == pytest.approx(len(pairs) / sum(size for size, _ in pairs))


def test_a_release_of_nothing_risks_nothing() -> None:
    found = assess_risks(EquivalenceClasses(sizes=np.array([], np.int64), rows=10))
    assert found.prosecutor.highest == found.prosecutor.at_risk == found.marketer == 0


def test_a_threshold_above_one_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"risk: `threshold=` must be .*; got 2"):
        assess_risks(classes_of([(1, 0)], population=False), threshold=Fraction(2))


@given(tables(columns=3, rows=15), st.integers(1, 4))
def test_special_uniques_agree_with_a_search_over_rows(table: Table, most: int) -> None:
    rows = [codes for codes, _ in table.rows]
    width = len(table.hierarchies)
    most = min(most, width)

    def alone(row: tuple[int, ...], chosen: tuple[int, ...]) -> bool:
        return sum(all(other[j] == row[j] for j in chosen) for other in rows) == 1

    found = find_special_uniques(table.tuples, most=most)
    sizes, columns, scores = Counter[int](), Counter[int](), Counter[tuple[int, ...]]()
    for row in rows:
        for size in range(1, most + 1):
            for chosen in combinations(range(width), size):
                smaller = [part for n in range(size) for part in combinations(chosen, n)]
                if alone(row, chosen) and not any(alone(row, part) for part in smaller):
                    sizes[size] += 1
                    columns.update(chosen)
                    scores[row] += prod(width - i for i in range(size, min(most, width - 1) + 1))
    assert found.sizes.tolist() == [sizes[size] for size in range(1, most + 1)]
    assert found.columns.tolist() == [columns[j] for j in range(width)]
    assert found.scores.tolist() == [scores[tuple(codes)] for codes in table.tuples.codes.tolist()]


@given(tables(columns=3, rows=15))
def test_discovery_agrees_with_a_count_of_pairs_and_leaves_out_only_what_follows(table: Table) -> None:
    rows = [codes for codes, _ in table.rows]
    names = [h.name for h in table.hierarchies]
    found = {
        one.columns: one
        for one in discover_quasi_identifiers(names, make_tuple_counter(table.tuples, names), most=3)
    }
    pairs = list(combinations(rows, 2))
    for size in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), size):
            differ = sum(any(a[j] != b[j] for j in chosen) for a, b in pairs)
            separation = differ / len(pairs) if pairs else 1.0
            one = found.get(tuple(names[j] for j in chosen))
            if one is None:
                assert separation == 1
                continue
            assert one.separation == pytest.approx(separation)
            assert one.distinction == pytest.approx(
                len({tuple(r[j] for j in chosen) for r in rows}) / len(rows)
            )


def test_age_distinguishes_adults_most_and_all_columns_make_half_of_them_unique() -> None:
    tuples, hierarchies = adult()
    names = [hierarchy.name for hierarchy in hierarchies]
    found = discover_quasi_identifiers(names, make_tuple_counter(tuples, names), most=1)
    assert found[0].columns == ("age",)
    whole = make_tuple_counter(tuples, names)(tuple(names))
    assert int(whole.tuples.sum()) == 19_502
    assert int((whole.times * whole.tuples).sum()) == 30_162
