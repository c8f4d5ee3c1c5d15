"""The three distances of t-closeness, against linear programming, and where 64 bits do not suffice."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.anonymity.equivalence_classes import SensitiveCounts
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import EqualCloseness, HierarchicalCloseness, Model, OrderedCloseness
from discreet.anonymity.models.closeness import (
    Distances,
    measure_equal_distances,
    measure_hierarchical_distances,
    measure_ordered_distances,
)
from discreet.core.errors import RequestError
from tests.anonymity.models import brute
from tests.anonymity.models.tables import sensitive, table

NAMES = tuple("abcdefg")
TREE = hierarchy_from_rows(
    "letters",
    [
        ("a", "vowel", "first", "*"),
        ("b", "plain", "first", "*"),
        ("c", "plain", "first", "*"),
        ("d", "other", "last", "*"),
        ("e", "end", "last", "*"),
        ("f", "other", "last", "*"),
        ("g", "alone", "lonely", "*"),
    ],
)
COUNTS = st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES}).filter(
    lambda counts: sum(counts.values()) > 0
)


def transported(p: list[float], q: list[float], costs: np.ndarray) -> float:
    """The least work, as the transport problem that defines it."""
    m = len(p)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[i]) for i in range(m)]
    found = linprog(costs.ravel(), A_eq=np.array(rows + columns), b_eq=np.array(p + q))
    assert found.fun is not None
    return float(found.fun)


def first(distances: Distances) -> Fraction:
    return Fraction(int(distances.numerators[0]), int(distances.denominators[0]))


@given(COUNTS, COUNTS)
def test_distances_are_the_least_work_of_moving_rows(one: dict[str, int], rest: dict[str, int]) -> None:
    totals = {name: one[name] + rest[name] for name in NAMES}
    counted = sensitive([one, rest], totals, NAMES)
    p, q = ([each[name] / sum(each.values()) for name in NAMES] for each in (one, totals))
    for found, between in (
        (measure_equal_distances(counted), brute.equal),
        (measure_ordered_distances(counted), brute.ordered(NAMES)),
        (measure_hierarchical_distances(counted, TREE), brute.hierarchical(TREE)),
    ):
        costs = np.array([[float(between(x, y)) if x != y else 0.0 for y in NAMES] for x in NAMES])
        assert float(first(found)) == pytest.approx(transported(p, q, costs), abs=1e-9)


@given(st.lists(COUNTS, min_size=2, max_size=5), st.integers(1, 10**13))
def test_scaling_a_table_moves_no_distance(classes: list[dict[str, int]], factor: int) -> None:
    """At 1e13 times the counts every product is beyond 64 bits."""
    plain, large = (
        sensitive([{v: times * n for v, n in each.items()} for each in classes], names=NAMES)
        for times in (1, factor)
    )
    for measure in (
        measure_equal_distances,
        measure_ordered_distances,
        lambda counted: measure_hierarchical_distances(counted, TREE),
    ):
        small, big = measure(plain), measure(large)
        for place in range(len(classes)):
            assert Fraction(int(small.numerators[place]), int(small.denominators[place])) == Fraction(
                int(big.numerators[place]), int(big.denominators[place])
            )


@pytest.mark.parametrize("rows", [10**6, 10**8, 10**10])
@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_distance_just_above_t_is_refused_at_any_number_of_rows(rows: int, distance: str) -> None:
    """Of two values the class has 0.7 and the table 0.5: 0.2 in every distance; one row more is too much."""
    hierarchy = hierarchy_from_rows("two", [("x", "*"), ("y", "*")])
    totals = {"x": 5 * rows, "y": 5 * rows}
    exactly = {"x": 7 * rows // 10, "y": 3 * rows // 10}
    above = {"x": 7 * rows // 10 + 1, "y": 3 * rows // 10 - 1}
    models: dict[str, Model] = {
        "equal": EqualCloseness(column="disease", t=Fraction("0.2")),
        "ordered": OrderedCloseness(column="disease", t=Fraction("0.2")),
        "hierarchical": HierarchicalCloseness(column="disease", t=Fraction("0.2"), hierarchy=hierarchy),
    }
    assert models[distance].judge(table([exactly, above], totals=totals)).tolist() == [True, False]


def test_many_ordered_values_are_compared_where_their_sums_pass_64_bits() -> None:
    """5,000 values, a class of 1e8 rows in a table of 1e9: up to 5e20."""
    m, lot = 5_000, 10**8
    totals = np.full(m, 10 * lot // m, np.int64)
    counted = SensitiveCounts(
        starts=np.array([0, 1, 3]),
        values=np.array([0, 0, m - 1], np.int32),
        counts=np.array([lot, 1, 1]),
        totals=totals,
        names=tuple(map(str, range(m))),
    )
    found = measure_ordered_distances(counted)
    every_step = sum(m - 1 - i for i in range(m - 1))  # all rows start at the first value
    assert first(found) == Fraction(every_step, m * (m - 1))
    halves = sum(abs(Fraction(1, 2) - Fraction(i + 1, m)) for i in range(m - 1)) / (m - 1)
    assert Fraction(int(found.numerators[1]), int(found.denominators[1])) == halves


def test_t_of_a_fifth_over_ten_ordered_values_allows_a_belief_of_85_percent() -> None:
    """What the ordered distance is refused for where a belief is to be capped."""
    names = tuple("0123456789")
    totals = dict.fromkeys(names, 100)
    sure, surer = {"0": 1, "4": 17, "9": 2}, {"0": 9, "4": 171, "9": 20}
    verdicts = OrderedCloseness(column="disease", t=Fraction("0.2")).judge(
        table([sure, surer], totals=totals, names=names)
    )
    assert sure["4"] / sum(sure.values()) == 0.85
    assert verdicts.tolist() == [True, False]


def test_a_hierarchy_that_lacks_values_is_refused() -> None:
    with pytest.raises(RequestError, match="lacks 6 of the column's values"):
        measure_hierarchical_distances(
            sensitive([dict.fromkeys(NAMES, 1)]), hierarchy_from_rows("short", [("a", "*")])
        )
