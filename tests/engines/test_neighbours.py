"""Random neighbours, random questions: no engine is moved further than the plan claims, and all count alike.

The worlds and questions are those of tests/sql: every kind of expression, join, bound and choice of groups,
over small tables full of what a policy does not declare. Here each engine counts both neighbours, under one
key as two states of one store would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import RequestError
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import ContributionBounding, Policy
from discreet.sql.planner import QueryPlan, plan_query
from tests.engines.servers import PostgresServer, Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address, store
from tests.sql import claims
from tests.sql.claims import TAIL, Claims, World
from tests.sql.example import PROMISE
from tests.sql.questions import question
from tests.sql.tables import COLUMNS, Tables, extremes, neighbours, policy
from tests.sql.test_agreement import clean
from tests.sql.test_sensitivity import PICKED, PLAIN
from tests.sql.test_weighing import LINEAR

BY_DAY, AT_NIGHT = 8, 20
OUTSIDE = ("remainder of numbers", "nesting")
"""What an engine refuses by name."""


def tables(state: Tables, terms: Policy) -> dict[str, pa.Table]:
    return {
        name: pa.table(
            {
                column: pa.array([row.get(column) for row in state.rows(name)], pa.string())
                for column in terms.tables[name].columns
            }
        )
        for name in COLUMNS
    }


def over(sources: dict[str, str], terms: Policy) -> Policy:
    """The same policy over other sources."""
    placed = {
        name: table.model_copy(update={"source": sources[name]}) for name, table in terms.tables.items()
    }
    return terms.model_copy(update={"tables": placed})


@contextmanager
def opened(state: Tables, server: Server, terms: Policy) -> Iterator[Engine]:
    with server.open(over(server.put(tables(state, terms)), terms)) as engine:
        yield engine


@contextmanager
def world(
    states: tuple[Tables, Tables],
    relation: Relation,
    server: Server,
    bounding: ContributionBounding | None = None,
) -> Iterator[World]:
    """Asked in place, as whoever names the engine without a store asks it."""
    terms = policy("nowhere").model_copy(update={"engine": address(server), "bounding": bounding})
    with opened(states[0], server, terms) as here, opened(states[1], server, terms) as there:
        yield World(relation, terms, (here, there), states)


def is_written(plan: QueryPlan, engine: Engine) -> bool:
    """Whether the engine takes it; what it does not, it refuses by name."""
    assert isinstance(engine, ValidatesStatements)
    refused = ""
    try:
        for statement in (plan.statement, *(each.statement for each in plan.value_selections.values())):
            engine.validate(statement)
    except RequestError as refusal:
        refused = str(refusal)
    assert not refused or any(word in refused for word in OUTSIDE), refused
    return not refused


def assert_claims_hold(found: World, seed: int, count: int) -> int:
    """How many of some random questions were answered."""
    random, answered = Random(seed), 0
    for _ in range(count):
        text, tail = question(random.choice), random.choice((0, 0, TAIL))
        plan = found.plan(text, tail=tail)
        if plan is not None and is_written(plan, found.engines[0]):
            answered += 1
            broken = list(Claims(plan, found).broken())
            assert not broken, (text, broken, found.states)
    return answered


def assert_world_holds(seed: int, server: Server, count: int) -> int:
    """Of every four worlds rows weigh in three, where they may, and are kept in one."""
    relation = (Relation.VALUE, Relation.PRESENCE)[seed % 2]
    bounding = ContributionBounding.ROWS if seed % 4 == 3 else None
    with world(neighbours(Random(seed).choice, relation), relation, server, bounding) as found:
        return assert_claims_hold(found, seed, count)


@pytest.mark.xdist_group("postgres")
def test_no_neighbour_moves_a_question_by_more_than_its_plan_claims(postgres: PostgresServer) -> None:
    """Spark takes long to read so many columns of text, so it is left to the night."""
    assert assert_world_holds(0, postgres, BY_DAY) > 0


@shows("neighbours stay within the sensitivity, in random questions")
@pytest.mark.night
@pytest.mark.parametrize("seed", range(1000, 1000 + AT_NIGHT))
def test_no_neighbour_moves_any_of_many_questions(seed: int, server: Server) -> None:
    assert_world_holds(seed, server, 30)


@shows("neighbours as far apart as can be stay within it too")
@pytest.mark.night
@pytest.mark.parametrize("bounding", ContributionBounding)
def test_nothing_more_is_moved_by_neighbours_as_far_apart_as_can_be(
    server: Server, bounding: ContributionBounding
) -> None:
    for relation, states in extremes():
        with world(states, relation, server, bounding) as found:
            for text in PLAIN + PICKED:
                for tail in (0, TAIL):
                    plan = found.plan(text, tail=tail)
                    assert plan is not None
                    assert not list(Claims(plan, found).broken()), text


# -- All count alike ----------------------------------------------------------------------------------------


def sorted_rows(engine: Engine, statement: str) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in engine.count(statement).secret.to_pylist())


def assert_alike(seed: int, server: Server, folder: Path, count: int) -> int:
    """Where nobody has more rows than are kept, so that which are kept is no question."""
    random, answered = Random(seed), 0
    state, terms = clean(random), policy(str(folder))
    with claims.engine(state, folder, terms) as measure, opened(state, server, terms) as engine:
        asked = World(Relation.VALUE, terms, (measure, measure), (state, state))
        for _ in range(count):
            text = question(random.choice)
            plan = asked.plan(text, tail=random.choice((0, TAIL)))
            if plan is not None and is_written(plan, engine):
                answered += 1
                for each in (
                    plan.statement,
                    *(counted.statement for counted in plan.value_selections.values()),
                ):
                    assert sorted_rows(engine, each) == sorted_rows(measure, each), text
    return answered


@shows("rows that weigh, whatever they hold, the same everywhere")
@spark_by_night
@pytest.mark.parametrize("prepared", [False, True], ids=["in place", "prepared"])
def test_rows_weigh_the_same_everywhere(server: Server, tmp_path: Path, prepared: bool) -> None:
    """All of them count, so that of people with any number of rows engines count the same."""
    random = Random(5)
    state, _ = neighbours(random.choice, Relation.VALUE)
    terms = policy(str(tmp_path)).model_copy(update={"bounding": ContributionBounding.WEIGHTS})
    there = terms.model_copy(update={"engine": address(server)})
    if prepared:
        there = there.model_copy(update={"store": store(server, tmp_path, "weighed")})
    with claims.engine(state, tmp_path, terms) as measure, opened(state, server, there) as engine:
        for text in LINEAR:
            plans = [plan_query(text, each, PROMISE, epsilon=1) for each in (terms, there)]
            assert {each.bounding.rule for each in plans} == {"by weight"}
            wanted = sorted_rows(measure, plans[0].statement)
            assert sorted_rows(engine, plans[1].statement) == wanted, text


@pytest.mark.xdist_group("postgres")
def test_random_questions_are_counted_alike(postgres: PostgresServer, tmp_path: Path) -> None:
    assert assert_alike(1, postgres, tmp_path, 2 * BY_DAY) > 0


@shows("the same counts in random questions, joins and totals of people")
@pytest.mark.night
@pytest.mark.parametrize("seed", range(AT_NIGHT))
def test_many_random_questions_are_counted_alike(seed: int, server: Server, tmp_path: Path) -> None:
    assert_alike(100 + seed, server, tmp_path, 40)
