"""No question moves what it asks the engine for by more than its plan claims, whatever the data.

Each world is two neighbouring states of small tables whose values are full of what a policy does not declare,
prepared under the same key. Each question is planned once and its statements run on both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from tests.sql.claims import TAIL, Claims, World, halved
from tests.sql.questions import question, questions
from tests.sql.tables import extremes, neighbours

WORLDS, QUESTIONS = 14, 16
NIGHT_WORLDS = 400


def drawn_worlds(seeds: range, folder: Path) -> Iterator[World]:
    for seed in seeds:
        relation = (Relation.VALUE, Relation.PRESENCE)[seed % 2]
        yield World.of(neighbours(Random(seed).choice, relation), relation, folder)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    folder = tmp_path_factory.mktemp("worlds")
    made = [World.of(states, relation, folder) for relation, states in extremes()]
    made += drawn_worlds(range(WORLDS - len(made)), folder)
    yield made
    for each in made:
        each.close()


def asked(world: World, seed: int, count: int) -> Iterator[tuple[str, Claims]]:
    """Questions that can be answered, with what is claimed of them."""
    random = Random(seed)
    for _ in range(count):
        text, tail = question(random.choice), random.choice((0, 0, TAIL))
        found = world.plan(text, tail=tail)
        if found is not None:
            yield text, Claims(found, world)


def assert_claims_hold(world: World, seed: int, count: int) -> int:
    answered = 0
    for text, claims in asked(world, seed, count):
        answered += 1
        assert not list(claims.broken()), (text, list(claims.broken()), world.states)
    return answered


def test_no_neighbour_moves_a_question_by_more_than_its_plan_claims(worlds: list[World]) -> None:
    answered = sum(assert_claims_hold(world, seed, QUESTIONS) for seed, world in enumerate(worlds))
    assert answered > WORLDS * QUESTIONS / 2


@settings(max_examples=30)
@given(text=questions(), place=st.integers(0, WORLDS - 1), tail=st.sampled_from([0.0, TAIL]))
def test_the_same_holds_for_questions_that_can_be_made_small(
    worlds: list[World], text: str, place: int, tail: float
) -> None:
    found = worlds[place].plan(text, tail=tail)
    if found is not None:
        assert not list(Claims(found, worlds[place]).broken())


@pytest.mark.night
@pytest.mark.parametrize("seed", range(NIGHT_WORLDS))
def test_no_neighbour_moves_any_of_many_questions(seed: int, tmp_path: Path) -> None:
    (world,) = drawn_worlds(range(1000 + seed, 1001 + seed), tmp_path)
    try:
        assert_claims_hold(world, seed, 30)
    finally:
        world.close()


PLAIN = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT SUM(cost) AS s, AVG(cost) AS a FROM visits WHERE cost > -2",
    "SELECT kind, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY kind",
    "SELECT ward, COUNT(*) AS n, SUM(days) AS s FROM stays GROUP BY ward",
    "SELECT kind, BOOL_OR(cost > 0) AS o, BOOL_AND(cost > 0) AS a FROM visits GROUP BY kind",
    "SELECT SUM(t) AS s FROM (SELECT person, SUM(days) AS t FROM stays GROUP BY person)",
    "SELECT COUNT(*) AS n FROM visits AS v JOIN stays AS s ON v.person = s.person",
    "SELECT topic, COUNT(*) AS n, SUM(pages) AS s FROM notes GROUP BY topic",
    "SELECT style, COUNT(*) AS n FROM lines GROUP BY style",
    "SELECT SUM(v.cost) AS s FROM notes AS n JOIN visits AS v ON n.visit = v.id",
    "SELECT COUNT(*) AS n FROM visits AS v LEFT JOIN notes AS n ON n.visit = v.id",
    "SELECT COUNT(*) AS n FROM lines AS l JOIN notes AS n ON l.note = n.id JOIN visits AS v ON visit = v.id",
]
PICKED = [
    "SELECT BOOL_OR(o) AS o, BOOL_AND(a) AS a FROM (SELECT person, BOOL_OR(cost > 0) AS o, "
    "BOOL_AND(cost > 0) AS a FROM visits GROUP BY person)",
    "SELECT kind, QUANTILE_CONT(cost, 0.75) AS q FROM visits GROUP BY kind",
    "SELECT kind, MAX(cost) AS x FROM visits GROUP BY kind",
    "SELECT ward, QUANTILE_CONT(days, 0.75) AS q FROM stays GROUP BY ward",
    "SELECT MODE(kind) AS k, QUANTILE_CONT(cost, 0.9) AS q FROM visits",
]

DECIMALS = [
    "SELECT SUM(cost * 1.005) AS s, COUNT(*) AS n FROM visits WHERE score * 0.1 < 0.05",
    "SELECT SUM(ROUND(cost * 0.25, 1)) AS s, AVG(CAST(ratio AS DECIMAL(3, 2))) AS a FROM (SELECT cost, "
    "LEAST(GREATEST(ratio, -1), 0.5) AS ratio FROM visits)",
    "SELECT cost * 0.1 AS k, COUNT(*) AS n, MEDIAN(score - 0.05) AS m FROM visits GROUP BY k",
    "SELECT SUM(t * 0.1) AS s FROM (SELECT person, SUM(cost * 0.01) AS t FROM visits GROUP BY person)",
    "SELECT SUM(cost % 0.7) AS s, SUM(LEAST(GREATEST(wide * 0.1, -3), 2.5)) AS w FROM visits",
]


@pytest.mark.parametrize("tail", [0, TAIL])
@pytest.mark.parametrize("text", PLAIN + PICKED + DECIMALS)
def test_nothing_more_is_moved_by_neighbours_as_far_apart_as_can_be(
    text: str, tail: float, worlds: list[World]
) -> None:
    for world in worlds[: len(extremes())]:
        found = world.plan(text, tail=tail)
        assert found is not None
        assert not list(Claims(found, world).broken())


# -- Twins that are wrong, and are found -------------------------------------------------------------------


def test_claims_of_half_the_size_are_found_wrong(worlds: list[World]) -> None:
    for text in PLAIN:
        plans = [(world.plan(text, tail=0), world) for world in worlds]
        assert any(list(Claims(halved(each), world).broken()) for each, world in plans if each), text


def test_bounding_that_keeps_one_row_more_is_found(worlds: list[World]) -> None:
    for text in PLAIN:
        found = [world for world in worlds if _twin_breaks(world, text, {"rows_per_person": 3})]
        assert found, text


def test_bounding_that_keeps_one_group_more_is_found(worlds: list[World]) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward"
    assert any(_twin_breaks(world, text, {"groups_per_person": 3}) for world in worlds)


def _twin_breaks(world: World, text: str, terms: dict[str, int]) -> bool:
    """Whether statements that keep more than the policy says break what is claimed for the policy.

    With a tail, where groups are bounded by windows.
    """
    here, there = world.plan(text, tail=TAIL), world.plan(text, tail=TAIL, terms=_wider(world.policy, terms))
    assert here is not None
    assert there is not None
    return bool(list(Claims(here, world, twin=there).broken()))


def _wider(policy: Policy, terms: dict[str, int]) -> Policy:
    wider = {
        name: table.model_copy(update={key: value for key, value in terms.items() if getattr(table, key)})
        for name, table in policy.tables.items()
        if table.has_person_key
    }
    return policy.model_copy(update={"tables": {**policy.tables, **wider}})
