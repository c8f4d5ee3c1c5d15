"""No neighbour moves weighed totals by more than is claimed: people with up to thirty rows, whatever the
bound, the resolution, the filter and the measure; and where totals are so large that they are cut off.

Rows stand in the engine as a prepared store has them, so that a world is made in no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.belief import Promise
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.sql.expression_sql import MOST
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.row_weighting import PARTS, sum_weighted_rows
from tests.sql.claims import TAIL

Row = tuple[str | None, int | None, int | None, int]
BOUNDS = [(0, 1), (-3, 10), (5, 9), (-7, -2), (-(2**7), 2**7), (0, 2**8)]
DECIMALS = [("0", "1", "0.01"), ("-1", "2", "0.25"), ("35.5", "36.5", "0.5"), ("0", "25", "0.1")]
FORMS = [
    "SELECT {} FROM t {}",
    "SELECT ward, {} FROM t {} GROUP BY ward",
    "SELECT ward, CASE WHEN cost > 0 THEN 1 ELSE 0 END AS c, {} FROM t {} GROUP BY 1, 2",
    "SELECT ward, {} FROM (SELECT ward, amount, -cost AS cost FROM t {}) GROUP BY ward",
]
MEASURES = [
    "COUNT(*)",
    "COUNT(cost)",
    "SUM(cost), AVG(cost)",
    "SUM(amount), COUNT(*)",
    "AVG(amount) FILTER (WHERE ward = 'a' OR cost IS NULL)",
    "VARIANCE(cost), STDDEV_POP(amount)",
    "SUM(CASE WHEN ward = 'a' THEN cost ELSE 0 END)",
    "SUM(COALESCE(cost, 7)), COUNT(*) FILTER (WHERE amount > 0)",
]
FILTERS = [
    "",
    "WHERE cost >= 0",
    "WHERE amount < 1 OR ward IS NULL",
    "WHERE ward <> 'a'",
    "WHERE cost > cost",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as found:
        hidden = '"_discreet_person" HUGEINT, "_discreet_rank" INTEGER'
        found.execute("CREATE TYPE ward AS ENUM ('a', 'b', 'c')")
        found.execute(f"CREATE TABLE t (ward ward, cost BIGINT, amount BIGINT, {hidden})")
        yield found


def terms(random: Random) -> Policy:
    cost, amount = random.choice(BOUNDS), random.choice(DECIMALS)
    columns: dict[str, dict[str, Any]] = {
        "who": {"type": "integer", "role": "identifier"},
        "ward": {"type": "category", "values": ["a", "b", "c"]},
        "cost": {"type": "integer", "low": cost[0], "high": cost[1]},
        "amount": {"type": "decimal", "low": amount[0], "high": amount[1], "resolution": amount[2]},
    }
    for name in ("ward", "cost", "amount"):
        columns[name]["nulls"] = random.random() < 0.5
    most = random.choice([1, 2, 3, 12, 13, 17, 1000, 2**18])
    table = {"source": "t.parquet", "person": "who", "rows_per_person": most, "columns": columns}
    return Policy.model_validate({"tables": {"t": table}, "bounding": "weights"})


def rows(person: int, policy: Policy, random: Random) -> list[Row]:
    """Of a person: any, or all alike at one end of the bounds."""
    columns = policy.tables["t"].columns
    cost, amount = (columns[name].grid_bounds or (0, 0) for name in ("cost", "amount"))
    count, end = random.randint(0, 30), random.choice([0, 1, None])
    if end is not None:
        return [(random.choice("ab"), cost[end], amount[end], person)] * count
    return [
        (random.choice(["a", "b", "c", None]), _number(cost, random), _number(amount, random), person)
        for _ in range(count)
    ]


def _number(bounds: tuple[int, int], random: Random) -> int | None:
    return random.choice([*bounds, random.randint(*bounds), None])


def counted(found: QueryPlan, world: list[Row], engine: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    ward, cost, amount, who = ([row[place] for row in world] for place in range(4))
    table = pa.table(
        {
            "ward": pa.array(ward, pa.string()),
            "cost": pa.array(cost, pa.int64()),
            "amount": pa.array(amount, pa.int64()),
            "who": pa.array(who, pa.int64()),
        }
    )
    engine.execute("DELETE FROM t")
    engine.register("world", table)
    engine.execute("INSERT INTO t SELECT *, 1 FROM world")
    rows: list[dict[str, Any]] = engine.sql(found.statement).to_arrow_table().to_pylist()
    return rows


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), relation=st.sampled_from(Relation), tail=st.sampled_from([0, TAIL]))
def test_nobody_moves_weighed_totals_by_more_than_is_claimed(
    engine: duckdb.DuckDBPyConnection, seed: int, relation: Relation, tail: float
) -> None:
    random = Random(seed)
    policy, text = terms(random), random.choice(FORMS).format(random.choice(MEASURES), random.choice(FILTERS))
    found = plan_query(text, policy, Promise(0.01, 0.05, secret=relation, tail=tail), epsilon=1)
    assert found.bounding.rule == "by weight"
    others = [row for person in range(1, random.choice([1, 2, 5])) for row in rows(person, policy, random)]
    here = rows(0, policy, random)
    there = rows(0, policy, random) if relation is Relation.VALUE else []
    tables = [counted(found, [*mine, *others], engine) for mine in (here, there)]
    for name, vector in found.noisy_primitives.items():
        moved = [abs(one[name] - other[name]) for one, other in zip(*tables, strict=True)]
        assert sum(moved) <= vector.primitive.sensitivity.l1
        assert sum(each**2 for each in moved) <= vector.primitive.sensitivity.squared_l2


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_of_all_weights_are_cut_off_and_do_not_overflow(
    engine: duckdb.DuckDBPyConnection, sign: int
) -> None:
    counts = f'SELECT range + 1 AS "_discreet_weight", {sign * MOST} AS p0 FROM range({PARTS})'
    assert engine.sql(sum_weighted_rows(counts, [], ["p0"])).fetchall() == [(sign * MOST,)]


@settings(max_examples=60)
@given(
    sums=st.lists(st.integers(-MOST, MOST), min_size=1, max_size=4),
    moved=st.integers(0, 2**50),
    weight=st.integers(1, PARTS),
)
def test_cutting_moves_totals_no_further_apart(
    engine: duckdb.DuckDBPyConnection, sums: list[int], moved: int, weight: int
) -> None:
    """A person's rows are all of one weight."""
    before, after = (
        engine.sql(sum_weighted_rows(_sums([first, *sums[1:]], weight), [], ["p0"])).fetchall()[0][0]
        for first in (sums[0], min(MOST, sums[0] + moved))
    )
    assert 0 <= after - before <= weight * moved


def _sums(sums: list[int], weight: int) -> str:
    rows = ", ".join(f"({weight if place == 0 else place}, {each})" for place, each in enumerate(sums))
    return f'SELECT * FROM (VALUES {rows}) AS v("_discreet_weight", p0)'
