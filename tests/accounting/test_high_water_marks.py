"""Marks of a ledger: written before data is read, whoever is killed, and by many at once; never back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.high_water_marks import HighWaterMarks, LedgerTerms
from discreet.accounting.ledger import Ledger
from discreet.accounting.mark_files import HighWaterMark, MarkFile, MarkStanding, read_text, write_text
from discreet.core.errors import EngineFault, RequestError
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_ledger import HALVES, SQL, pure
from tests.patience import PATIENCE

LITTLE = Fraction(1, 1000)


def mark_files(folder: Path) -> list[MarkFile]:
    """One beside the store, one beside the sources."""
    (folder / "data").mkdir(exist_ok=True)
    sources = (str(folder / "data" / "people.csv"),)
    return [
        MarkFile(path=folder / "ledger.mark"),
        MarkFile(path=folder / "data" / ".discreet.mark", sources=sources),
    ]


def open_marked(place: str | Path, folder: Path, *, separate: bool = False) -> Ledger:
    foundation = LedgerTerms(marks=HighWaterMarks(mark_files(folder)), separate=separate)
    return Ledger(place, PROMISE, analysts=HALVES, terms=foundation)


def read_marks(folder: Path) -> list[HighWaterMark]:
    return [mark for file in mark_files(folder) for mark in file.read()]


def test_a_mark_holds_what_the_ledger_has_come_to(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        assert read_marks(tmp_path) == []
        for number in range(3):
            ledger.settle(ledger.reserve(("alice", "bob")[number % 2], f"{number}", SQL, pure(LITTLE)), b"5")
        ledger.record_release("adult-k5", "a 5-anonymous table")
        first, second = read_marks(tmp_path)
        expected = ledger.read_mark()
    assert replace(second, sources=()) == first == expected
    assert second.sources == ("people.csv",)
    assert first.accounts == {"alice": ("1/500", "0", "0", 2), "bob": ("1/1000", "0", "0", 1)}
    assert first.releases == ("adult-k5 (a 5-anonymous table)",)
    assert (tmp_path / "ledger.mark").stat().st_mode & 0o777 == 0o600


def test_the_mark_is_written_before_the_reservation_is_handed_out(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        for number in range(1, 4):
            ledger.reserve("alice", f"{number}", SQL, pure(LITTLE))
            assert [mark.total[3] for mark in read_marks(tmp_path)] == [number, number]


def test_a_mark_never_goes_back(tmp_path: Path) -> None:
    (file, _), (low, high) = mark_files(tmp_path), (_mark(3), _mark(5))
    assert file.advance(high, lambda _: MarkStanding.CHAINED) == []
    assert file.advance(low, lambda _: MarkStanding.CHAINED) == []
    assert file.read() == [high]
    with pytest.raises(EngineFault, match="copy of this ledger; the charge stays"):
        file.advance(_mark(9), lambda _: MarkStanding.UNKNOWN)
    assert file.read() == [high]
    file.replace(low)
    assert file.read() == [low]


def _mark(count: int) -> HighWaterMark:
    sums = ("0", "0", "0", count)
    return HighWaterMark(ledger="x", place="ledger.db", count=count, head=f"{count}", total=sums, accounts={})


def test_a_folder_that_cannot_be_written_is_left_out_and_a_chosen_place_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    elsewhere = MarkFile(path=tmp_path / "file" / "x.mark", sources=(str(tmp_path / "file" / "x.csv"),))
    marks = HighWaterMarks([MarkFile(path=tmp_path / "a.mark"), elsewhere])
    with Ledger(tmp_path / "ledger.db", PROMISE, terms=LedgerTerms(marks=marks)) as ledger:
        ledger.reserve("analyst", "1", SQL, pure(LITTLE))
    assert list(marks.skipped) == [elsewhere.path]
    assert [mark.total[3] for _, mark in marks.read()] == [1]
    chosen = HighWaterMarks([replace(elsewhere, required=True)])
    with pytest.raises(RequestError, match="cannot be written"):
        Ledger(tmp_path / "other.db", PROMISE, terms=LedgerTerms(marks=chosen))


def test_a_chosen_place_that_is_lost_later_stops_before_data_is_read(tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    marks = HighWaterMarks([MarkFile(path=tmp_path / "safe" / "x.mark", required=True)])
    with Ledger(tmp_path / "ledger.db", PROMISE, terms=LedgerTerms(marks=marks)) as ledger:
        (tmp_path / "safe").rmdir()
        with pytest.raises(EngineFault, match="the charge stays, and no data was read"):
            ledger.reserve("analyst", "1", SQL, pure(LITTLE))
        assert ledger.get_total_spent() == pure(LITTLE)


KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.accounting import high_water_marks
from tests.accounting.test_high_water_marks import LITTLE, SQL, open_marked, pure
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
place, folder, moment = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
with open_marked(place, folder) as ledger:
    ledger.reserve("alice", "first", SQL, pure(LITTLE))
    if moment == "before the commit":
        ledger.storage.commits.transaction = die
    if moment == "between commit and mark":
        high_water_marks.MarkFile.advance = die
    if moment == "while the mark is written":
        pwrite = os.pwrite
        os.pwrite = lambda file, content, start: (pwrite(file, content[:300], start), die())
    ledger.reserve("alice", "second", SQL, pure(LITTLE))
    die()
"""


@pytest.mark.parametrize(
    ("moment", "charged", "told"),
    [
        ("before the commit", 1, 1),
        ("between commit and mark", 2, 1),
        ("while the mark is written", 2, 1),
        ("between mark and read", 2, 2),
    ],
)
def test_whenever_it_is_killed_the_ledger_opens_and_the_marks_follow(
    moment: str, charged: int, told: int, place: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, place, str(tmp_path), moment],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    assert [mark.total[3] for mark in read_marks(tmp_path)] == [told, told]
    with open_marked(place, tmp_path) as ledger:
        ledger.verify()
        assert ledger.get_total_spent() == pure(charged * LITTLE)
    assert [mark.total[3] for mark in read_marks(tmp_path)] == [charged, charged]


RACING = """
import sys
from pathlib import Path
from tests.accounting.test_high_water_marks import LITTLE, SQL, open_marked, pure
place, folder, name = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
with open_marked(place, folder) as ledger:
    for number in range(25):
        entry = ledger.reserve("alice", f"{name} {number}", SQL, pure(LITTLE))
        own = [mark for file in ledger.marks.files for mark in file.read()]
        assert all(mark.total[3] >= entry.id for mark in own), "data would be read without a mark"
        ledger.settle(entry, b"5")
"""


def test_processes_that_race_for_the_marks_leave_the_highest(place: str, tmp_path: Path) -> None:
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RACING, place, str(tmp_path), name],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for name in ("one", "two", "three")
    ]
    ended, seen = threading.Event(), list[int]()

    def watch() -> None:
        while not ended.is_set():
            seen.extend(mark.count for mark in mark_files(tmp_path)[0].read())

    watcher = threading.Thread(target=watch)
    watcher.start()
    errors = [rival.communicate(timeout=PATIENCE)[1] for rival in rivals]
    ended.set()
    watcher.join()
    assert errors == ["", "", ""]
    assert seen == sorted(seen)
    assert [mark.total[3] for mark in read_marks(tmp_path)] == [75, 75]
    with open_marked(place, tmp_path) as ledger:
        ledger.verify()
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == [".discreet.mark"]


def test_threads_that_wait_share_one_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes, threads, entered, release = list[int](), 8, threading.Event(), threading.Event()
    raise_to: Callable[..., list[HighWaterMark]] = MarkFile.advance

    def slow(
        file: MarkFile, mark: HighWaterMark, classify: Callable[[HighWaterMark], MarkStanding]
    ) -> list[HighWaterMark]:
        writes.append(mark.total[3])
        entered.set()
        assert release.wait(PATIENCE)
        return raise_to(file, mark, classify)

    marks = HighWaterMarks([MarkFile(path=tmp_path / "ledger.mark")])
    with Ledger(tmp_path / "ledger.db", PROMISE, terms=LedgerTerms(marks=marks)) as ledger:
        monkeypatch.setattr(MarkFile, "advance", slow)
        works = [
            threading.Thread(target=ledger.reserve, args=("analyst", f"{each}", SQL, pure(LITTLE)))
            for each in range(threads)
        ]
        for each in works:
            each.start()
        assert entered.wait(PATIENCE)
        while ledger.get_accountant().events < threads:
            time.sleep(0.001)
        release.set()
        for each in works:
            each.join()
    assert len(writes) == 2
    assert writes[-1] == threads


def test_a_ledger_behind_its_mark_is_refused_wherever_it_is_kept(place: str, tmp_path: Path) -> None:
    with open_marked(place, tmp_path) as ledger:
        ledger.reserve("alice", "1", SQL, pure(LITTLE))
    path = tmp_path / "ledger.mark"
    content = json.loads(read_text(path))
    (mark,) = content["ledgers"].values()
    mark["count"] += 7
    write_text(path, json.dumps(content))
    with pytest.raises(RequestError, match="is behind its mark") as refused:
        open_marked(place, tmp_path)
    assert "discreet ledger restore" in refused.value.hint
    mark["count"], mark["head"] = 1, "another"
    path.write_text(json.dumps(content))  # as earlier versions wrote it
    with pytest.raises(RequestError, match="has another history than its mark"):
        open_marked(place, tmp_path)
