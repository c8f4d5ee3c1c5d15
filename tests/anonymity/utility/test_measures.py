"""Measures: ARX's figures on Adult, and brute force over rows on small tables."""

from __future__ import annotations

from collections import Counter
from math import log2, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recoding import Recoding, judge_tuples
from discreet.anonymity.recodings.local_recoding import group_at_node, recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.utility import MEASURES
from discreet.anonymity.utility.utility_measures import measure_height
from discreet.core.errors import RequestError
from tests.anonymity.data import adult
from tests.anonymity.tables import Table, labels, meaning, tables


def full_domain(
    tuples: Tuples, hierarchies: tuple[Hierarchy, ...], levels: tuple[int, ...], k: int
) -> Recoding:
    groups, number = group_at_node(tuples, hierarchies, levels)
    pairs = list(zip(hierarchies, levels, strict=True))
    return Recoding(
        columns=tuple(h.name for h in hierarchies),
        labels=tuple(h.labels[level] for h, level in pairs),
        codes=np.stack([h.maps[level][tuples.codes[:, j]] for j, (h, level) in enumerate(pairs)], axis=1),
        published=judge_tuples(tuples, groups, number, [KAnonymity(k=k)]),
        levels=levels,
    )


@pytest.mark.parametrize(
    ("measure", "levels", "figure"),
    [
        ("loss", "041132210", 0.5731509656),
        ("loss", "030021120", 0.2419323651),
        ("granularity", "041132210", 0.2917208184),
        ("class-size", "101132201", 28.8080229226),
        ("discernibility", "001232211", 7_220_555),
        ("precision", "040031010", 0.3656256216),
        ("entropy", "001122211", 264_341.94),
        ("ambiguity", "001232220", 139_124_375_040),
    ],
)
def test_adult_costs_what_arx_says(measure: str, levels: str, figure: float) -> None:
    tuples, hierarchies = adult()
    recoding = full_domain(tuples, hierarchies, tuple(map(int, levels)), k=5)
    assert MEASURES[measure](tuples, hierarchies, recoding) == pytest.approx(figure, rel=1e-8)


def brute(table: Table, recoding: Recoding) -> dict[str, float]:
    """Every measure, cell by cell, with labels read as text."""
    place = {tuple(codes): n for n, codes in enumerate(table.tuples.codes.tolist())}
    rows = [codes for codes, _ in table.rows]
    shown = [labels(recoding, place[codes]) if recoding.published[place[codes]] else None for codes in rows]
    total, columns = len(rows), table.hierarchies
    share: list[list[float]] = [
        [
            1.0 if text is None else len(meaning(columns[j], text[j])) / len(columns[j].values)
            for text in shown
        ]
        for j in range(len(columns))
    ]
    sizes = Counter(shown)
    gone = sizes.pop(None, 0)
    least = [1 / len(h.values) for h in columns]
    lost = [
        (sum(x) / total - low) / (1 - low) if low < 1 else 0.0 for x, low in zip(share, least, strict=True)
    ]
    cells = [x for column in share for x in column]
    mean_least = sum(least) / len(least)
    one = [
        0.0 if text is not None and len(meaning(columns[j], text[j])) == 1 else share[j][n]
        for j in range(len(columns))
        for n, text in enumerate(shown)
    ]
    return {
        "loss": prod(x + 1 for x in lost) ** (1 / len(lost)) - 1,
        "granularity": 1.0
        if mean_least == 1
        else 1 - (sum(cells) / len(cells) - mean_least) / (1 - mean_least),
        "certainty": sum(one) / len(one),
        "class-size": total / (len(sizes) + (gone > 0)),
        "discernibility": sum(size**2 for size in sizes.values()) + gone * total,
        "ambiguity": sum(
            prod(x[n] * len(h.values) for x, h in zip(share, columns, strict=True)) for n in range(total)
        ),
    }


@given(table=tables(), k=st.integers(1, 5))
def test_measures_agree_with_a_count_of_cells(table: Table, k: int) -> None:
    models = [KAnonymity(k=k)]
    plan = Mondrian(ordered=frozenset({"c0"}))
    for recoding in (
        recode_locally(table.tuples, table.hierarchies, models),
        plan.recode(table.tuples, table.hierarchies, models),
        full_domain(table.tuples, table.hierarchies, tuple(h.height // 2 for h in table.hierarchies), k),
    ):
        for name, figure in brute(table, recoding).items():
            measured = MEASURES[name](table.tuples, table.hierarchies, recoding)
            assert measured == pytest.approx(figure, abs=1e-9), name


@given(table=tables(), k=st.integers(1, 5), data=st.data())
def test_entropy_and_precision_agree_with_a_count_of_cells(table: Table, k: int, data: st.DataObject) -> None:
    levels = tuple(data.draw(st.integers(0, h.height)) for h in table.hierarchies)
    recoding = full_domain(table.tuples, table.hierarchies, levels, k)
    place = {tuple(codes): n for n, codes in enumerate(table.tuples.codes.tolist())}
    entropy, precise = 0.0, 0.0
    for j, (hierarchy, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
        cells = [
            (codes[j], hierarchy.maps[level][codes[j]], recoding.published[place[codes]])
            for codes, _ in table.rows
        ]
        values, shown = Counter(v for v, _, _ in cells), Counter(s for _, s, _ in cells)
        out = Counter(s for _, s, kept in cells if not kept)
        entropy += sum(log2(shown[s] / values[v]) for v, s, _ in cells)
        entropy += sum(log2(out.total() / out[s]) for _, s, kept in cells if not kept)
        precise += sum(level / max(hierarchy.height, 1) if kept else 1 for *_, kept in cells)
    measured = {
        name: MEASURES[name](table.tuples, table.hierarchies, recoding) for name in ("entropy", "precision")
    }
    assert measured["entropy"] == pytest.approx(entropy, abs=1e-9)
    assert measured["precision"] == pytest.approx(precise / len(table.rows) / len(levels))
    assert measure_height(table.tuples, table.hierarchies, recoding) == sum(levels)


def test_only_a_full_domain_generalization_has_a_height() -> None:
    tuples, hierarchies = adult()
    recoding = Mondrian().recode(tuples, hierarchies, [KAnonymity(k=1000)])
    with pytest.raises(RequestError, match="Only a full-domain generalization has a height"):
        measure_height(tuples, hierarchies, recoding)
