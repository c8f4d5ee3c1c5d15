"""Models on Adult, at the generalizations that ARX 3.9.2 finds: they hold, one level below they do not."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import (
    DistinctDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    Model,
    OrderedCloseness,
    RecursiveDiversity,
    find_strongest,
    judge_all,
)
from discreet.anonymity.search import group_at_levels
from tests.anonymity.data import adult

OCCUPATION = "occupation"


@cache
def at(levels: str) -> EquivalenceClasses:
    """The classes of a generalization, given as in the golden results, with occupation sensitive."""
    return group_at_levels(*adult(OCCUPATION), list(map(int, levels)))


def of_occupations() -> Hierarchy:
    return next(hierarchy for hierarchy in adult()[1] if hierarchy.name == OCCUPATION)


def below(levels: str) -> Iterator[str]:
    for place, level in enumerate(levels):
        if level != "0":
            yield f"{levels[:place]}{int(level) - 1}{levels[place + 1 :]}"


GOLDEN: list[tuple[Model, str]] = [
    (DistinctDiversity(column=OCCUPATION, l=5), "04113220"),
    (EqualCloseness(column=OCCUPATION, t=Fraction("0.2")), "14113221"),
]


@pytest.mark.parametrize(("model", "levels"), GOLDEN, ids=["distinct", "equal"])
def test_golden_generalizations_meet_their_model_and_finer_ones_do_not(model: Model, levels: str) -> None:
    assert model.judge(at(levels)).all()
    assert not any(model.judge(at(finer)).all() for finer in below(levels))


def test_recursive_diversity_suppresses_the_golden_573_rows_together_with_k_5() -> None:
    """The golden result names (4, 3) alone; its rows, and its loss of 0.2554529144, are those with k = 5."""
    classes, recursive = at("03013110"), RecursiveDiversity(column=OCCUPATION, c=Fraction(4), l=3)
    combined: tuple[list[Model], ...] = ([recursive], [recursive, KAnonymity(k=5)])
    suppressed = [int(classes.sizes[~judge_all(classes, models)].sum()) for models in combined]
    assert suppressed == [478, 573]


def closeness(distance: str, t: Fraction) -> Model:
    if distance == "equal":
        return EqualCloseness(column=OCCUPATION, t=t)
    if distance == "ordered":
        return OrderedCloseness(column=OCCUPATION, t=t)
    return HierarchicalCloseness(column=OCCUPATION, t=t, hierarchy=of_occupations())


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_strongest_t_holds_and_a_little_less_does_not(distance: str) -> None:
    classes = at("14113221")
    t = Fraction(find_strongest(classes, distance, OCCUPATION, hierarchy=of_occupations()))
    assert 0 < t <= Fraction(1, 5)
    assert closeness(distance, t).judge(classes).all()
    assert not closeness(distance, t - Fraction(1, 10**9)).judge(classes).all()
