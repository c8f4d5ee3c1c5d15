"""The real clients: what they connect with, ask and reflect works as with PostgreSQL."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa

from discreet.core.guarantees import PureDP
from tests.patience import PATIENCE
from tests.pgwire.served import PASSWORD, Served, slowed

BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY sex ORDER BY sex"


@pytest.fixture
def connection(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.address) as opened:
        yield opened


def psql(server: Served, *commands: str) -> str:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed: apt-get install postgresql-client")
    words = ["psql", server.address, "--no-psqlrc", "--pset=pager=off"]
    for command in commands:
        words += ["-c", command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.stdout + done.stderr


# -- psql ---------------------------------------------------------------------------------------------------


def test_psql_is_told_the_answer_its_cost_its_errors_and_the_belief(server: Served) -> None:
    said = psql(server, "SET discreet.epsilon = 0.2", BY_SEX, "SHOW discreet.belief")
    assert "Female" in said
    assert "NOTICE:  cost: epsilon 0.2 (entry 1)" in said
    assert "NOTICE:  error at 95%: n ±" in said
    assert "can now be at most 1.22% sure (promise: 5%)" in said


def test_psql_is_told_which_cost_setting_applies(server: Served) -> None:
    said = psql(server, "SET discreet.epsilon = 0.2", "SET discreet.share = '5%'", "SHOW discreet.epsilon")
    assert "NOTICE:  discreet.share now applies instead of discreet.epsilon." in said
    assert "0.2" not in said


def test_psql_lists_and_describes_the_public_schema(server: Served) -> None:
    said = psql(
        server,
        "\\dt",
        "\\d",
        "\\d people",
        "\\d visits",
        "\\d+ people",
        "\\l",
        "\\l+",
        "\\du",
        "\\dn",
        "\\dv",
    )
    assert "ERROR" not in said
    assert " discreet | discreet | UTF8" in said
    assert " public | people | table | discreet" in said
    assert " age    | bigint           |           | not null | " in said
    assert '"visits_person_fkey" FOREIGN KEY (person) REFERENCES people(id)' in said
    assert "one of Male, Female, Other" in said
    assert " alice     |            | {}" in said
    assert "bob" not in said
    assert server.charges() == 0


def test_psql_takes_settings_from_its_environment_and_several_statements_at_once(server: Served) -> None:
    assert "epsilon 0.05 (entry 1)" in psql(
        server, "SET discreet.epsilon = 0.05; SELECT COUNT(*) FROM people;"
    )
    address = f"{server.address} options='-c discreet.epsilon=0.07'"
    with psycopg.connect(address) as connection:
        assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.07",)


def test_a_question_is_explained_for_nothing(server: Served) -> None:
    said = psql(server, f"EXPLAIN {BY_SEX}")
    assert "cost: epsilon 0.1 of 1.65" in said
    assert "groups: 3" in said
    assert server.charges() == 0


def test_an_explained_belief_names_the_releases_that_it_does_not_cover(server: Served) -> None:
    assert "without differential privacy" not in psql(server, f"EXPLAIN {BY_SEX}")
    server.curators.ledger.record_release("people-k5", "a 5-anonymous table")
    said = psql(server, f"EXPLAIN {BY_SEX}")
    assert "But people-k5 (a 5-anonymous table) was published too, without differential privacy" in said
    assert "no such bound holds for everything ever released together" in said


# -- psycopg ------------------------------------------------------------------------------------------------


def test_psycopg_binds_parameters_of_every_kind(server: Served, connection: psycopg.Connection) -> None:
    sql = (
        "SELECT COUNT(*) AS n FROM people WHERE age > %s AND height < %s AND sex = %s AND born < %s"
        " AND smoker = %s AND height > %s"
    )
    values = (30, 2.4, "Male", dt.date(1995, 1, 1), True, Decimal("0.5"))
    found = connection.execute(sql, values).fetchone()
    (entry,) = server.curators.ledger.list_entries()
    assert found is not None
    assert isinstance(found[0], int)
    assert "sex = 'Male' AND born < CAST('1995-01-01' AS DATE) AND smoker = TRUE" in entry.question


@pytest.mark.parametrize("value", ["Male' OR '1'='1", "'; DROP TABLE people; --", "$1", "\\'", "Ünï\u2028"])
def test_a_parameter_is_never_read_as_sql(server: Served, connection: psycopg.Connection, value: str) -> None:
    # a computed text may be compared with any other
    sql = "SELECT COUNT(*) AS n FROM people WHERE LOWER(sex) = %s"
    found = connection.execute(sql, (value,)).fetchone()
    assert found is not None
    assert found[0] < 300
    assert server.charges() == 1


def test_text_and_binary_results_are_the_same(connection: psycopg.Connection) -> None:
    sql = (
        "SELECT sex, smoker, MAX(age) AS oldest, COUNT(*) AS n, AVG(height) AS h, SUM(cost) / 2 AS half"
        " FROM people p JOIN visits v ON p.id = v.person WHERE age > %s GROUP BY ALL"
    )
    kinds = {}
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        kinds[binary] = cursor.execute(sql, (30,)).fetchall()
    assert kinds[False] == kinds[True]
    assert len(kinds[True]) == 6


def test_days_and_moments_leave_in_both_forms(connection: psycopg.Connection) -> None:
    sql = "SELECT born, COUNT(*) AS n FROM people WHERE born > %s GROUP BY born ORDER BY n DESC LIMIT 3"
    found = [
        connection.cursor(binary=binary).execute(sql, (dt.date(2010, 12, 1),)).fetchall()
        for binary in (False, True)
    ]
    assert found[0] == found[1]
    assert isinstance(found[0][0][0], dt.date)


def test_a_prepared_statement_is_charged_when_it_is_executed_and_once(
    server: Served, connection: psycopg.Connection
) -> None:
    asked = [
        connection.execute("SELECT COUNT(*) AS n FROM people WHERE age > %s", (40,), prepare=True).fetchone()
        for _ in range(5)
    ]
    assert len(set(asked)) == 1
    assert server.charges() == 1


def test_a_server_side_cursor_is_charged_at_its_first_fetch_and_once(
    server: Served, connection: psycopg.Connection
) -> None:
    with connection.cursor(name="several") as cursor:
        cursor.execute(BY_SEX)
        assert server.charges() == 0
        assert [len(cursor.fetchmany(2)) for _ in range(3)] == [2, 1, 0]
    assert server.charges() == 1


def test_notices_reach_the_client(connection: psycopg.Connection) -> None:
    said: list[str | None] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    connection.execute("SELECT COUNT(*) AS n FROM people")
    connection.execute("SELECT COUNT(*) AS n FROM people")
    assert said[0] == "cost: epsilon 0.1 (entry 1)"
    assert said[3] == "cost: nothing: everything that it needs was released before (entry 1)"
    assert str(said[2]).startswith("belief: From the answers to alice alone, an attacker who was")


def test_a_failed_transaction_answers_nothing_until_its_end(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="would show rows"):
        connection.execute("SELECT * FROM people")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("SELECT COUNT(*) FROM people")
    connection.rollback()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_settings_go_back_with_their_transaction(connection: psycopg.Connection) -> None:
    connection.execute("SET discreet.epsilon = 0.2")
    connection.commit()
    connection.execute("SET discreet.within = 50")
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("",)
    connection.rollback()
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.2",)
    connection.execute("SET LOCAL discreet.epsilon = 0.3")
    connection.commit()
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.2",)


def test_set_local_ends_with_its_transaction_and_changes_nothing_outside_of_one(
    connection: psycopg.Connection,
) -> None:
    said: list[tuple[str | None, str | None]] = []
    connection.add_notice_handler(lambda note: said.append((note.severity_nonlocalized, note.sqlstate)))
    connection.autocommit = True

    def shown() -> str:
        row = connection.execute("SHOW discreet.epsilon").fetchone()
        assert row is not None
        return str(row[0])

    connection.execute("SET discreet.epsilon = 0.2")
    connection.execute("SET LOCAL discreet.epsilon = 0.9")
    assert shown() == "0.2"
    assert said == [("WARNING", "25P01")]
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SET LOCAL discreet.epsilon = 'much'")
    with connection.transaction():
        connection.execute("SET LOCAL discreet.within = 50")
        assert shown() == ""
        connection.execute("SET discreet.epsilon = 0.3")
        connection.execute("SET LOCAL discreet.epsilon = 0.4")
        assert shown() == "0.4"
    assert shown() == "0.3"
    with connection.transaction():
        connection.execute("SET LOCAL time zone 'Europe/Berlin'")
        connection.execute("SET discreet.epsilon = 0.5")
        with connection.transaction(force_rollback=True):
            connection.execute("SET discreet.epsilon = 0.6")
        assert shown() == "0.5"
    assert shown() == "0.5"
    assert connection.execute("SHOW timezone").fetchone() == ("UTC",)
    assert said == [("WARNING", "25P01"), ("NOTICE", "00000"), ("NOTICE", "00000")]  # of the cost settings


def test_statements_of_one_text_are_one_transaction_of_settings(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    said: list[tuple[str | None, str | None]] = []
    connection.add_notice_handler(lambda note: said.append((note.severity_nonlocalized, note.sqlstate)))
    connection.execute("SET LOCAL discreet.epsilon = 0.4; SET discreet.confidence = '90%'")
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("",)
    assert connection.execute("SHOW discreet.confidence").fetchone() == ("90%",)
    with pytest.raises(psycopg.errors.UndefinedObject):
        connection.execute("SET discreet.epsilon = 0.7; SHOW colour")
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("",)
    connection.execute("SET LOCAL discreet.epsilon = 0.6; BEGIN")
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("0.6",)
    connection.execute("COMMIT")
    assert connection.execute("SHOW discreet.epsilon").fetchone() == ("",)
    assert not said


def test_an_error_is_chosen_instead_of_a_cost(server: Served, connection: psycopg.Connection) -> None:
    connection.execute("SET discreet.within = 50")
    connection.execute("SELECT COUNT(*) AS n FROM people")
    (entry,) = server.curators.ledger.list_entries()
    assert isinstance(entry.guarantee, PureDP)
    assert float(entry.guarantee.epsilon) == pytest.approx(3 / 50, rel=0.05)


def test_what_was_released_is_free_and_settings_say_whether_it_is_used(
    server: Served, connection: psycopg.Connection
) -> None:
    connection.autocommit, said = True, list[str]()
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))

    def ask(setting: str, sql: str = BY_SEX) -> str:
        said.clear()
        connection.execute(f"SET {setting}")
        connection.execute(sql)
        return next(each for each in said if each.startswith("cost: "))

    connection.execute("SET discreet.free = on")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="never released") as refusal:
        connection.execute(BY_SEX)
    assert "Without discreet.free" in (refusal.value.diag.message_hint or "")
    connection.execute("SET discreet.free = off")
    assert server.charges() == 0
    assert ask("discreet.epsilon = 0.05") == "cost: epsilon 0.05 (entry 1)"
    known = "cost: nothing: everything that it needs was released before"
    assert ask("discreet.epsilon = 0.04", f"{BY_SEX} LIMIT 1") == f"{known} (entry 1)"
    assert ask("discreet.fresh = on") == "cost: epsilon 0.04 (entry 2)"
    assert ask("discreet.fresh = off").startswith(known)
    assert ask("discreet.epsilon = 0.06") == (
        "cost: epsilon 0.06 (entry 3); the rest was released before (entries 1, 2)"
    )
    assert ask("discreet.free = on") == f"{known} (entries 1, 2, 3)"
    with pytest.raises(psycopg.Error, match="exclude each other"):
        ask("discreet.fresh = on")
    assert server.charges() == 3


@pytest.mark.parametrize(
    ("setting", "sql", "hint"),
    [
        (
            "discreet.epsilon = 100",
            "SELECT COUNT(*) FROM people",
            r"What would still fit: SET discreet.epsilon = 0.8",
        ),
        ("discreet.within = 1", "SELECT AVG(age) FROM people", r"SET discreet.least_rows = \d+"),
    ],
)
def test_the_way_out_of_a_refusal_is_a_setting(
    connection: psycopg.Connection, setting: str, sql: str, hint: str
) -> None:
    connection.execute(f"SET {setting}")
    with pytest.raises(psycopg.Error) as refusal:
        connection.execute(sql)
    assert re.search(hint, refusal.value.diag.message_hint or "")


def test_intervals_come_as_columns_where_they_are_asked_for(connection: psycopg.Connection) -> None:
    connection.execute("SET discreet.intervals = on")
    cursor = connection.execute("SELECT COUNT(*) AS n FROM people")
    assert [column.name for column in cursor.description or ()] == ["n", "n.low", "n.high"]
    row = cursor.fetchone()
    assert row is not None
    assert row[1] < row[0] < row[2]


def test_no_error_bar_reaches_the_client_where_none_holds(
    server: Served, connection: psycopg.Connection
) -> None:
    said: list[str | None] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    top = "SELECT sex, COUNT(*) > 1 AS n FROM people GROUP BY sex"
    connection.execute("SET discreet.intervals = on")
    cursor = connection.execute(top)
    assert [column.name for column in cursor.description or ()] == ["sex", "n"]
    assert any("No error bar for n: it is computed from noisy values" in (each or "") for each in said)
    plan = connection.execute(f"EXPLAIN {top}").fetchall()
    assert not any("±" in (each or "") for each in [*said, *(line for (line,) in plan)])
    connection.execute("SET discreet.within = 100")
    charged = server.charges()
    with pytest.raises(psycopg.Error, match="cannot be promised for n"):
        connection.execute(top)
    assert server.charges() == charged


def test_what_is_cancelled_before_it_is_charged_costs_nothing(server: Served) -> None:
    with psycopg.connect(server.address, autocommit=True) as connection:
        told = threading.Event()

        def cancel() -> None:
            while not told.wait(0.1):
                connection.cancel_safe()

        with server.curators.take_turn("alice"):  # somebody else asks in alice's name, so that this one waits
            thread = threading.Thread(target=cancel)
            thread.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute("SELECT COUNT(*) AS n FROM people")
            told.set()
            thread.join()
        assert server.charges() == 0
        assert connection.execute("SELECT COUNT(*) AS n FROM people").fetchone() is not None
    assert server.charges() == 1


def test_what_is_cancelled_after_it_is_charged_is_given_the_next_time_for_nothing(server: Served) -> None:
    told, counting = threading.Event(), threading.Event()

    def count() -> None:
        counting.set()
        assert told.wait(PATIENCE)

    slowed(server.curators, "alice", count)
    with psycopg.connect(server.address, autocommit=True) as connection:

        def cancel() -> None:
            assert counting.wait(PATIENCE)
            assert server.charges() == 1
            while not told.wait(0.1):
                connection.cancel_safe()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT COUNT(*) AS n FROM people")
        told.set()
        thread.join()
        assert connection.execute("SELECT COUNT(*) AS n FROM people").fetchone() is not None
    assert server.charges() == 1


def test_a_client_that_wants_no_notices_gets_none(connection: psycopg.Connection) -> None:
    said: list[object] = []
    connection.add_notice_handler(said.append)
    connection.execute("SET client_min_messages = warning")
    connection.execute("SELECT COUNT(*) AS n FROM people")
    assert said == []


# -- asyncpg ------------------------------------------------------------------------------------------------


def test_asyncpg_describes_binds_and_fetches_in_parts(server: Served) -> None:
    async def talk() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=server.port,
            user="alice",
            password=PASSWORD,
            database="discreet",
            timeout=PATIENCE,
        )
        sql = (
            "SELECT sex, COUNT(*) AS n, AVG(height) AS h FROM people WHERE age > $1 AND born < $2 GROUP BY 1"
        )
        prepared = await connection.prepare(sql)
        assert [kind.name for kind in prepared.get_parameters()] == ["int8", "date"]
        assert [each.type.name for each in prepared.get_attributes()] == ["text", "int8", "float8"]
        assert server.charges() == 0
        rows = await prepared.fetch(30, dt.date(1990, 1, 1))
        assert server.charges() == 1
        async with connection.transaction():
            again = [row async for row in connection.cursor(sql, 30, dt.date(1990, 1, 1), prefetch=1)]
        assert again == rows
        assert await connection.fetchval("SELECT COUNT(*) FROM people WHERE height > $1", 1.5) > 0
        assert str(await connection.fetchval("SELECT version()")).startswith("PostgreSQL")
        await connection.reset()
        await connection.close()

    asyncio.run(talk())
    assert server.charges() == 2


# -- SQLAlchemy and pandas ----------------------------------------------------------------------------------


def test_sqlalchemy_reflects_the_schema_and_asks_by_it(server: Served) -> None:
    engine = sa.create_engine(server.url)
    schema = sa.MetaData()
    schema.reflect(engine)
    people, visits = schema.tables["people"], schema.tables["visits"]
    assert {key.target_fullname for key in visits.foreign_keys} == {"people.id"}
    assert isinstance(people.c.height.type, sa.Double)
    assert people.c.age.comment == "from 18 to 90"
    inspector = sa.inspect(engine)
    assert sorted(inspector.get_table_names()) == ["people", "visits"]
    assert inspector.get_schema_names() == ["information_schema", "public"]
    assert not inspector.has_table("towns")
    assert inspector.get_indexes("people") == []
    assert server.charges() == 0
    question = (
        sa.select(people.c.sex, sa.func.count().label("n")).where(people.c.age > 30).group_by(people.c.sex)
    )
    with engine.connect() as connection:
        assert {row.sex for row in connection.execute(question)} == {"Male", "Female", "Other"}
    assert server.charges() == 1
    engine.dispose()


def test_pandas_reads_an_answer(server: Served) -> None:
    engine = sa.create_engine(server.url)
    frame = pd.read_sql(BY_SEX, engine)
    assert list(frame.columns) == ["sex", "n", "age"]
    assert str(frame.n.dtype) == "int64"
    assert frame.n.sum() > 2_000
    engine.dispose()
