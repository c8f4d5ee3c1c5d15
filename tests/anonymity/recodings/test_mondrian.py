"""Mondrian: strict regions are a partition, cuts go as far as they may, and Adult is cut finely."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recoding import group_by_recoding
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.core.errors import InvalidParameterError
from tests.anonymity.data import adult, tuples_of
from tests.anonymity.tables import Table, labels, published, region, tables

ORDERED = frozenset({"c0", "c1"})


@given(table=tables(), k=st.integers(1, 5))
def test_strict_regions_do_not_overlap(table: Table, k: int) -> None:
    plan = Mondrian(ordered=ORDERED & {h.name for h in table.hierarchies})
    classes = published(table, plan.recode(table.tuples, table.hierarchies, [KAnonymity(k=k)]))
    regions = [region(table.hierarchies, shown) for shown in classes]
    for one, other in combinations(regions, 2):
        assert any(not a & b for a, b in zip(one, other, strict=True))


@given(table=tables(columns=2), k=st.integers(1, 4))
def test_no_class_could_be_cut_once_more(table: Table, k: int) -> None:
    names = frozenset(h.name for h in table.hierarchies)
    recoding = Mondrian(ordered=names).recode(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    for rows in published(table, recoding).values():
        for j in range(len(names)):
            values = sorted(codes[j] for codes, _ in rows)
            cuts = [n for n, (a, b) in enumerate(pairwise(values), 1) if a != b]
            assert not any(n >= k and len(values) - n >= k for n in cuts)


@given(table=tables(), k=st.integers(1, 5))
def test_relaxed_cuts_divide_one_ordered_column_into_classes_below_twice_k_plus_a_tuple(
    table: Table, k: int
) -> None:
    name = table.hierarchies[0].name
    rows = [((codes[0],), value) for codes, value in table.rows]
    single = Table(rows=rows, tuples=tuples_of(rows, "illness"), hierarchies=table.hierarchies[:1])
    plan = Mondrian(ordered=frozenset({name}), relaxed=True)
    recoding = plan.recode(single.tuples, single.hierarchies, [KAnonymity(k=k)])
    most = int(single.tuples.counts.max())
    for members in published(single, recoding).values():
        assert len(members) < 2 * k + most or len({codes for codes, _ in members}) == 1


def test_bounds_stand_in_the_gap_and_not_at_the_extremes() -> None:
    ages = hierarchy_from_rows("age", [(str(age), "*") for age in range(20, 60)])
    rows = [((age - 20,), "a") for age in (25, 26, 45, 47)]
    recoding = Mondrian(ordered=frozenset({"age"})).recode(tuples_of(rows), [ages], [KAnonymity(k=2)])
    assert {labels(recoding, number) for number in range(4)} == {("[20, 35]",), ("[36, 59]",)}


def test_a_weight_decides_which_column_is_cut() -> None:
    found = [hierarchy_from_rows(name, [(f"{name}{v}", "*") for v in range(2)]) for name in ("c0", "c1")]
    tuples = tuples_of([((a, b), "x") for a in range(2) for b in range(2)])
    for heavy, shown in (("c0", ("c00", "*")), ("c1", ("*", "c10"))):
        recoding = Mondrian(weights={heavy: 2.0}).recode(tuples, found, [KAnonymity(k=2)])
        assert labels(recoding, 0) == shown


@pytest.mark.parametrize("plan", [Mondrian(ordered=frozenset({"name"})), Mondrian(weights={"name": 1.0})])
def test_a_column_that_is_not_there_is_refused(plan: Mondrian) -> None:
    ages = hierarchy_from_rows("age", [("1", "*")])
    with pytest.raises(InvalidParameterError, match="must be quasi-identifiers of the table; got name"):
        plan.recode(tuples_of([((0,), "a")]), [ages], [KAnonymity(k=1)])


@pytest.mark.parametrize("relaxed", [False, True])
def test_adult_is_cut_into_more_classes_than_by_anonypy(relaxed: bool) -> None:
    tuples, hierarchies = adult()
    plan = Mondrian(ordered=frozenset({"age"}), relaxed=relaxed)
    recoding = plan.recode(tuples, hierarchies, [KAnonymity(k=5)])
    classes, _ = group_by_recoding(tuples, recoding)
    assert recoding.published.all()
    assert classes.sizes.min() >= 5
    assert len(classes) > 2896
    assert np.isin(recoding.codes[:, 0], np.arange(len(recoding.labels[0]))).all()
