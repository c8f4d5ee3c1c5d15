"""The reading half of a ledger: entries, accounts, remaining budget, and the attacker's belief.

Each method reads inside one transaction, so its result is one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from discreet.accounting.accountant import Accountant
from discreet.accounting.analyst_shares import limit_to_share
from discreet.accounting.belief_sentences import describe_ledger_belief, describe_uncovered
from discreet.accounting.budget_accounts import EVERYBODY, BudgetAccounts
from discreet.accounting.budget_amounts import Cost
from discreet.accounting.hash_chain_check import check_chain
from discreet.accounting.high_water_marks import HighWaterMark
from discreet.accounting.ledger_entries import AnalystAccount, Entry, NonPrivateRelease, StoredAnswer
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction
from discreet.accounting.ledger_terms import read_mark
from discreet.accounting.ledger_totals import check_entries, check_totals, sample_accountants
from discreet.accounting.ledger_transaction import LedgerTransaction
from discreet.belief import Belief, Promise
from discreet.core.guarantees import Guarantee
from discreet.core.number_checks import Real, require_count


class LedgerReader(Protocol):
    """The part of a ledger that reads; `_nothing` is the accountant before the first entry."""

    storage: LedgerStorage
    _nothing: Accountant

    @property
    def promise(self) -> Promise:
        return self._nothing.promise

    def find_stored_answer(self, analyst: str, question_key: str) -> StoredAnswer | None:
        """Return this analyst's stored answer to this question, which is free, or None."""
        with self._open_transaction() as book:
            return book.find_stored_answer(analyst, question_key)

    def list_entries(self, analyst: str | None = None) -> list[Entry]:
        """Return all entries, or those of one analyst, in order."""
        with self._open_transaction() as book:
            return book.list_entries(analyst)

    def list_entry_page(self, first: int, limit: int, *, analyst: str | None = None) -> list[Entry]:
        """Return at most `limit` entries, from an id on."""
        with self._open_transaction() as book:
            return book.list_entry_page(first, limit, analyst)

    def list_releases(self) -> list[NonPrivateRelease]:
        """Return the releases without differential privacy."""
        with self._open_transaction() as book:
            return book.list_releases()

    def list_accounts(self) -> list[AnalystAccount]:
        """Return the account of everybody who has a share, or had one."""
        with self._open_transaction() as book:
            return [book.accounts.read_account(name) for name in book.accounts.read_shares()]

    def get_account(self, analyst: str) -> AnalystAccount:
        """Return one analyst's share, total spent and remaining budget."""
        with self._open_transaction() as book:
            return book.accounts.read_account(analyst)

    def get_accountant(self, analyst: str | None = None) -> Accountant:
        """Return the total spending, or that of one analyst, as an accountant."""
        with self._open_transaction() as book:
            return book.accounts.read_accountant(EVERYBODY if analyst is None else analyst)

    def get_total_spent(self, analyst: str | None = None) -> Cost:
        """Return the total cost so far, or that of one analyst."""
        return self.get_accountant(analyst).total_spent

    def get_remaining_budget(self, analyst: str | None = None) -> Cost:
        """Return the remaining budget of the promise, or of one analyst's share."""
        with self._open_transaction() as book:
            accounts = book.accounts
            return (
                accounts.read_accountant(EVERYBODY).remaining_budget
                if analyst is None
                else accounts.read_account(analyst).left
            )

    def has_room_for(self, analyst: str, guarantee: Guarantee) -> bool:
        """Return whether `reserve` would accept this guarantee from this analyst now."""
        with self._open_transaction() as book:
            own, share = book.accounts.read_accountant(analyst), book.accounts.read_account(analyst).share
        return limit_to_share(own, share).has_room_for(guarantee)

    def compute_belief(self, prior: Real | None = None, *, analyst: str | None = None) -> Belief:
        """Return the belief of an attacker who sees every answer, or one analyst's.

        It does not account for the releases of `list_releases`.
        """
        return self.get_accountant(analyst).compute_belief(prior)

    def compute_belief_history(
        self, prior: Real | None = None, *, max_points: int = 500, analyst: str | None = None
    ) -> list[tuple[int, Belief]]:
        """Return the belief after growing numbers of entries, at `max_points` moments."""
        require_count("compute_belief_history", "max_points", max_points)
        with self._open_transaction() as book:
            found = sample_accountants(book.accounts, max_points, analyst)
        return [(moment.events, moment.compute_belief(prior)) for moment in found]

    def describe_belief(self, prior: Real | None = None, *, analyst: str | None = None) -> str:
        """Return a sentence on the current belief of an attacker.

        With an `analyst`, it covers that analyst's answers, and reveals nothing about others.
        """
        with self._open_transaction() as book:
            spent, releases = (
                book.accounts.read_accountant(EVERYBODY if analyst is None else analyst),
                book.list_releases(),
            )
            separate = book.list_separate_ledgers()
        return describe_ledger_belief(
            self.promise, spent.compute_belief(prior), releases, analyst=analyst, separate=separate
        )

    def describe_uncovered(self) -> str:
        """Return the sentences on what no bound on belief covers; empty if bounds cover everything."""
        with self._open_transaction() as book:
            return describe_uncovered(book.list_releases(), book.list_separate_ledgers())

    def list_separate_ledgers(self) -> dict[str, str]:
        """Return the places of ledgers with a separate promise about the same data, by identity."""
        with self._open_transaction() as book:
            return book.list_separate_ledgers()

    def read_mark(self) -> HighWaterMark:
        """Return the current high-water mark of the ledger."""
        with self._open_transaction() as book:
            return read_mark(book)

    def verify(self) -> None:
        """Check all links, entries and sums; raise an error for a ledger that contradicts itself."""
        with self._open_transaction() as book:
            self.storage.verify(book.rows)
            check_chain(book.accounts)
            book.accounts.check_standings()
            check_totals(book.accounts)
            check_entries(book.accounts)

    @contextmanager
    def _open_transaction(self) -> Iterator[LedgerTransaction]:
        with self.storage.read_transaction() as rows:
            yield self._make_transaction(rows)

    def _make_transaction(self, rows: SqlTransaction) -> LedgerTransaction:
        return LedgerTransaction(BudgetAccounts(rows=rows, storage=self.storage, nothing=self._nothing))
