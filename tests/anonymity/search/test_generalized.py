"""The classes and the recoding of one node are what the hierarchies make of the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.search import (
    find_minimal_generalizations,
    group_at_levels,
    recode_at_levels,
    search_lattice,
)
from tests.anonymity.search import by_hand
from tests.anonymity.search.judges import Even, Present
from tests.anonymity.search.worlds import ILLNESS, World, without_illness, worlds


@given(worlds(), st.data())
def test_classes_hold_the_rows_that_show_the_same(world: World, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from(by_hand.nodes(world, [])))
    members: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for shown, (_, ill) in zip(node.shown, world.rows, strict=True):
        members[shown][ill] += 1
    classes = group_at_levels(world.tuples, world.hierarchies, node.levels)
    held = classes.sensitive[ILLNESS]
    found = []
    for i in range(len(classes)):
        part = slice(held.starts[i], held.starts[i + 1])
        values = held.values[part].tolist()
        assert values == sorted(set(values))
        found.append({held.names[v]: c for v, c in zip(values, held.counts[part].tolist(), strict=True)})
        assert sum(found[-1].values()) == classes.sizes[i]
    assert sorted(sorted(one.items()) for one in found) == sorted(
        sorted(one.items()) for one in members.values()
    )
    assert classes.rows == len(world.rows)
    assert dict(zip(held.names, held.totals.tolist(), strict=True)) == Counter(ill for _, ill in world.rows)


@given(worlds(), st.data())
def test_a_recoding_shows_labels_and_leaves_out_what_breaks_a_model(
    world: World, data: st.DataObject
) -> None:
    node = data.draw(st.sampled_from(by_hand.nodes(world, [by_hand.at_least(2)])))
    tuples = world.tuples
    recoding = recode_at_levels(tuples, world.hierarchies, node.levels, [KAnonymity(k=2)])
    published: Counter[tuple[str, ...]] = Counter()
    for codes, kept, count in zip(recoding.codes, recoding.published, tuples.counts.tolist(), strict=True):
        if kept:
            published[tuple(recoding.labels[j][code] for j, code in enumerate(codes))] += count
    assert published == Counter(row for row, out in zip(node.shown, node.gone, strict=True) if not out)
    assert recoding.levels == node.levels


def wide(columns: int, values: int) -> list[Hierarchy]:
    rows = [(str(value), f"{value // 8}", "*") for value in range(values)]
    return [hierarchy_from_rows(f"column {j}", rows) for j in range(columns)]


@pytest.mark.parametrize(("columns", "values"), [(1, 64), (2, 64), (3, 64), (4, 9), (3, 4000)])
def test_every_node_is_grouped_alike_whether_few_or_many_tuples_are_possible(
    columns: int, values: int
) -> None:
    """Rows come twice, so the classes of a node are even, and odd where one row more is in them."""
    hierarchies = wide(columns, values)
    draws = np.random.default_rng(11).integers(0, values, size=(300, columns)) // 3
    rows = [tuple(map(str, row)) for row in [*draws.tolist(), *draws.tolist(), draws[0].tolist()]]
    nodes = list(product(range(3), repeat=columns))
    labels = [{value: (value, str(int(value) // 8), "*") for value in h.values} for h in hierarchies]
    odd = Counter[int]()
    for node in nodes:
        shown = Counter(tuple(labels[j][value][node[j]] for j, value in enumerate(row)) for row in rows)
        odd[sum(count for count in shown.values() if count % 2)] += 1
    tuples = without_illness(hierarchies, rows)
    for limit in sorted(odd):
        found = find_minimal_generalizations(
            tuples, hierarchies, [Even()], suppress=Fraction(limit, len(rows))
        )
        assert found.checked == len(nodes)
        assert found.valid == sum(count for least, count in odd.items() if least <= limit)


def test_tables_of_more_than_63_bits_a_row_are_grouped_as_others_are() -> None:
    hierarchies = wide(13, 64)
    draws = np.random.default_rng(7).integers(0, 64, size=(400, 13))
    draws[:, 1:] = draws[:, :1]
    draws[:200, 12] = 63 - draws[:200, 12]
    rows = [[str(value) for value in row] for row in draws.tolist()]
    tuples = without_illness(hierarchies, rows)
    levels = (1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    expected = Counter((row[1], row[0] // 8, row[12] // 8) for row in draws.tolist())
    assert sorted(group_at_levels(tuples, hierarchies, levels).sizes.tolist()) == sorted(expected.values())


def test_people_of_the_population_are_counted_with_the_classes_that_they_share() -> None:
    hierarchies = [hierarchy_from_rows("age", [("20", "2*", "*"), ("21", "2*", "*"), ("30", "3*", "*")])]
    tuples = Tuples(
        codes=np.array([[0], [1], [2]], np.int32),
        counts=np.array([1, 0, 2], np.int64),
        population=np.array([4, 5, 6], np.int64),
    )
    classes = group_at_levels(tuples, hierarchies, (1,))
    assert classes.population is not None
    assert sorted(zip(classes.sizes.tolist(), classes.population.tolist(), strict=True)) == [(1, 9), (2, 6)]


def test_classes_of_the_population_without_rows_are_not_counted_as_published() -> None:
    hierarchies = [hierarchy_from_rows("age", [("20", "*"), ("30", "*")])]
    tuples = Tuples(
        codes=np.array([[0], [1]], np.int32),
        counts=np.array([2, 0], np.int64),
        population=np.array([2, 5], np.int64),
    )
    found = search_lattice(tuples, hierarchies, [KAnonymity(k=2)], suppress=Fraction(0)).best
    assert found is not None
    assert (found.levels, found.classes, found.suppressed) == ((0,), 1, 0)


def test_a_model_that_minds_absent_classes_is_not_met_by_suppressing_others() -> None:
    hierarchies = [hierarchy_from_rows("age", [("20", "*"), ("30", "*")])]
    tuples = Tuples(
        codes=np.array([[0], [1]], np.int32),
        counts=np.array([2, 0], np.int64),
        population=np.array([2, 5], np.int64),
    )
    found = search_lattice(tuples, hierarchies, [Present()], suppress=Fraction(1)).best
    assert found is not None
    assert found.levels == (1,)
