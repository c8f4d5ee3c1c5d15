"""Tables full of what engines disagree about: every value is stored alike, and nothing errs.

And neighbours: whoever leaves the data moves no count further than the plan says, on each engine.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.planner import plan_query
from tests.engines import hostile
from tests.engines.servers import Server, spark_by_night
from tests.engines.support import shows

SELECTED = ", ".join(f'"{name}"' for name in hostile.KINDS)


def stored(engine: Engine) -> dict[str, list[str]]:
    """What is stored of each column, row by row; -0.0 shows."""
    found = engine.count(f'SELECT {SELECTED} FROM "t" ORDER BY "place"').secret
    return {name: [repr(each.as_py()) for each in found[name]] for name in hostile.KINDS}


@shows("every kind of column, whatever it holds")
@spark_by_night
@settings(max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(table=hostile.tables())
def test_whatever_a_table_holds_is_stored_alike(
    table: pa.Table, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "t.parquet"
    pq.write_table(table, path)
    with (
        DuckDB.open(prepare_store(hostile.policy(str(path)), None)) as measure,
        server.open(hostile.policy(server.put({"t": table})["t"])) as engine,
    ):
        found, wanted = stored(engine), stored(measure)
    for name in hostile.KINDS:
        assert found[name] == wanted[name], name
    numbers = dict(zip(table["read_whole"].to_pylist(), wanted["read_whole"], strict=True))
    assert [numbers[each] for each in ("0x1", "1_000", "1d", " 7 ", "2.5")] == ["None"] * 3 + ["7", "3"]


VISITS: dict[str, Any] = {
    "person": "who",
    "rows_per_person": 2,
    "groups_per_person": 2,
    "columns": {
        "who": {"type": "integer", "role": "identifier"},
        "ward": {"type": "category", "values": ["a", "b", "c"]},
        "cost": {"type": "integer", "low": -3, "high": 9},
    },
}
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY ward",
    "SELECT COUNT(*) AS n, AVG(cost) AS m FROM t WHERE cost > 1",
    "SELECT COUNT(*) AS p, SUM(s) AS s FROM (SELECT who, SUM(cost) AS s FROM t GROUP BY who)",
]


@spark_by_night
def test_whoever_leaves_moves_no_count_further_than_the_plan_says(server: Server) -> None:
    people = [1] * 9 + [2] * 3 + [3] + [None, 4, 4]
    rows = pa.table(
        {
            "who": people,
            "ward": ["abc"[place % 3] for place in range(len(people))],
            "cost": [place * 7 % 15 - 4 for place in range(len(people))],
        }
    )
    promise = Promise(0.01, 0.05, secret=Relation.PRESENCE, tail=1e-6)
    everybody = _policy(server, rows)
    plans = [plan_query(each, everybody, promise, epsilon=1, leak=1e-7) for each in QUESTIONS]
    with server.open(everybody) as engine:
        before = [engine.count(each.statement).secret for each in plans]
    for person in (1, 2, 3):
        without = rows.filter(pa.array([who != person for who in people]))
        with server.open(_policy(server, without)) as engine:
            for made, whole in zip(plans, before, strict=True):
                part = engine.count(made.statement).secret
                for name, vector in made.noisy_primitives.items():
                    moved = zip(whole[name].to_pylist(), part[name].to_pylist(), strict=True)
                    assert sum(abs(a - b) for a, b in moved) <= vector.primitive.sensitivity.l1


def _policy(server: Server, rows: pa.Table) -> Policy:
    tables = {"t": {"source": server.put({"t": rows})["t"], **VISITS}}
    return Policy.model_validate({"tables": tables})
