"""The reading half of a ledger: entries, accounts, remaining budget, and the attacker's belief.

Each method reads inside one transaction, so its result is one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from discreet.accounting.accountant import Accountant
from discreet.accounting.accounts import EVERYBODY, Accounts
from discreet.accounting.amounts import Cost
from discreet.accounting.book import Book
from discreet.accounting.chain_check import check_chain
from discreet.accounting.entries import Account, Entry, OpenRelease, Stored
from discreet.accounting.founding import read_mark
from discreet.accounting.marks import Mark
from discreet.accounting.sentences import standing
from discreet.accounting.shares import within_share
from discreet.accounting.storage import Rows, Storage
from discreet.accounting.sums import compare_entries, compare_totals, moments
from discreet.belief import Belief, Promise
from discreet.core.guarantees import Guarantee
from discreet.core.numbers import Real, require_count


class LedgerReading(Protocol):
    """The part of a ledger that reads; `_nothing` is the accountant before the first entry."""

    storage: Storage
    _nothing: Accountant

    @property
    def promise(self) -> Promise:
        return self._nothing.promise

    def stored(self, analyst: str, question_key: str) -> Stored | None:
        """Return this analyst's stored answer to this question, which is free, or None."""
        with self._reading() as book:
            return book.stored(analyst, question_key)

    def entries(self, analyst: str | None = None) -> list[Entry]:
        """Return all entries, or those of one analyst, in order."""
        with self._reading() as book:
            return book.entries(analyst)

    def page(self, first: int, most: int, *, analyst: str | None = None) -> list[Entry]:
        """Return at most `limit` entries, from an id on."""
        with self._reading() as book:
            return book.page(first, most, analyst)

    def releases(self) -> list[OpenRelease]:
        """Return the releases without differential privacy."""
        with self._reading() as book:
            return book.releases()

    def accounts(self) -> list[Account]:
        """Return the account of everybody who has a share, or had one."""
        with self._reading() as book:
            return [book.accounts.account(name) for name in book.accounts.shares()]

    def account(self, analyst: str) -> Account:
        """Return one analyst's share, total spent and remaining budget."""
        with self._reading() as book:
            return book.accounts.account(analyst)

    def accountant(self, analyst: str | None = None) -> Accountant:
        """Return the total spending, or that of one analyst, as an accountant."""
        with self._reading() as book:
            return book.accounts.spent(EVERYBODY if analyst is None else analyst)

    def spent(self, analyst: str | None = None) -> Cost:
        """Return the total cost so far, or that of one analyst."""
        return self.accountant(analyst).spent

    def left(self, analyst: str | None = None) -> Cost:
        """Return the remaining budget of the promise, or of one analyst's share."""
        with self._reading() as book:
            accounts = book.accounts
            return accounts.spent(EVERYBODY).left if analyst is None else accounts.account(analyst).left

    def fits(self, analyst: str, guarantee: Guarantee) -> bool:
        """Return whether `reserve` would accept this guarantee from this analyst now."""
        with self._reading() as book:
            own, share = book.accounts.spent(analyst), book.accounts.account(analyst).share
        return within_share(own, share).fits(guarantee)

    def belief(self, prior: Real | None = None, *, analyst: str | None = None) -> Belief:
        """Return the belief of an attacker who sees every answer, or one analyst's.

        It does not account for the releases of `list_releases`.
        """
        return self.accountant(analyst).belief(prior)

    def staircase(
        self, prior: Real | None = None, *, most: int = 500, analyst: str | None = None
    ) -> list[tuple[int, Belief]]:
        """Return the belief after growing numbers of entries, at `max_points` moments."""
        require_count("compute_belief_history", "max_points", most)
        with self._reading() as book:
            found = moments(book.accounts, most, analyst)
        return [(moment.events, moment.belief(prior)) for moment in found]

    def sentence(self, prior: Real | None = None, *, analyst: str | None = None) -> str:
        """Return a sentence on the current belief of an attacker.

        With an `analyst`, it covers that analyst's answers, and reveals nothing about others.
        """
        with self._reading() as book:
            spent, releases = book.accounts.spent(EVERYBODY if analyst is None else analyst), book.releases()
            separate = book.separate_ledgers()
        return standing(self.promise, spent.belief(prior), releases, analyst=analyst, separate=separate)

    def separate_ledgers(self) -> dict[str, str]:
        """Return the places of ledgers with a separate promise about the same data, by identity."""
        with self._reading() as book:
            return book.separate_ledgers()

    def mark(self) -> Mark:
        """Return the current high-water mark of the ledger."""
        with self._reading() as book:
            return read_mark(book)

    def verify(self) -> None:
        """Check all links, entries and sums; raise an error for a ledger that contradicts itself."""
        with self._reading() as book:
            self.storage.verify(book.rows)
            check_chain(book.accounts)
            book.accounts.check_standings()
            compare_totals(book.accounts)
            compare_entries(book.accounts)

    @contextmanager
    def _reading(self) -> Iterator[Book]:
        with self.storage.reading() as rows:
            yield self._book(rows)

    def _book(self, rows: Rows) -> Book:
        return Book(Accounts(rows=rows, storage=self.storage, nothing=self._nothing))
