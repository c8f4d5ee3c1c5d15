"""Asking where the rows are elsewhere: by row and by person, prepared or not, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from discreet.core.engine import Engine
from discreet.core.errors import EngineFault, RequestError
from discreet.core.policy import Policy
from discreet.engines.dialects.postgres_dialect import PostgresDialect
from discreet.engines.dialects.spark_dialect import SparkDialect
from discreet.engines.dialects.statement_verification import verify_statement
from discreet.engines.dialects.statement_writer import TranslatedStatement
from discreet.engines.postgres import PostgreSQL
from discreet.engines.spark import WHOLE, Spark
from discreet.services.curator import Curator
from discreet.sql.planner import plan_query
from tests.engines.servers import ADDRESS, KEY, PostgresServer, Server, SparkServer, spark_by_night
from tests.engines.support import shows
from tests.services.test_promise import discreet
from tests.sql.example import PROMISE
from tests.threads import run_at_once

VISITS: dict[str, Any] = {
    "person": "who",
    "rows_per_person": 2,
    "columns": {
        "who": {"type": "text", "role": "identifier"},
        "ward": {"type": "category", "values": ["a", "b"]},
        "cost": {"type": "integer", "low": 0, "high": 9},
    },
}
ROWS = pa.table(
    {
        "who": ["ann", "ann", "ann", "bob", "", None, "cid"],
        "ward": ["a", "a", "a", "b", "a", "b", "nowhere"],
        "cost": [1, 2, 3, 40, 5, 6, -7],
    }
)
COUNTED = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward ORDER BY ward"


def address(server: Server) -> str:
    return server.url if isinstance(server, PostgresServer) else ADDRESS


def store(server: Server, tmp_path: Path, name: str) -> str:
    """Somewhere that prepared tables may be written to."""
    if isinstance(server, PostgresServer):
        server.run(f"CREATE SCHEMA {name}")
        return name
    return str(tmp_path / name)


def written(folder: Path, server: Server, **more: Any) -> Path:
    """A policy file over the rows, which are put to the engine."""
    tables = {"visits": {"source": server.put({"visits": ROWS})["visits"], **VISITS}}
    policy = {
        "promise": {"prior": "1%", "posterior": "99.999999%"},
        "engine": address(server),
        "tables": tables,
        **more,
    }
    path = folder / "privacy.yaml"
    path.write_text(yaml.safe_dump(policy))
    return path


def opened(server: Server, **more: Any) -> Engine:
    tables = {"visits": {"source": server.put({"visits": ROWS})["visits"], **VISITS}}
    return server.open(Policy.model_validate({"tables": tables, **more}))


@shows("`ask` end to end")
def test_ask_answers_what_is_there_within_each_persons_bound(server: Server, tmp_path: Path) -> None:
    with Curator.open(written(tmp_path, server)) as curator:
        found = curator.ask(COUNTED, epsilon=20).table.to_pylist()
    first, second = found
    assert (first["ward"], second["ward"]) == ("a", "b")
    assert abs(first["n"] - 2) <= 3
    assert abs(second["n"] - 1) <= 3


@spark_by_night
@pytest.mark.parametrize("person", ["who", "row"])
def test_a_table_may_have_a_name_that_is_longer_than_the_engine_takes(server: Server, person: str) -> None:
    name = "visits_of_everybody_who_came_to_any_of_the_wards_of_the_clinic_in_a_year"
    table = {"source": server.put({"visits": ROWS})["visits"], **VISITS, "person": person}
    if person == "row":
        del table["rows_per_person"]
    policy = Policy.model_validate({"tables": {name: table}, "engine": address(server)})
    found = plan_query(f"SELECT ward, SUM(cost) AS s FROM {name} GROUP BY ward", policy, PROMISE, epsilon=1)
    with server.open(policy) as engine:
        assert engine.count(found.statement).secret.num_rows == 2


def test_the_command_line_takes_the_address(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(written(tmp_path, server, engine="duckdb"))
    question = ("ask", "SELECT COUNT(*) AS n FROM visits", "--policy", policy, "--epsilon", "10", "--json")
    # what is far from the policy is refused until it is accepted
    assert discreet(*question, "--engine", address(server)) == 2
    accept = ("check", "--policy", policy, "--accept", "--despite", "--engine", address(server))
    assert discreet(*accept) == 0
    capsys.readouterr()
    assert discreet(*question, "--engine", address(server)) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["n"]


def test_a_duckdb_file_may_be_the_address(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.register("arriving", ROWS)
        connection.execute("CREATE TABLE visits AS FROM arriving")
    policy = {
        "promise": {"prior": "1%", "posterior": "99%"},
        "engine": "duckdb:///shop.duckdb",
        "tables": {"visits": {"source": "visits", **VISITS}},
    }
    (tmp_path / "privacy.yaml").write_text(yaml.safe_dump(policy))
    with Curator.open(tmp_path / "privacy.yaml") as curator:
        assert curator.ask(COUNTED, epsilon=1).table.num_rows == 2


@shows("bounding people, without a store and with one")
@pytest.mark.parametrize("prepared", [False, True], ids=["in place", "prepared"])
def test_a_person_keeps_as_many_rows_as_the_policy_says(
    server: Server, tmp_path: Path, prepared: bool
) -> None:
    more = {"store": store(server, tmp_path, "kept")} if prepared else {}
    with opened(server, **more) as engine:
        ranked = 'SELECT count(*) AS n, count(DISTINCT "_discreet_person") AS people FROM "visits"'
        everyone = engine.count(ranked).secret.to_pylist()
        bounded = engine.count(f'{ranked} WHERE "_discreet_rank" <= 2').secret.to_pylist()
    assert everyone == [{"n": 5, "people": 3}]
    assert bounded == [{"n": 4, "people": 3}]


@spark_by_night
def test_which_rows_are_kept_in_place_depends_neither_on_their_order_nor_on_other_people(
    server: Server,
) -> None:
    rows = [("ann", "a", cost) for cost in range(10)]
    worlds = (rows, rows[::-1], [("bob", "b", cost) for cost in range(9)] + rows[5:] + rows[:5])
    found = []
    for world in worlds:
        table = pa.table(dict(zip(ROWS.column_names, zip(*world, strict=True), strict=True)))
        tables = {"visits": {"source": server.put({"visits": table})["visits"], **VISITS}}
        policy = Policy.model_validate({"tables": tables, "engine": address(server), "bounding": "rows"})
        asked = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE cost < 9 GROUP BY ward"
        statement = plan_query(asked, policy, PROMISE, epsilon=1).statement
        with server.open(policy) as engine:
            found.append(engine.count(statement).secret.to_pylist()[0])
    assert found[0]["p0"] == 2
    assert found[0] == found[1] == found[2]


def test_prepared_tables_are_written_once_for_a_version_of_the_data(postgres: PostgresServer) -> None:
    postgres.run("CREATE SCHEMA once")
    tables = {"visits": {"source": postgres.put({"visits": ROWS})["visits"], **VISITS}}
    found = []
    for version in ("1", "1", "2"):
        policy = Policy.model_validate({"tables": tables, "store": "once", "data_version": version})
        with postgres.open(policy):
            found.append(names(postgres))
    assert found[0] == found[1]
    assert len(found[2]) == 1
    assert found[2] != found[0]


def test_a_store_that_is_not_there_or_not_ours_to_write_is_one_sentence(postgres: PostgresServer) -> None:
    source = postgres.put({"visits": ROWS})["visits"]
    schema = source.partition(".")[0]
    postgres.run(
        "CREATE SCHEMA closed",
        "CREATE SCHEMA shown",
        "CREATE ROLE clerk LOGIN",
        f"GRANT USAGE ON SCHEMA shown, {schema} TO clerk",
        f"GRANT SELECT ON {source} TO clerk",
    )
    clerk = postgres.url.replace("discreet@", "clerk@")
    told = {"absent": "is not a schema of", "closed": "may not be", "shown": "may not be written"}
    try:
        for name, words in told.items():
            policy = Policy.model_validate(
                {"tables": {"visits": {"source": source, **VISITS}}, "store": name}
            )
            with pytest.raises(RequestError, match=f"{name}, which the policy names as its store, {words}"):
                PostgreSQL.open(policy, clerk, KEY)
    finally:
        postgres.run("DROP OWNED BY clerk", "DROP ROLE clerk")


def test_who_may_only_read_a_store_asks_what_others_prepared_there(postgres: PostgresServer) -> None:
    postgres.run("CREATE SCHEMA lent", "CREATE ROLE clerk LOGIN", "GRANT USAGE ON SCHEMA lent TO clerk")
    source = postgres.put({"visits": ROWS})["visits"]
    policy = Policy.model_validate({"tables": {"visits": {"source": source, **VISITS}}, "store": "lent"})
    clerk = postgres.url.replace("discreet@", "clerk@")
    try:
        with postgres.open(policy):
            postgres.run(
                "GRANT SELECT ON ALL TABLES IN SCHEMA lent TO clerk",
                f"GRANT USAGE ON SCHEMA {source.partition('.')[0]} TO clerk",
            )
        with PostgreSQL.open(policy, clerk, KEY) as engine:
            assert engine.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist() == [{"n": 5}]
    finally:
        postgres.run("DROP OWNED BY clerk", "DROP ROLE clerk")


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_what_a_killed_run_left_of_a_store_is_not_taken_for_whole(spark: SparkServer, tmp_path: Path) -> None:
    rows = pa.concat_tables([ROWS.slice(0, 3)] * 40)
    tables = {"visits": {"source": spark.put({"visits": rows})["visits"], "columns": VISITS["columns"]}}
    policy = Policy.model_validate({"tables": tables, "store": str(tmp_path / "store")})
    counted = 'SELECT count(*) AS n FROM "visits"'
    with spark.open(policy) as engine:
        assert engine.count(counted).secret.to_pylist() == [{"n": 120}]
    (place,) = [each for each in (tmp_path / "store").iterdir() if WHOLE not in each.name]
    (mark,) = [each for each in (tmp_path / "store").iterdir() if WHOLE in each.name]
    # as it is between the first file that is moved and the last: some of the rows, and nothing that says so
    pq.write_table(pq.read_table(place).slice(0, 50), place / "part-0.parquet")
    for each in place.glob("part-0*-*"):
        each.unlink()
    shutil.rmtree(mark)
    with spark.open(policy) as engine:
        assert engine.count(counted).secret.to_pylist() == [{"n": 120}]


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_servers_that_prepare_one_store_at_once_all_find_it_whole(spark: SparkServer, tmp_path: Path) -> None:
    rows = pa.concat_tables([ROWS.slice(0, 3)] * 40)
    tables = {"visits": {"source": spark.put({"visits": rows})["visits"], "columns": VISITS["columns"]}}
    policy = Policy.model_validate({"tables": tables, "store": str(tmp_path / "a store {1} [x]*")})

    def count(_: int) -> object:
        with Spark.open(policy, ADDRESS, KEY) as engine:
            return engine.count('SELECT count(*) AS n FROM "visits"').secret.to_pylist()

    assert run_at_once(count, 4) == [[{"n": 120}]] * 4
    assert run_at_once(count, 2) == [[{"n": 120}]] * 2


def names(postgres: PostgresServer) -> list[str]:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres.url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'once'")
        return [name for (name,) in cursor.fetchall()]


def test_nothing_can_be_written_through_the_connection(postgres: PostgresServer) -> None:
    from discreet.engines.postgres import PostgreSQL
    from discreet.engines.postgres_connection import execute_statement

    engine = opened(postgres)
    assert isinstance(engine, PostgreSQL)
    with pytest.raises(Exception, match="read-only"):
        execute_statement(engine._connection, "CREATE TABLE public.leak AS SELECT 1")
    engine._connection.rollback()


def test_a_connection_that_was_closed_is_made_anew_and_as_shut_off_as_before(
    postgres: PostgresServer,
) -> None:
    from discreet.engines.postgres import PostgreSQL
    from discreet.engines.postgres_connection import execute_statement, fetch_table

    counted = 'SELECT count(*) AS n, count(DISTINCT "_discreet_person") AS people FROM "visits"'
    engine = opened(postgres)
    assert isinstance(engine, PostgreSQL)
    before = engine.count(counted).secret.to_pylist()
    (process,) = fetch_table(engine._connection, "SELECT pg_backend_pid() AS pid")["pid"].to_pylist()
    postgres.run(f"SELECT pg_terminate_backend({process}, 60000)")
    assert engine.count(counted).secret.to_pylist() == before
    with pytest.raises(Exception, match="read-only"):
        execute_statement(engine._connection, "CREATE TABLE public.leak AS SELECT 1")
    engine._connection.rollback()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT 1; DROP TABLE visits", "one SELECT"),
        ("SELECT * FROM other", "reads other"),
        ("SELECT pg_read_file('x') FROM visits", "calls pg_read_file"),
        ("SELECT 'injected' FROM visits", "constants"),
        ("SELECT * INTO leak FROM visits", "more than"),
        ("DELETE FROM visits RETURNING 1", "one SELECT"),
        ("SELECT 'open", "parse"),
        ("SELECT (SELECT count(*)) FROM visits", "over no rows"),
        ("SELECT (SELECT v.r FROM (SELECT row_number() OVER () AS r) AS v) FROM visits", "over no rows"),
    ],
)
@pytest.mark.parametrize("dialect", [PostgresDialect(), SparkDialect()], ids=["postgresql", "spark"])
def test_a_text_that_says_more_than_our_statement_does_not_run(
    text: str, told: str, dialect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    statement = TranslatedStatement(marked_text=text, columns={}, tables=frozenset({"visits"}))
    with pytest.raises(EngineFault):
        verify_statement(text, statement, "SELECT 1 FROM visits", dialect)
    assert told in caplog.text


@spark_by_night
def test_a_constant_of_a_question_stays_one(server: Server) -> None:
    words = [
        "'",
        "''",
        "\\",
        "\\'",
        "\\\\'",
        "' OR 1=1 --",
        "$$",
        "%",
        "_",
        "\u2019",
        "`",
        '"',
        "\n",
        "{x}",
        ":a",
        "?",
    ]
    rows = pa.table({"word": words})
    tables = {
        "words": {"source": server.put({"words": rows})["words"], "columns": {"word": {"type": "text"}}}
    }
    with server.open(Policy.model_validate({"tables": tables})) as engine:
        for word in words:
            quoted = word.replace("'", "''")
            same = engine.count(f"""SELECT count(*) AS n FROM "words" WHERE "word" = '{quoted}'""")
            like = engine.count(
                f"""SELECT count(*) AS n FROM "words" WHERE like_escape("word", '{quoted}', '')"""
            )
            assert same.secret.to_pylist() == [{"n": 1}], word
            single = sum(len(each) == 1 for each in words)
            expected = {"%": len(words), "_": single}.get(word, 1)
            assert like.secret.to_pylist() == [{"n": expected}], word


def test_numbers_of_declared_digits_are_stored_in_whole_steps(postgres: PostgresServer) -> None:
    postgres.run(
        "CREATE SCHEMA digits",
        "CREATE TABLE digits.t (x numeric(9, 2), y numeric)",
        "INSERT INTO digits.t SELECT v, v FROM unnest(ARRAY[12.34, -0.01, 500.01, 0.29, 9999999.99, 'NaN', "
        "NULL]::numeric[]) AS v",
    )
    column = {"type": "decimal", "low": 0, "high": 500, "resolution": "0.01"}
    policy = {"tables": {"t": {"source": "digits.t", "columns": {"x": column, "y": column}}}}
    with postgres.open(Policy.model_validate(policy)) as engine:
        for name in ("x", "y"):
            rows = engine.count(f'SELECT "{name}" AS v, count(*) AS n FROM "t" GROUP BY 1 ORDER BY v')
            found = [tuple(row.values()) for row in rows.secret.to_pylist()]
            assert found == [(0, 1), (29, 1), (1234, 1), (50_000, 2), (None, 2)], name


def test_a_missing_table_or_column_is_named(server: Server, tmp_path: Path) -> None:
    source = server.put({"visits": ROWS})["visits"]
    missing = source.replace("visits", "nothing")
    with pytest.raises(RequestError, match="no such table"):
        server.open(Policy.model_validate({"tables": {"visits": {"source": missing, **VISITS}}}))
    columns = {**VISITS["columns"], "age": {"type": "integer", "low": 0, "high": 9}}
    with pytest.raises(RequestError, match="column age"):
        server.open(
            Policy.model_validate({"tables": {"visits": {"source": source, **VISITS, "columns": columns}}})
        )


def test_an_address_that_nobody_answers_is_told_without_its_password() -> None:
    from discreet.engines.postgres_connection import connect_postgres

    with pytest.raises(RequestError) as refusal:
        connect_postgres("postgresql://ann:secret@127.0.0.1:1/shop")
    assert "secret" not in str(refusal.value)
    assert "127.0.0.1" in str(refusal.value)


@pytest.mark.parametrize(
    "place",
    [
        "sc://127.0.0.1:1/;token=hidden",
        "sc://no-such-host.invalid/;token=hidden",
        "spark://127.0.0.1:1,127.0.0.1:x",
    ],
)
def test_a_cluster_that_nobody_answers_for_is_told_at_once_and_without_its_token(place: str) -> None:
    from discreet.engines.spark_session import start_session

    with pytest.raises(RequestError, match="Spark: no connection to") as refusal:
        start_session(place)
    assert "hidden" not in str(refusal.value)
