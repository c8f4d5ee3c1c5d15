"""Objects of a DuckDB file or a Spark catalogue that are named like what we call are not called."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.prepared_store import prepare_store
from tests.engines.servers import ADDRESS, KEY, SparkServer

ROWS = [("ann", 20), ("ann", 30), ("bob", 40)]
SQL = 'SELECT count(*) AS n, sum("age") AS s FROM "visits" WHERE "_discreet_rank" <= 2'
MACROS = {
    "abs": "x",
    "create_sort_key": "a, b",
    "getvariable": "x",
    "greatest": "a, b",
    "hash": "x",
    "isnan": "x",
    "least": "a, b",
    "lower": "x",
    "md5_number": "x",
    "nullif": "a, b",
    "sum": "x",
}
FUNCTIONS = ("abs", "coalesce", "greatest", "least", "length", "lower", "md5", "xxhash64", "sum")


def policy_of(source: str) -> Policy:
    columns = {
        "who": {"type": "text", "role": "identifier"},
        "age": {"type": "integer", "low": 0, "high": 99},
    }
    table = {"source": source, "person": "who", "rows_per_person": 2, "columns": columns}
    return Policy.model_validate({"tables": {"visits": table}})


def counted(engine: Engine) -> tuple[int, int]:
    (row,) = engine.count(SQL).secret.to_pylist()
    return int(row["n"]), int(row["s"])


def test_macros_of_a_duckdb_file_are_not_ours(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as connection:
        connection.execute("CREATE TABLE visits (who VARCHAR, age INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
        for name, arguments in MACROS.items():
            connection.execute(f"CREATE MACRO {name}({arguments}) AS 77")
    with DuckDB.open(prepare_store(policy_of(f"{file}#visits"), tmp_path / "store")) as engine:
        assert counted(engine) == (3, 90)


def test_a_view_of_a_duckdb_file_reads_its_own_tables_whatever_ours_are_called(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(file))) as connection:
        connection.execute("CREATE TABLE visits (who VARCHAR, age INTEGER)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
        connection.execute("CREATE VIEW seen AS SELECT * FROM visits")
    policy = policy_of(f"{file}#seen")
    with DuckDB.open(prepare_store(policy, None)) as engine:
        assert counted(engine) == (3, 90)
    with DuckDBPublisher(dict(policy.tables)) as publisher:
        found = publisher.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist()
    assert found == [{"n": 3}]


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_functions_and_views_of_a_spark_catalogue_are_not_ours(spark: SparkServer) -> None:
    from pyspark.sql import SparkSession

    from discreet.engines.spark import Spark

    session = SparkSession.active()
    values = ", ".join(f"('{who}', {age})" for who, age in ROWS)
    session.sql("CREATE TABLE shadowed (who STRING, age INT) USING parquet")
    try:
        session.sql(f"INSERT INTO shadowed VALUES {values}")
        for name in FUNCTIONS:
            session.sql(f"CREATE OR REPLACE FUNCTION default.{name}(x STRING) RETURNS STRING RETURN '77'")
        session.sql("CREATE OR REPLACE TEMP VIEW shadowed AS SELECT 'eve' AS who, 1 AS age")
        session.sql("CREATE OR REPLACE GLOBAL TEMP VIEW shadowed AS SELECT 'eve' AS who, 1 AS age")
        with Spark.open(policy_of("shadowed"), ADDRESS, KEY) as engine:
            assert counted(engine) == (3, 90)
    finally:
        session.sql("DROP VIEW shadowed")
        session.sql("DROP VIEW global_temp.shadowed")
        session.sql("DROP TABLE shadowed")
        for name in FUNCTIONS:
            session.sql(f"DROP FUNCTION IF EXISTS default.{name}")


@pytest.mark.xdist_group("spark")
def test_no_text_of_a_question_is_replaced_by_a_variable_of_spark(spark: SparkServer) -> None:
    """Spark replaces ${env:PATH} and ${spark.app.id} before it parses a statement, unless told not to."""
    texts = ["${system:user.dir}", "${spark.app.id}", "${env:PATH}", str(Path.cwd())]
    rows = pa.table({"who": texts * 2, "age": [1] * 8})
    policy = policy_of(spark.put({"visits": rows})["visits"])
    columns = {**policy.tables["visits"].model_dump()["columns"], "who": {"type": "text"}}
    table = {"source": policy.tables["visits"].source, "columns": columns}
    with spark.open(Policy.model_validate({"tables": {"visits": table}})) as engine:
        for text in texts:
            (row,) = engine.count(
                f'SELECT count(*) AS n FROM "visits" WHERE "who" = \'{text}\''
            ).secret.to_pylist()
            assert row["n"] == 2, text
