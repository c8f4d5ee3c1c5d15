"""The questions whose errors are compared: their true answers on the sample, and ours, many times over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.peers import task
from discreet.core.engine import Closeable, Engine
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.engines.released_queries import query_released_tables
from discreet.services import sample
from discreet.services.policies import get_promise, load_policy
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import plan_query

TILES = 20_000
Floats = NDArray[np.float64]
BY = "FROM census GROUP BY workclass"
HOURS = "hours_per_week"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question of ours and the name under which peers answer it; `part` where it has several columns."""

    sql: str
    name: str
    secret: Relation = Relation.PRESENCE
    part: str = "x"
    shown: str = ""

    @property
    def grouped(self) -> bool:
        return "GROUP BY" in self.sql


THREE = f"SELECT workclass, COUNT({HOURS}) AS n, SUM({HOURS}) AS s, AVG({HOURS}) AS a {BY}"
QUESTIONS = (
    Asked(sql="SELECT COUNT(*) AS x FROM census", name="count"),
    Asked(sql=f"SELECT SUM({HOURS}) AS x FROM census", name="sum"),
    Asked(sql=f"SELECT AVG({HOURS}) AS x FROM census", name="avg"),
    Asked(sql="SELECT MEDIAN(age) AS x FROM census", name="median"),
    Asked(sql=f"SELECT workclass, COUNT(*) AS x {BY}", name="count by class"),
    Asked(sql=f"SELECT workclass, SUM({HOURS}) AS x {BY}", name="sum by class"),
    Asked(sql=f"SELECT workclass, AVG({HOURS}) AS x {BY}", name="avg by class"),
    Asked(sql=f"SELECT workclass, MEDIAN(age) AS x {BY}", name="median by class"),
    Asked(sql=THREE, name="three by class", part="n", shown="of COUNT, SUM, AVG by workclass: COUNT"),
    Asked(sql=THREE, name="three by class", part="s", shown="of COUNT, SUM, AVG by workclass: SUM"),
    Asked(sql=THREE, name="three by class", part="a", shown="of COUNT, SUM, AVG by workclass: AVG"),
    Asked(
        sql=f"SELECT COUNT(*) AS x FROM census WHERE {HOURS} > 40", name="count where", secret=Relation.VALUE
    ),
    Asked(sql=f"SELECT SUM({HOURS}) AS x FROM census", name="sum", secret=Relation.VALUE),
    Asked(sql=f"SELECT AVG({HOURS}) AS x FROM census", name="avg", secret=Relation.VALUE),
    Asked(sql="SELECT MEDIAN(age) AS x FROM census", name="median", secret=Relation.VALUE),
    Asked(sql=f"SELECT workclass, AVG({HOURS}) AS x {BY}", name="avg by class", secret=Relation.VALUE),
)


def truth(asked: Asked, census: Path) -> Floats:
    """The exact answer, place by place; of two middle rows MEDIAN takes the lower."""
    sql = asked.sql.replace("MEDIAN(age)", "quantile_disc(age, 0.5)")
    with duckdb.connect() as connection:
        found = connection.sql(sql.replace("census", f"read_parquet('{census}')", 1))
        return _ordered(found.to_arrow_table(), asked).reshape(-1)


def _ordered(table: pa.Table, asked: Asked) -> Floats:
    """Answers as rows, places (the classes in their order) as columns."""
    values = np.array([np.nan if x is None else x for x in table[asked.part].to_pylist()], dtype=np.float64)
    if not asked.grouped:
        return values[:, None]
    names = np.array(table["workclass"].to_pylist())
    return np.column_stack([values[names == name] for name in task.CLASSES])


@dataclass(frozen=True, kw_only=True)
class Tiled(Closeable):
    """An engine that counts once, and hands over every group as often as answers are wanted."""

    engine: Engine
    times: int

    def count(self, sql: str) -> Exact[pa.Table]:
        counted = self.engine.count(sql).secret
        return Exact(pa.concat_tables([counted] * self.times))

    def close(self) -> None:
        self.engine.close()


def ours(asked: Asked, folder: Path) -> Floats:
    """Our answers as rows, places as columns."""
    policy = _policy(folder, asked.secret)
    made, random = plan_query(asked.sql, policy, get_promise(policy), epsilon=task.EPSILON), Randomness()
    # values that are picked are counted by group, so those answers come one at a time
    tiles, calls = (1, task.REPEATS) if made.value_selections else (TILES, 1)
    with Tiled(engine=DuckDB.open(prepare_store(policy, None)), times=tiles) as engine:
        tables = [execute_plan(made, engine, random, query_released_tables).table for _ in range(calls)]
    return np.concatenate([_ordered(table, asked) for table in tables])


def _policy(folder: Path, secret: Relation) -> Policy:
    """The sample's policy under another secret; where that is a value, the number of rows is public."""
    read = load_policy(sample.write_policy(folder))
    assert read.promise is not None
    census = read.tables["census"]
    rows = sample.SAMPLES["census"][1]().num_rows if secret is Relation.VALUE else None
    return read.model_copy(
        update={
            "promise": read.promise.model_copy(update={"secret": secret}),
            "tables": {"census": census.model_copy(update={"rows": rows})},
        }
    )
