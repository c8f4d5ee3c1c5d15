"""What a tree learns: a rule that is there, no more than the release shows, and Adult's incomes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.utility.classification_utility import (
    TreeTrainer,
    measure_classification_accuracy,
    predict_classes,
)
from discreet.core.errors import RequestError
from tests.anonymity.data import adult, tuples_of
from tests.conftest import seeded

COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5)


@given(COUNTS)
def test_one_split_is_the_best_set_of_labels_for_two_classes(pairs: list[tuple[int, int]]) -> None:
    counts, labels = np.array(pairs), np.arange(len(pairs), dtype=np.int32)[:, None]
    tree = TreeTrainer(depth=1, leaf=1).train(labels, counts)

    def gini(rows: list[int]) -> float:
        part = counts[rows].sum(axis=0)
        return float(part.sum() - (part**2).sum() / max(part.sum(), 1))

    chosen = {n for n in range(len(pairs)) if not isinstance(tree, int) and tree.inside[n]}
    splits = [
        gini([n for n in range(len(pairs)) if bits[n]]) + gini([n for n in range(len(pairs)) if not bits[n]])
        for bits in product([False, True], repeat=len(pairs))
    ]
    mine = gini(sorted(chosen)) + gini([n for n in range(len(pairs)) if n not in chosen])
    assert mine == pytest.approx(min(splits), abs=1e-6)


def test_a_rule_of_two_columns_is_learnt() -> None:
    labels = np.array(list(product(range(3), range(4))), np.int32)
    truth = ((labels[:, 0] == 1) & (labels[:, 1] >= 2)).astype(int)
    counts = np.zeros((12, 2), np.int64)
    counts[np.arange(12), truth] = 50
    assert predict_classes(TreeTrainer().train(labels, counts), labels).tolist() == truth.tolist()


def test_a_release_that_shows_nothing_teaches_nothing() -> None:
    column = hierarchy_from_rows("c", [("x", "*"), ("y", "*")])
    rows = [((0,), "well")] * 300 + [((1,), "ill")] * 200
    tuples = tuples_of(rows, "illness")
    blank = recode_locally(tuples, [column], [KAnonymity(k=1)], search=lambda _: (1,))
    found = measure_classification_accuracy(tuples, blank, "illness", seeded(3))
    assert found.original == 1
    assert found.release == found.baseline < 0.75


def test_adult_incomes_are_predicted_better_from_finer_releases() -> None:
    tuples, hierarchies = adult("salary-class")
    accuracy = []
    for k in (5, 5000):
        recoding = Mondrian(ordered=frozenset({"age"})).recode(tuples, hierarchies, [KAnonymity(k=k)])
        accuracy.append(measure_classification_accuracy(tuples, recoding, "salary-class", seeded(5)))
    fine, coarse = accuracy
    assert fine.baseline == pytest.approx(0.751, abs=0.02)
    assert fine.baseline + 0.04 < fine.release <= fine.original + 0.02
    assert coarse.release < fine.release


def test_a_column_that_is_not_sensitive_is_refused() -> None:
    tuples = tuples_of([((0,), "a")])
    recoding = recode_locally(tuples, [hierarchy_from_rows("c", [("x", "*")])], [KAnonymity(k=1)])
    with pytest.raises(RequestError, match="no sensitive column illness"):
        measure_classification_accuracy(tuples, recoding, "illness", seeded(1))
