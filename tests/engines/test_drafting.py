"""`discreet init --engine`: a draft from an engine's catalogue, which plans there once it is filled in."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.column_entry import ColumnType, Role
from discreet.services.policies import load_policy
from tests.engines.servers import PostgresServer, Server, SparkServer
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.services.test_init import filled
from tests.services.test_promise import discreet

VISITS = pa.table(
    {
        "patient_id": [11, 12, 12],
        "contact": ["quixote@mancha.example", "panza@mancha.example", "panza@mancha.example"],
        "diagnosis": ["melancholy", "hunger", "hunger"],
        "cost": pa.array(["5077.25", "4099.50", "1.00"]).cast(pa.decimal128(9, 2)),
        "day": [date(1605, 1, 16)] * 3,
        "at": [datetime(1615, 11, 5)] * 3,
        "insured": [True, False, False],
    }
)
VALUES = ("quixote", "panza", "melancholy", "hunger", "5077", "4099", "1605", "1615")
PROPOSED = {
    "patient_id": (ColumnType.INTEGER, Role.IDENTIFIER),
    "contact": (ColumnType.TEXT, Role.IDENTIFIER),
    "diagnosis": (ColumnType.CATEGORY, Role.SENSITIVE),
    "cost": (ColumnType.DECIMAL, Role.OTHER),
    "day": (ColumnType.DATE, Role.OTHER),
    "at": (ColumnType.TIMESTAMP, Role.OTHER),
    "insured": (ColumnType.BOOLEAN, Role.OTHER),
}
NOWHERE = "postgresql://ann:hidden@127.0.0.1:1/nothing"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def clinic(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """Tables of many types, and a role that may read some."""
    postgres.run(
        "CREATE SCHEMA ward",
        "CREATE TYPE ward.mood AS ENUM ('melancholy', 'hunger')",
        "CREATE DOMAIN ward.postcode AS varchar(5)",
        """CREATE TABLE ward.beds (small smallint, big bigint, whole numeric(9,0), part numeric(9,2),
          wide numeric, single real, code char(3), zip ward.postcode, mood ward.mood, uid uuid, clock time,
          host inet, moment timestamptz, day date, flag boolean, chart jsonb, tags text[], scan bytea,
          pay money, span int4range, "größe" integer, "x*y" integer, flat integer, "FLAT" integer)""",
        "CREATE TABLE ward.stays (person_id integer, told text, secret text) PARTITION BY LIST (person_id)",
        "CREATE TABLE ward.stays_1 PARTITION OF ward.stays FOR VALUES IN (1)",
        "INSERT INTO ward.stays VALUES (1, 'quixote@mancha.example', 'melancholy')",
        "CREATE VIEW ward.failing AS SELECT CAST(person_id AS text) AS told, 1 / (person_id - 1) AS n "
        "FROM ward.stays WHERE 1 / (person_id - 1) > 0",
        "CREATE VIEW ward.recent AS SELECT person_id, told FROM ward.stays",
        "CREATE TABLE ward.hidden (n integer)",
        "CREATE TABLE ward.lists (tags text[])",
        'CREATE TABLE ward."Mixed" (n integer)',
        'CREATE TABLE ward."odd.name" (n integer)',
        "CREATE ROLE nurse LOGIN",
        "GRANT USAGE ON SCHEMA ward TO nurse",
        'GRANT SELECT ON ward.beds, ward.recent, ward.lists, ward."Mixed", ward."odd.name" TO nurse',
        "GRANT SELECT (person_id, told) ON ward.stays TO nurse",
    )
    yield postgres
    postgres.run("DROP OWNED BY nurse", "DROP ROLE nurse", "DROP SCHEMA ward CASCADE")


def nurse(server: PostgresServer) -> str:
    return server.url.replace("discreet@", "nurse@")


def require_drafted(here: Path, engine: str, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was drafted holds no value, has the proposals, and plans once it is filled in."""
    path = here / "privacy.yaml"
    told = "".join(capsys.readouterr()) + path.read_text()
    assert not [value for value in VALUES if value in told.lower()]
    assert f"engine: {engine}" in path.read_text().splitlines()
    path.write_text(filled(path.read_text()).replace("person: row", "person: patient_id"))
    (table,) = load_policy(path).tables.values()
    assert table.source == source
    assert {name: (column.type, column.role) for name, column in table.columns.items()} == PROPOSED
    question = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
    assert discreet("plan", question, "--share", "5%", "--json") == 0


@shows("`init`")
def test_a_draft_of_an_engines_table_plans_there_once_it_is_filled_in(
    server: Server, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = server.put({"visits": VISITS})["visits"]
    assert discreet("init", source, "--engine", address(server)) == 0
    require_drafted(here, address(server), source, capsys)


def test_a_draft_of_a_duckdb_file_plans_once_it_is_filled_in(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(here / "shop.duckdb") as connection:
        connection.register("arriving", VISITS)
        connection.execute("CREATE SCHEMA clinic")
        connection.execute("CREATE TABLE clinic.visits AS FROM arriving")
    for words, engine in (
        (("Clinic.Visits", "--engine", "duckdb:///shop.duckdb"), "duckdb:///shop.duckdb"),
        (("shop.duckdb#clinic.visits", "--engine", "duckdb"), ""),
    ):
        assert discreet("init", *words, "--force") == 0
        path = here / "privacy.yaml"
        path.write_text(path.read_text() if engine else f"{path.read_text()}\nengine: duckdb\n")
        require_drafted(here, engine or "duckdb", str(here / "shop.duckdb#clinic.visits"), capsys)


def test_columns_have_the_kinds_of_the_servers_types(clinic: PostgresServer, here: Path) -> None:
    assert discreet("init", "ward.beds", "--engine", nurse(clinic)) == 0
    path = here / "privacy.yaml"
    path.write_text(filled(path.read_text()))
    found = {name: column.type.value for name, column in load_policy(path).tables["beds"].columns.items()}
    assert found == {
        **dict.fromkeys(("small", "big", "whole", "größe", "flat", "FLAT_2", "x_y"), "integer"),
        **dict.fromkeys(("part", "wide", "single"), "decimal"),
        **dict.fromkeys(("code", "zip", "mood", "uid", "clock", "host"), "category"),
        "moment": "timestamp",
        "day": "date",
        "flag": "boolean",
    }
    assert discreet("plan", "SELECT zip, AVG(part) AS p FROM beds GROUP BY zip", "--epsilon", "1") == 0


def test_columns_that_may_not_be_read_are_not_in_the_draft(clinic: PostgresServer, here: Path) -> None:
    assert discreet("init", "ward.stays", "--engine", nurse(clinic)) == 0
    path = here / "privacy.yaml"
    path.write_text(filled(path.read_text()))
    columns = load_policy(path).tables["stays"].columns
    assert {name: column.role for name, column in columns.items()} == {
        "person_id": Role.IDENTIFIER,
        "told": Role.IDENTIFIER,
    }
    assert discreet("plan", "SELECT COUNT(*) AS n FROM stays", "--epsilon", "1") == 0


def test_a_view_that_cannot_be_read_is_drafted_by_names_alone(
    clinic: PostgresServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("init", "ward.failing", "ward.stays", "--engine", clinic.url) == 0
    told = capsys.readouterr().err
    assert "No values of ward.failing could be looked at: roles are by name alone, check them." in told
    assert "No values of ward.stays" not in told
    draft = (here / "privacy.yaml").read_text()
    assert "told: {type: category, values: [?]}" in draft
    assert "told:      {type: text, role: identifier}    # HIPAA (F): email addresses" in draft


def test_a_pattern_is_all_tables_that_fit_it(clinic: PostgresServer, here: Path) -> None:
    assert discreet("init", "ward.[bs]*", "ward.stays_1", "--engine", clinic.url) == 0
    path = here / "privacy.yaml"
    path.write_text(filled(path.read_text()))
    found = {name: table.source for name, table in load_policy(path).tables.items()}
    assert found == {name: f"ward.{name}" for name in ("beds", "stays", "stays_1")}


@pytest.mark.parametrize("way", ["{user}:hidden@", "{user}:hid?den@", "{user}@"])
def test_a_password_is_in_no_draft_and_nothing_that_is_told(
    clinic: PostgresServer, here: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"{clinic.url.replace('discreet@', way.format(user='nurse'))}?password=hidden&sslmode=disable"
    assert discreet("init", "ward.recent", "--engine", given) == 0
    told, draft = "".join(capsys.readouterr()), (here / "privacy.yaml").read_text()
    assert "hid" not in told + draft
    assert "The password is not in the draft: put it in ~/.pgpass or PGPASSWORD." in told
    assert f"engine: {nurse(clinic)}?sslmode=disable" in draft.splitlines()
    assert discreet("init", "ward.recent", "--engine", given, "--json", "--force") == 0
    assert json.loads(capsys.readouterr().out)["engine"] == f"{nurse(clinic)}?sslmode=disable"


def test_what_may_be_written_is_left_for_the_custodian_to_allow(clinic: PostgresServer, here: Path) -> None:
    assert discreet("init", "ward.recent", "--engine", nurse(clinic)) == 0
    path = here / "privacy.yaml"
    assert "# store: discreet " in path.read_text()
    path.write_text(filled(path.read_text()))
    assert (load_policy(path).store, load_policy(path).data_version) == (None, "1")
    path.write_text(
        path.read_text().replace("# store: ", "store: ").replace("# data_version: ", "data_version: ")
    )
    assert (load_policy(path).store, load_policy(path).data_version) == ("discreet", "2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name the tables to draft; PostgreSQL has ward.Mixed, ward.beds, ward.lists, ward.recent, "),
        ([], "For example: discreet init ward.Mixed --engine ADDRESS; '*' drafts all of them."),
        (["beds"], "PostgreSQL has no table beds that may be read: did you mean ward.beds?"),
        (["ward.mixed"], "did you mean ward.Mixed?"),
        (["ward.bads"], "did you mean ward.beds?"),
        (["ward.hidden"], "has no table ward.hidden that may be read"),
        (["ward.beds_pkey"], "has no table ward.beds_pkey"),
        (["ward.x*"], "has no table ward.x* that may be read"),
        (["ward.lists"], "ward.lists has no column that a policy can declare"),
        (["beds.csv"], "For a file leave out --engine"),
    ],
)
def test_what_the_server_does_not_have_is_one_sentence_with_the_way_out(
    clinic: PostgresServer, here: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("init", *words, "--engine", nurse(clinic)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1
    assert not list(here.iterdir())


def test_the_tables_are_told_whatever_policy_is_there_already(
    clinic: PostgresServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "privacy.yaml").write_text("kept")
    assert discreet("init", "--engine", nurse(clinic)) == 2
    assert "ward.beds" in capsys.readouterr().err
    assert (here / "privacy.yaml").read_text() == "kept"


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (NOWHERE, "PostgreSQL: no connection to 127.0.0.1."),
        ("sc://127.0.0.1:1/;token=hidden", "Spark: no connection to 127.0.0.1."),
        ("duckdb:///none.duckdb", "none.duckdb does not exist."),
        ("duckdb:///a.csv", "a.csv is not a DuckDB file."),
        ("duckdb", "visits is not a CSV, Excel, Parquet, Arrow or DuckDB file."),
        ("mysql://ann:hidden@db", "--engine must be duckdb, duckdb:///FILE, postgresql://…"),
    ],
)
def test_an_engine_that_cannot_be_had_is_one_sentence(
    here: Path, engine: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("init", "visits", "--engine", engine) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert "hidden" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("wrong", ["stranger:hidden@HOST/postgres", "discreet:hidden@HOST/no_database"])
def test_a_server_that_lets_nobody_in_is_told_from_one_that_is_not_there(
    postgres: PostgresServer, here: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    host = urlsplit(postgres.url).netloc.rpartition("@")[2]
    assert discreet("init", "visits", "--engine", f"postgresql://{wrong.replace('HOST', host)}") == 2
    err = capsys.readouterr().err
    assert "PostgreSQL: no connection to 127.0.0.1: the server refuses it. Check user and" in err
    assert "hidden" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("package", "extra"), [("adbc_driver_postgresql", "postgres"), ("pyspark", "spark")])
def test_a_driver_that_is_not_installed_is_named_by_its_extra(
    here: Path, package: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    engine = {"postgres": NOWHERE, "spark": "spark:local"}[extra]
    assert discreet("init", "visits", "--engine", engine) == 2
    assert f"pip install 'discreet[{extra}]'" in capsys.readouterr().err


@pytest.mark.night
@pytest.mark.xdist_group("spark")
def test_spark_drafts_globs_and_tables_of_its_catalogue(
    spark: SparkServer, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyspark.sql import SparkSession

    for part in range(2):
        (here / "visits").mkdir(exist_ok=True)
        odd = VISITS.append_column("tags", pa.array([[1]] * 3)).append_column("raw", pa.array([b"x"] * 3))
        pq.write_table(odd, here / "visits" / f"part-{part}.parquet")
    session = SparkSession.builder.getOrCreate()
    session.sql("CREATE DATABASE IF NOT EXISTS ward")
    session.createDataFrame([(1, "x")], "person_id int, mood string").write.saveAsTable("ward.moods")
    try:
        assert discreet("init", "--engine", address(spark)) == 2
        assert "Spark has ward.moods." in capsys.readouterr().err
        assert discreet("init", "moods", "--engine", address(spark)) == 2
        assert "did you mean ward.moods?" in capsys.readouterr().err
        assert discreet("init", "no/*.parquet", "--engine", address(spark)) == 2
        assert "Spark finds nothing at no/*.parquet." in capsys.readouterr().err
        assert discreet("init", "visits/*.parquet", "ward.*", "--engine", address(spark)) == 0
        path = here / "privacy.yaml"
        path.write_text(filled(path.read_text()))
        tables = load_policy(path).tables
        assert {name: table.source for name, table in tables.items()} == {
            "visits": str(here / "visits" / "*.parquet"),
            "moods": "ward.moods",
        }
        assert set(tables["visits"].columns) == set(PROPOSED)
        assert discreet("plan", "SELECT mood, COUNT(*) AS n FROM moods GROUP BY mood", "--epsilon", "1") == 0
    finally:
        session.sql("DROP DATABASE ward CASCADE")
