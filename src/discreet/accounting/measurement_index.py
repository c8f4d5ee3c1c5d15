"""The measurement index: which entries of the ledger released each measurement for an analyst.

Once        A measurement is charged at most once at a time: in the transaction that reserves it, the ledger
            looks for another entry that released it since the caller planned, or that is releasing it now in
            another thread, process or server.
Index only  The released numbers are the answers of the entries. A row without a settled entry, left by a
            process that is gone, is ignored.
Scope       One analyst: what others released is not found, since a free answer would show that it was asked.
            Where analysts share answers, all of them: what any of them measures is found, and waited for.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from discreet.accounting.entries import (
    Entry,
    EntryState,
    LedgerTransaction,
    StoredAnswer,
    match_owner,
    require_text,
)
from discreet.accounting.ledger import LONGEST_WAIT, Ledger
from discreet.core.guarantees import Guarantee

MAX_IDENTITIES = 500  # in one statement
SHOWN = "shown "
"""What begins a row about cells that were shown, which no identity, a hash, begins with."""


@dataclass(frozen=True, kw_only=True)
class _Measuring:
    """An entry that released a measurement, or that has reserved it."""

    identity: str
    entry: int
    is_settled: bool
    process: str


@dataclass(frozen=True)
class MeasurementIndex:
    """The measurements of one analyst in a ledger, or of all if they share answers."""

    ledger: Ledger
    analyst: str
    is_shared: bool = False

    def find(self, identities: Collection[str]) -> list[tuple[str, int]]:
        """Return which of these measurements are released, each with the id of its entry, oldest first."""
        found = self.ledger.read(lambda transaction: self._list_entries(transaction, identities))
        return [(each.identity, each.entry) for each in found if each.is_settled]

    def get_answer(self, entry_id: int) -> StoredAnswer:
        """Return what a settled entry stores."""
        return self.ledger.read(lambda transaction: transaction.get_stored_answer(entry_id))

    def reserve(
        self,
        question_key: str,
        question_text: str,
        guarantee: Guarantee,
        *,
        identities: Collection[str],
        known: Collection[int],
        timeout: float = LONGEST_WAIT,
    ) -> Entry | None:
        """Charge measurements by a new entry to settle; raise `BudgetError` if the share lacks budget.

        Return None, and charge nothing, if one of them has been released under another entry than `known`:
        it is to be found then. While another thread or process releases one of them, wait up to `timeout`
        seconds for that; then raise `AlreadyRunningError`.
        """
        require_text("reserve", question_key=question_key, question_text=question_text)
        stated, charge = self.ledger.price_guarantee(guarantee)

        def reserve(transaction: LedgerTransaction) -> Entry | None:
            for each in self._list_entries(transaction, identities):
                if each.entry not in known and (each.is_settled or transaction.is_alive(each.process)):
                    return None
            reserved = transaction.reserve(self.analyst, question_key, question_text, stated, charge)
            for identity in identities:
                self._insert(transaction, identity, reserved.id)
            return reserved

        reply = self.ledger.write_entry(reserve)
        if reply is None:
            self.wait_for(identities, timeout=timeout)
        return reply

    def wait_for(self, identities: Collection[str], *, timeout: float = LONGEST_WAIT) -> None:
        """Wait while another thread or process releases one of these measurements."""
        self.ledger.wait_until(
            lambda transaction: not self._is_under_way(transaction, identities), time.monotonic() + timeout
        )

    def announce(self, entry: Entry, identities: Collection[str]) -> None:
        """Note that an entry, which is reserved already, will release measurements, or another fact of it."""

        def note(transaction: LedgerTransaction) -> None:
            for identity in identities:
                self._insert(transaction, identity, entry.id)

        if identities:
            self.ledger.transact(note)

    def note_shown(self, entry_id: int, shown: str) -> None:
        """Note, once, which cells of an entry a question has shown, in words of the caller."""

        self.ledger.transact(lambda transaction: self._insert(transaction, f"{SHOWN}{shown}", entry_id))

    def list_shown(self, entry_id: int) -> list[str]:
        """Return what was noted about the cells of an entry that questions have shown."""
        return self.list_notes(entry_id, SHOWN)

    def list_notes(self, entry_id: int, prefix: str) -> list[str]:
        """Return the notes of an entry that begin with a prefix, without it."""

        def read(transaction: LedgerTransaction) -> list[str]:
            # what was shown to another analyst counts even if answers are no longer shared
            owner = None if transaction.shares_answers else self.analyst
            rows = transaction.rows.execute(
                f"SELECT DISTINCT identity FROM measurement WHERE {match_owner(owner)} AND entry = :entry",
                {"owner": owner, "entry": entry_id},
            )
            return [identity.removeprefix(prefix) for (identity,) in rows if identity.startswith(prefix)]

        return self.ledger.read(read)

    def _insert(self, transaction: LedgerTransaction, identity: str, entry_id: int) -> None:
        transaction.rows.execute(
            "INSERT INTO measurement (analyst, identity, entry) VALUES (:analyst, :identity, :entry)"
            " ON CONFLICT DO NOTHING",
            {"analyst": self.analyst, "identity": identity, "entry": entry_id},
        )

    def _is_under_way(self, transaction: LedgerTransaction, identities: Collection[str]) -> bool:
        found = self._list_entries(transaction, identities)
        return any(not each.is_settled and transaction.is_alive(each.process) for each in found)

    def _list_entries(self, transaction: LedgerTransaction, identities: Collection[str]) -> list[_Measuring]:
        """Return the settled and the reserved entries of these measurements."""
        found: list[_Measuring] = []
        texts = list(identities)
        owner = None if self.is_shared else self.analyst
        for start in range(0, len(texts), MAX_IDENTITIES):
            names = {f"i{place}": text for place, text in enumerate(texts[start : start + MAX_IDENTITIES])}
            rows = transaction.rows.execute(
                "SELECT measurement.identity, entry.id, entry.state, entry.process FROM measurement"
                " JOIN entry ON entry.id = measurement.entry"
                " AND entry.analyst = measurement.analyst"
                f" WHERE measurement.{match_owner(owner)} AND entry.state IN ('settled', 'reserved')"
                f" AND measurement.identity IN ({', '.join(f':{name}' for name in names)})"
                " ORDER BY entry.id",
                {"owner": owner, **names},
            )
            found += [
                _Measuring(
                    identity=identity, entry=entry, is_settled=state == EntryState.SETTLED, process=process
                )
                for identity, entry, state, process in rows
            ]
        return found
