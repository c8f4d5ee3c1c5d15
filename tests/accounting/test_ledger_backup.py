"""Backups of a ledger, and what a restored one is charged for: all that was asked since, and never less."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.high_water_marks import HighWaterMarks
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_backup import RestoreResult, back_up_ledger, restore_ledger
from discreet.accounting.ledger_database import LedgerDatabase
from discreet.accounting.ledger_storage import is_database_address
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.guarantees import ApproximateDP
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_hash_chain import make_older
from tests.accounting.test_high_water_marks import mark_files, open_marked
from tests.accounting.test_ledger import HALVES, SQL, TAILED, beneath, pure

TENTH = Fraction(1, 10)
TABLES = ("link", "release", "entry", "account", "terms", "ledger")


def open_unmarked(promise: Promise = PROMISE) -> Callable[[str], Ledger]:
    return lambda address: Ledger(address, promise, analysts=HALVES)


def restore(place: str, folder: Path, backup: Path | None = None) -> RestoreResult:
    return restore_ledger(backup, place, HighWaterMarks(mark_files(folder)), open_unmarked())


def ask(ledger: Ledger, analyst: str, epsilon: Fraction = TENTH, key: str = "") -> None:
    name = key or f"{analyst} {len(ledger.list_entries())}"
    ledger.settle(ledger.reserve(analyst, name, SQL, pure(epsilon)), b"5")


def lose(place: str) -> None:
    """The ledger is gone: its file, or its tables."""
    if not is_database_address(place):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{place}{suffix}").unlink(missing_ok=True)
        return
    with beneath(place) as connection:
        for table in TABLES:
            connection.execute(f"DROP TABLE {table} CASCADE")
        connection.execute("DROP FUNCTION ledger_stays")


def put_back(place: str, backup: Path) -> None:
    """An older copy in the place of the ledger, by somebody who does not ask us."""
    lose(place)
    if not is_database_address(place):
        shutil.copy(backup, place)
        return
    with (
        closing(LedgerDatabase(place)) as storage,
        Ledger(backup, PROMISE) as older,
        older.storage.read_transaction() as rows,
    ):
        storage.load_from(rows)


def test_a_backup_is_the_ledger_at_one_moment(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")
        ledger.record_release("adult-k5", "a 5-anonymous table", {"k": 5})
        ask(ledger, "bob")
        back_up_ledger(ledger, tmp_path / "backup.db")
        with Ledger(tmp_path / "backup.db", PROMISE) as copy:
            copy.verify()
            assert copy.list_entries() == ledger.list_entries()
            assert copy.list_releases() == ledger.list_releases()
            assert copy.read_mark().head == ledger.read_mark().head
            assert copy.find_stored_answer("alice", "alice 0") == ledger.find_stored_answer(
                "alice", "alice 0"
            )
        with pytest.raises(RequestError, match="exists already"):
            back_up_ledger(ledger, tmp_path / "backup.db")
    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == 0o600


def test_a_lost_ledger_is_restored_and_charged_for_exactly_what_came_after(
    place: str, tmp_path: Path
) -> None:
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")
        ask(ledger, "bob")
        back_up_ledger(ledger, tmp_path / "backup.db")
        ask(ledger, "alice", 2 * TENTH)
        ask(ledger, "alice", TENTH)
        ledger.record_release("adult-k5", "a 5-anonymous table")
        before = ledger.get_total_spent("alice"), ledger.get_total_spent("bob"), ledger.get_total_spent()
    lose(place)
    with pytest.raises(RequestError, match="is missing or empty"):
        open_marked(place, tmp_path)
    found = restore(place, tmp_path, tmp_path / "backup.db")
    assert found == RestoreResult(
        charged=("alice",), releases=("adult-k5 (a 5-anonymous table)",), whole=False
    )
    with open_marked(place, tmp_path) as ledger:
        ledger.verify()
        assert (
            ledger.get_total_spent("alice"),
            ledger.get_total_spent("bob"),
            ledger.get_total_spent(),
        ) == before
        assert (
            "adult-k5 (a 5-anonymous table) (known from a mark alone) was published"
            in ledger.describe_belief()
        )
        ask(ledger, "bob")
        ledger.record_release("more", "another table")
        ledger.verify()


def test_an_older_copy_is_taken_as_it_stands_and_charged(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")
        back_up_ledger(ledger, tmp_path / "backup.db")
        ask(ledger, "bob", 3 * TENTH)
    put_back(place, tmp_path / "backup.db")
    with pytest.raises(RequestError, match="is behind its mark"):
        open_marked(place, tmp_path)
    assert restore(place, tmp_path).charged == ("bob",)
    assert restore(place, tmp_path) == RestoreResult(charged=(), releases=(), whole=False)
    with open_marked(place, tmp_path) as ledger:
        assert ledger.get_total_spent("bob") == pure(3 * TENTH)


def test_a_copy_that_was_asked_elsewhere_is_charged_for_both_histories(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    with open_marked(place, tmp_path) as ledger:
        for _ in range(3):
            ask(ledger, "alice", Fraction(1, 50))
        back_up_ledger(ledger, tmp_path / "copy.db")
    with Ledger(tmp_path / "copy.db", PROMISE, analysts=HALVES) as elsewhere:
        for number in range(4):
            ask(elsewhere, "alice", Fraction(1, 50), key=f"elsewhere {number}")
        back_up_ledger(elsewhere, tmp_path / "returned.db")
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice", TENTH, key="here")
    put_back(place, tmp_path / "returned.db")
    with pytest.raises(RequestError, match="has another history than its mark"):
        open_marked(place, tmp_path)
    assert restore(place, tmp_path).charged == ("alice",)
    with open_marked(place, tmp_path) as ledger:
        assert ledger.get_total_spent("alice") == pure(Fraction(7, 50) + TENTH)


def test_a_mark_of_the_lost_history_elsewhere_is_recognized_after_restoring(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")
        back_up_ledger(ledger, tmp_path / "backup.db")
        ask(ledger, "alice")
        ask(ledger, "bob")
    lost_history = (tmp_path / "data" / ".discreet.mark").read_text()
    lose(place)
    restore(place, tmp_path, tmp_path / "backup.db")
    (tmp_path / "data" / ".discreet.mark").write_text(lost_history)
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")


def test_where_no_mark_is_left_every_share_is_charged_whole(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    with Ledger(place, TAILED, analysts={"alice": 0.5, "bob": 0.3}) as ledger:
        ledger.reserve("alice", "1", SQL, ApproximateDP(epsilon=0.1, delta=1e-12))
        back_up_ledger(ledger, tmp_path / "backup.db")
    found = restore_ledger(None, place, HighWaterMarks(), lambda address: Ledger(address, TAILED))
    assert found.whole
    with Ledger(place, TAILED) as ledger:
        ledger.verify()
        assert ledger.get_total_spent() == ledger.get_accountant().limit
        assert not ledger.has_room_for("bob", pure(Fraction(1, 10**6)))


def test_a_copy_of_the_format_before_the_chain_is_recognized(tmp_path: Path) -> None:
    """It was copied before discreet chained ledgers, and comes back afterwards."""
    place = str(tmp_path / "ledger.db")
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        ask(ledger, "alice")
    make_older(place)
    shutil.copy(place, tmp_path / "older.db")
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "bob", 2 * TENTH)
    put_back(place, tmp_path / "older.db")
    with pytest.raises(RequestError, match="is behind its mark"):
        open_marked(place, tmp_path)
    restore(place, tmp_path)
    with open_marked(place, tmp_path) as ledger:
        assert Fraction(ledger.get_total_spent("bob").epsilon) >= 2 * TENTH  # type: ignore[union-attr]


def test_what_is_no_backup_is_refused_and_the_ledger_stays(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    with open_marked(place, tmp_path) as ledger:
        ask(ledger, "alice")
    lose(place)
    (tmp_path / "letter.txt").write_text("not a ledger")
    for wrong, what in (("letter.txt", "letter.txt is not a ledger"), ("none.db", "there is no file")):
        with pytest.raises(RequestError, match=what):
            restore(place, tmp_path, tmp_path / wrong)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "ledger.mark", "letter.txt"]
