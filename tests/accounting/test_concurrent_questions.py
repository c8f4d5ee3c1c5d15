"""The same question from several threads, processes and servers at once: one answer, one charge."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.entries import Entry, EntryState, StoredAnswer
from discreet.accounting.ledger import LONGEST_WAIT, Ledger
from discreet.accounting.measurement_index import MeasurementIndex
from discreet.core.errors import AlreadyRunningError, BudgetError, RequestError
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_ledger import HALVES, SQL, beneath, pure
from tests.engines.servers import PostgresServer

PRICE = Fraction(1, 10)
HOLDER = """
import sys
from fractions import Fraction
from discreet.accounting import process_identity
if sys.argv[2]:
    process_identity._identify_machine = lambda: sys.argv[2]
from discreet.accounting.ledger import Ledger
from discreet.core.guarantees import PureDP
from tests.accounting.ledger_rivals import PROMISE
ledger = Ledger(sys.argv[1], PROMISE)
ledger.reserve_or_replay("alice", "key", "SELECT COUNT(*) FROM adult", PureDP(epsilon=Fraction(1, 10)))
print("begun", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(place: str, machine: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that began the question and does not settle it; on another machine, if one is named."""
    command = [sys.executable, "-c", HOLDER, place, machine]
    here = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield process
        finally:
            process.kill()


def reserve_or_replay(ledger: Ledger, *, timeout: float = LONGEST_WAIT) -> Entry | StoredAnswer:
    return ledger.reserve_or_replay("alice", "key", SQL, pure(PRICE), timeout=timeout)


def test_who_begins_what_is_under_way_gets_its_answer_for_nothing(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as one, Ledger(place, PROMISE) as two:
        entry = reserve_or_replay(one)
        assert isinstance(entry, Entry)
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(reserve_or_replay, each) for each in (one, two)]
            assert not wait(waiting, timeout=0.3).done
            one.settle(entry, b"48843")
            told = [each.result() for each in waiting]
        assert [each.answer for each in told if isinstance(each, StoredAnswer)] == [b"48843", b"48843"]
        assert two.get_total_spent() == pure(PRICE)
        two.verify()


def test_many_who_begin_at_once_share_one_charge(place: str) -> None:
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger(place, PROMISE, analysts=HALVES)) for _ in range(2)]
        start = threading.Barrier(8)

        def ask(number: int) -> bytes:
            ledger = ledgers[number % 2]
            start.wait()
            found = reserve_or_replay(ledger)
            if isinstance(found, StoredAnswer):
                return found.answer
            ledger.settle(found, str(number).encode())
            return str(number).encode()

        with ThreadPoolExecutor(8) as pool:
            answers = set(pool.map(ask, range(8)))
        assert len(answers) == 1
        assert [each.state for each in ledgers[0].list_entries()] == [EntryState.SETTLED]
        assert ledgers[0].get_total_spent() == pure(PRICE)


def test_another_analyst_and_another_question_wait_for_nobody(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        reserve_or_replay(ledger)
        assert isinstance(ledger.reserve_or_replay("bob", "key", SQL, pure(PRICE), timeout=0), Entry)
        assert isinstance(ledger.reserve_or_replay("alice", "other", SQL, pure(PRICE), timeout=0), Entry)
        assert ledger.get_total_spent() == pure(3 * PRICE)


def test_analysts_who_share_answers_wait_for_each_other(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger, Ledger(place, PROMISE) as other:
        ledger.share_answers()
        assert (ledger.shares_answers, other.shares_answers) == (True, True)

        def ask_as_bob(timeout: float = LONGEST_WAIT) -> Entry | StoredAnswer:
            return other.reserve_or_replay("bob", "key", SQL, pure(PRICE), is_shared=True, timeout=timeout)

        entry = reserve_or_replay(ledger)
        assert isinstance(entry, Entry)
        with pytest.raises(AlreadyRunningError):
            ask_as_bob(timeout=0)
        one, two = (MeasurementIndex(each, name, True) for each, name in ((ledger, "alice"), (other, "bob")))
        one.announce(entry, ["count"])
        assert two.find(["count"]) == []
        ledger.settle(entry, b"48843")
        told = ask_as_bob()
        assert isinstance(told, StoredAnswer)
        assert (told.answer, told.entry.number) == (b"48843", entry.id)
        assert two.find(["count"]) == [("count", entry.id)]
        assert MeasurementIndex(other, "bob").find(["count"]) == []
        two.note_shown(entry.id, "some cells")
        assert one.list_shown(entry.id) == ["some cells"]
        own = other.reserve("bob", "own", SQL, pure(PRICE))
        assert (own.id, own.number) == (2, 2)
        for each in (ledger, other):
            assert each.describe_belief(analyst="bob") == each.describe_belief()
            assert each.compute_belief_history(analyst="bob") == each.compute_belief_history()
        other.verify()


def test_whoever_does_not_wait_for_ever_is_told_and_charged_nothing(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger, holder(place):
        with pytest.raises(AlreadyRunningError, match="is being answered") as refused:
            reserve_or_replay(ledger, timeout=0)
        assert refused.value.hint
        assert [each.state for each in ledger.list_entries()] == [EntryState.RESERVED]


def test_what_a_killed_process_has_begun_stays_charged_and_is_begun_anew(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        with holder(place) as process:
            process.kill()
            process.wait()
        entry = reserve_or_replay(ledger, timeout=0)
        assert isinstance(entry, Entry)
        ledger.settle(entry, b"5")
        assert [each.state for each in ledger.list_entries()] == [EntryState.ORPHANED, EntryState.SETTLED]
        assert ledger.get_total_spent() == pure(2 * PRICE)


def test_what_was_begun_and_given_up_stays_charged_and_is_begun_anew(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        first = reserve_or_replay(ledger)
        assert isinstance(first, Entry)
        ledger.abandon(first)
        second = reserve_or_replay(ledger, timeout=0)
        assert isinstance(second, Entry)
        with pytest.raises(RequestError, match="orphaned already"):
            ledger.settle(first, b"5")
        ledger.abandon(ledger.settle(second, b"5"))
        assert [each.state for each in ledger.list_entries()] == [EntryState.ORPHANED, EntryState.SETTLED]
        assert ledger.get_total_spent() == pure(2 * PRICE)


def test_what_was_given_up_while_nothing_could_be_written_is_said_by_whoever_writes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setattr("discreet.accounting.ledger_file.PATIENCE", 0.01)
    with Ledger(path, PROMISE, analysts=HALVES) as ledger:
        entry = reserve_or_replay(ledger)
        assert isinstance(entry, Entry)
        with beneath(path) as busy:
            busy.execute("BEGIN IMMEDIATE")
            ledger.abandon(entry)
            busy.execute("ROLLBACK")
        with Ledger(path, PROMISE) as other, pytest.raises(AlreadyRunningError):
            reserve_or_replay(other, timeout=0)
        assert isinstance(reserve_or_replay(ledger, timeout=0), Entry)


def test_what_is_to_be_begun_and_does_not_fit_leaves_no_trace(place: str) -> None:
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        with pytest.raises(BudgetError, match="left to alice"):
            ledger.reserve_or_replay("alice", "key", SQL, pure(1))
        assert ledger.list_entries() == []


@pytest.mark.xdist_group("postgres")
def test_a_server_of_another_machine_is_seen_while_it_runs_and_not_afterwards(
    postgres: PostgresServer,
) -> None:
    place = postgres.schema()
    with Ledger(place, PROMISE, analysts=HALVES) as ledger:
        with holder(place, "another-machine"):
            assert [each.state for each in ledger.list_entries()] == [EntryState.RESERVED]
            with pytest.raises(AlreadyRunningError):
                reserve_or_replay(ledger, timeout=0)
        assert isinstance(reserve_or_replay(ledger), Entry)
        assert [each.state for each in ledger.list_entries()] == [EntryState.ORPHANED, EntryState.RESERVED]
        assert ledger.get_total_spent() == pure(2 * PRICE)
