"""Local recoding and cell suppression: little is lost, and what reads alike is judged together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recoding import group_by_recoding
from discreet.anonymity.recodings.cell_suppression import suppress_cells
from discreet.anonymity.recodings.local_recoding import (
    group_at_node,
    order_nodes,
    recode_locally,
)
from discreet.anonymity.utility.utility_measures import measure_granularity
from discreet.core.errors import InvalidParameterError, RequestError
from tests.anonymity.data import adult, tuples_of
from tests.anonymity.models_at_hand import NotTooLarge
from tests.anonymity.tables import Table, labels, published, tables


@given(table=tables(), k=st.integers(1, 6))
def test_no_row_is_lost_where_the_table_has_k(table: Table, k: int) -> None:
    recoding = recode_locally(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    assert recoding.published.all() == (len(table.rows) >= k)


@given(table=tables(), k=st.integers(1, 6))
def test_rows_that_are_k_already_show_their_own_values(table: Table, k: int) -> None:
    recoding = recode_locally(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    placed = [n for n, count in enumerate(table.tuples.counts.tolist()) if count >= k]
    exact = [
        labels(recoding, n)
        == tuple(h.values[c] for h, c in zip(table.hierarchies, table.tuples.codes[n], strict=True))
        for n in placed
    ]
    # fewer than k rows can be left over at the end, and they widen one class each
    assert exact.count(False) < k


@given(table=tables(columns=2), k=st.integers(2, 4))
def test_any_search_may_propose(table: Table, k: int) -> None:
    lattice = list(product(*(range(h.height + 1) for h in table.hierarchies)))

    def most_rows_kept(tuples: Tuples) -> tuple[int, ...] | None:
        def gain(node: tuple[int, ...]) -> tuple[int, int]:
            groups, number = group_at_node(tuples, table.hierarchies, node)
            sizes = np.bincount(groups, tuples.counts, number)
            return int(sizes[sizes >= k].sum()), -sum(node)

        best = max(lattice, key=gain)
        return best if gain(best)[0] else None

    recoding = recode_locally(table.tuples, table.hierarchies, [KAnonymity(k=k)], search=most_rows_kept)
    assert all(len(rows) >= k for rows in published(table, recoding).values())
    assert recoding.published.all() == (len(table.rows) >= k)


def test_rows_that_read_alike_are_one_class_whichever_level_named_them() -> None:
    # at level 0 three rows show "other"; at level 1 so do two more, whose values are a row each
    column = hierarchy_from_rows(
        "race", [("other", "other", "*"), ("rare", "other", "*"), ("odd", "other", "*")]
    )
    tuples = Tuples(codes=np.array([[0], [1], [2]], np.int32), counts=np.array([3, 1, 1]))
    few = recode_locally(tuples, [column], [KAnonymity(k=2), NotTooLarge(most=5)])
    assert group_by_recoding(tuples, few)[0].sizes.tolist() == [5]
    fewer = recode_locally(tuples, [column], [KAnonymity(k=2), NotTooLarge(most=4)])
    assert not fewer.published.any()


def test_one_label_for_different_groups_is_refused() -> None:
    column = hierarchy_from_rows("race", [("other", "few", "*"), ("rare", "other", "*")])
    with pytest.raises(RequestError, match=r"race gives one label to different groups .* Name every group"):
        recode_locally(tuples_of([((0,), "a")]), [column], [KAnonymity(k=1)])


def test_with_a_population_rows_that_cannot_be_placed_are_left_out() -> None:
    column = hierarchy_from_rows("c", [("x", "*"), ("y", "*")])
    codes, counts = np.array([[0], [1]], np.int32), np.array([5, 1])
    alone = Tuples(codes=codes, counts=counts)
    assert recode_locally(alone, [column], [KAnonymity(k=2)]).published.all()
    among = Tuples(codes=codes, counts=counts, population=np.array([9, 9]))
    assert recode_locally(among, [column], [KAnonymity(k=2)]).published.tolist() == [True, False]


def test_the_schedule_begins_with_nothing_ends_with_everything_and_never_gets_cheaper() -> None:
    columns = [
        hierarchy_from_rows(n, [(f"{n}{v}", f"{n}·{v // 2}", "*") for v in range(4)]) for n in ("a", "b", "c")
    ]
    order = order_nodes(columns)
    assert len(order) == 27
    assert order[0].tolist() == [0, 0, 0]
    assert order[-1].tolist() == [2, 2, 2]
    cost = [sum((0.25, 0.5, 1.0)[level] for level in node) for node in order.tolist()]
    assert cost == sorted(cost)
    few = order_nodes(columns, most=5)
    assert len(few) == 5
    assert few[0].tolist() == [0, 0, 0]
    assert few[-1].tolist() == [2, 2, 2]


def test_adult_keeps_more_than_by_arx() -> None:
    tuples, hierarchies = adult()
    recoding = recode_locally(tuples, hierarchies, [KAnonymity(k=5)])
    assert recoding.published.all()
    assert group_by_recoding(tuples, recoding)[0].sizes.min() >= 5
    assert measure_granularity(tuples, hierarchies, recoding) > 0.94


@given(table=tables(), k=st.integers(1, 5), data=st.data())
def test_cells_show_the_label_of_their_level_or_nothing(table: Table, k: int, data: st.DataObject) -> None:
    levels = [data.draw(st.integers(0, h.height)) for h in table.hierarchies]
    recoding = suppress_cells(table.tuples, table.hierarchies, [KAnonymity(k=k)], levels)
    for n, codes in enumerate(table.tuples.codes.tolist()):
        for shown, hierarchy, level, code in zip(
            labels(recoding, n), table.hierarchies, levels, codes, strict=True
        ):
            assert shown in {hierarchy.generalize(hierarchy.values[code], level), "*"}
    assert int(table.tuples.counts[~recoding.published].sum()) < k


def test_the_column_of_least_weight_is_blanked() -> None:
    columns = [hierarchy_from_rows(name, [(f"{name}{v}", "*") for v in range(2)]) for name in ("a", "b")]
    tuples = tuples_of([((v, w), "x") for v in range(2) for w in range(2)])
    for heavy, shown in (("a", ("a0", "*")), ("b", ("*", "b0"))):
        recoding = suppress_cells(tuples, columns, [KAnonymity(k=2)], (0, 0), weights={heavy: 2.0})
        assert labels(recoding, 0) == shown


def test_a_level_that_is_not_there_is_refused() -> None:
    column = hierarchy_from_rows("c", [("x", "*")])
    with pytest.raises(InvalidParameterError, match="must be a level of the hierarchy c; got 2"):
        suppress_cells(tuples_of([((0,), "a")]), [column], [KAnonymity(k=1)], [2])


def test_a_search_that_insists_on_what_publishes_nothing_is_not_asked_again() -> None:
    column = hierarchy_from_rows("c", [("x", "*"), ("y", "*")])
    tuples = tuples_of([((0,), "a"), ((1,), "a")])
    assert not recode_locally(tuples, [column], [KAnonymity(k=2)], search=lambda _: (0,)).published.any()


@pytest.mark.parametrize(("weights", "said"), [({"d": 1.0}, "got d"), ({"c": 0.0}, "above 0; got 0")])
def test_weights_are_positive_and_of_columns_that_are_there(weights: dict[str, float], said: str) -> None:
    column = hierarchy_from_rows("c", [("x", "*")])
    with pytest.raises(InvalidParameterError, match=said):
        recode_locally(tuples_of([((0,), "a")]), [column], [KAnonymity(k=1)], weights=weights)
