"""What holds for every recoding: its classes meet every model, and no label says more than it states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy, hierarchy_from_rows
from discreet.anonymity.models import KAnonymity, Model
from discreet.anonymity.recoding import Recoding, get_extents
from discreet.anonymity.recodings.cell_suppression import suppress_cells
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from tests.anonymity.data import tuples_of
from tests.anonymity.models_at_hand import AtLeastValues, LargeOnAverage, Near, NotTooLarge, holds
from tests.anonymity.tables import Table, labels, meaning, published, region, tables

Recoder = Callable[[Tuples, Sequence[Hierarchy], Sequence[Model]], Recoding]


def of_node(tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model]) -> Recoding:
    return suppress_cells(tuples, hierarchies, models, [min(1, h.height) for h in hierarchies])


RECODERS: dict[str, Recoder] = {
    "mondrian by hierarchy": Mondrian().recode,
    "mondrian, first column ordered": Mondrian(ordered=frozenset({"c0"})).recode,
    "mondrian, relaxed": Mondrian(ordered=frozenset({"c0"}), relaxed=True).recode,
    "local": recode_locally,
    "cells": of_node,
}
MODELS = st.lists(
    st.one_of(
        st.builds(KAnonymity, k=st.integers(1, 6)),
        st.builds(AtLeastValues, l=st.integers(1, 3)),
        st.builds(Near, t=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2)])),
        st.builds(NotTooLarge, most=st.integers(4, 20)),
        st.builds(LargeOnAverage, size=st.integers(1, 8)),
    ),
    min_size=1,
    max_size=3,
)

every_recoder = pytest.mark.parametrize("recode", RECODERS.values(), ids=RECODERS.keys())


@every_recoder
@given(table=tables(), models=MODELS)
def test_every_class_meets_every_model_when_judged_from_its_rows(
    recode: Recoder, table: Table, models: list[Model]
) -> None:
    classes = list(published(table, recode(table.tuples, table.hierarchies, models)).values())
    for model in models:
        assert holds(model, classes, table.rows), model


@every_recoder
@given(table=tables(), k=st.integers(1, 5))
def test_every_label_covers_the_value_that_it_stands_for(recode: Recoder, table: Table, k: int) -> None:
    recoding = recode(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    for shown, rows in published(table, recoding).items():
        sets = region(table.hierarchies, shown)
        assert all(value in values for codes, _ in rows for value, values in zip(codes, sets, strict=True))


@every_recoder
@given(table=tables(), k=st.integers(1, 5))
def test_extents_say_what_the_texts_of_labels_say(recode: Recoder, table: Table, k: int) -> None:
    recoding = recode(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    extents = get_extents(recoding, table.hierarchies)
    for hierarchy, names, extent in zip(table.hierarchies, recoding.labels, extents, strict=True):
        for number, name in enumerate(names):
            inside = (extent.order >= extent.low[number]) & (extent.order < extent.high[number])
            stated = meaning(hierarchy, name)
            assert set(np.flatnonzero(inside).tolist()) == stated
            assert extent.shares[number] == pytest.approx(len(stated) / len(hierarchy.values))
            level = int(extent.levels[number])
            assert len({hierarchy.maps[level][value] for value in stated}) == 1
            assert (
                level == 0
                or len({hierarchy.maps[level - 1][value] for value in stated}) > 1
                or (name in hierarchy.labels[level])
            )


@every_recoder
@given(table=tables(), k=st.integers(1, 5), data=st.data())
def test_the_order_of_the_input_carries_nothing(
    recode: Recoder, table: Table, k: int, data: st.DataObject
) -> None:
    by = np.array(data.draw(st.permutations(range(len(table.tuples)))))
    first = recode(table.tuples, table.hierarchies, [KAnonymity(k=k)])
    plain = Tuples(codes=table.tuples.codes[by], counts=table.tuples.counts[by])
    second = recode(plain, table.hierarchies, [KAnonymity(k=k)])
    again = {number: labels(second, place) for place, number in enumerate(by.tolist())}
    assert all(labels(first, number) == again[number] for number in range(len(table.tuples)))
    assert first.published[by].tolist() == second.published.tolist()


@every_recoder
def test_nothing_is_published_of_a_table_that_fails_as_a_whole(recode: Recoder) -> None:
    table = _table([((0, 0), "a"), ((1, 1), "b"), ((1, 0), "b")])
    assert not recode(table.tuples, table.hierarchies, [KAnonymity(k=4)]).published.any()


@every_recoder
def test_people_of_the_population_alone_make_no_class_of_their_own(recode: Recoder) -> None:
    table = _table([((0, 0), "a"), ((0, 1), "b"), ((1, 0), "b"), ((1, 1), "a")])
    tuples = Tuples(
        codes=table.tuples.codes, counts=np.array([2, 3, 0, 0]), population=np.array([4, 6, 5, 5])
    )
    recoding = recode(tuples, table.hierarchies, [KAnonymity(k=2)])
    assert recoding.published[:2].all()


def _table(rows: list[tuple[tuple[int, ...], str]]) -> Table:
    found = tuple(hierarchy_from_rows(name, [(f"{name}0", "*"), (f"{name}1", "*")]) for name in ("c0", "c1"))
    return Table(rows=rows, tuples=tuples_of(rows, "illness"), hierarchies=found)
