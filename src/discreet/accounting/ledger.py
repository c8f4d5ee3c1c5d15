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
Repeat      An analyst's settled answer is replayed to the same analyst for free; never another's, unless
            analysts share answers. A question that is reserved elsewhere, in another thread, process or
            server, waits until it is settled; if that process is gone, it is charged anew.
Sharing     Once analysts share answers, each may know all of them: every sentence on belief covers all, then
            and ever after, and entries are numbered over the whole ledger. Each still pays from one share.
Sums        Stored beside the entries, so that reserving takes constant time; `verify` compares them.
Exceptions  Releases without differential privacy are recorded, and named wherever the ledger states the
            belief of an attacker: once there is one, no bound holds for everything ever released.
Content     Questions, parameters, released answers and incident numbers. No value that was not released.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from discreet.accounting.accountant import LEAK, Accountant
from discreet.accounting.amounts import Cost, round_charge
from discreet.accounting.belief_sentences import describe_ledger_belief, describe_uncovered
from discreet.accounting.budget import AnalystAccount, BudgetAccounts, parse_shares
from discreet.accounting.data_acceptance import (
    DataAcceptance,
    TableState,
    list_acceptances,
    record_acceptance,
)
from discreet.accounting.entries import (
    Entry,
    LedgerTransaction,
    NonPrivateRelease,
    StoredAnswer,
    mapping_to_json,
    require_incident,
    require_text,
)
from discreet.accounting.guarantee_json import guarantee_to_json, is_serializable
from discreet.accounting.hash_chain import EVERYBODY, ChainPosition
from discreet.accounting.high_water_marks import (
    LedgerTerms,
    SeenHistory,
    check_marks,
    classify_mark,
    read_mark,
    record_other_ledgers,
    record_separate_ledgers,
    require_same_history,
    require_unmarked_data,
)
from discreet.accounting.ledger_database import has_ledger, open_storage
from discreet.accounting.ledger_storage import SqlTransaction
from discreet.accounting.mark_files import HighWaterMark
from discreet.accounting.privacy_unit import PrivacyUnit, change_units, check_units, require_units
from discreet.belief import Belief, Promise
from discreet.core.engine import Closeable
from discreet.core.errors import AlreadyRunningError, DiscreetError, require_parameter
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real, require_count

SOLE_ANALYST = "analyst"
T = TypeVar("T")
R = TypeVar("R", bound=Entry | StoredAnswer | None)
LONGEST_WAIT, MOMENT = 900.0, 0.05
"""In seconds: the longest wait for an answer by another process, and the interval between checks."""


class Ledger(Closeable):
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
        terms: LedgerTerms | None = None,
    ) -> None:
        self._nothing = Accountant(promise, leak=leak)
        shares = None if analysts is None else parse_shares(analysts)
        terms = terms or LedgerTerms()
        self._units, self._is_session = terms.units, terms.is_session
        self.marks, bound = terms.marks, terms.marks.read()
        if bound and not terms.separate and not has_ledger(str(address)):
            require_unmarked_data(str(address), bound)
        self._reserved: set[int] = set()
        self._abandoned: set[int] = set()
        self._seen = SeenHistory()
        self.storage = open_storage(str(address))

        def initialize(transaction: LedgerTransaction) -> tuple[bool, ChainPosition | None]:
            transaction.accounts.initialize(shares, {SOLE_ANALYST: Fraction(1)})
            transaction.chain.check_last_link()
            transaction.accounts.check_totals()
            check_marks(transaction, bound, separate=terms.separate)
            record_other_ledgers(transaction, terms.learned_under.items())
            check_units(transaction, terms.units, is_named=terms.is_named)
            return transaction.has_history(), transaction.chain.get_position()

        try:
            has_history, position = self.transact(initialize)
            if position is not None:
                self._seen.remember(position)
            if has_history:
                self.write_marks()
        except BaseException:
            self.storage.close()
            raise

    @property
    def promise(self) -> Promise:
        return self._nothing.promise

    def close(self) -> None:
        """Close the ledger; open reservations of this process become orphans, and their charges stay."""
        self._abandoned |= self._reserved
        self._reserved.clear()
        if self._abandoned:
            with suppress(DiscreetError):
                self.transact(lambda _: None)
        with suppress(DiscreetError):
            self.refresh_marks()
        self.marks.close()
        self.storage.close()

    def set_shares(self, analysts: Mapping[str, Real]) -> None:
        """Replace the analysts' shares; raise an error unless they cover all past spending."""
        shares = parse_shares(analysts)
        self.transact(lambda transaction: transaction.accounts.set_shares(shares))

    def reserve(self, analyst: str, question_key: str, question_text: str, guarantee: Guarantee) -> Entry:
        """Charge a question before its data is read; raise `BudgetError` if the share lacks budget."""
        require_text("reserve", analyst=analyst, question_key=question_key, question_text=question_text)
        stated, charge = self.price_guarantee(guarantee)
        return self.write_entry(
            lambda transaction: transaction.reserve(analyst, question_key, question_text, stated, charge)
        )

    def reserve_or_replay(
        self,
        analyst: str,
        question_key: str,
        question_text: str,
        guarantee: Guarantee,
        *,
        is_shared: bool = False,
        timeout: float = LONGEST_WAIT,
    ) -> Entry | StoredAnswer:
        """Return the stored answer to a question, which is free, or a new reservation to settle.

        The answer was to the same analyst, or to any if answers are shared. While another thread or process
        answers the same question, wait up to `timeout` seconds; then raise `AlreadyRunningError`.
        """
        require_text(
            "reserve_or_replay", analyst=analyst, question_key=question_key, question_text=question_text
        )
        stated, charge = self.price_guarantee(guarantee)
        until, owner = time.monotonic() + timeout, None if is_shared else analyst

        def reserve(transaction: LedgerTransaction) -> Entry | StoredAnswer | None:
            return transaction.reserve_or_replay(
                analyst, question_key, question_text, stated, charge, owner=owner
            )

        while (reply := self.write_entry(reserve)) is None:
            self.wait_until(lambda transaction: not transaction.is_being_answered(owner, question_key), until)
        return reply

    def abandon(self, entry: Entry) -> None:
        """Mark an open entry that nobody here will settle any more; its charge stays."""
        if entry.id in self._reserved:
            self._reserved.discard(entry.id)
            self._abandoned.add(entry.id)
            with suppress(DiscreetError):  # the next write records it
                self.transact(lambda _: None)

    def settle(self, entry: Entry, answer: bytes, metadata: Mapping[str, object] | None = None) -> Entry:
        """Store the released answer, to be replayed for free."""
        require_parameter(isinstance(answer, bytes), "settle", "answer", type(answer).__name__, "bytes")
        text = mapping_to_json("settle.metadata", metadata or {})
        return self._finish_entry(entry, "settle", lambda each: each.settle(entry, answer, text))

    def record_fault(self, entry: Entry, incident: str) -> Entry:
        """Record an engine failure under an incident of the custodian's log, and suspend the analyst."""
        require_incident("record_fault", incident)
        return self._finish_entry(entry, "fault", lambda each: each.record_fault(entry, incident))

    def suspend(self, analyst: str, incident: str) -> None:
        """Suspend an analyst until `clear_suspension`, for an incident that the custodian's log explains."""
        require_incident("suspend", incident)
        self.transact(lambda transaction: transaction.accounts.set_suspension(analyst, incident))

    def clear_suspension(self, analyst: str) -> None:
        """Let a suspended analyst ask again."""
        self.transact(lambda transaction: transaction.accounts.set_suspension(analyst, None))

    def record_release(
        self, name: str, description: str, certificate: Mapping[str, object] | None = None
    ) -> NonPrivateRelease:
        """Record a release without differential privacy, which `describe_belief` names from now on."""
        require_text("record_release", name=name, description=description)
        text = mapping_to_json("record_release.certificate", certificate or {})
        release = self.transact(lambda transaction: transaction.record_release(name, description, text))
        self.write_marks()
        return release

    def change_units(self, units: Mapping[str, PrivacyUnit]) -> list[str]:
        """Record a change of privacy units; return the tables that it changes."""
        changed = self.transact(lambda transaction: change_units(transaction, units))
        self._units = {**self._units, **units}
        self.write_marks()
        return changed

    def accept_data(self, tables: Mapping[str, TableState], *, despite: bool = False) -> None:
        """Record that the custodian accepts tables in these states, so that analysts may be answered."""
        self.transact(lambda transaction: record_acceptance(transaction, tables, despite=despite))

    def list_acceptances(self) -> list[DataAcceptance]:
        """Return the custodian's acceptances of data, in order."""
        return self.read(list_acceptances)

    def transact(self, work: Callable[[LedgerTransaction], T], *, after_data: bool = False) -> T:
        """Return the result of `work`, in one durable transaction that excludes other writers.

        Entries that were abandoned before are recorded in it. `after_data`: as in `LedgerStorage.write`.
        """
        abandoned = sorted(self._abandoned)

        def write(rows: SqlTransaction) -> tuple[T, list[ChainPosition]]:
            transaction = self._make_transaction(rows)
            require_same_history(transaction, self._seen.position, after_data=after_data)
            transaction.orphan_entries(abandoned)
            return work(transaction), transaction.chain.appended

        result, appended = self.storage.write(write, after_data=after_data)
        for position in appended[-1:]:
            self._seen.remember(position)  # only now: what was not committed was not seen
        self._abandoned.difference_update(abandoned)
        return result

    def write_marks(self, *, events: int | None = None) -> None:
        """Write the current high-water marks, unless they already hold this many charges."""
        others = self.marks.advance(
            events,
            self.read_mark,
            lambda mark: self.read(lambda transaction: classify_mark(transaction, mark)),
        )
        if others:
            self.transact(lambda transaction: record_separate_ledgers(transaction, others))

    def refresh_marks(self) -> None:
        """Write the marks forward to what others have charged, where they have; nothing if nobody has.

        Servers with marks of their own call it now and then, and every ledger when it is closed: an older
        copy that is put in place later is then refused by each of them, not only by the one that charged
        last.
        """
        if not any(file.written for file in self.marks.files):
            return
        if self.read(lambda transaction: transaction.has_history()):
            mark, newest = self.read_mark(), self.marks.newest
            if newest is None or (newest.total, newest.releases) != (mark.total, mark.releases):
                self.write_marks()

    def share_answers(self) -> None:
        """Record, for good, that analysts are answered from each other's entries."""
        if not self.shares_answers:
            self.transact(lambda transaction: transaction.record_sharing())

    @property
    def shares_answers(self) -> bool:
        """Return whether analysts have ever been answered from each other's entries."""
        return self.read(lambda transaction: transaction.shares_answers)

    def find_stored_answer(self, owner: str | None, question_key: str) -> StoredAnswer | None:
        """Return the stored answer to a question of an analyst, or of any; None if there is none."""
        return self.read(lambda transaction: transaction.find_stored_answer(owner, question_key))

    def list_entries(self, analyst: str | None = None) -> list[Entry]:
        """Return all entries, or those of one analyst, in order."""
        return self.read(lambda transaction: transaction.list_entries(analyst))

    def list_entry_page(self, first: int, limit: int, *, analyst: str | None = None) -> list[Entry]:
        """Return at most `limit` entries, from an id on."""
        return self.read(lambda transaction: transaction.list_entry_page(first, limit, analyst))

    def list_releases(self) -> list[NonPrivateRelease]:
        """Return the releases without differential privacy."""
        return self.read(lambda transaction: transaction.list_releases())

    def list_accounts(self) -> list[AnalystAccount]:
        """Return the account of everybody who has a share, or had one."""
        return self.read(lambda transaction: transaction.accounts.list_accounts())

    def get_account(self, analyst: str) -> AnalystAccount:
        """Return one analyst's share, total spent and remaining budget."""
        return self.read(lambda transaction: transaction.accounts.read_account(analyst))

    def get_accountant(self, analyst: str | None = None) -> Accountant:
        """Return the total spending, or that of one analyst, as an accountant."""
        owner = EVERYBODY if analyst is None else analyst
        return self.read(lambda transaction: transaction.accounts.read_accountant(owner))

    def get_known_accountant(self, analyst: str | None = None) -> Accountant:
        """Return what was spent on answers that an analyst may know: all answers, if analysts share them."""
        return self.read(lambda transaction: _read_known(transaction, analyst)[1])

    def get_total_spent(self, analyst: str | None = None) -> Cost:
        """Return the total cost so far, or that of one analyst."""
        return self.get_accountant(analyst).total_spent

    def get_remaining_budget(self, analyst: str | None = None) -> Cost:
        """Return the remaining budget of the promise, or of one analyst's share."""
        if analyst is None:
            return self.get_accountant().remaining_budget
        return self.get_account(analyst).left

    def has_room_for(self, analyst: str, guarantee: Guarantee) -> bool:
        """Return whether `reserve` would accept this guarantee from this analyst now."""
        return self.read(lambda transaction: transaction.accounts.has_room_for(analyst, guarantee))

    def compute_belief(self, prior: Real | None = None, *, analyst: str | None = None) -> Belief:
        """Return the belief of an attacker who sees every answer, or one analyst's if these are not shared.

        It does not account for the releases of `list_releases`.
        """
        return self.get_known_accountant(analyst).compute_belief(prior)

    def compute_belief_history(
        self, prior: Real | None = None, *, max_points: int = 500, analyst: str | None = None
    ) -> list[tuple[int, Belief]]:
        """Return the belief after growing numbers of entries, at `max_points` moments."""
        require_count("compute_belief_history", "max_points", max_points)
        found = self.read(
            lambda each: each.accounts.sample_accountants(max_points, _read_known(each, analyst)[0])
        )
        return [(moment.events, moment.compute_belief(prior)) for moment in found]

    def describe_belief(self, prior: Real | None = None, *, analyst: str | None = None) -> str:
        """Return a sentence on the current belief of an attacker.

        With an `analyst`, it covers that analyst's answers, and reveals nothing about others, unless analysts
        share answers: then it covers all.
        """
        return self.state_belief(prior, analyst=analyst)[1]

    def state_belief(self, prior: Real | None = None, *, analyst: str | None = None) -> tuple[Belief, str]:
        """Return the current belief of an attacker, and a sentence on it, from one snapshot."""
        with self._open_transaction() as transaction:
            scope, spent = _read_known(transaction, analyst)
            releases, separate = transaction.list_releases(), transaction.list_separate_ledgers()
        belief = spent.compute_belief(prior)
        return belief, describe_ledger_belief(
            self.promise,
            belief,
            releases,
            analyst=scope,
            separate=separate,
            is_session=self._is_session,
        )

    def describe_uncovered(self) -> str:
        """Return the sentences on what no bound on belief covers; empty if bounds cover everything."""
        return self.read(lambda each: describe_uncovered(each.list_releases(), each.list_separate_ledgers()))

    def list_separate_ledgers(self) -> dict[str, str]:
        """Return the places of ledgers with a separate promise about the same data, by identity."""
        return self.read(lambda transaction: transaction.list_separate_ledgers())

    def read_mark(self) -> HighWaterMark:
        """Return the current high-water mark of the ledger, which from now on it is not to be behind."""
        mark = self.read(read_mark)
        self._seen.remember(ChainPosition(mark.count, mark.head))
        return mark

    def verify(self) -> None:
        """Check all links, entries and sums; raise an error for a ledger that contradicts itself."""
        with self._open_transaction() as transaction:
            self.storage.verify(transaction.rows)
            transaction.chain.verify()
            transaction.accounts.check_standings()
            transaction.accounts.check_totals()
            transaction.accounts.check_entries()

    def write_entry(self, reserve: Callable[[LedgerTransaction], R]) -> R:
        """Commit a new entry, then its marks, before its data is read; if the marks fail, it is orphaned."""

        def reserve_for_units(transaction: LedgerTransaction) -> R:
            require_units(transaction, self._units)
            return reserve(transaction)

        reply = self.transact(reserve_for_units)
        if isinstance(reply, Entry):
            self._reserved.add(reply.id)
            try:
                self.write_marks(events=reply.id)
            except BaseException:
                self.abandon(reply)
                raise
        return reply

    def read(self, work: Callable[[LedgerTransaction], T]) -> T:
        """Return the result of `work`, which sees one snapshot."""
        with self._open_transaction() as transaction:
            return work(transaction)

    @contextmanager
    def _open_transaction(self) -> Iterator[LedgerTransaction]:
        seen = (
            self._seen.position
        )  # before the snapshot is taken, which may lack what is committed after that
        with self.storage.read_transaction() as rows:
            transaction = self._make_transaction(rows)
            require_same_history(transaction, seen)
            yield transaction

    def _make_transaction(self, rows: SqlTransaction) -> LedgerTransaction:
        return LedgerTransaction(BudgetAccounts(rows=rows, storage=self.storage, nothing=self._nothing))

    def price_guarantee(self, guarantee: Guarantee) -> tuple[str, Cost]:
        """Return a guarantee as JSON text, and its charge."""
        cost = self._nothing.compute_cost(guarantee)
        # a loss distribution is not serialized; its cost is a valid guarantee of the release as well
        return guarantee_to_json(guarantee if is_serializable(guarantee) else cost), round_charge(cost)

    def wait_until(self, is_done: Callable[[LedgerTransaction], bool], until: float) -> None:
        """Wait until `is_done`; raise `AlreadyRunningError` once the monotonic clock has passed `until`."""
        while not self.read(is_done):
            if time.monotonic() > until:
                raise AlreadyRunningError(
                    "The same question is being answered, and is not charged twice.",
                    hint="Ask again when that is done: its answer is free then.",
                )
            time.sleep(MOMENT)

    def _finish_entry(self, entry: Entry, verb: str, finish: Callable[[LedgerTransaction], Entry]) -> Entry:
        """Finish an entry that is still reserved."""
        require_parameter(
            isinstance(entry, Entry), verb, "entry", type(entry).__name__, "an Entry of this ledger"
        )
        finished = self.transact(finish, after_data=True)
        self._reserved.discard(entry.id)
        return finished


def _read_known(transaction: LedgerTransaction, analyst: str | None) -> tuple[str | None, Accountant]:
    """Return whose answers an analyst may know, None for all, and what was spent on them."""
    scope = None if analyst is None or transaction.shares_answers else analyst
    return scope, transaction.accounts.read_accountant(EVERYBODY if scope is None else scope)
