"""What an untrusted analyst tries at the PostgreSQL listener, and what comes of it."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.services.users.login_throttle import LoginThrottle
from tests.pgwire.raw_messages import (
    SYNC,
    Bytes,
    Message,
    bind,
    describe,
    execute,
    fields,
    kinds,
    parse,
    query,
)
from tests.pgwire.served import CANARY, PASSWORD, Served, served, write_data
from tests.security.canary import canary

COUNT = "SELECT COUNT(*) AS n FROM people"
FORBIDDEN = [
    "SELECT * FROM read_csv('{canary}')",
    "SELECT COUNT(*) FROM read_csv('{canary}')",
    "SELECT COUNT(*) FROM '{canary}'",
    "SELECT COUNT(*) FROM people, read_text('{canary}')",
    "COPY people TO '{made}'",
    "COPY (SELECT 1) TO '{made}'",
    "COPY people FROM '{canary}'",
    "ATTACH '{made}' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "SELECT stats(age) FROM people",
    "SUMMARIZE people",
    "DESCRIBE people",
    f"EXPLAIN ANALYZE {COUNT}",
    f"EXPLAIN (ANALYZE) {COUNT}",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_settings()",
    f"SELECT * FROM query('{COUNT}')",
    "SELECT json_execute_serialized_sql('{{}}')",
    "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "SET VARIABLE x = (SELECT MAX(age) FROM people)",
    "SELECT getvariable('x')",
    "SELECT getenv('HOME')",
    "SELECT pg_read_file('{canary}')",
    "SELECT pg_sleep(30)",
    "SELECT lo_import('{canary}')",
    "SELECT random()",
    "SELECT COUNT(*) FROM people WHERE random() < 0.5",
    "SELECT now()",
    "SELECT nextval('x')",
    f"{COUNT}; DROP TABLE people",
    f"{COUNT}; {COUNT}",
    "SELECT/**/COUNT(*)/**/FROM/**/people;/**/COPY people TO '{made}'",
    "INSERT INTO people VALUES (1)",
    "UPDATE people SET age = 1",
    "DELETE FROM people",
    "CREATE TABLE x AS SELECT * FROM people",
    "DROP TABLE people",
    "SELECT * INTO x FROM people",
    "SELECT town FROM people",
    "SELECT \uff43ount(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE town = '\u202e' OR error('x')",
    "TABLE people",
    "VALUES (1), ((SELECT MAX(age) FROM people))",
    "DO $$ BEGIN PERFORM 1; END $$",
    "PREPARE p AS SELECT * FROM people",
    "EXECUTE p",
    "CALL pg_sleep(1)",
    "LISTEN x",
    "VACUUM",
    "SET ROLE custodian",
    "DECLARE c CURSOR FOR SELECT * FROM people",
    "WITH x AS (INSERT INTO people VALUES (1) RETURNING 1) SELECT * FROM x",
]


@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
def test_everything_that_reaches_beyond_a_question_is_refused_before_data_is_read(
    server: Served, tmp_path: Path, extended: bool
) -> None:
    file, made = tmp_path / "canary.csv", tmp_path / "made.csv"
    with canary(file, f"secret\n{CANARY}\n") as touched, Bytes(server.port) as line:
        line.login(PASSWORD)
        for template in FORBIDDEN:
            sql = template.format(canary=file, made=made)
            line.send(parse(sql) + bind() + execute() + SYNC if extended else query(sql))
            said = line.until()
            assert "E" in kinds(said), sql
            assert "D" not in kinds(said), sql
            assert CANARY.encode() not in b"".join(content for _, content in said), sql
        assert not touched()
    assert server.charges() == 0
    assert not made.exists()


def test_the_canary_tells_that_it_was_read(tmp_path: Path) -> None:
    with canary(tmp_path / "canary.csv", CANARY) as touched:
        assert not touched()
        duckdb.read_csv(str(tmp_path / "canary.csv")).fetchall()
        assert touched()


TRAPS = [
    "SELECT AVG(1 / (age - 33)) AS a FROM people",
    "SELECT SUM(CAST(town AS INTEGER)) AS a FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE CAST(town AS DATE) < DATE '2000-01-01'",
    "SELECT SUM(age * 1000000 * 1000000) AS s FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE 1 / (age - 33) > 0",
    "SELECT sex, COUNT(*) AS n, AVG(height) AS h, MEDIAN(age) AS m FROM people GROUP BY sex",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > -1000000",
    "SELECT town, COUNT(*) AS n FROM people GROUP BY town",
]


def test_neighbouring_databases_cannot_be_told_apart_but_by_noise(tmp_path: Path) -> None:
    with ExitStack() as stack:
        lines = [stack.enter_context(_asked(stack, tmp_path / name, odd)) for name, odd in NEIGHBOURS]
        answered = 0
        for sql in TRAPS:
            for line in lines:
                line.send(query("SET discreet.epsilon = 0.05") + parse(sql) + describe("S") + SYNC)
                line.send(bind() + describe("P") + execute() + SYNC)
            left, right = ([_without_noise(line) for _ in range(3)] for line in lines)
            assert left == right, sql
            answered += "D" in kinds(left[-1])
    assert answered >= 5


NEIGHBOURS = (("one", (33, "9" * 400)), ("other", (34, "1")))


def _asked(stack: ExitStack, folder: Path, odd: tuple[int, str]) -> Bytes:
    """A server over people of whom one is as said; everybody else is the same."""
    folder.mkdir()
    write_data(folder)
    people = pq.read_table(folder / "people.parquet").to_pydict()
    people["age"] = [odd[0], *(40 for _ in people["age"][1:])]
    people["town"] = [odd[1], *("1" for _ in people["town"][1:])]
    pq.write_table(pa.table(people), folder / "people.parquet")
    line = Bytes(stack.enter_context(served(folder)).port)
    line.login(PASSWORD)
    return line


def _without_noise(line: Bytes) -> list[Message]:
    """What was said, without noisy values and the error bars that are made of them."""
    said = []
    for kind, content in line.until():
        if kind == b"D":
            said.append((kind, content[:2]))
        elif kind == b"N" and b"error at" in content:
            said.append((kind, re.sub(rb"[\d.,]+|unknown for|to \xc2\xb1|rows?", b"", content)[:30]))
        else:
            said.append((kind, content))
    return said


def test_a_thousand_repeats_are_one_value_and_one_charge(server: Served) -> None:
    with psycopg.connect(server.address) as connection:
        values = {connection.execute(COUNT).fetchone() for _ in range(1_000)}
    assert len(values) == 1
    assert server.charges() == 1


def test_the_same_question_at_once_is_charged_once(server: Served) -> None:
    found: list[object] = []

    def ask() -> None:
        with psycopg.connect(server.address) as connection:
            found.append(connection.execute(COUNT).fetchone())

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert len(set(found)) == 1
    assert server.charges() == 1


def test_another_analysts_questions_cannot_be_seen(server: Served) -> None:
    said: list[str | None] = []
    bob = server.address.replace("alice", "bob")
    with psycopg.connect(bob) as connection:
        before = connection.execute("SHOW discreet.left").fetchone()
    with psycopg.connect(server.address) as connection:
        connection.execute(COUNT)
    with psycopg.connect(bob) as connection:
        assert connection.execute("SHOW discreet.left").fetchone() == before
        connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
        connection.execute(COUNT)
        assert connection.execute("SELECT rolname FROM pg_roles").fetchall() == [("bob",)]
    assert said[0] == "cost: epsilon 0.1 (entry 1)"
    assert server.charges("bob") == 1


def test_many_clients_at_once_spend_no_more_than_the_promise(server: Served) -> None:
    errors: list[str | None] = []

    def ask(number: int) -> None:
        user = "alice" if number % 2 else "bob"
        with psycopg.connect(server.address.replace("alice", user), autocommit=True) as connection:
            connection.execute("SET discreet.epsilon = 0.05")
            for age in range(20, 30):
                try:
                    connection.execute("SELECT COUNT(*) FROM people WHERE age > %s", (age + number,))
                except psycopg.Error as error:
                    errors.append(error.sqlstate)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.curators.ledger.verify()
    assert set(errors) == {"53400"}
    assert server.curators.ledger.compute_belief().highest <= 0.05
    assert server.charges("alice") == server.charges("bob") == 16


def test_no_value_of_the_data_is_kept_or_logged(
    server: Served, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with Bytes(server.port) as line:
        line.login(PASSWORD)
        for sql in (*TRAPS, "SELECT town FROM people", "SELECT MODE(town) FROM people", "SHOW ALL", "\\d"):
            line.send(query(sql))
            assert CANARY.encode() not in b"".join(content for _, content in line.until())
    assert CANARY not in caplog.text + "".join(capfd.readouterr())
    files = [each for each in server.folder.iterdir() if each.name.startswith("ledger") and each.is_file()]
    assert files
    assert not any(CANARY.encode() in each.read_bytes() for each in files)


def test_guessing_is_throttled_and_names_are_not_told(tmp_path: Path) -> None:
    write_data(tmp_path)
    with served(tmp_path, throttle=LoginThrottle(clock=lambda: 0.0)) as server:
        for user in ("alice", "nobody"):
            assert [_refused(server, user, "wrong")["C"] for _ in range(5)] == ["28P01"] * 5
        throttled = [_refused(server, user, PASSWORD) for user in ("alice", "nobody")]
        assert throttled[0] == throttled[1]
        assert throttled[0]["M"] == "Too many logins have failed."
        with Bytes(server.port) as line:
            assert kinds(line.login(PASSWORD, user="bob"))[-1] == "Z"


def test_logins_that_were_begun_together_are_throttled_as_if_one_after_the_other(tmp_path: Path) -> None:
    write_data(tmp_path)
    with (
        served(tmp_path, throttle=LoginThrottle(clock=lambda: 0.0)) as server,
        ThreadPoolExecutor(12) as pool,
    ):
        told = list(pool.map(lambda _: _refused(server, "alice", "wrong")["C"], range(12)))
    assert sorted(told) == ["28000"] * 7 + ["28P01"] * 5


def _refused(server: Served, user: str, password: str) -> dict[str, str]:
    with Bytes(server.port) as line:
        return fields(line.login(password, user, last=b"E")[-1][1])
