"""Lattices too large to prove anything about: good solutions, and no claim."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.search import (
    exploration,
    find_minimal_generalizations,
    group_at_levels,
    search_lattice,
)
from discreet.anonymity.search.lattice_search import PROVABLE
from discreet.core.errors import RequestError
from tests.anonymity.search.judges import Even

LOOKS = 1_000  # that a second has, as long as the machine may take for one
HIERARCHIES = [
    hierarchy_from_rows(f"column {j}", [(str(v), f"{v // 2}", f"{v // 4}", "*") for v in range(8)])
    for j in range(12)
]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that passes whenever it is looked at, so that a search ends at the same place everywhere."""
    looks = count()
    monkeypatch.setattr(exploration, "time", SimpleNamespace(monotonic=lambda: next(looks) / LOOKS))


def table(rows: int) -> Tuples:
    draws = np.random.default_rng(1).binomial(7, 0.1, size=(rows, len(HIERARCHIES)))
    codes, counts = np.unique(draws.astype(np.int32), axis=0, return_counts=True)
    return Tuples(codes=codes, counts=counts.astype(np.int64))


def test_a_solution_of_a_huge_lattice_is_valid_and_better_than_everything_hidden() -> None:
    tuples = table(300)
    told: list[int] = []
    found = search_lattice(
        tuples,
        HIERARCHIES,
        [KAnonymity(k=5)],
        suppress=Fraction(1, 10),
        seconds=2,
        progress=lambda checked, _: told.append(checked),
    )
    assert found.nodes > PROVABLE
    assert not found.proven
    assert found.best is not None
    assert found.best.loss < 1
    classes = group_at_levels(tuples, HIERARCHIES, found.best.levels)
    assert found.best.suppressed == classes.sizes[classes.sizes < 5].sum() <= 30
    assert told == sorted(told)
    assert told


def test_models_that_are_not_monotone_are_searched_beyond_nodes_that_are_not_valid() -> None:
    tuples = Tuples(codes=np.repeat(np.array([[0], [7]], np.int32), 12, axis=1), counts=np.array([2, 3]))
    odd = search_lattice(tuples, HIERARCHIES, [Even()], suppress=Fraction(3, 5), seconds=2)
    assert odd.best is not None
    assert (odd.best.suppressed, odd.best.classes) == (3, 1)


def test_a_table_smaller_than_k_has_no_solution() -> None:
    found = search_lattice(table(3), HIERARCHIES, [KAnonymity(k=5)], seconds=2)
    assert found.best is None
    assert not found.proven


def test_minimal_nodes_of_a_huge_lattice_are_refused() -> None:
    with pytest.raises(RequestError, match=r"16,777,216 generalizations.*Remove levels"):
        find_minimal_generalizations(table(30), HIERARCHIES, [KAnonymity(k=2)])
