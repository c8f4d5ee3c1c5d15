"""The best node is the best: every small lattice is searched by hand as well."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.anonymity.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    Model,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from discreet.anonymity.search import (
    OBJECTIVES,
    Objective,
    SearchResult,
    find_minimal_generalizations,
    search_lattice,
)
from tests.anonymity.search import by_hand
from tests.anonymity.search.judges import Even, Rows
from tests.anonymity.search.worlds import ILLNESS, World, worlds

LIMITS = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
HALF = Fraction(1, 2)

MODELS: dict[str, tuple[list[Model], list[by_hand.Rule]]] = {
    "k-anonymity": ([KAnonymity(k=2)], [by_hand.at_least(2)]),
    "k-anonymity and diversity": (
        [KAnonymity(k=3), DistinctDiversity(column=ILLNESS, l=2)],
        [by_hand.at_least(3), by_hand.diverse(2)],
    ),
    "closeness": ([EqualCloseness(column=ILLNESS, t=Fraction(1, 3))], [by_hand.close(Fraction(1, 3))]),
    "k-anonymity and closeness": (
        [EqualCloseness(column=ILLNESS, t=HALF), KAnonymity(k=2)],
        [by_hand.close(HALF), by_hand.at_least(2)],
    ),
    "shares": (
        [AlphaKAnonymity(column=ILLNESS, alpha=Fraction(2, 3), k=2)],
        [by_hand.at_least(2), by_hand.meeting(ProbabilisticDiversity(column=ILLNESS, l=Fraction(3, 2)))],
    ),
    **{
        model.name: ([model], [by_hand.meeting(model)])
        for model in (
            ProbabilisticDiversity(column=ILLNESS, l=Fraction(2)),
            EntropyDiversity(column=ILLNESS, l=Fraction(2)),
            RecursiveDiversity(column=ILLNESS, c=Fraction(2), l=2),
            BetaLikeness(column=ILLNESS, beta=HALF),
            DeltaDisclosure(column=ILLNESS, delta=HALF),
        )
    },
    "even classes": ([Even()], [by_hand.even()]),
    "even classes and k-anonymity": ([Even(), KAnonymity(k=3)], [by_hand.even(), by_hand.at_least(3)]),
}


def valid_by_hand(
    world: World, rules: Sequence[by_hand.Rule], suppress: Fraction, least_rows: int = 0
) -> list[by_hand.Node]:
    found = by_hand.nodes(world, rules, least_rows=least_rows)
    return [node for node in found if node.suppressed <= suppress * len(world.rows)]


def assert_best(found: SearchResult, valid: list[by_hand.Node], measure: str) -> None:
    """The solutions are as good as the best nodes by hand, and are what they say."""
    scores = sorted(by_hand.MEASURES[measure](node) for node in valid)
    assert [one.loss for one in found.solutions] == pytest.approx(scores[: len(found.solutions)], abs=1e-9)
    nodes = {node.levels: node for node in valid}
    for one in found.solutions:
        node = nodes[one.levels]
        assert one.loss == pytest.approx(by_hand.MEASURES[measure](node), abs=1e-9)
        assert (one.suppressed, one.classes) == (node.suppressed, len(node.sizes))


@pytest.mark.parametrize("name", MODELS)
@given(objective=st.sampled_from(OBJECTIVES), world=worlds(), suppress=LIMITS)
def test_no_node_is_better_than_the_one_found(
    name: str, objective: Objective, world: World, suppress: Fraction
) -> None:
    models, rules = MODELS[name]
    found = search_lattice(world.tuples, world.hierarchies, models, suppress=suppress, objective=objective)
    valid = valid_by_hand(world, rules, suppress)
    assert found.proven
    assert bool(found.solutions) == bool(valid)
    assert_best(found, valid, objective.name)


@given(objective=st.sampled_from(OBJECTIVES), world=worlds(), suppress=LIMITS, top=st.integers(1, 40))
def test_the_top_are_the_best_so_many(
    objective: Objective, world: World, suppress: Fraction, top: int
) -> None:
    found = search_lattice(
        world.tuples, world.hierarchies, [KAnonymity(k=2)], suppress=suppress, objective=objective, top=top
    )
    valid = valid_by_hand(world, [by_hand.at_least(2)], suppress)
    assert len(found.solutions) == min(top, len(valid))
    assert len({one.levels for one in found.solutions}) == len(found.solutions)
    assert_best(found, valid, objective.name)


@pytest.mark.parametrize("name", MODELS)
@given(world=worlds(), suppress=LIMITS)
def test_minimal_nodes_are_those_that_generalize_no_other_solution(
    name: str, world: World, suppress: Fraction
) -> None:
    models, rules = MODELS[name]
    found = find_minimal_generalizations(world.tuples, world.hierarchies, models, suppress=suppress)
    valid = valid_by_hand(world, rules, suppress)
    assert found.proven
    assert found.valid == len(valid)
    assert {one.levels for one in found.solutions} == by_hand.minimal(valid)
    assert [one.loss for one in found.solutions] == sorted(one.loss for one in found.solutions)


@given(world=worlds(), suppress=LIMITS, least=st.integers(0, 16))
def test_a_model_of_the_whole_table_judges_what_the_others_leave(
    world: World, suppress: Fraction, least: int
) -> None:
    models: list[Model] = [Rows(least=least), KAnonymity(k=2)]
    found = search_lattice(world.tuples, world.hierarchies, models, suppress=suppress)
    valid = valid_by_hand(world, [by_hand.at_least(2)], suppress, least_rows=least)
    assert bool(found.solutions) == bool(valid)
    assert_best(found, valid, "loss")


@given(world=worlds(), weights=st.lists(st.integers(0, 5), min_size=3, max_size=3), suppress=LIMITS)
def test_weights_say_which_columns_matter(world: World, weights: list[int], suppress: Fraction) -> None:
    parts = [float(weight) for weight in weights[: len(world.columns)]]
    parts[0] += 1
    found = search_lattice(
        world.tuples, world.hierarchies, [KAnonymity(k=2)], suppress=suppress, weights=parts
    )
    valid = valid_by_hand(world, [by_hand.at_least(2)], suppress)
    losses = [by_hand.loss(node, parts) for node in valid]
    assert [one.loss for one in found.solutions] == pytest.approx([min(losses)] if losses else [], abs=1e-9)


@pytest.mark.parametrize(("name", "predictive"), [("k-anonymity", True), ("even classes", False)])
def test_a_search_says_whether_verdicts_told_of_other_nodes(name: str, predictive: bool) -> None:
    world = World(columns=((("0", "*"), ("1", "*")),), rows=((("0",), "a"), (("1",), "b")))
    assert search_lattice(world.tuples, world.hierarchies, MODELS[name][0]).predictive is predictive
