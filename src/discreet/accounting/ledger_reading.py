"""What a ledger says and keeps as it is: entries, accounts, what is left, what an attacker may believe now.

Everything that one of these says is of one moment: it is read inside one transaction.
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
        """What this analyst was answered to this question, if it was; it costs nothing."""
        with self._reading() as book:
            return book.stored(analyst, question_key)

    def entries(self, analyst: str | None = None) -> list[Entry]:
        """All that was charged, or one analyst's part, in order."""
        with self._reading() as book:
            return book.entries(analyst)

    def page(self, first: int, most: int, *, analyst: str | None = None) -> list[Entry]:
        """Return at most so many entries, from an id on."""
        with self._reading() as book:
            return book.page(first, most, analyst)

    def releases(self) -> list[OpenRelease]:
        """What was published without differential privacy."""
        with self._reading() as book:
            return book.releases()

    def accounts(self) -> list[Account]:
        """Everybody who has a share, or had one."""
        with self._reading() as book:
            return [book.accounts.account(name) for name in book.accounts.shares()]

    def account(self, analyst: str) -> Account:
        """One analyst's share, and what was spent and is left of it."""
        with self._reading() as book:
            return book.accounts.account(analyst)

    def accountant(self, analyst: str | None = None) -> Accountant:
        """What was spent in all, or by one analyst, as a value to reckon with."""
        with self._reading() as book:
            return book.accounts.spent(EVERYBODY if analyst is None else analyst)

    def spent(self, analyst: str | None = None) -> Cost:
        return self.accountant(analyst).spent

    def left(self, analyst: str | None = None) -> Cost:
        """What the promise leaves, or one analyst's share of it."""
        with self._reading() as book:
            accounts = book.accounts
            return accounts.spent(EVERYBODY).left if analyst is None else accounts.account(analyst).left

    def fits(self, analyst: str, guarantee: Guarantee) -> bool:
        """Whether `reserve` would take it from this analyst now."""
        with self._reading() as book:
            own, share = book.accounts.spent(analyst), book.accounts.account(analyst).share
        return within_share(own, share).fits(guarantee)

    def belief(self, prior: Real | None = None, *, analyst: str | None = None) -> Belief:
        """What an attacker who sees every answer, or one analyst's, may now believe.

        See `releases` for what it leaves out.
        """
        return self.accountant(analyst).belief(prior)

    def staircase(
        self, prior: Real | None = None, *, most: int = 500, analyst: str | None = None
    ) -> list[tuple[int, Belief]]:
        """What could be believed after so many entries, or so many of an analyst's, at `most` moments."""
        require_count("staircase", "most", most)
        with self._reading() as book:
            found = moments(book.accounts, most, analyst)
        return [(moment.events, moment.belief(prior)) for moment in found]

    def sentence(self, prior: Real | None = None, *, analyst: str | None = None) -> str:
        """What the ledger comes to, in words; or one analyst's part of it, which tells nothing of others."""
        with self._reading() as book:
            spent, releases = book.accounts.spent(EVERYBODY if analyst is None else analyst), book.releases()
            separate = book.separate_ledgers()
        return standing(self.promise, spent.belief(prior), releases, analyst=analyst, separate=separate)

    def separate_ledgers(self) -> dict[str, str]:
        """Return where the ledgers with a separate promise about the same data are, by identity."""
        with self._reading() as book:
            return book.separate_ledgers()

    def mark(self) -> Mark:
        """Return how far the ledger has come, as its marks are told."""
        with self._reading() as book:
            return read_mark(book)

    def verify(self) -> None:
        """Check all links, entries and sums; a ledger that contradicts itself is refused."""
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
