"""A slice of a finer measurement is what the question asks for: the same numbers, and claims that hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.belief import Promise
from discreet.core.neighbor_relations import Relation
from discreet.sql.core_planning import CorePlan
from discreet.sql.measurement_slices import FinerCore
from discreet.sql.planner import plan_finer_cores, plan_query
from tests.sql.claims import TAIL, Claims, World, open_worlds

DRAWN_WORLDS = 8
SLICED = [
    "SELECT flag, COUNT(*) AS n, SUM(income) AS s, AVG(income) FROM people WHERE sex = 'm' GROUP BY flag",
    "SELECT sex, COUNT(*) AS n FROM people WHERE flag GROUP BY sex",
    "SELECT sex, COUNT(age) AS n, AVG(age) AS a FROM people WHERE NOT flag AND age > 2 GROUP BY sex",
    "SELECT born, COUNT(*) AS n, VARIANCE(income) AS v FROM people WHERE 'ß' = sex AND flag GROUP BY born",
    "SELECT age, COUNT(DISTINCT dept) AS n FROM people WHERE sex IN ('f') GROUP BY age",
    "SELECT s, COUNT(*) AS n FROM (SELECT sex AS s, flag AS f FROM people) WHERE f = FALSE GROUP BY s",
    "SELECT v.day, COUNT(*) AS n, SUM(s.days) AS d FROM visits AS v JOIN stays AS s ON v.person = s.person "
    "WHERE v.kind = 'a' GROUP BY v.day",
    "SELECT dept, COUNT(*) AS n FROM (SELECT person, kind, dept, COUNT(*) AS m FROM visits "
    "GROUP BY person, kind, dept) WHERE kind = 'z' GROUP BY dept",
    "SELECT flag, COUNT(*) AS n FROM people WHERE sex <> 'm' GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE sex = 'm' OR age > 3 GROUP BY flag",
    "SELECT flag, COUNT(*) AS n, AVG(income) AS a FROM people WHERE sex IN ('m', 'f') GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE sex = NULL GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE age BETWEEN 2 AND 4 AND sex = 'f' GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE age > 2 AND age <= 4 AND NOT age = 3 GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE age > 99 GROUP BY flag",
    "SELECT sex, COUNT(*) AS n FROM people WHERE age IS NULL OR NOT flag GROUP BY sex",
]
WHOLE = [
    "SELECT day, COUNT(*) AS n FROM visits WHERE kind = 'z' GROUP BY day",  # bounded after the filter
    "SELECT sex, COUNT(*) AS n FROM people WHERE sex = 'm' GROUP BY sex",
    "SELECT age, COUNT(*) AS n FROM people WHERE age > 3 GROUP BY age",
    "SELECT flag, COUNT(*) AS n FROM people WHERE 1 < 2 GROUP BY flag",
    "SELECT flag, COUNT(*) AS n FROM people WHERE note = 'a' GROUP BY flag",
    "SELECT flag, MEDIAN(age) AS m FROM people WHERE sex = 'm' GROUP BY flag",
]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    with open_worlds(tmp_path_factory.mktemp("worlds"), DRAWN_WORLDS) as worlds:
        yield worlds


def read_cells(finer: FinerCore, core: CorePlan, table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows of a finer core that are the question's, with its keys and numbers."""
    names = {identity: name for name, identity in finer.core.identity.key_identities.items()}
    for identity, value in finer.pins.items():
        table = table.filter(pc.equal(table[names[identity]], value))
    keys = [names[identity] for identity in core.identity.key_identities.values()]
    return read_rows(table, [*keys, *core.noisy_primitives])


def read_rows(table: pa.Table, names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("tail", [0, TAIL])
@pytest.mark.parametrize("text", SLICED)
def test_the_cells_are_the_groups_of_the_question(worlds: list[World], text: str, tail: float) -> None:
    for world in worlds:
        plan = world.plan(text, tail=tail)
        assert plan is not None
        (finer,) = plan_finer_cores(plan, world.policy).finer_cores.values()
        own = [*plan.core.identity.key_identities, *plan.core.noisy_primitives]
        for engine in world.engines:
            asked = read_rows(engine.count(plan.statement).secret, own)
            assert read_cells(finer, plan.core, engine.count(finer.core.statement).secret) == asked


@pytest.mark.parametrize("tail", [0, TAIL])
@pytest.mark.parametrize("text", SLICED)
def test_no_neighbour_moves_a_finer_measurement_by_more_than_is_charged(
    worlds: list[World], text: str, tail: float
) -> None:
    for world in worlds:
        plan = world.plan(text, tail=tail)
        assert plan is not None
        finer = plan_finer_cores(plan, world.policy)
        assert not list(Claims(replace(plan, cores=finer.executed_cores), world).broken())
        (measured,) = finer.executed_cores
        for name, asked in plan.noisy_primitives.items():
            noise = measured.noisy_primitives[name].mechanism
            assert noise.guarantee == asked.mechanism.guarantee
            assert float(noise.variance) <= float(asked.mechanism.variance) * (1 + 1e-9)


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_no_slice_is_measured_as_it_is(worlds: list[World], text: str) -> None:
    plan = worlds[0].plan(text, tail=0)
    assert plan is not None
    assert not plan_finer_cores(plan, worlds[0].policy).finer_cores


@pytest.mark.parametrize("relation", Relation)
def test_a_single_count_is_bought_by_group_only_where_that_is_as_precise(
    worlds: list[World], relation: Relation
) -> None:
    plan = plan_query(
        "SELECT COUNT(*) AS n FROM people WHERE sex = 'm'",
        worlds[0].policy,
        Promise(0.01, 0.05, secret=relation),
        epsilon=1,
    )
    assert bool(plan_finer_cores(plan, worlds[0].policy).finer_cores) is (relation is Relation.PRESENCE)
