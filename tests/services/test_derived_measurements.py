"""Groups that are made of cells have the numbers that are counted for them, whatever the tables hold."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.neighbor_relations import Relation
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.derived_measurements import CellMap, derive_groups, read_cell_map
from discreet.services.stored_measurements import StoredMeasurements
from discreet.sql.cell_maps import ADDITIVE, describe_keys, describe_wanted_cells, write_map_statement
from discreet.sql.core_planning import CorePlan
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.plan_execution import get_key_columns
from tests.sql.claims import TAIL, World, open_worlds

DRAWN_WORLDS = 6
NOISE = DiscreteLaplace(epsilon=Fraction(1), sensitivity=2, relation=Relation.VALUE)
PEOPLE = (
    "SELECT COUNT(*) AS n FROM people",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT flag, COUNT(*) AS n FROM people GROUP BY flag",
    "SELECT sex, flag, COUNT(*) AS n FROM people GROUP BY flag, sex",
    "SELECT age, COUNT(*) AS n FROM people GROUP BY age",
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY 1, 2",
    "SELECT FLOOR(age / 2) AS pair, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT age > 3 AS old, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT CASE WHEN age < 2 THEN 'low' WHEN age < 4 THEN 'middle' ELSE 'high' END AS band, COUNT(*) AS n "
    "FROM people GROUP BY 1",
    "SELECT dept, COUNT(*) AS n FROM people GROUP BY dept",
    "SELECT dept, sex, COUNT(*) AS n FROM people GROUP BY dept, sex",
    "SELECT CASE WHEN dept > 1 THEN 'many' ELSE 'few' END AS size, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT dept, COUNT(*) AS n FROM people WHERE dept <> 2 GROUP BY dept",
    "SELECT dept, COUNT(*) AS n FROM people WHERE dept IS NULL OR dept = 1 GROUP BY dept",
    "SELECT COUNT(*) AS n FROM people WHERE dept IN (0, 3)",
    "SELECT COUNT(*) AS n FROM people WHERE NOT dept = 3 OR sex = 'm'",
    "SELECT sex, COUNT(*) AS n FROM people WHERE sex IN ('m', 'f') GROUP BY sex",
    "SELECT sex, COUNT(*) AS n FROM people WHERE sex <> 'm' AND flag GROUP BY sex",
    "SELECT COUNT(*) AS n FROM people WHERE age > 3",
    "SELECT COUNT(*) AS n FROM people WHERE age <= 3",
    "SELECT COUNT(*) AS n FROM people WHERE age IS NULL",
    "SELECT COUNT(age) AS n FROM people WHERE age <> 1",
    "SELECT sex, SUM(CASE WHEN age > 3 THEN 1 ELSE 0 END) AS n FROM people GROUP BY sex",
    "SELECT flag, COUNT(CASE WHEN sex = 'm' THEN 1 END) AS n FROM people GROUP BY flag",
    "SELECT sex, COUNT(dept) AS n FROM people GROUP BY sex",
    "SELECT sex, COUNT(CASE WHEN flag THEN dept END) AS n FROM people GROUP BY sex",
    "SELECT sex, COUNT(*) AS n FROM people WHERE flag AND dept IS NOT NULL GROUP BY sex",
    "SELECT born, COUNT(*) AS n FROM people GROUP BY born",
    "SELECT date_trunc('month', born) AS month, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT EXTRACT(year FROM born) AS y, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT COUNT(*) AS n FROM people WHERE born >= DATE '2020-02-01'",
    "SELECT flag, COUNT(*) AS n FROM people WHERE born < DATE '2020-02-01' GROUP BY flag",
    "SELECT s, COUNT(*) AS n FROM (SELECT sex AS s, flag AS f FROM people) WHERE f = FALSE GROUP BY s",
)
MEASURES = (
    "SUM(income) AS n",
    "AVG(income) AS n",
    "VARIANCE(income) AS n",
    "COUNT(DISTINCT dept) AS n",
    "SUM(CASE WHEN flag THEN income ELSE 0 END) AS n",
)
VISITS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind",
    "SELECT kind, day, COUNT(*) AS n FROM visits GROUP BY kind, day",
    "SELECT day, COUNT(*) AS n FROM visits GROUP BY day",
    "SELECT day, COUNT(*) AS n FROM visits WHERE kind = 'z' GROUP BY day",
    "SELECT day, COUNT(*) FILTER (WHERE kind = 'z') AS n FROM visits GROUP BY day",
    "SELECT day, SUM(CASE WHEN kind <> 'z' THEN 1 ELSE 0 END) AS n FROM visits GROUP BY day",
    "SELECT kind, COUNT(*) AS n FROM visits WHERE kind IN ('z', 'a') GROUP BY kind",
    "SELECT day = DATE '2020-01-02' AS second, COUNT(*) AS n FROM visits GROUP BY 1",
    "SELECT day, COUNT(DISTINCT person) AS n FROM visits GROUP BY day",
    "SELECT COUNT(DISTINCT person) AS n FROM visits",
    "SELECT v.kind, COUNT(*) AS n FROM visits AS v JOIN stays AS s ON v.person = s.person GROUP BY v.kind",
    "SELECT COUNT(*) AS n FROM visits AS v JOIN stays AS s ON v.person = s.person WHERE v.kind = 'a'",
)
GROUPS = (
    PEOPLE
    + VISITS
    + tuple(
        f"SELECT {keys}{measure} FROM people{tail}"
        for measure in MEASURES
        for keys, tail in (
            ("", ""),
            ("sex, ", " GROUP BY sex"),
            ("sex, flag, ", " GROUP BY sex, flag"),
            ("flag, ", " WHERE sex = 'm' GROUP BY flag"),
            ("sex, ", " WHERE sex <> 'ß' GROUP BY sex"),
        )
    )
)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    with open_worlds(tmp_path_factory.mktemp("worlds"), DRAWN_WORLDS) as worlds:
        yield worlds


def plan_core(world: World, text: str) -> CorePlan:
    plan = world.plan(text, tail=0)
    assert plan is not None, text
    return plan.core


def count(core: CorePlan, counts: pa.Table) -> StoredMeasurements:
    """Return what a core counts as if it had been released, without noise."""
    keys = get_key_columns(core, counts)
    return StoredMeasurements(
        entry_id=1,
        entry=1,
        question="",
        keys={identity: keys[name] for name, identity in core.identity.key_identities.items()},
        primitives={
            name: ReleasedPrimitive(numbers=counts[name].to_numpy().astype(np.int64), noise=NOISE)
            for name in core.noisy_primitives
        },
        selected_values={},
        epsilons={},
        bought_pins={},
        cells=counts.num_rows,
    )


def find_maps(finer: CorePlan, coarser: CorePlan, world: World) -> Iterator[tuple[str, str, CellMap]]:
    """Yield how measurements of the coarser core are made of cells of the finer one, with their names."""
    for name, source in product(coarser.noisy_primitives, finer.noisy_primitives):
        wanted = describe_wanted_cells(coarser, name, world.policy)
        cells = finer.identity.identify_cells(finer.noisy_primitives[source].primitive.meaning)
        if wanted is None or cells is None or cells.family.text != wanted.identity.family.text:
            continue
        statement = write_map_statement(wanted, describe_keys(finer, world.policy), cells.conditions)
        cell_map = None if statement is None else read_cell_map(statement, list_map(statement.text))
        if cell_map is not None:
            yield name, source, cell_map


@cache
def list_map(statement: str) -> pa.Table:
    return query_released_tables(statement, {})


def derive(
    stored: StoredMeasurements, source: str, cell_map: CellMap, coarser: CorePlan, name: str
) -> dict[tuple[object, ...], int] | None:
    """Return the numbers of the coarser groups by key, as sums of cells; None if they are not derived."""
    is_additive = coarser.noisy_primitives[name].primitive.meaning.function in ADDITIVE
    groups = derive_groups(stored, source, cell_map, is_additive=is_additive)
    if groups is None:
        return None
    keys = [groups.part.keys[each].to_pylist() for each in coarser.identity.key_identities.values()]
    numbers = [int(each) for each in groups.get_released().numbers]
    rows = list(zip(*keys, strict=True)) if keys else [()]
    return dict(zip(rows, numbers, strict=True))


def read_counts(core: CorePlan, counts: pa.Table, name: str) -> dict[tuple[object, ...], int]:
    keys = [each.to_pylist() for each in get_key_columns(core, counts).values()]
    rows = list(zip(*keys, strict=True)) if keys else [()]
    return dict(zip(rows, counts[name].to_pylist(), strict=True))


def test_whatever_is_derived_is_what_is_counted(worlds: list[World]) -> None:
    plans: dict[Relation, dict[str, CorePlan]] = {}
    for world in worlds:
        if world.relation not in plans:
            plans[world.relation] = {text: plan_core(world, text) for text in GROUPS}
    first = plans[worlds[0].relation]
    maps = {
        (finer, coarser): [*find_maps(first[finer], first[coarser], worlds[0])]
        for finer, coarser in product(GROUPS, GROUPS)
    }
    derived: set[tuple[str, str]] = set()
    for world in worlds:
        cores = plans[world.relation]
        for engine in world.engines:
            counts = {text: engine.count(core.statement).secret for text, core in cores.items()}
            stored = {text: count(core, counts[text]) for text, core in cores.items()}
            for (finer, coarser), found in maps.items():
                for name, source, cell_map in found:
                    numbers = derive(stored[finer], source, cell_map, cores[coarser], name)
                    if numbers is not None:
                        derived.add((finer, coarser))
                        wanted = read_counts(cores[coarser], counts[coarser], name)
                        assert numbers == wanted, f"{coarser} from {finer}: {name} of {source}"
    assert len(derived - {(text, text) for text in GROUPS}) > 100


DERIVED = [
    (PEOPLE[3], PEOPLE[1]),  # over a key for which NULL is a group
    (PEOPLE[4], PEOPLE[8]),
    (PEOPLE[10], PEOPLE[12]),
    (PEOPLE[9], PEOPLE[14]),
    (PEOPLE[1], PEOPLE[16]),
    (PEOPLE[18], PEOPLE[18]),
    (PEOPLE[5], PEOPLE[22]),
    (PEOPLE[3], PEOPLE[23]),
    (PEOPLE[10], PEOPLE[24]),
    (PEOPLE[27], PEOPLE[28]),
    (PEOPLE[28], PEOPLE[30]),
    (VISITS[2], VISITS[5]),
    (PEOPLE[9], PEOPLE[13]),  # rows without a value are in no wanted group
    (PEOPLE[6], PEOPLE[7]),
]
NOT_DERIVED = [
    (PEOPLE[9], PEOPLE[0]),  # rows without a value are in no cell
    (PEOPLE[10], PEOPLE[1]),
    (PEOPLE[9], PEOPLE[11]),  # ELSE has rows without a value, too
    (PEOPLE[12], PEOPLE[9]),
    (PEOPLE[6], PEOPLE[4]),
    (PEOPLE[28], PEOPLE[27]),
    (VISITS[2], VISITS[4]),  # bounded after the filter
    (VISITS[2], VISITS[0]),
    (VISITS[9], VISITS[10]),  # people in several groups
    (VISITS[2], VISITS[9]),
    (VISITS[11], VISITS[1]),
]


@pytest.mark.parametrize(
    ("finer", "coarser", "is_derived"),
    [*((*pair, True) for pair in DERIVED), *((*pair, False) for pair in NOT_DERIVED)],
)
def test_what_is_made_of_cells_and_what_is_not(
    worlds: list[World], finer: str, coarser: str, is_derived: bool
) -> None:
    world = worlds[0]
    fine, wanted = plan_core(world, finer), plan_core(world, coarser)
    stored = count(fine, world.engines[0].count(fine.statement).secret)
    found = [
        derive(stored, source, cell_map, wanted, name)
        for name, source, cell_map in find_maps(fine, wanted, world)
    ]
    assert any(each is not None for each in found) is is_derived


def test_groups_per_person_bound_other_rows_for_other_keys(worlds: list[World]) -> None:
    """With a tail, a person's groups are bounded, and the groups of other keys are others."""
    world = worlds[0]
    visits = world.policy.tables["visits"]
    if visits.groups_per_person is None:
        bounded = visits.model_copy(update={"groups_per_person": 1})
        policy = world.policy.model_copy(update={"tables": {**world.policy.tables, "visits": bounded}})
    else:
        policy = world.policy
    plans = [world.plan(text, tail=TAIL, terms=policy) for text in (VISITS[2], VISITS[1], VISITS[3])]
    finer, *coarser = [plan.core for plan in plans if plan is not None]
    assert len(coarser) == 2
    for each in coarser:
        assert not [*find_maps(finer, each, world)]
