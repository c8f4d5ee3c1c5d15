"""The catalog: what clients may know of the schema, from a place that holds no data."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from benchmarks import clusters
from discreet.core.errors import RequestError
from discreet.engines import schema_database
from discreet.pgwire.catalog import ShadowCatalog
from discreet.pgwire.catalog.catalog_functions import PRIVILEGE_FUNCTIONS
from discreet.services.policies import load_policy
from tests.engines.servers import had
from tests.pgwire.served import Served, served

ABOUT = [
    "SELECT 1 AS one",
    "SELECT current_database(), current_schema(), current_user, version()",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'people'",
    "SELECT relname FROM pg_class WHERE relkind = ANY (ARRAY['r','v'])",
    "WITH t AS (SELECT oid FROM pg_catalog.pg_class) SELECT count(*) FROM t",
    "SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid",
    "SELECT current_setting('server_version')",
    "SELECT c.relname FROM ((pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace) JOIN pg_attribute a ON"
    " a.attrelid = c.oid) LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum",
    "SELECT s.n, k.i FROM generate_series(1, array_upper(current_schemas(false), 1)) AS s(n),"
    " (SELECT generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) AS i FROM pg_constraint) AS k",
    "SELECT row_number() OVER (PARTITION BY attrelid ORDER BY attnum), nullif(attname, '') FROM pg_attribute",
    "SELECT CASE nspname ~ '^pg_' WHEN true THEN 'SYSTEM' ELSE 'USER' END FROM pg_catalog.pg_namespace"
    " WHERE nspname <> (pg_catalog.current_schemas(true))[1]",
    "SELECT relname, NULL::pg_catalog.text FROM pg_class WHERE relname LIKE 'pe%' UNION ALL"
    " SELECT NULL::pg_catalog.text, nspname FROM pg_namespace WHERE nspname NOT LIKE E'pg\\\\_%' LIMIT 1000",
]
ELSEWHERE = [
    ("SELECT getenv('HOME')", "42883"),
    ("SELECT pg_read_file('/etc/passwd')", "42883"),
    ("SELECT pg_sleep(10)", "42883"),
    ("SELECT lo_import('/etc/passwd')", "42883"),
    ("SELECT set_config('search_path', '', false)", "42883"),
    ("SELECT * FROM pg_nothing", "42P01"),
    ("SELECT * FROM information_schema.tables, duckdb_settings()", "0A000"),
    ("SELECT * FROM pg_class, people", "0A000"),
    ("SELECT * FROM pg_class, read_csv('/etc/passwd')", "0A000"),
    ("SELECT query('SELECT 1')", "42883"),
    ("SELECT * INTO x FROM pg_class", "0A000"),
    ("WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x", "42501"),
    ("SELECT repeat('x', 1000000000)", "42883"),
    ("SELECT 1/0", "22012"),
    ("SELECT 1 % 0.0", "22012"),
    ("SELECT 1/(1-1)", "0A000"),
    ("SELECT 1/(1/(2-2))", "0A000"),
    ("SELECT oid / (oid - oid) FROM pg_class", "0A000"),
    ("SELECT generate_series(1, 1000000000) FROM pg_class", "42883"),
    ("SELECT n FROM pg_class, generate_series(5, 10) AS s(n)", "42883"),
    ("SELECT n FROM pg_class, people, generate_series(1, 10) AS s(n)", "0A000"),
    (
        "SELECT a.*, b.*, c.* FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d,"
        " pg_attribute e",
        "0A000",
    ),
]


@pytest.mark.parametrize("sql", ABOUT)
def test_the_schema_is_answered_for_nothing(long_lived: Served, sql: str) -> None:
    before = long_lived.charges()
    with psycopg.connect(long_lived.address) as connection:
        connection.execute(sql).fetchall()
    assert long_lived.charges() == before


@pytest.mark.parametrize(("sql", "state"), ELSEWHERE)
def test_the_catalog_reaches_nothing_else(long_lived: Served, sql: str, state: str) -> None:
    with psycopg.connect(long_lived.address) as connection, pytest.raises(psycopg.Error) as refusal:
        connection.execute(sql)
    assert refusal.value.sqlstate == state


def test_every_function_about_privileges_is_answered_with_a_user_and_without(long_lived: Served) -> None:
    with psycopg.connect(long_lived.address, autocommit=True) as connection:
        texts = ["'SELECT'"] * 5
        for name, counts in PRIVILEGE_FUNCTIONS.items():
            for count in range(1, 6):
                sql = f"SELECT pg_catalog.{name}({', '.join(['10', *texts[1:count]])})"
                if count in counts:
                    assert len(connection.execute(sql).fetchall()) == 1, sql
                else:
                    with pytest.raises(psycopg.errors.UndefinedFunction):
                        connection.execute(sql)
        roles = "pg_has_role('pg_read_all_stats', 'USAGE'), pg_has_role(current_user, 'MEMBER')"
        owners = "pg_has_role(relowner, 'USAGE'), pg_has_role('alice', relowner, 'USAGE')"
        found = connection.execute(f"SELECT DISTINCT {roles}, {owners} FROM pg_class").fetchall()
        assert found == [(False, True, True, True)]


def test_divisions_are_postgresqls(long_lived: Served) -> None:
    with psycopg.connect(long_lived.address) as connection:
        found = connection.execute("SELECT 7/2, -7/2, 7.0/2, 7 % 4, 7/NULL, (7)/(2), 1.5/0.5").fetchone()
    assert found is not None
    assert [each if each is None else float(each) for each in found] == [3, -3, 3.5, 3, None, 3, 3]


def test_columns_are_called_as_postgresql_calls_them(long_lived: Served) -> None:
    with psycopg.connect(long_lived.address) as connection:
        cursor = connection.execute(
            "SELECT version(), 1, relname::text, relname AS n, (oid), current_user FROM pg_class"
        )
    names = [column.name for column in cursor.description or ()]
    assert names == ["version", "?column?", "relname", "n", "oid", "current_user"]


def test_what_there_is_none_of_is_counted_as_nothing(long_lived: Served) -> None:
    with psycopg.connect(long_lived.address) as connection:
        sql = "SELECT count(*), max(tgname), EXISTS (SELECT 1 FROM pg_policy) FROM pg_trigger"
        assert connection.execute(sql).fetchall() == [(0, None, False)]


GROWING = "SELECT length(" + "replace(" * 12 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaa')" * 12 + ")"


def test_what_would_take_all_memory_and_time_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that grows is not interrupted within a process, and counts against no limit of a database."""
    monkeypatch.setattr(schema_database, "SECONDS", 1.0)
    with closing(schema_database.SchemaDatabase({}, ())) as database:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(RequestError, match="The catalog cannot answer this"):
            database.run(GROWING)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
        monkeypatch.undo()
        assert database.run("SELECT 1 AS one").to_pydict() == {"one": [1]}


def test_a_question_about_the_schema_is_short(long_lived: Served) -> None:
    many = ", ".join("oid" for _ in range(9_000))
    with psycopg.connect(long_lived.address) as connection, pytest.raises(psycopg.Error) as refusal:
        connection.execute(f"SELECT {many} FROM pg_class".encode())
    assert refusal.value.sqlstate == "42601"


# -- The shadow ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgres() -> Iterator[int]:
    with had(clusters.postgres()) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE ROLE shadow LOGIN")
            connection.execute("CREATE DATABASE shadow OWNER shadow")
            connection.execute("CREATE DATABASE kept OWNER shadow")
        yield int(urlsplit(address).port or 0)


@pytest.fixture
def shadowed(data: Path, postgres: int) -> Iterator[Served]:
    with served(data, shadow=f"postgresql://shadow@127.0.0.1:{postgres}/shadow") as running_:
        yield running_


def test_through_a_shadow_every_question_about_the_schema_is_postgresqls(shadowed: Served) -> None:
    engine = sa.create_engine(shadowed.url)
    schema = sa.MetaData()
    schema.reflect(engine)
    assert schema.tables["people"].c.sex.comment == "one of Male, Female, Other"
    with engine.connect() as connection:
        odd = (
            "SELECT relname, relacl, oid::regclass, ARRAY[1, 2]::int2[] FROM pg_class WHERE relname ~ '^peo'"
        )
        assert connection.execute(sa.text(odd)).all() == [("people", None, "people", [1, 2])]
        assert connection.execute(sa.text("SELECT COUNT(*) FROM people")).scalar_one() > 2_000
    engine.dispose()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_sleep/**/(10)",
        'SELECT "pg_sleep" (10)',
        'SELECT U&"pg\\005Fsleep"(10)',
        "SELECT set_config('search_path', '', false)",
        "WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT * FROM x",
        "SELECT repeat('x', 1000) FROM pg_attribute a, pg_attribute b LIMIT 20000",
        "SELECT 1 FROM (SELECT 1) AS a) AS b, (SELECT 1",
    ],
)
def test_the_shadow_is_not_asked_for_more_than_a_schema(shadowed: Served, sql: str) -> None:
    with psycopg.connect(shadowed.address) as connection, pytest.raises(psycopg.Error):
        connection.execute(sql)


def test_a_database_with_data_and_a_role_of_power_are_no_shadow(data: Path, postgres: int) -> None:
    policy = load_policy(data / "privacy.yaml")
    with psycopg.connect(f"host=127.0.0.1 port={postgres} user=shadow dbname=kept") as connection:
        connection.execute("CREATE TABLE people (age bigint)")
    with pytest.raises(RequestError, match="not empty"):
        ShadowCatalog(f"postgresql://shadow@127.0.0.1:{postgres}/kept", policy)
    with pytest.raises(RequestError, match="could read the server's files"):
        ShadowCatalog(f"postgresql://{clusters.OWNER}@127.0.0.1:{postgres}/shadow", policy)


def test_a_shadow_that_was_given_a_row_is_refused(data: Path, postgres: int) -> None:
    policy, url = load_policy(data / "privacy.yaml"), f"postgresql://shadow@127.0.0.1:{postgres}/shadow"
    ShadowCatalog(url, policy).close()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO people (age) VALUES (30)")
    with pytest.raises(RequestError, match="not empty"):
        ShadowCatalog(url, policy)
    with psycopg.connect(url) as connection:
        connection.execute("TRUNCATE people")
    ShadowCatalog(url, policy).close()
