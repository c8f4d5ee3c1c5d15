"""Where a ledger is kept: many who write at once, whoever is killed, and what a server is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.accounting.entries import Entry, EntryState
from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_storage import FORMAT, GroupCommit, SqlTransaction
from discreet.core.errors import BudgetError, EngineFault, RequestError
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_ledger import HALVES, SQL, beneath, dump, is_accepted, pure, tamper
from tests.engines.servers import PostgresServer

POSTGRES = pytest.mark.xdist_group("postgres")


def commits_of(ledger: Ledger) -> GroupCommit:
    found: Any = ledger.storage
    return found.commits  # type: ignore[no-any-return]


# one commit for everybody who waits


@contextmanager
def arriving(ledger: Ledger, *works: Callable[[], Entry]) -> Iterator[list[Future[Entry]]]:
    """All of these wait, in this order, while somebody else has the turn; they are settled at the end."""
    commits = commits_of(ledger)
    with ThreadPoolExecutor(len(works)) as pool:
        with commits._turn:
            futures = []
            for number, work in enumerate(works, 1):
                futures.append(pool.submit(work))
                while len(commits._waiting) < number:
                    time.sleep(0.001)
        yield futures


def count_transactions(ledger: Ledger) -> list[int]:
    """One for each transaction from now on."""
    commits, found = commits_of(ledger), list[int]()
    transaction = commits.transaction

    def counting() -> AbstractContextManager[SqlTransaction]:
        found.append(1)
        return transaction()

    commits.transaction = counting
    return found


def asking(ledger: Ledger, analyst: str, key: str, epsilon: Any) -> Callable[[], Entry]:
    return lambda: ledger.reserve(analyst, key, SQL, pure(epsilon))


def test_all_who_wait_are_settled_by_one_commit_in_the_order_in_which_they_came(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        transactions = count_transactions(ledger)
        works = [asking(ledger, ("alice", "bob")[each % 2], f"key {each}", 0.01) for each in range(8)]
        with arriving(ledger, *works) as futures:
            entries = [each.result() for each in futures]
        assert len(transactions) == 1
        assert [each.id for each in entries] == list(range(1, 9))
        assert [each.question_key for each in ledger.list_entries()] == [f"key {each}" for each in range(8)]
        ledger.verify()


def test_who_is_refused_among_others_leaves_no_trace_and_hinders_nobody(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        half = Fraction(PROMISE.epsilon) / 4
        works = [asking(ledger, name, f"key {name}", half) for name in ("alice", "alice", "alice", "bob")]
        with arriving(ledger, *works, asking(ledger, "carol", "key", 0.1)) as futures:
            outcomes = [type(each.exception()) for each in futures]
        assert outcomes == [type(None), type(None), BudgetError, type(None), RequestError]
        assert ledger.get_total_spent() == pure(3 * half)
        assert [each.id for each in ledger.list_entries()] == [1, 2, 3]
        ledger.verify()


def test_what_one_has_written_before_it_failed_is_taken_back_and_what_others_wrote_is_not(place: str) -> None:
    def spoil(rows: SqlTransaction) -> Entry:
        rows.execute("UPDATE account SET epsilon = '99', incident = 'none'")
        raise RequestError("spoilt")

    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        works = [asking(ledger, "alice", "before", 0.1), lambda: ledger.storage.write(spoil)]
        with arriving(ledger, *works, asking(ledger, "alice", "after", 0.1)) as futures:
            assert str(futures[1].exception()) == "spoilt"
            assert [futures[each].result().id for each in (0, 2)] == [1, 2]
        assert ledger.get_total_spent() == pure(Fraction(0.1) * 2)
        ledger.verify()


def test_a_commit_that_fails_fails_for_everybody_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setattr("discreet.accounting.ledger_file.PATIENCE", 0.01)
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        entry = ledger.reserve("alice", "key", SQL, pure(0.1))
        before = dump(str(path))
        with beneath(path) as busy:
            busy.execute("BEGIN IMMEDIATE")
            works = [asking(ledger, "alice", "other", 0.1), lambda: ledger.settle(entry, b"5")]
            with arriving(ledger, *works) as futures:
                failures = [each.exception() for each in futures]
            busy.execute("ROLLBACK")
        assert isinstance(failures[0], RequestError)
        assert isinstance(failures[1], EngineFault)
        assert dump(str(path)) == before
        assert ledger.settle(entry, b"5").state is EntryState.SETTLED


def test_many_threads_never_overspend_and_each_is_told_its_own(tmp_path: Path) -> None:
    found: list[tuple[str, str]] = []
    with Ledger(tmp_path / "ledger.db", PROMISE, analysts={"alice": 1}) as ledger:
        start = threading.Barrier(16)

        def ask(number: int) -> None:
            start.wait()
            for each in range(4):
                key = f"{number}-{each}"
                try:
                    entry = ledger.reserve("alice", key, SQL, pure(Fraction(PROMISE.epsilon) / 40))
                except BudgetError:
                    continue
                found.append((key, ledger.settle(entry, key.encode()).question_key))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(found) == 40
        assert all(key == told for key, told in found)
        for key, _ in found:
            stored = ledger.find_stored_answer("alice", key)
            assert stored is not None
            assert stored.answer == key.encode()
        ledger.verify()


# kill -9


@pytest.mark.parametrize("times", [8, pytest.param(40, marks=pytest.mark.night)])
def test_nothing_is_released_without_its_charge_whenever_the_process_is_killed(
    place: str, tmp_path: Path, times: int
) -> None:
    released = tmp_path / "released"
    done = subprocess.run(
        [sys.executable, "-m", "tests.accounting.ledger_rivals", "killed", place, str(released), str(times)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=Path(__file__).parents[2],
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert times <= found["released"] <= found["settled"] <= found["released"] + times
    with Ledger(place, PROMISE) as ledger:
        assert ledger.get_total_spent() == pure(Fraction(found["settled"] + found["orphaned"], 10**6))
        assert is_accepted(ledger, "alice", pure(0.1))


# numbers that tell nothing of others


def test_entries_are_numbered_for_each_analyst(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        for name in ("bob", "alice", "bob", "alice"):
            entry = ledger.reserve(name, "key", SQL, pure(0.01))
            assert ledger.settle(entry, b"5").number == entry.number
        assert [(each.analyst, each.number) for each in ledger.list_entries()] == [
            ("bob", 1),
            ("alice", 1),
            ("bob", 2),
            ("alice", 2),
        ]


def test_a_ledger_of_the_first_format_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        for name in ("bob", "alice", "bob"):
            ledger.settle(ledger.reserve(name, "key", SQL, pure(0.01)), b"5")
        before = ledger.list_entries()
    tamper(path, "DROP TABLE link", "ALTER TABLE entry DROP COLUMN number", "PRAGMA user_version = 1")
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        assert ledger.list_entries() == before
        ledger.verify()


# a server


@POSTGRES
def test_what_is_charged_is_written_through_whatever_the_servers_default(postgres: PostgresServer) -> None:
    place = postgres.schema().replace("?options=", "?options=-csynchronous_commit%3Doff%20")
    with psycopg.connect(place) as connection:
        row = connection.execute("SHOW synchronous_commit").fetchone()
        assert row == ("off",)
    with Ledger(place, PROMISE) as ledger:
        told = ledger.storage.write(lambda rows: rows.execute("SHOW synchronous_commit").fetchone()[0])
    assert told == "on"


@POSTGRES
def test_what_stands_in_a_server_is_never_deleted_and_never_changes(postgres: PostgresServer) -> None:
    place = postgres.schema()
    with Ledger(place, PROMISE) as ledger:
        assert is_accepted(ledger, SOLE_ANALYST, pure(0.1))
        ledger.record_release("name", "description")
    for statement in (
        "DELETE FROM entry",
        "TRUNCATE entry",
        "UPDATE entry SET epsilon = '0'",
        "DELETE FROM release",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match="never"):
            tamper(place, statement)


@POSTGRES
def test_tables_of_another_program_are_refused_and_left_as_they_are(postgres: PostgresServer) -> None:
    place = postgres.schema()
    tamper(place, "CREATE TABLE account (spent INTEGER)", "INSERT INTO account VALUES (7)")
    with pytest.raises(RequestError, match="is not a ledger of discreet"):
        Ledger(place, PROMISE)
    with beneath(place) as connection:
        assert connection.execute("SELECT spent FROM account").fetchall() == [(7,)]


@POSTGRES
@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (
            [f"UPDATE ledger SET format = {FORMAT + 1}"],
            f"has format {FORMAT + 1}; this version of discreet knows formats up to {FORMAT}",
        ),
        (["UPDATE account SET epsilon = '0' WHERE analyst = ''"], "not the sum of everything"),
        (["UPDATE account SET epsilon = '0'"], "is not the sum of the entries"),
        (["DROP TRIGGER entry_stays ON entry", "DELETE FROM entry WHERE id = 3"], "entries are missing"),
        (["UPDATE account SET epsilon = 'much'"], "it holds an invalid number"),
        (["DELETE FROM account WHERE analyst = ''"], "the sum of everything is missing"),
        (["DROP TABLE release"], "is not a ledger of discreet"),
        (["ALTER TABLE entry DROP COLUMN state CASCADE"], "is damaged"),
    ],
)
def test_a_server_that_contradicts_itself_is_refused(
    statements: list[str], what: str, postgres: PostgresServer
) -> None:
    place = postgres.schema()
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        for number in range(3):
            ledger.settle(ledger.reserve("alice", f"key {number}", SQL, pure(Fraction(1, 100))), b"5")
    tamper(place, *statements)
    with pytest.raises(RequestError) as refused, Ledger(place, PROMISE) as ledger:
        _read_whole(ledger)
    assert what in refused.value.message
    assert refused.value.hint


def _read_whole(ledger: Ledger) -> None:
    ledger.verify()
    ledger.list_entries()


@POSTGRES
def test_a_server_that_is_kept_busy_refuses_before_data_and_is_a_fault_after(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres.schema()
    monkeypatch.setattr("discreet.accounting.shared_database.PATIENCE", 0.05)
    with Ledger(place, PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        with beneath(place) as busy:
            busy.execute("SELECT * FROM ledger FOR UPDATE")
            with pytest.raises(EngineFault, match="the charge stays"):
                ledger.settle(entry, b"5")
            with pytest.raises(RequestError, match="is kept busy by another process"):
                ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
            assert ledger.get_total_spent() == pure(0.5)
        assert ledger.settle(entry, b"5").state is EntryState.SETTLED


@POSTGRES
def test_a_ledger_goes_on_after_its_connections_were_cut(postgres: PostgresServer) -> None:
    place = postgres.schema()
    with Ledger(f"{place}&application_name=cut", PROMISE) as ledger:
        entry = ledger.reserve(SOLE_ANALYST, "key", SQL, pure(0.5))
        with psycopg.connect(place) as other:
            cut = "SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity"
            assert other.execute(f"{cut} WHERE application_name = 'cut'").fetchall()
        assert ledger.settle(entry, b"5").state is EntryState.SETTLED
        assert ledger.get_total_spent() == pure(0.5)


def test_a_server_that_is_not_there_is_one_sentence_without_its_password() -> None:
    with pytest.raises(RequestError, match="cannot be reached") as refused:
        Ledger("postgresql://barbara:sesame@127.0.0.1:1/promises", PROMISE)
    assert "sesame" not in str(refused.value)
    assert "barbara" not in str(refused.value)
    assert "postgresql://127.0.0.1:1/promises" in refused.value.message
