"""The ledger: the promise, the reservations and the charges, durable before any data is read.

Cap         One per promise, over all tables, data versions and policy versions: sums only grow, and nothing
            resets them. Analysts' shares subdivide it. The `Accountant`, a privacy filter, decides whether a
            question fits, so questions and budgets may be chosen by looking at all answers.
Share       An analyst's accountant counts the others' shares as spent. Acceptance and refusal therefore
            depend only on that analyst's own questions, and reveal nothing about those of others. New shares
            must cover all past spending.
Reserve     In one transaction that holds the write lock: read the sums, decide, write entry and sums. Refused
            questions leave no trace.
Outcome     Settled, faulted or orphaned (the process that reserved it is gone): the charge stays. A fault
            suspends the analyst until the custodian clears it.
Repeat      An analyst's settled answer is replayed to the same analyst for free; never another's. A question
            that the same analyst has reserved elsewhere, in another thread, process or server, waits until
            it is settled; if that process is gone, it is charged anew.
Sums        Stored beside the entries, so that reserving takes constant time; `verify` compares them.
Exceptions  Releases without differential privacy are recorded, and named wherever the ledger states the
            belief of an attacker: once there is one, no bound holds for everything ever released.
Content     Questions, parameters, released answers and incident numbers. No value that was not released.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from discreet.accounting.accountant import LEAK, Accountant
from discreet.accounting.analyst_shares import parse_shares
from discreet.accounting.budget_amounts import Cost, round_charge
from discreet.accounting.guarantee_json import guarantee_to_json, is_serializable
from discreet.accounting.hash_chain import LinkKind, format_current_time
from discreet.accounting.high_water_marks import HighWaterMark
from discreet.accounting.ledger_entries import Entry, EntryState, NonPrivateRelease, StoredAnswer
from discreet.accounting.ledger_file import LedgerFile
from discreet.accounting.ledger_reader import LedgerReader
from discreet.accounting.ledger_storage import SQLITE, LedgerStorage, SqlTransaction, is_database_address
from discreet.accounting.ledger_terms import (
    LedgerTerms,
    PrivacyUnit,
    change_units,
    check_marks,
    check_units,
    has_history,
    has_marked_link,
    read_mark,
    record_separate_ledgers,
    require_units,
    require_unmarked_data,
)
from discreet.accounting.ledger_totals import check_totals
from discreet.accounting.ledger_transaction import LedgerTransaction
from discreet.belief import Promise
from discreet.core.closeable import Closeable
from discreet.core.errors import (
    AlreadyRunningError,
    DiscreetError,
    InvalidParameterError,
    RequestError,
    require_parameter,
)
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real

SOLE_ANALYST = "analyst"
T = TypeVar("T")
LONGEST_WAIT, MOMENT = 900.0, 0.05
"""In seconds: the longest wait for an answer by another process, and the interval between checks."""
INCIDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Ledger(LedgerReader, Closeable):
    """The ledger of one promise. Without `analysts` the shares are unchanged; at first, all to one analyst.

    `address` is a path or an address as in `ledger_storage`; several processes and servers may open one
    ledger.

    >>> from discreet.core.guarantees import PureDP
    >>> with Ledger(":memory:", Promise(0.01, 0.05), analysts={"alice": 0.5, "bob": 0.5}) as ledger:
    ...     entry = ledger.reserve("alice", "key", "SELECT COUNT(*) FROM adult", PureDP(epsilon=0.5))
    ...     settled = ledger.settle(entry, b"48843")
    ...     print(ledger.describe_belief())
    An attacker who was at most 1% sure of a claim about one person can now be at most 1.64% sure...
    """

    def __init__(
        self,
        address: str | Path,
        promise: Promise,
        *,
        analysts: Mapping[str, Real] | None = None,
        leak: Real = LEAK,
        foundation: LedgerTerms | None = None,
    ) -> None:
        self._nothing = Accountant(promise, leak=leak)
        shares = None if analysts is None else parse_shares(analysts)
        founded = foundation or LedgerTerms()
        self._units = founded.units
        self.marks, bound = founded.marks, founded.marks.read()
        if bound and not founded.separate and not has_ledger(str(address)):
            require_unmarked_data(str(address), bound)
        self._reserved: set[int] = set()
        self._abandoned: set[int] = set()
        self.storage = _open_storage(str(address))

        def initialize(book: LedgerTransaction) -> bool:
            book.accounts.initialize_terms()
            book.accounts.check_standings()
            book.accounts.set_shares(shares or book.accounts.read_shares() or {SOLE_ANALYST: Fraction(1)})
            book.accounts.chain.check_last_link()
            check_totals(book.accounts)
            check_marks(book, bound, separate=founded.separate)
            check_units(book, founded.units)
            return has_history(book)

        try:
            if self._write(initialize):
                self.write_marks()
        except BaseException:
            self.storage.close()
            raise

    def close(self) -> None:
        """Close the ledger; open reservations of this process become orphans, and their charges stay."""
        self._abandoned |= self._reserved
        self._reserved.clear()
        if self._abandoned:
            with suppress(DiscreetError):
                self._write(lambda _: None)
        self.marks.close()
        self.storage.close()

    def set_shares(self, analysts: Mapping[str, Real]) -> None:
        """Replace the analysts' shares; raise an error unless they cover all past spending."""
        shares = parse_shares(analysts)
        self._write(lambda book: book.accounts.set_shares(shares))

    def reserve(self, analyst: str, question_key: str, question_text: str, guarantee: Guarantee) -> Entry:
        """Charge a question before its data is read; raise `BudgetError` if the share lacks budget."""
        _require_text("reserve", analyst=analyst, question_key=question_key, question_text=question_text)
        stated, charge = self._price(guarantee)

        def reserve_entry(book: LedgerTransaction) -> Entry:
            require_units(book, self._units)
            return book.reserve(analyst, question_key, question_text, stated, charge)

        entry = self._write(reserve_entry)
        self._reserved.add(entry.id)
        self._write_marks_of_entry(entry)
        return entry

    def reserve_or_replay(
        self,
        analyst: str,
        question_key: str,
        question_text: str,
        guarantee: Guarantee,
        *,
        timeout: float = LONGEST_WAIT,
    ) -> Entry | StoredAnswer:
        """Return the stored answer to a question, which is free, or a new reservation to settle.

        While another thread or process answers the same question, wait up to `timeout` seconds; then raise
        `AlreadyRunningError`.
        """
        _require_text(
            "reserve_or_replay", analyst=analyst, question_key=question_key, question_text=question_text
        )
        stated, charge = self._price(guarantee)
        until = time.monotonic() + timeout

        def begun(book: LedgerTransaction) -> Entry | StoredAnswer | None:
            require_units(book, self._units)
            return book.reserve_or_replay(analyst, question_key, question_text, stated, charge)

        while True:
            found = self._write(begun)
            if isinstance(found, Entry):
                self._reserved.add(found.id)
                self._write_marks_of_entry(found)
            if found is not None:
                return found
            self._wait_for_answer(analyst, question_key, until)

    def abandon(self, entry: Entry) -> None:
        """Mark an open entry that nobody here will settle any more; its charge stays."""
        if entry.id in self._reserved:
            self._reserved.discard(entry.id)
            self._abandoned.add(entry.id)
            with suppress(DiscreetError):  # the next write records it
                self._write(lambda _: None)

    def settle(self, entry: Entry, answer: bytes, metadata: Mapping[str, object] | None = None) -> Entry:
        """Store the released answer, to be replayed for free."""
        require_parameter(isinstance(answer, bytes), "settle", "answer", type(answer).__name__, "bytes")
        text = _to_json_text("settle.metadata", metadata or {})
        return self._finish_entry(entry, "settle", lambda book: book.settle(entry, answer, text))

    def fault(self, entry: Entry, incident: str) -> Entry:
        """Record an engine failure under an incident of the custodian's log, and suspend the analyst."""
        named = isinstance(incident, str) and INCIDENT.fullmatch(incident) is not None
        # the value given may be a message that holds data, so the error does not repeat it
        require_parameter(named, "fault", "incident", "another text", "a number such as 20240229-7f3a")
        return self._finish_entry(entry, "fault", lambda book: book.fault(entry, incident))

    def suspend(self, analyst: str, incident: str) -> None:
        """Suspend an analyst until `clear_suspension`, for an incident that the custodian's log explains."""
        named = isinstance(incident, str) and INCIDENT.fullmatch(incident) is not None
        require_parameter(named, "suspend", "incident", "another text", "a number such as 20240229-7f3a")

        def suspend_analyst(book: LedgerTransaction) -> None:
            book.accounts.read_account(analyst)
            book.accounts.suspend(analyst, incident)

        self._write(suspend_analyst)

    def clear_suspension(self, analyst: str) -> None:
        """Let a suspended analyst ask again."""

        def clear_analyst(book: LedgerTransaction) -> None:
            book.accounts.read_account(analyst)
            book.accounts.suspend(analyst, None)

        self._write(clear_analyst)

    def record_release(
        self, name: str, description: str, certificate: Mapping[str, object] | None = None
    ) -> NonPrivateRelease:
        """Record a release without differential privacy, which `describe_belief` names from now on."""
        _require_text("record_release", name=name, description=description)
        text = _to_json_text("record_release.certificate", certificate or {})
        release = self._write(lambda book: book.record_release(name, description, text))
        self.write_marks()
        return release

    def change_units(self, units: Mapping[str, PrivacyUnit]) -> list[str]:
        """Record a change of privacy units; return the tables that it changes."""
        changed = self._write(lambda book: change_units(book, units))
        self._units = {**self._units, **units}
        self.write_marks()
        return changed

    def record_backup(self) -> None:
        """Record that a backup is made now, so that its marks show what a restored one lacks."""
        self._write(lambda book: book.accounts.chain.append(LinkKind.BACKUP, {"time": format_current_time()}))
        self.write_marks()

    def transact(self, work: Callable[[LedgerTransaction], T]) -> T:
        """Return the result of `work` on the ledger, in one transaction that excludes other writers."""
        return self._write(work)

    def write_marks(self, *, events: int | None = None) -> None:
        """Write the current high-water marks, unless they already hold this many charges."""

        def state() -> HighWaterMark:
            with self._open_transaction() as book:
                return read_mark(book)

        def has_mark(mark: HighWaterMark) -> bool:
            with self._open_transaction() as book:
                return has_marked_link(book, mark)

        others = self.marks.advance(events, state, has_mark)
        if others:
            self._write(lambda book: record_separate_ledgers(book, others))

    def _write_marks_of_entry(self, entry: Entry) -> None:
        """Write the marks of a charge before its data is read; if that fails, the charge is orphaned."""
        try:
            self.write_marks(events=entry.id)
        except BaseException:
            self.abandon(entry)
            raise

    def _write(self, work: Callable[[LedgerTransaction], T], *, after_data: bool = False) -> T:
        left = sorted(self._abandoned)

        def run_transaction(rows: SqlTransaction) -> T:
            book = self._make_transaction(rows)
            book.orphan_entries(left)
            return work(book)

        done = self.storage.write(run_transaction, after_data=after_data)
        self._abandoned.difference_update(left)
        return done

    def _price(self, guarantee: Guarantee) -> tuple[str, Cost]:
        """Return a guarantee as JSON text, and its charge."""
        cost = self._nothing.compute_cost(guarantee)
        # a loss distribution is not serialized; its cost is a valid guarantee of the release as well
        return guarantee_to_json(guarantee if is_serializable(guarantee) else cost), round_charge(cost)

    def _wait_for_answer(self, analyst: str, question_key: str, until: float) -> None:
        """Wait until nobody is answering the question any more."""
        while True:
            with self._open_transaction() as book:
                if not book.is_being_answered(analyst, question_key):
                    return
            if time.monotonic() > until:
                raise AlreadyRunningError(
                    "The same question is being answered, and is not charged twice.",
                    hint="Ask again when that is done: its answer is free then.",
                )
            time.sleep(MOMENT)

    def _finish_entry(self, entry: Entry, verb: str, end: Callable[[LedgerTransaction], Entry]) -> Entry:
        """Finish an entry; raise an error unless it is still reserved."""
        require_parameter(
            isinstance(entry, Entry), verb, "entry", type(entry).__name__, "an Entry of this ledger"
        )

        def finish_entry(book: LedgerTransaction) -> Entry:
            found = book.get_entry_state(entry)
            if found is not EntryState.RESERVED:
                state = "not of this ledger" if found is None else f"{found.value} already"
                raise RequestError(
                    f"{verb}: entry {entry.number} is {state}.", hint="Reserve, then settle once."
                )
            return end(book)

        finished = self._write(finish_entry, after_data=True)
        self._reserved.discard(entry.id)
        return finished


def has_ledger(address: str) -> bool:
    """Return whether an address has content: a file that is not empty, or tables of a ledger."""
    if not is_database_address(address):
        path = Path(address.removeprefix(SQLITE))
        return path.exists() and (path.is_dir() or path.stat().st_size > 0)
    from discreet.accounting.ledger_database import has_tables

    return has_tables(address)


def _open_storage(address: str) -> LedgerStorage:
    """Open the storage at an address; create a new ledger where there is none."""
    if is_database_address(address):
        from discreet.accounting.ledger_database import LedgerDatabase  # loads SQLAlchemy only where used

        return LedgerDatabase(address)
    return LedgerFile(address.removeprefix(SQLITE))


def _require_text(owner: str, **values: object) -> None:
    for name, value in values.items():
        holds = isinstance(value, str) and bool(value.strip()) and "\0" not in value
        require_parameter(holds, owner, name, repr(value), "a text that is not empty")


def _to_json_text(place: str, value: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(value), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError):
        # the value given may hold data
        raise InvalidParameterError(f"{place} must be a mapping that JSON can hold; it is not.") from None
