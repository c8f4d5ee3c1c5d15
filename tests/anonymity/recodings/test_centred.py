"""Numbers shown by the centre of their class: groups of k, whole classes, loss as wide as the group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy, hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recoding import get_extents, group_by_recoding
from discreet.anonymity.recodings.microaggregation import (
    Centre,
    CentreOptions,
    microaggregate,
    replace_centres_with_intervals,
    show_centres,
)
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.utility import MEASURES
from discreet.core.errors import DataError
from tests.anonymity.data import tuples_of
from tests.anonymity.tables import labels

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


def numbers(name: str, size: int = 10) -> Hierarchy:
    return hierarchy_from_rows(
        name, [(str(v), f"[{v // 5 * 5}, {v // 5 * 5 + 4}]", "*") for v in range(size)]
    )


@given(points=POINTS, k=st.integers(1, 5))
def test_every_class_has_k_rows_and_shows_the_mean_of_each_column(
    points: list[tuple[int, int]], k: int
) -> None:
    if len(points) < k:
        return
    tuples = tuples_of([(point, "") for point in points])
    columns = {"a": CentreOptions(decimals=3), "b": CentreOptions(decimals=3)}
    found = microaggregate(tuples, [numbers("a"), numbers("b")], [KAnonymity(k=k)], k, columns)
    assert found.published.all()
    assert group_by_recoding(tuples, found)[0].sizes.min() >= k
    for shown in {labels(found, n) for n in range(len(tuples))}:
        mine = [n for n in range(len(tuples)) if labels(found, n) == shown]
        for j in range(2):
            mean = np.average(tuples.codes[mine, j], weights=tuples.counts[mine])
            assert float(shown[j]) == pytest.approx(mean, abs=1e-3)


@given(points=POINTS, k=st.integers(1, 5), data=st.data())
def test_the_order_of_tuples_carries_nothing(
    points: list[tuple[int, int]], k: int, data: st.DataObject
) -> None:
    if len(points) < k:
        return
    columns = {"a": CentreOptions(), "b": CentreOptions(centre=Centre.MEDIAN)}
    found = []
    for order in (points, data.draw(st.permutations(points))):
        tuples = tuples_of([(point, "") for point in order])
        recoding = microaggregate(tuples, [numbers("a"), numbers("b")], [KAnonymity(k=k)], k, columns)
        codes = tuples.codes.tolist()
        found.append({tuple(codes[n]): labels(recoding, n) for n in range(len(tuples))})
    assert found[0] == found[1]


def test_a_centre_costs_as_much_as_the_interval_of_its_class() -> None:
    tuples = tuples_of([((v,), "") for v in (0, 1, 2, 7, 8, 9)])
    found = microaggregate(tuples, [numbers("a")], [KAnonymity(k=3)], 3, {"a": CentreOptions()})
    (extent,) = get_extents(found, [numbers("a")])
    assert extent.shares[found.codes[:, 0]].tolist() == pytest.approx([0.3] * 6)
    assert extent.levels[found.codes[:, 0]].tolist() == [1] * 6
    assert MEASURES["loss"](tuples, [numbers("a")], found) == pytest.approx((0.3 - 0.1) / 0.9)


def test_who_finds_out_the_values_of_a_centre_reads_an_interval() -> None:
    tuples = tuples_of([((v,), "") for v in (0, 1, 2, 7, 8, 9)])
    found = microaggregate(tuples, [numbers("a")], [KAnonymity(k=3)], 3, {"a": CentreOptions()})
    read = replace_centres_with_intervals(found, [numbers("a")], ["a"])
    assert [labels(read, n) for n in range(6)] == [("[0, 2]",)] * 3 + [("[7, 9]",)] * 3


def test_one_column_of_a_recoding_shows_means_and_the_other_its_labels() -> None:
    tuples = tuples_of([((a, b), "") for a in (0, 1, 8, 9) for b in (0, 9)])
    hierarchies = [numbers("a"), numbers("b")]
    cut = Mondrian(ordered=frozenset({"a", "b"})).recode(tuples, hierarchies, [KAnonymity(k=2)])
    found = show_centres(tuples, hierarchies, cut, [KAnonymity(k=2)], {"a": CentreOptions(decimals=1)})
    shown = {labels(found, n) for n in range(len(tuples))}
    assert shown == {(a, b) for a in ("0.5", "8.5") for b in ("[0, 4]", "[5, 9]")}


def test_a_heavy_column_decides_who_is_near() -> None:
    tuples = tuples_of([((a, b), "") for a in (0, 9) for b in (0, 9)])
    columns = {"a": CentreOptions(decimals=1), "b": CentreOptions(decimals=1)}
    for heavy, shown in (("a", {("0.0", "4.5"), ("9.0", "4.5")}), ("b", {("4.5", "0.0"), ("4.5", "9.0")})):
        found = microaggregate(
            tuples, [numbers("a"), numbers("b")], [KAnonymity(k=2)], 2, columns, weights={heavy: 9.0}
        )
        assert {labels(found, n) for n in range(4)} == shown


def test_a_word_has_no_mean() -> None:
    tuples = tuples_of([((0,), ""), ((1,), "")])
    with pytest.raises(DataError, match="not numbers"):
        microaggregate(
            tuples,
            [hierarchy_from_rows("a", [("1", "*"), ("x", "*")])],
            [KAnonymity(k=1)],
            1,
            {"a": CentreOptions()},
        )
