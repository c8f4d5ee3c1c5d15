"""The drivers that BI tools bring: PostgreSQL's JDBC and ODBC, as Debian has them, on the built-in catalog.

Java runs beside the tests, and is told by Python what to call; nothing of ours is compiled for it.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.servers import cannot
from tests.pgwire.served import PASSWORD, Served, served, write_data

JAR = Path("/usr/share/java/postgresql.jar")
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
BY_SEX = (
    "SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people WHERE age > ? AND born > ?"
    " GROUP BY sex ORDER BY sex"
)
BY_AGE = "SELECT age, COUNT(*) AS n FROM people WHERE height > {} GROUP BY age ORDER BY age"
CHEAP = "discreet.epsilon=0.02"
COLUMNS = [
    ("id", "int8", True),
    ("age", "int8", False),
    ("height", "float8", True),
    ("sex", "text", True),
    ("smoker", "bool", True),
    ("born", "date", True),
    ("town", "text", True),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("drivers")
    write_data(folder)
    with served(folder) as running:
        yield running


@pytest.fixture
def before(server: Served) -> int:
    """How much was charged before a test."""
    return server.charges()


# -- JDBC ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def java() -> Iterator[Any]:
    """A Java machine that has the driver."""
    if shutil.which("java") is None or not JAR.is_file():
        cannot("there is no JDBC driver: apt-get install default-jre-headless libpostgresql-jdbc-java")
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    port = launch_gateway(classpath=str(JAR), die_on_exit=True, javaopts=QUICK)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway
    gateway.shutdown()


@pytest.fixture
def jdbc(java: Any, server: Served) -> Iterator[Any]:
    known = java.jvm.java.util.Properties()
    for name, value in {"user": "alice", "password": PASSWORD, "options": f"-c {CHEAP}"}.items():
        known.setProperty(name, value)
    connection = java.jvm.org.postgresql.Driver().connect(
        f"jdbc:postgresql://127.0.0.1:{server.port}/discreet", known
    )
    yield connection
    connection.close()


def rows(found: Any) -> list[dict[str, str | None]]:
    told, listed = found.getMetaData(), []
    while found.next():
        places = range(1, told.getColumnCount() + 1)
        listed.append({told.getColumnLabel(place): found.getString(place) for place in places})
    return listed


def test_jdbc_reads_the_public_schema_for_nothing(java: Any, jdbc: Any, server: Served, before: int) -> None:
    schema = jdbc.getMetaData()
    kinds = java.new_array(java.jvm.java.lang.String, 1)
    kinds[0] = "TABLE"
    assert [each["TABLE_NAME"] for each in rows(schema.getTables(None, "public", "%", kinds))] == [
        "people",
        "visits",
    ]
    columns = rows(schema.getColumns(None, "public", "people", "%"))
    assert [(each["COLUMN_NAME"], each["TYPE_NAME"], each["NULLABLE"] == "1") for each in columns] == COLUMNS
    assert columns[3]["REMARKS"] == "one of Male, Female, Other"
    assert "public" in [each["TABLE_SCHEM"] for each in rows(schema.getSchemas())]
    assert rows(schema.getCatalogs()) == [{"TABLE_CAT": "discreet"}]
    assert "int8" in [each["TYPE_NAME"] for each in rows(schema.getTypeInfo())]
    for found in (
        schema.getPrimaryKeys(None, "public", "people"),
        schema.getImportedKeys(None, "public", "visits"),
        schema.getIndexInfo(None, "public", "people", False, False),
        schema.getProcedures(None, None, "%"),
    ):
        assert rows(found) == []
    assert server.charges() == before


def test_a_jdbc_statement_with_parameters_is_described_for_nothing_and_charged_once(
    java: Any, jdbc: Any, server: Served, before: int
) -> None:
    asked = jdbc.prepareStatement(BY_SEX)
    told = asked.getMetaData()
    kinds = [(told.getColumnName(place), told.getColumnTypeName(place)) for place in (1, 2, 3)]
    assert kinds == [("sex", "text"), ("n", "int8"), ("h", "float8")]
    asked.setInt(1, 30)
    asked.setDate(2, java.jvm.java.sql.Date.valueOf("1960-01-01"))
    assert server.charges() == before
    first = rows(asked.executeQuery())
    assert [each["sex"] for each in first] == ["Female", "Male", "Other"]
    # after some runs the driver names the statement, and then asks for binary values
    assert all(rows(asked.executeQuery()) == first for _ in range(7))
    assert "nothing: everything that it needs was released" in asked.getWarnings().getMessage()
    assert server.charges() == before + 1


def test_jdbc_fetches_a_portal_in_parts_and_is_charged_once(jdbc: Any, server: Served, before: int) -> None:
    jdbc.setAutoCommit(False)
    asked = jdbc.createStatement()
    asked.setFetchSize(7)
    assert [each["age"] for each in rows(asked.executeQuery(BY_AGE.format(1.51)))] == [
        str(age) for age in range(18, 91)
    ]
    jdbc.commit()
    assert server.charges() == before + 1


def test_jdbc_is_told_why_and_goes_on(jdbc: Any, server: Served, before: int) -> None:
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as refusal:
        jdbc.createStatement().executeQuery("SELECT town FROM people")
    assert refusal.value.java_exception.getSQLState() == "0A000"
    jdbc.createStatement().execute("SET discreet.epsilon = 0.03")
    assert len(rows(jdbc.createStatement().executeQuery(BY_AGE.format(1.52)))) == 73
    assert float(server.curators.ledger.list_entries("alice")[-1].charge.epsilon) == 0.03  # type: ignore[union-attr]


# -- ODBC ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["whole", "in parts"])
def odbc(server: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A connection that fetches answers at once, or by a cursor of seven rows."""
    try:
        import pyodbc
    except ImportError as missing:
        cannot(f"there is no ODBC: apt-get install unixodbc ({missing})")
    driver = next((each for each in pyodbc.drivers() if each == "PostgreSQL Unicode"), None)
    if driver is None:
        cannot("there is no ODBC driver: apt-get install odbc-postgresql")
    connection = pyodbc.connect(
        f"DRIVER={{{driver}}};SERVER=127.0.0.1;PORT={server.port};DATABASE=discreet;UID=alice;PWD={PASSWORD};"
        f"Fetch=7;UseDeclareFetch={int(request.param == 'in parts')};ConnSettings=SET {CHEAP}"
    )
    yield connection
    connection.close()


def test_odbc_reads_the_public_schema_for_nothing(odbc: Any, server: Served, before: int) -> None:
    cursor = odbc.cursor()
    assert [each.table_name for each in cursor.tables(tableType="TABLE").fetchall()] == ["people", "visits"]
    columns = cursor.columns(table="people").fetchall()
    assert [(each.column_name, each.type_name, bool(each.nullable)) for each in columns] == COLUMNS
    (link,) = cursor.foreignKeys(foreignTable="visits").fetchall()
    assert (link.pktable_name, link.pkcolumn_name, link.fkcolumn_name) == ("people", "id", "person")
    assert cursor.primaryKeys("people").fetchall() == []
    assert cursor.statistics("people").fetchall() == []
    assert server.charges() == before


def test_an_odbc_question_with_parameters_is_charged_once(odbc: Any, server: Served, before: int) -> None:
    after = dt.date(1961 + before, 1, 1)
    first, again = (odbc.cursor().execute(BY_SEX, 30, after).fetchall() for _ in range(2))
    assert [row.sex for row in first] == ["Female", "Male", "Other"]
    assert isinstance(first[0].n, int)
    assert [tuple(row) for row in first] == [tuple(row) for row in again]
    assert server.charges() == before + 1


def test_odbc_fetches_all_rows_and_is_told_why_it_is_refused(odbc: Any, server: Served, before: int) -> None:
    asked = BY_AGE.format(1.6 + before / 100)
    assert [row.age for row in odbc.cursor().execute(asked).fetchall()] == list(range(18, 91))
    assert server.charges() == before + 1
    with pytest.raises(Exception, match="the question would show rows") as refusal:
        odbc.cursor().execute("SELECT town FROM people").fetchall()
    assert refusal.value.args[0] == "0A000"
    odbc.rollback()
    assert odbc.cursor().execute("SHOW discreet.epsilon").fetchval() == "0.02"
