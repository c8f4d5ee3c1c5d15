"""Whatever happens to a ledger, what it states is never less than what was released under it.

Random histories of questions, kills, copies, backups, lost and restored ledgers; the marks beside the sources
stay. Whenever the ledger opens, the sums that its sentence follows from hold every answer that ever left.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from discreet.accounting.high_water_marks import HighWaterMarks, LedgerTerms
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_backup import back_up_ledger, restore_ledger
from discreet.core.errors import BudgetError, RequestError
from tests.accounting.ledger_rivals import PROMISE
from tests.accounting.test_high_water_marks import mark_files
from tests.accounting.test_ledger import HALVES, SQL, pure

QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Histories write through thousands of times: in memory, where there is a place for it."""
ANALYSTS = st.sampled_from(["alice", "bob"])
AMOUNTS = st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 3)])


class Killed(BaseException):
    """In place of a signal, at a moment of one's choice."""


class Custodian(RuleBasedStateMachine):
    """One ledger, its copies, and what was really released."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-histories-", dir=QUICK))
        self.path = self.folder / "ledger.db"
        self.copies: list[Path] = []
        self.released = dict.fromkeys(HALVES, Fraction(0))
        self.asked = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def marks(self) -> HighWaterMarks:
        return HighWaterMarks(mark_files(self.folder))

    def open(self) -> Ledger:
        return Ledger(self.path, PROMISE, analysts=HALVES, terms=LedgerTerms(marks=self.marks()))

    def open_ledger(self) -> Iterator[Ledger]:
        """Yield the ledger, if it opens."""
        with suppress(RequestError), self.open() as ledger:
            yield ledger

    @rule(analyst=ANALYSTS, epsilon=AMOUNTS)
    def ask(self, analyst: str, epsilon: Fraction) -> None:
        for ledger in self.open_ledger():
            self.asked += 1
            with suppress(BudgetError):
                entry = ledger.reserve(analyst, f"{self.asked}", SQL, pure(epsilon))
                self.released[analyst] += epsilon
                ledger.settle(entry, b"5")

    @rule(analyst=ANALYSTS, epsilon=AMOUNTS, marked=st.booleans())
    def die_before_reading(self, analyst: str, epsilon: Fraction, marked: bool) -> None:
        """Nothing is released; whether the mark was written does not matter."""
        for ledger in self.open_ledger():
            self.asked += 1
            with suppress(BudgetError, Killed):
                if not marked:
                    ledger.write_marks = _die  # type: ignore[method-assign]
                    ledger.refresh_marks = _do_nothing  # type: ignore[method-assign]
                ledger.reserve(analyst, f"{self.asked}", SQL, pure(epsilon))

    @rule()
    def publish(self) -> None:
        for ledger in self.open_ledger():
            ledger.record_release(f"table-{len(ledger.list_releases())}", "a 5-anonymous table")

    @rule()
    @precondition(lambda self: self.path.exists() and self.path.stat().st_size > 0)
    def copy(self) -> None:
        """As `cp` does, while nobody has it open."""
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(self.path)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
        self.copies.append(Path(shutil.copy(self.path, self.folder / f"copy-{len(self.copies)}.db")))

    @rule()
    def back_up(self) -> None:
        for ledger in self.open_ledger():
            target = self.folder / f"copy-{len(self.copies)}.db"
            back_up_ledger(ledger, target)
            self.copies.append(target)

    @rule(number=st.integers(0, 20))
    @precondition(lambda self: self.copies)
    def put_back(self, number: int) -> None:
        self.remove()
        shutil.copy(self.copies[number % len(self.copies)], self.path)

    @rule()
    def remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @rule()
    def empty(self) -> None:
        self.remove()
        self.path.touch()

    @rule()
    def lose_mark_beside_store(self) -> None:
        (self.folder / "ledger.mark").unlink(missing_ok=True)

    @rule(number=st.one_of(st.none(), st.integers(0, 20)))
    def restore(self, number: int | None) -> None:
        copy = None if number is None or not self.copies else self.copies[number % len(self.copies)]
        with suppress(RequestError):
            restore_ledger(
                copy,
                str(self.path),
                self.marks(),
                lambda address: Ledger(address, PROMISE, analysts=HALVES),
            )

    @invariant()
    def it_states_at_least_what_was_released(self) -> None:
        if not self.path.exists():
            return
        for ledger in self.open_ledger():
            ledger.verify()
            for analyst, epsilon in self.released.items():
                spent = ledger.get_total_spent(analyst)
                assert Fraction(getattr(spent, "epsilon", 0)) >= epsilon


def _die(**_: object) -> None:
    raise Killed


def _do_nothing() -> None:
    """What is killed does not write its marks when it ends."""


class Forgetful(Custodian):
    """The broken twin: it does not look at marks, as the ledger did before."""

    def marks(self) -> HighWaterMarks:
        return HighWaterMarks()


TestHistories = Custodian.TestCase
TestHistories.settings = settings(max_examples=6, stateful_step_count=12)


def test_without_marks_the_same_histories_state_too_little() -> None:
    machine = Forgetful()
    machine.ask("alice", Fraction(1, 3))
    machine.remove()
    machine.ask("alice", Fraction(1, 100))
    with pytest.raises(AssertionError):
        machine.it_states_at_least_what_was_released()
    machine.teardown()


@pytest.mark.night
def test_many_random_histories_state_enough() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Custodian, settings=settings(max_examples=600, stateful_step_count=30))
