"""Limits of every engine: a statement that takes too long is a fault that tells nothing, and stays charged.

The limits are short, and what is asked takes an hour: nothing here depends on how fast a machine is.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.entries import EntryState
from discreet.core.engine import Engine
from discreet.core.engine_faults import FAULT_MESSAGE
from discreet.core.errors import EngineFault, RequestError
from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import Spark
from discreet.engines.spark_session import SETTINGS
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger as opened_ledger
from discreet.services.policies import resolve_analyst
from tests.engines.servers import ADDRESS, KEY, PostgresServer, SparkServer

SHORT = 0.3
ROWS = pa.table({"ward": ["a", "b"], "cost": [1, 2]})
COLUMNS: dict[str, Any] = {
    "ward": {"type": "category", "values": ["a", "b"]},
    "cost": {"type": "integer", "low": 0, "high": 9},
}
ASKED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
COUNTED = 'SELECT count(*) AS n FROM "visits"'


def policy_over(source: str) -> Policy:
    return Policy.model_validate(
        {
            "promise": {"prior": "1%", "posterior": "5%"},
            "ledger": ":memory:",
            "tables": {"visits": {"source": source, "columns": COLUMNS}},
        }
    )


def require_fault(engine: Engine, statement: str = COUNTED) -> None:
    with pytest.raises(EngineFault) as caught:
        engine.count(statement)
    assert caught.value.message == FAULT_MESSAGE
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_duckdb_stops_what_takes_too_long_and_counts_on(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "visits.parquet")
    with DuckDB({"visits": tmp_path / "visits.parquet"}, seconds=SHORT) as engine:
        require_fault(engine, "SELECT sum(a.range * b.range) AS n FROM range(10000000) a, range(10000000) b")
        assert engine.count(COUNTED).secret.to_pylist() == [{"n": 2}]


def test_duckdb_has_a_limit_of_memory(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "visits.parquet")
    with DuckDB({"visits": tmp_path / "visits.parquet"}) as engine:
        limit = engine.count("SELECT current_setting('memory_limit') AS most").secret.to_pylist()
    assert limit == [{"most": "1.0 GiB"}]


@pytest.fixture
def slow_view(postgres: PostgresServer) -> str:
    """A view of the custodian's that takes an hour a row."""
    place = postgres.put({"visits": ROWS})["visits"]
    view = place.replace("visits", "slow")
    postgres.run(f"CREATE VIEW {view} AS SELECT * FROM {place} WHERE pg_sleep(3600)::text = ''")
    return view


@pytest.mark.xdist_group("postgres")
def test_postgresql_stops_what_takes_too_long_and_counts_on(postgres: PostgresServer, slow_view: str) -> None:
    with PostgreSQL.open(policy_over(slow_view), postgres.url, KEY, seconds=SHORT) as engine:
        require_fault(engine)
        require_fault(engine)  # the connection is not left in a transaction that failed


@pytest.mark.xdist_group("postgres")
def test_a_statement_that_waits_for_a_lock_is_stopped_and_stays_charged(postgres: PostgresServer) -> None:
    from adbc_driver_postgresql import dbapi

    place = postgres.put({"visits": ROWS})["visits"]
    policy = policy_over(place)
    engine, who = PostgreSQL.open(policy, postgres.url, KEY, seconds=SHORT), resolve_analyst(policy, None)
    with (
        Curator.from_parts(policy, ledger=opened_ledger(policy), engine=engine, analyst=who) as curator,
        dbapi.connect(postgres.url) as other,
        other.cursor() as cursor,
    ):
        cursor.execute(f"LOCK TABLE {place} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(EngineFault, match=FAULT_MESSAGE):
            curator.ask(ASKED, epsilon=Fraction("0.1"))
        other.rollback()
        assert [entry.state for entry in curator.ledger.list_entries()] == [EntryState.FAULTED]
        assert curator.ledger.get_account(who).spent == PureDP(epsilon=Fraction("0.1"))
        with pytest.raises(RequestError, match="suspended"):
            curator.ask(ASKED, epsilon=Fraction("0.1"))


@pytest.mark.xdist_group("postgres")
def test_postgresql_has_a_limit_of_memory_for_each_step(postgres: PostgresServer) -> None:
    from discreet.engines.postgres_connection import fetch_table

    place = postgres.put({"visits": ROWS})["visits"]
    settings = "SELECT current_setting('work_mem') AS memory, current_setting('statement_timeout') AS time"
    with PostgreSQL.open(policy_over(place), postgres.url, KEY) as engine:
        found = fetch_table(engine._connection, settings).to_pylist()
    assert found == [{"memory": "256MB", "time": "10min"}]


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_spark_stops_what_takes_too_long_and_counts_on(spark: SparkServer) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    place = spark.put({"visits": ROWS})["visits"]
    sleeping = "reflect('java.lang.Thread', 'sleep', cost * 3600000L) = 'x'"
    session.sql(
        f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW slow AS SELECT * FROM parquet.`{place}` WHERE {sleeping}"
    )
    with Spark.open(policy_over("global_temp.slow"), ADDRESS, KEY, seconds=SHORT) as engine:
        require_fault(engine)
    with Spark.open(policy_over(place), ADDRESS, KEY) as engine:
        assert engine.count(COUNTED).secret.to_pylist() == [{"n": 2}]


def test_spark_forgets_how_earlier_statements_were_parsed(
    spark: SparkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parser remembers every way through its grammar, until its memory is full."""
    monkeypatch.setitem(SETTINGS, "spark.sql.parser.parserDfaCacheFlushRatio", "1")
    source = spark.put({"visits": ROWS})["visits"]
    remembered = []
    with Spark.open(policy_over(source), ADDRESS, KEY) as engine:
        machine = engine._session._jvm
        parser = machine.org.apache.spark.sql.catalyst.parser.AbstractParser
        for depth in range(1, 40):
            value = "cost"
            for place in range(depth):
                forms = f"abs({value})", f"({value} + {place})", f"CASE WHEN {value} > {place} THEN 1 END"
                value = forms[place % 3]
            engine._session.sql(f"SELECT {value} AS v FROM `_discreet_table visits`")
            remembered.append(parser.getDFACacheNumStates())
        most = machine.Runtime.getRuntime().maxMemory() / 100 / parser.BYTES_PER_DFA_STATE()
    assert 0 < max(remembered) <= most  # 0 where Spark lets the parser remember what it likes
