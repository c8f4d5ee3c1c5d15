"""The measurement index: which entries of the ledger released each measurement of an analyst.

Once        A measurement is charged at most once at a time: in the transaction that reserves it, the ledger
            looks for another entry that released it since the caller planned, or that is releasing it now in
            another thread, process or server.
Index only  The released numbers are the answers of the entries. A row without a settled entry, left by a
            process that is gone, is ignored.
Scope       One analyst: what others released is not found, since a free answer would show them that it was
            asked.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from discreet.accounting.entries import Entry, EntryState, LedgerTransaction, StoredAnswer, require_text
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
    """The measurements of one analyst in a ledger."""

    ledger: Ledger
    analyst: str

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
        families: Collection[str] = (),
        timeout: float = LONGEST_WAIT,
    ) -> Entry | None:
        """Charge measurements by a new entry to settle; raise `BudgetError` if the share lacks budget.

        Return None, and charge nothing, if one of them has been released under another entry than `known`:
        it is to be found then. While another thread or process releases one of them, wait up to `timeout`
        seconds for that; then raise `AlreadyRunningError`. `families` are what the entry is found by, too,
        however many others are.
        """
        require_text("reserve", question_key=question_key, question_text=question_text)
        stated, charge = self.ledger.price_guarantee(guarantee)

        def reserve(transaction: LedgerTransaction) -> Entry | None:
            for each in self._list_entries(transaction, identities):
                if each.entry not in known and (each.is_settled or transaction.is_alive(each.process)):
                    return None
            reserved = transaction.reserve(self.analyst, question_key, question_text, stated, charge)
            for identity in {*identities, *families}:
                transaction.rows.execute(
                    "INSERT INTO measurement (analyst, identity, entry) VALUES (:analyst, :identity, :entry)",
                    {"analyst": self.analyst, "identity": identity, "entry": reserved.id},
                )
            return reserved

        reply = self.ledger.write_entry(reserve)
        if reply is None:
            self.ledger.wait_until(
                lambda transaction: not self._is_under_way(transaction, identities),
                time.monotonic() + timeout,
            )
        return reply

    def note_shown(self, entry_id: int, shown: str) -> None:
        """Note, once, which cells of an entry a question has shown, in words of the caller."""

        def note(transaction: LedgerTransaction) -> None:
            transaction.rows.execute(
                "INSERT INTO measurement (analyst, identity, entry) VALUES (:analyst, :identity, :entry)"
                " ON CONFLICT DO NOTHING",
                {"analyst": self.analyst, "identity": f"{SHOWN}{shown}", "entry": entry_id},
            )

        self.ledger.transact(note)

    def list_shown(self, entry_id: int) -> list[str]:
        """Return what was noted about the cells of an entry that questions have shown."""

        def read(transaction: LedgerTransaction) -> list[str]:
            rows = transaction.rows.execute(
                "SELECT identity FROM measurement WHERE analyst = :analyst AND entry = :entry",
                {"analyst": self.analyst, "entry": entry_id},
            )
            return [identity.removeprefix(SHOWN) for (identity,) in rows if identity.startswith(SHOWN)]

        return self.ledger.read(read)

    def _is_under_way(self, transaction: LedgerTransaction, identities: Collection[str]) -> bool:
        found = self._list_entries(transaction, identities)
        return any(not each.is_settled and transaction.is_alive(each.process) for each in found)

    def _list_entries(self, transaction: LedgerTransaction, identities: Collection[str]) -> list[_Measuring]:
        """Return the settled and the reserved entries of these measurements."""
        found: list[_Measuring] = []
        texts = list(identities)
        for start in range(0, len(texts), MAX_IDENTITIES):
            names = {f"i{place}": text for place, text in enumerate(texts[start : start + MAX_IDENTITIES])}
            rows = transaction.rows.execute(
                "SELECT measurement.identity, entry.id, entry.state, entry.process FROM measurement"
                " JOIN entry ON entry.id = measurement.entry WHERE measurement.analyst = :analyst"
                " AND entry.analyst = :analyst AND entry.state IN ('settled', 'reserved')"
                f" AND measurement.identity IN ({', '.join(f':{name}' for name in names)})"
                " ORDER BY entry.id",
                {"analyst": self.analyst, **names},
            )
            found += [
                _Measuring(
                    identity=identity, entry=entry, is_settled=state == EntryState.SETTLED, process=process
                )
                for identity, entry, state, process in rows
            ]
        return found
