"""The strongest parameters that a table meets: met, and the next stronger ones broken."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import (
    FAMILIES,
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    HierarchicalCloseness,
    KAnonymity,
    KMap,
    OrderedCloseness,
    ProbabilisticDiversity,
    RecursiveDiversity,
    StrictRisk,
    find_strongest,
)
from discreet.core.errors import RequestError
from tests.anonymity.models.tables import table

NAMES = ("a", "b", "c", "d")
TREE = hierarchy_from_rows(
    "disease", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")]
)
D = "disease"
STEP = Fraction(1, 10**9)
CLASSES = st.lists(
    st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES}).filter(lambda c: sum(c.values()) > 0),
    min_size=1,
    max_size=5,
)
# for each family: the model of a level, a weaker level that must hold and a stronger one that must not
Builder = Callable[[Any], Any]
BUILDERS: dict[str, tuple[Builder, Any, Any]] = {
    "k": (lambda k: KAnonymity(k=k), 0, 1),
    "k-map": (lambda k: KMap(k=k), 0, 1),
    "distinct": (lambda l: DistinctDiversity(column=D, l=l), 0, 1),
    "probabilistic": (lambda l: ProbabilisticDiversity(column=D, l=l), 0, STEP),
    "entropy": (lambda l: EntropyDiversity(column=D, l=max(Fraction(1), Fraction(l))), -STEP, STEP),
    "recursive": (lambda c: RecursiveDiversity(column=D, c=c, l=2), STEP, 0),
    "equal": (lambda t: EqualCloseness(column=D, t=t), 0, -STEP),
    "ordered": (lambda t: OrderedCloseness(column=D, t=t), 0, -STEP),
    "hierarchical": (lambda t: HierarchicalCloseness(column=D, t=t, hierarchy=TREE), 0, -STEP),
    "alpha": (lambda a: AlphaKAnonymity(column=D, alpha=a, k=1), 0, -STEP),
    "disclosure": (lambda d: DeltaDisclosure(column=D, delta=Fraction(d)), STEP, -STEP),
    "likeness": (lambda b: BetaLikeness(column=D, beta=b), 0, -STEP),
    "presence-min": (lambda d: DeltaPresence(delta_min=d, delta_max=Fraction(1)), 0, STEP),
    "presence-max": (lambda d: DeltaPresence(delta_min=Fraction(0), delta_max=d), 0, -STEP),
    "prosecutor": (lambda r: StrictRisk(risk=r), 0, -STEP),
    "journalist": (lambda r: StrictRisk(risk=r, attacker="journalist"), 0, -STEP),  # type: ignore[arg-type]
}


def test_every_family_is_tried() -> None:
    assert set(BUILDERS) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
@given(classes=CLASSES, spare=st.integers(0, 5))
def test_the_strongest_level_holds_and_nothing_stronger_does(
    family: str, classes: list[dict[str, int]], spare: int
) -> None:
    people = [sum(each.values()) + spare for each in classes]
    counted = table(classes, names=NAMES, population=people)
    level = find_strongest(counted, family, D, hierarchy=TREE)
    build, weaker, stronger = BUILDERS[family]
    if level == math.inf:
        assert not build(10**6).judge(counted).all()
        return
    exact = level if isinstance(level, int) else Fraction(level)
    if exact + weaker > 0 or family in ("equal", "ordered", "hierarchical"):
        assert build(exact + weaker).judge(counted).all()
    if 0 < exact + stronger <= 1 or (stronger >= 0 and not family.startswith("presence") and exact > 0):
        assert not build(exact + stronger).judge(counted).all()


@pytest.mark.parametrize(("counts", "l"), [([3, 3], 2), ([4, 1, 1, 1, 1], 4), ([7] * 6, 6), ([5, 4], 1)])
def test_the_whole_part_of_an_entropy_is_right_at_ties(counts: list[int], l: int) -> None:
    found = find_strongest(table([{str(place): n for place, n in enumerate(counts)}]), "entropy", D)
    assert math.floor(found) == l


def test_recursive_diversity_that_no_c_gives_is_infinite() -> None:
    assert find_strongest(table([{"a": 3, "b": 1}]), "recursive", D, l=3) == math.inf
    assert find_strongest(table([{"a": 3, "b": 2}, {"a": 1, "b": 1}]), "recursive", D, l=2) == Fraction(3, 2)


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(RequestError, match="`family=` must be one of k, "):
        find_strongest(table([{"a": 1}]), "l", D)
    with pytest.raises(RequestError, match="without rows"):
        find_strongest(EquivalenceClasses(sizes=np.array([], np.int64), rows=0), "k")
    with pytest.raises(RequestError, match="needs a hierarchy"):
        find_strongest(table([{"a": 1}]), "hierarchical", D)
    with pytest.raises(RequestError, match="population"):
        find_strongest(table([{"a": 1}]), "k-map")
