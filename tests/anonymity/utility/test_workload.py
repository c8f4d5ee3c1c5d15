"""Counts from the release: exact where nothing was generalized, as uniform labels say otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.utility.workload_error import CountQuery, draw_workload, measure_workload_error
from discreet.core.randomness import Randomness
from tests.anonymity.data import adult, tuples_of
from tests.anonymity.tables import Table, labels, meaning, tables
from tests.conftest import seeded


@given(table=tables())
def test_an_untouched_table_answers_every_query_exactly(table: Table) -> None:
    recoding = recode_locally(table.tuples, table.hierarchies, [KAnonymity(k=1)])
    workload = draw_workload(table.tuples, table.hierarchies, seeded(1), queries=10)
    assert measure_workload_error(table.tuples, table.hierarchies, recoding, workload).worst == 0


@given(table=tables(), k=st.integers(2, 5), seed=st.integers(0, 1000))
def test_the_error_is_that_of_spreading_every_row_over_its_labels(table: Table, k: int, seed: int) -> None:
    plan = Mondrian(ordered=frozenset({"c0"}))
    recoding = plan.recode(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    (query,) = draw_workload(table.tuples, table.hierarchies, seeded(seed), queries=1)
    place = {tuple(codes): n for n, codes in enumerate(table.tuples.codes.tolist())}
    truth, estimate = 0, 0.0
    assert query.sensitive is not None
    wanted = table.tuples.sensitive["illness"].names[query.sensitive[1]]
    for codes, value in table.rows:
        if value != wanted:
            continue
        truth += all(inside[codes[j]] for j, inside in query.sets.items())
        if recoding.published[place[codes]]:
            part = 1.0
            for j, inside in query.sets.items():
                values = meaning(table.hierarchies[j], labels(recoding, place[codes])[j])
                part *= sum(inside[v] for v in values) / len(values)
            estimate += part
    found = measure_workload_error(table.tuples, table.hierarchies, recoding, [query])
    assert found.mean == pytest.approx(abs(estimate - truth) / max(truth, 0.001 * len(table.rows)))


def test_a_range_over_half_of_a_label_counts_half_of_its_rows() -> None:
    column = hierarchy_from_rows("c", [(str(v), "*") for v in range(4)])
    tuples = tuples_of([((0,), "a")] * 8)
    recoding = recode_locally(tuples, [column], [KAnonymity(k=8)], search=lambda _: (1,))
    half = CountQuery(sets={0: np.array([True, True, False, False])})
    found = measure_workload_error(tuples, [column], recoding, [half])
    assert (found.mean, found.queries) == (0.5, 1)


def test_finer_releases_of_adult_answer_better() -> None:
    tuples, hierarchies = adult("occupation")
    workload = draw_workload(tuples, hierarchies, seeded(7), queries=200, ordered=frozenset({"age"}))
    errors = [
        measure_workload_error(
            tuples,
            hierarchies,
            Mondrian(ordered=frozenset({"age"})).recode(tuples, hierarchies, [KAnonymity(k=k)]),
            workload,
        ).mean
        for k in (2, 20, 2000)
    ]
    assert 0 < errors[0] < errors[1] < errors[2]


def test_a_workload_is_drawn_anew_each_time() -> None:
    tuples, hierarchies = adult()
    first, second = (draw_workload(tuples, hierarchies, Randomness(), queries=50) for _ in range(2))
    assert [sorted(query.sets) for query in first] != [sorted(query.sets) for query in second]
