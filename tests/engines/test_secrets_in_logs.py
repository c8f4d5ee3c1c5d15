"""Servers that log all they can: neither the key that hides people nor the key of sessions is in a log."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from discreet.accounting.ledger_database import get_shared_store_key
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.postgres import PostgreSQL
from discreet.services.users import open_user_storage
from tests.engines.servers import PostgresServer, SparkServer

LOGGED = {
    "log_statement": "all",
    "log_min_duration_statement": "0",
    "log_parameter_max_length": "-1",
    "log_min_error_statement": "debug5",
    "log_connections": "on",
}
VISITS = pa.table({"who": ["ann", "ann", "bob", ":discreet_after"], "cost": [1, 2, 3, 4]})


def logging(address: str) -> str:
    """The same address, whose sessions are logged as much as PostgreSQL can."""
    place, _, query = address.partition("?")
    kept = query.removeprefix("options=") + "%20" if query else ""
    options = "%20".join(f"-c{name}%3D{value}" for name, value in LOGGED.items())
    return f"{place}?options={kept}{options}"


def log_of(server: PostgresServer) -> str:
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return (Path(row[0]).parent / "log").read_text(errors="replace")


def policy_over(source: str, store: str | None = None) -> Policy:
    columns = {
        "who": {"type": "text", "role": "identifier"},
        "cost": {"type": "integer", "low": 0, "high": 100},
    }
    visits = {"source": source, "person": "who", "rows_per_person": 2, "columns": columns}
    promise = {"prior": "1%", "posterior": "5%"}
    return Policy.model_validate({"promise": promise, "tables": {"visits": visits}, "store": store})


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", [False, True])
def test_no_half_of_the_key_is_in_the_log_of_postgresql(postgres: PostgresServer, store: bool) -> None:
    key = Randomness().source(32)
    source = postgres.put({"visits": VISITS})["visits"]
    policy = policy_over(source, source.partition(".")[0] if store else None)
    before = len(log_of(postgres))
    with PostgreSQL.open(policy, logging(postgres.url), key) as engine:
        assert engine.count("SELECT COUNT(*) AS n FROM visits").secret.to_pylist() == [{"n": 4}]
    logged = log_of(postgres)[before:]
    assert "discreet.before" in logged
    assert not any(half.hex() in logged.lower() for half in (key[:16], key[16:]))


@pytest.mark.xdist_group("postgres")
def test_that_check_would_notice_a_key_that_is_bound_to_a_statement(postgres: PostgresServer) -> None:
    drawn = Randomness().source(16).hex()
    with psycopg.connect(logging(postgres.url)) as connection:
        connection.execute("SELECT set_config('discreet.before', %s, false)", (drawn,))
    assert drawn in log_of(postgres)


@pytest.mark.xdist_group("postgres")
def test_the_key_of_sessions_is_drawn_by_the_server_and_in_no_log(postgres: PostgresServer) -> None:
    ledger = logging(postgres.schema())
    with open_user_storage(ledger) as users, open_user_storage(ledger) as others:
        secret = users.secret
        assert secret == others.secret
        assert len(set(secret)) > 20
    logged = log_of(postgres)
    assert "UPDATE secret SET value" in logged
    assert secret.hex() not in logged.lower()


@pytest.mark.xdist_group("postgres")
def test_the_key_of_shared_stores_is_drawn_by_the_ledgers_server_and_in_no_log(
    postgres: PostgresServer,
) -> None:
    ledger = logging(postgres.schema())
    key = get_shared_store_key(ledger)
    assert get_shared_store_key(ledger) == key
    assert len(set(key)) > 10
    logged = log_of(postgres)
    assert "INSERT INTO store_key" in logged
    assert key.hex() not in logged.lower()


@pytest.mark.xdist_group("spark")
def test_no_half_of_the_key_is_in_a_plan_of_spark(spark: SparkServer) -> None:
    from discreet.engines.spark import Spark

    key = Randomness().source(32)
    source = spark.put({"visits": VISITS})["visits"]
    with Spark.open(policy_over(source), "spark:local[2]", key) as engine:
        assert engine.count("SELECT COUNT(*) AS n FROM visits").secret.to_pylist() == [{"n": 4}]
        frame = engine._session.sql(engine._statements("SELECT COUNT(DISTINCT cost) AS n FROM visits").text)
        frame.collect()
        plans = frame._jdf.queryExecution().toString()
        views = [engine._session.table(f"`{name}`") for name in engine._tables.definitions]
        plans += "".join(view._jdf.queryExecution().toString() for view in views)
    assert "md5" in plans
    assert not any(half.hex() in plans.lower() for half in (key[:16], key[16:]))


WAREHOUSE = """
import os, stat
from discreet.engines import spark_session
one = spark_session._make_warehouse_folder()
assert one == spark_session._make_warehouse_folder()
print(one, oct(stat.S_IMODE(os.stat(one).st_mode)), os.stat(one).st_uid == os.getuid())
"""


def test_sparks_warehouse_is_private_unforeseeable_and_gone_with_the_process(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        said = subprocess.run(
            [sys.executable, "-c", WAREHOUSE],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        assert said[1:] == [oct(stat.S_IRWXU), "True"]
        seen.append(said[0])
    assert seen[0] != seen[1]
    assert list(tmp_path.iterdir()) == []


def test_sparks_warehouse_of_a_process_that_was_killed_is_removed_by_the_next_one(tmp_path: Path) -> None:
    killed = f"{WAREHOUSE}\nos.mkdir(one + '/rows')\nos.kill(os.getpid(), 9)"
    for script, code, left in ((killed, -9, 1), (WAREHOUSE, 0, 0)):
        ended = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
        )
        assert ended.returncode == code
        assert len(list(tmp_path.iterdir())) == left


SHUFFLED = """
import sys
from pathlib import Path
from discreet.engines import spark_session
session = spark_session.start_session("spark:local[1]")
session.range(1000).repartition(3, "id").groupBy("id").count().collect()
for place in Path(sys.argv[1]).rglob("shuffle_*.data"):
    print("found", place.relative_to(sys.argv[1]).parts[0])
"""


@pytest.mark.night
def test_nobody_else_can_read_the_rows_that_spark_moves_between_its_tasks(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", SHUFFLED, str(tmp_path)],
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={tmp_path}",
        },
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    places = {line.split()[1] for line in said if line.startswith("found")}
    assert places, "the rows are moved through files"
    assert all(place.startswith("discreet-warehouse-") for place in places)
