"""A ledger that is rolled back under a running server: by a restore, or by a failover to a lagging standby.

The charges that are lost have happened. Whatever this process or a mark has seen of them, the older copy is
refused before data is read, and after it before an answer leaves.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest

from discreet.accounting.entries import StoredAnswer
from discreet.accounting.high_water_marks import HighWaterMarks, LedgerTerms
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_backup import restore_ledger
from discreet.accounting.ledger_storage import COLUMNS, is_database_address
from discreet.accounting.mark_files import MarkFile
from discreet.core.errors import BudgetError, EngineFault, RequestError
from discreet.services.serving.curators import Curators
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_high_water_marks import open_marked
from tests.accounting.test_ledger import HALVES, SQL, dump, pure
from tests.engines.servers import PostgresServer
from tests.patience import PATIENCE
from tests.security.attacked import policy_of

TENTH = pure(0.1)


def open_with(place: str, *marks: Path) -> Ledger:
    files = [MarkFile(path=each) for each in marks]
    return Ledger(place, PROMISE, analysts=HALVES, terms=LedgerTerms(marks=HighWaterMarks(files)))


def ask(ledger: Ledger, key: str) -> None:
    ledger.settle(ledger.reserve("alice", key, SQL, TENTH), b"5")


def copy_beneath(place: str, folder: Path) -> Callable[[], None]:
    """Copy a ledger by the tools of its storage; return what puts the copy in its place."""
    if not is_database_address(place):
        with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(folder / "old.db")) as target:
            source.backup(target)
        return lambda: _put_file_back(place, folder / "old.db")
    kept: dict[str, list[tuple[Any, ...]]] = {}
    with psycopg.connect(place) as connection:
        for table, columns in COLUMNS.items():
            found = connection.execute(f"SELECT {', '.join(columns)} FROM {table}".encode())
            kept[table] = found.fetchall()
    return lambda: _put_rows_back(place, kept)


def _put_file_back(place: str, old: Path) -> None:
    with closing(sqlite3.connect(old)) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)


def _put_rows_back(place: str, kept: dict[str, list[tuple[Any, ...]]]) -> None:
    with psycopg.connect(place) as connection:
        connection.execute("SET session_replication_role = replica")  # triggers refuse it otherwise
        for table in reversed(COLUMNS):
            connection.execute(f"DELETE FROM {table}".encode())
        for table, columns in COLUMNS.items():
            values = ", ".join(["%s"] * len(columns))
            for row in kept[table]:
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(columns)}) "
                    f"{'OVERRIDING SYSTEM VALUE' if table == 'release' else ''} VALUES ({values})".encode(),
                    row,
                )


@pytest.mark.parametrize("marks", [(), ("ledger.mark",), ("ledger.mark", "second.mark")])
def test_a_running_server_refuses_an_older_copy_and_writes_nothing_to_it(
    marks: tuple[str, ...], place: str, tmp_path: Path
) -> None:
    with open_with(place, *(tmp_path / each for each in marks)) as ledger:
        ask(ledger, "before")
        put_back = copy_beneath(place, tmp_path)
        for number in range(5):
            ask(ledger, f"lost {number}")
        put_back()
        older = dump(place)
        for attempt in (
            lambda: ledger.reserve("alice", "new", SQL, TENTH),
            lambda: ledger.reserve_or_replay("alice", "new", SQL, TENTH),
            lambda: ledger.record_release("adult-k5", "a 5-anonymous table"),
            ledger.describe_belief,  # its sentence would state too low a belief
            ledger.get_remaining_budget,
        ):
            with pytest.raises(RequestError, match="behind what this process has seen") as refused:
                attempt()
            assert "discreet ledger restore" in refused.value.hint
        assert dump(place) == older


def test_a_server_that_has_only_opened_the_ledger_refuses_an_older_copy(place: str, tmp_path: Path) -> None:
    with open_with(place) as ledger:
        ask(ledger, "before")
        put_back = copy_beneath(place, tmp_path)
        ask(ledger, "lost")
    with open_with(place) as opened:
        put_back()
        with pytest.raises(RequestError, match="behind what this process has seen"):
            opened.reserve("alice", "new", SQL, TENTH)


def test_an_older_copy_that_has_grown_past_what_was_seen_is_refused(place: str, tmp_path: Path) -> None:
    with open_with(place, tmp_path / "one.mark") as ledger:
        ask(ledger, "before")
        put_back = copy_beneath(place, tmp_path)
        ask(ledger, "lost")
        put_back()
        with open_with(place) as other:  # which knows nothing of what is lost
            for number in range(4):
                ask(other, f"other {number}")
        with pytest.raises(RequestError, match="has another history than this process has seen"):
            ledger.reserve("alice", "new", SQL, TENTH)


def test_the_newest_ledger_that_is_put_back_is_used_again(place: str, tmp_path: Path) -> None:
    (tmp_path / "newest").mkdir()
    with open_with(place, tmp_path / "ledger.mark") as ledger:
        ask(ledger, "before")
        older = copy_beneath(place, tmp_path)
        ask(ledger, "lost")
        newest = copy_beneath(place, tmp_path / "newest")
        older()
        with pytest.raises(RequestError, match="behind"):
            ledger.reserve("alice", "new", SQL, TENTH)
        newest()
        ask(ledger, "new")
        assert ledger.get_total_spent() == pure(3 * Fraction(0.1))


def test_what_was_read_before_the_rollback_does_not_leave(place: str, tmp_path: Path) -> None:
    with open_with(place, tmp_path / "ledger.mark") as ledger:
        put_back = copy_beneath(place, tmp_path)
        entry = ledger.reserve("alice", "key", SQL, TENTH)
        put_back()
        with pytest.raises(EngineFault, match="older copy"):
            ledger.settle(entry, b"5")


def test_a_commit_that_is_lost_before_its_mark_is_written_is_noticed(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover to a standby that lacks the newest commit."""
    with open_with(place, tmp_path / "ledger.mark") as ledger:
        ask(ledger, "before")
        put_back, write_marks = copy_beneath(place, tmp_path), ledger.write_marks

        def lose_first(**given: Any) -> None:
            put_back()
            write_marks(**given)

        monkeypatch.setattr(ledger, "write_marks", lose_first)
        with pytest.raises(RequestError, match="behind what this process has seen"):
            ledger.reserve("alice", "new", SQL, TENTH)
        monkeypatch.undo()


def test_a_server_that_has_seen_less_refuses_by_the_mark_of_another(place: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared.mark"
    with open_with(place, shared) as one, open_with(place, shared) as two:
        ask(one, "before")
        put_back = copy_beneath(place, tmp_path)
        ask(one, "lost")
        put_back()
        kept = json.dumps([mark.to_json() for mark in MarkFile(path=shared).read()])
        for _ in range(2):
            with pytest.raises(EngineFault, match="discreet ledger restore") as refused:
                two.reserve("alice", "new", SQL, TENTH)
            assert "no data was read" in refused.value.message
        assert json.dumps([mark.to_json() for mark in MarkFile(path=shared).read()]) == kept
        with pytest.raises(RequestError, match="mark"):
            open_with(place, shared)


def test_a_mark_that_becomes_unreadable_stops_a_running_server(tmp_path: Path) -> None:
    path = tmp_path / "ledger.mark"
    with open_with(str(tmp_path / "ledger.db"), path) as ledger:
        ask(ledger, "before")
        path.write_text("neither slots nor JSON")
        with pytest.raises(RequestError, match="is damaged"):
            ledger.reserve("alice", "new", SQL, TENTH)
        path.unlink()
        path.mkdir()
        with pytest.raises(RequestError, match="cannot be read"):
            ledger.reserve("alice", "newer", SQL, TENTH)


def test_a_place_that_cannot_be_written_for_a_while_is_read_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.mark"
    with open_with(str(tmp_path / "ledger.db"), path) as ledger:
        ask(ledger, "one")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("discreet.accounting.mark_files.write_text", full)
        ask(ledger, "two")
        assert list(ledger.marks.skipped) == [path]
        monkeypatch.undo()
        ask(ledger, "three")
        assert not ledger.marks.skipped
        assert [mark.total[3] for mark in MarkFile(path=path).read()] == [3]


@pytest.mark.parametrize("how", ["rename", "copy"])
def test_a_ledger_file_that_is_replaced_is_not_used_any_more(how: str, tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with open_with(str(place), tmp_path / "ledger.mark") as ledger:
        ask(ledger, "before")
        copy_beneath(str(place), tmp_path)
        for number in range(3):
            ask(ledger, f"lost {number}")
        if how == "rename":
            os.replace(tmp_path / "old.db", place)
        else:
            shutil.copyfile(tmp_path / "old.db", place)
            for suffix in ("-wal", "-shm"):
                place.with_name(f"ledger.db{suffix}").unlink()
        with pytest.raises(RequestError):
            ledger.reserve("alice", "new", SQL, TENTH)


def test_after_a_restoration_a_server_is_started_again_and_the_lost_charges_count(
    place: str, tmp_path: Path
) -> None:
    marks = tmp_path / "ledger.mark"
    running = open_with(place, marks)
    ask(running, "before")
    put_back = copy_beneath(place, tmp_path)
    for number in range(3):
        ask(running, f"lost {number}")
    put_back()
    found = HighWaterMarks([MarkFile(path=marks)])
    restore_ledger(None, place, found, lambda address: Ledger(address, PROMISE, analysts=HALVES))
    with pytest.raises(RequestError, match="this process has seen") as refused:
        running.reserve("alice", "new", SQL, TENTH)
    assert "start" in refused.value.hint
    running.close()
    with open_with(place, marks) as ledger:
        ask(ledger, "new")
        with pytest.raises(BudgetError):
            ledger.reserve("alice", "more", SQL, pure(0.825 - 5 * 0.1))


# several servers, each with a mark of its own


def test_servers_with_marks_of_their_own_write_them_forward(place: str, tmp_path: Path) -> None:
    one, two = open_with(place, tmp_path / "one.mark"), open_with(place, tmp_path / "two.mark")
    ask(two, "first")
    put_back = copy_beneath(place, tmp_path)
    for number in range(4):
        ask(one, f"lost {number}")
    two.refresh_marks()
    assert [mark.total[3] for mark in MarkFile(path=tmp_path / "two.mark").read()] == [5]
    put_back()
    for name in ("one.mark", "two.mark"):
        with pytest.raises(RequestError, match="is behind its mark"):
            open_with(place, tmp_path / name)
    one.close()
    two.close()


def test_a_server_writes_its_mark_forward_when_it_ends(place: str, tmp_path: Path) -> None:
    with open_with(place, tmp_path / "one.mark") as one:
        with open_with(place, tmp_path / "two.mark"):
            ask(one, "first")
        assert [mark.total[3] for mark in MarkFile(path=tmp_path / "two.mark").read()] == [1]


def test_nothing_is_marked_where_nothing_was_charged(place: str, tmp_path: Path) -> None:
    with open_with(place, tmp_path / "one.mark") as ledger:
        ledger.refresh_marks()
    assert not (tmp_path / "one.mark").exists()


def test_a_mark_of_a_lost_history_gives_way_to_that_of_the_restored_ledger(
    place: str, tmp_path: Path
) -> None:
    """Else a second rollback, to just after the restoration, would not be noticed by its server."""
    one, two = tmp_path / "one.mark", tmp_path / "two.mark"
    with open_with(place, one) as ledger, open_with(place, two) as other:
        ask(ledger, "first")
        put_back = copy_beneath(place, tmp_path)
        for number in range(3):
            ask(ledger, f"lost {number}")
        other.refresh_marks()
    put_back()
    found = HighWaterMarks([MarkFile(path=one)])
    restore_ledger(None, place, found, lambda address: Ledger(address, PROMISE, analysts=HALVES))
    with open_with(place, two) as other:
        ask(other, "new")
        (mark,) = MarkFile(path=two).read()
        assert replace(other.read_mark(), sources=()) == mark or mark.count < other.read_mark().count
        assert other.read_mark().total == mark.total


def test_a_replay_from_an_older_copy_is_refused_too(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "before")
        assert isinstance(ledger.reserve_or_replay("alice", "before", SQL, TENTH), StoredAnswer)
        put_back = copy_beneath(place, tmp_path)
        ask(ledger, "lost")
        put_back()
        with pytest.raises(RequestError, match="behind what this process has seen"):
            ledger.reserve_or_replay("alice", "before", SQL, TENTH)


@pytest.mark.xdist_group("postgres")
def test_an_idle_server_of_a_shared_ledger_follows_what_others_charge(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.services.serving.curators.MARK_INTERVAL", 0.01)
    place, path = postgres.schema(), tmp_path / "idle.mark"

    def no_engine() -> NoReturn:
        raise AssertionError("an idle server opens no engine")

    with open_with(place) as asked, Curators(policy_of(), open_with(place, path), no_engine):
        ask(asked, "elsewhere")
        until = time.monotonic() + PATIENCE
        while [mark.total[3] for mark in MarkFile(path=path).read()] != [1]:
            assert time.monotonic() < until
            time.sleep(0.01)
