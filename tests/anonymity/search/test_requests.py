"""What a search refuses, and what it says when time runs out or nothing is valid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity, Model
from discreet.anonymity.search import SearchResult, find_minimal_generalizations, search_lattice
from discreet.anonymity.search.objectives import ClassSize
from discreet.core.errors import RequestError
from tests.anonymity.search.judges import Even

AGE = hierarchy_from_rows("age", [("20", "2*", "*"), ("21", "2*", "*"), ("30", "3*", "*")])
TUPLES = Tuples(codes=np.array([[0], [1], [2]], np.int32), counts=np.array([1, 1, 2], np.int64))
NOBODY = Tuples(codes=np.zeros((0, 1), np.int32), counts=np.zeros(0, np.int64))
TWO = [KAnonymity(k=2)]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: search_lattice(NOBODY, [AGE], TWO), "The table has no rows"),
        (lambda: search_lattice(TUPLES, [], TWO), "one hierarchy per quasi-identifier; there are 0 for 1"),
        (
            lambda: search_lattice(TUPLES, [AGE], TWO, suppress=Fraction(2)),
            "`suppress=` must be a fraction between",
        ),
        (lambda: search_lattice(TUPLES, [AGE], TWO, top=0), "`top=` must be an integer of at least 1"),
        (
            lambda: search_lattice(TUPLES, [AGE], TWO, weights=[1, 2]),
            "`weights=` must be one number of at least 0",
        ),
        (
            lambda: search_lattice(TUPLES, [AGE], TWO, weights=[-1]),
            "`weights=` must be one number of at least 0",
        ),
        (
            lambda: search_lattice(TUPLES, [AGE], TWO, weights=[1], objective=ClassSize()),
            "class-size has no columns",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(ask: Callable[[], SearchResult], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        ask()


def test_k_larger_than_the_table_has_no_solution_and_that_is_proven() -> None:
    found = search_lattice(TUPLES, [AGE], [KAnonymity(k=5)])
    assert found.best is None
    assert found.proven


@pytest.mark.parametrize("ask", [search_lattice, find_minimal_generalizations])
def test_a_search_that_runs_out_of_time_claims_nothing(ask: Callable[..., SearchResult]) -> None:
    found = ask(TUPLES, [AGE], TWO, seconds=-1)
    assert not found.proven
    assert found.valid is None


@pytest.mark.parametrize("model", [KAnonymity(k=2), Even()])
def test_a_search_that_runs_out_of_time_has_the_best_that_it_judged(model: Model) -> None:
    found = search_lattice(TUPLES, [AGE], [model], suppress=Fraction(1, 2), seconds=-1)
    assert not found.proven
    assert found.best is not None
    assert found.best.levels == (AGE.height,)


def test_progress_counts_what_was_judged_and_what_is_left() -> None:
    told: list[tuple[int, int]] = []
    found = find_minimal_generalizations(
        TUPLES, [AGE], [KAnonymity(k=3)], progress=lambda *both: told.append(both)
    )
    assert told[0] == (0, 3)
    assert told[-1][0] <= found.checked
