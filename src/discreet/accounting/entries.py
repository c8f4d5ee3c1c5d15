"""The entries of a ledger, and its non-private releases, read and written inside one transaction.

Charge      An entry, and the accounts that it increases (`budget.py`), are written together.
Guarantee   Stored as JSON (`guarantee_json.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost, format_fraction
from discreet.accounting.budget import BudgetAccounts
from discreet.accounting.guarantee_json import guarantee_from_json, guarantee_to_json
from discreet.accounting.hash_chain import EVERYBODY, RELEASE, SUMS, HashChain, LinkKind, format_current_time
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction
from discreet.accounting.process_identity import get_process_identity
from discreet.core.errors import InvalidParameterError, RequestError, require_parameter
from discreet.core.guarantees import Guarantee

INCIDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ENTRY = (
    "id, time, analyst, question_key, question, guarantee, epsilon, rho, delta, state, process, incident,"
    " number"
)


class EntryState(StrEnum):
    """The progress of a charged question. The charge is the same in all states."""

    RESERVED = "reserved"
    SETTLED = "settled"
    FAULTED = "faulted"
    ORPHANED = "orphaned"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charged question.

    `guarantee` is that of the release; `charge` is its cost under the promise. `id` counts the entries of the
    ledger, `number` those of its analyst: an analyst sees only `number`, which reveals nothing about others.
    Once analysts share answers, `number` is the `id`: an answer may come from entries of several of them.
    """

    id: int
    number: int
    time: datetime
    analyst: str
    question_key: str
    question: str
    guarantee: Guarantee
    charge: Cost
    state: EntryState
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredAnswer:
    """A settled answer, as it was released."""

    entry: Entry
    answer: bytes
    metadata: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class NonPrivateRelease:
    """A published result without differential privacy; `after` entries were charged before it."""

    id: int
    time: datetime
    after: int
    name: str
    description: str
    certificate: Mapping[str, object]


@dataclass(frozen=True)
class LedgerTransaction:
    """A ledger as one transaction sees it; `alive` caches which processes still run."""

    accounts: BudgetAccounts
    alive: dict[str, bool] = field(default_factory=dict)

    @property
    def rows(self) -> SqlTransaction:
        return self.accounts.rows

    @property
    def storage(self) -> LedgerStorage:
        return self.accounts.storage

    @property
    def chain(self) -> HashChain:
        return self.accounts.chain

    @cached_property
    def shares_answers(self) -> bool:
        """True once analysts have been answered from each other's entries, and ever after."""
        return bool(self.chain.list_links(LinkKind.SHARING))

    def record_sharing(self) -> None:
        """Record, once, that analysts are answered from each other's entries from now on."""
        if not self.chain.list_links(LinkKind.SHARING):
            self.chain.append(LinkKind.SHARING, {"time": format_current_time()})

    def reserve(self, analyst: str, question_key: str, question: str, guarantee: str, charge: Cost) -> Entry:
        """Charge a question, if there is budget, by a new entry that this process has reserved."""
        own, everything = (each.spend(charge) for each in self.accounts.check_budget(analyst, charge))
        return self._write_entry(analyst, question_key, question, guarantee, charge, own, everything)

    def charge_lost(self, analyst: str, question_key: str, text: str, charge: Cost) -> None:
        """Charge lost entries, whether there is budget for them or not: they have happened."""
        own, everything = (
            self.accounts.read_accountant(owner).add_cost(charge) for owner in (analyst, EVERYBODY)
        )
        guarantee = guarantee_to_json(charge)
        entry = self._write_entry(analyst, question_key, text, guarantee, charge, own, everything)
        self.orphan_entries([entry.id])

    def _write_entry(
        self,
        analyst: str,
        question_key: str,
        question: str,
        guarantee: str,
        charge: Cost,
        own: Accountant,
        everything: Accountant,
    ) -> Entry:
        """Write a new entry, reserved by this process, and the accounts that include it."""
        sums = self.accounts.write_sums(analyst, own)
        total = self.accounts.write_sums(EVERYBODY, everything)
        row = {
            "id": everything.events,
            "time": format_current_time(),
            "analyst": analyst,
            "question_key": question_key,
            "question": question,
            "guarantee": guarantee,
            **{name: format_fraction(getattr(charge, name, 0)) for name in SUMS},
            "state": EntryState.RESERVED.value,
            "process": get_process_identity(),
            "incident": None,
            "number": own.events,
        }
        self.insert_entry(row)
        self.chain.append_charge(row, sums, total)
        return self.parse_entry(row.values())

    def reserve_or_replay(
        self,
        analyst: str,
        question_key: str,
        question: str,
        guarantee: str,
        charge: Cost,
        *,
        owner: str | None,
    ) -> Entry | StoredAnswer | None:
        """Return the stored answer or a new reservation, or None while another process answers it.

        Answers to the `owner` are looked for, or those to all analysts if it is None.
        """
        stored = self.find_stored_answer(owner, question_key)
        if stored is not None or self.is_being_answered(owner, question_key):
            return stored
        return self.reserve(analyst, question_key, question, guarantee, charge)

    def is_being_answered(self, owner: str | None, question_key: str) -> bool:
        """Return whether a running process has reserved the same question, and may settle it."""
        found = self.rows.execute(
            "SELECT DISTINCT process FROM entry"
            f" WHERE {match_owner(owner)} AND question_key = :key AND state = 'reserved'",
            {"owner": owner, "key": question_key},
        )
        return any(self.is_alive(process) for (process,) in found.fetchall())

    def get_stored_answer(self, entry_id: int) -> StoredAnswer:
        """Return what a settled entry stores."""
        row = self.rows.execute(
            f"SELECT answer, metadata, {ENTRY} FROM entry WHERE id = :id AND state = 'settled'",
            {"id": entry_id},
        ).fetchone()
        if row is None:
            raise RequestError(
                f"The ledger {self.storage.place} stores no answer under entry {entry_id}.", hint="Ask again."
            )
        return self._parse_stored_answer(row)

    def insert_entry(self, row: Mapping[str, object]) -> None:
        """Insert a row of the columns ENTRY."""
        names = ", ".join(f":{name}" for name in row)
        self.rows.execute(f"INSERT INTO entry ({ENTRY}) VALUES ({names})", row)

    def get_entry(self, entry_id: int) -> Entry:
        row = self.rows.execute(f"SELECT {ENTRY} FROM entry WHERE id = :id", {"id": entry_id}).fetchone()
        if row is None:
            raise RequestError(
                f"The ledger {self.storage.place} has no entry {entry_id}.", hint="Reserve it first."
            )
        return self.parse_entry(row)

    def require_reserved(self, entry: Entry, verb: str) -> None:
        """Raise an error unless the entry is of this ledger, and neither settled, faulted nor orphaned."""
        found = self.rows.execute(
            "SELECT state FROM entry WHERE id = :id AND analyst = :analyst AND question_key = :key",
            {"id": entry.id, "analyst": entry.analyst, "key": entry.question_key},
        ).fetchone()
        state = None if found is None else EntryState(found[0])
        if state is not EntryState.RESERVED:
            stated = "not of this ledger" if state is None else f"{state.value} already"
            raise RequestError(
                f"{verb}: entry {entry.number} is {stated}.", hint="Reserve, then settle once."
            )

    def find_stored_answer(self, owner: str | None, question_key: str) -> StoredAnswer | None:
        """Return the first settled answer to a question of an analyst, or of any if `owner` is None."""
        row = self.rows.execute(
            f"SELECT answer, metadata, {ENTRY} FROM entry"
            f" WHERE {match_owner(owner)} AND question_key = :key AND state = 'settled' ORDER BY id LIMIT 1",
            {"owner": owner, "key": question_key},
        ).fetchone()
        return None if row is None else self._parse_stored_answer(row)

    def _parse_stored_answer(self, row: Sequence[Any]) -> StoredAnswer:
        return StoredAnswer(
            entry=self.parse_entry(row[2:]), answer=bytes(row[0]), metadata=json.loads(row[1])
        )

    def settle(self, entry: Entry, answer: bytes, metadata: str) -> Entry:
        self.require_reserved(entry, "settle")
        self.rows.execute(
            "UPDATE entry SET state = 'settled', answer = :answer, metadata = :metadata WHERE id = :id",
            {"answer": answer, "metadata": metadata, "id": entry.id},
        )
        self.chain.append_outcome(entry.id)
        return self.get_entry(entry.id)

    def record_fault(self, entry: Entry, incident: str) -> Entry:
        self.require_reserved(entry, "fault")
        self.rows.execute(
            "UPDATE entry SET state = 'faulted', incident = :incident WHERE id = :id",
            {"incident": incident, "id": entry.id},
        )
        self.chain.append_outcome(entry.id)
        self.accounts.suspend(entry.analyst, incident)
        return self.get_entry(entry.id)

    def orphan_entries(self, entries: Iterable[int]) -> None:
        """Mark entries that nobody will settle any more."""
        for each in entries:
            mark = "UPDATE entry SET state = 'orphaned' WHERE id = :id AND state = 'reserved'"
            self.rows.execute(mark, {"id": each})

    def list_entries(self, analyst: str | None) -> list[Entry]:
        whose = "" if analyst is None else " WHERE analyst = :analyst"
        query = f"SELECT {ENTRY} FROM entry{whose} ORDER BY id"
        return [self.parse_entry(row) for row in self.rows.execute(query, {"analyst": analyst})]

    def list_entry_page(self, first: int, limit: int, analyst: str | None) -> list[Entry]:
        """Return at most `limit` entries, from an id on."""
        whose = "" if analyst is None else " AND analyst = :analyst"
        query = f"SELECT {ENTRY} FROM entry WHERE id >= :first{whose} ORDER BY id LIMIT :most"
        values = {"first": first, "most": limit, "analyst": analyst}
        return [self.parse_entry(row) for row in self.rows.execute(query, values)]

    def parse_entry(self, row: Iterable[Any]) -> Entry:
        """Return the entry of a row; a reservation whose process is gone becomes an orphan."""
        entry_id, time, analyst, key, question, guarantee, epsilon, rho, delta, state, process, *rest = row
        if state == EntryState.RESERVED:
            state = EntryState.RESERVED if self.is_alive(process) else EntryState.ORPHANED
        return Entry(
            id=entry_id,
            number=entry_id if self.shares_answers else rest[1],
            time=datetime.fromisoformat(time),
            analyst=analyst,
            question_key=key,
            question=question,
            guarantee=guarantee_from_json(guarantee),
            charge=self.accounts.to_cost(epsilon, rho, delta),
            state=EntryState(state),
            incident=rest[0],
        )

    def record_release(self, name: str, description: str, certificate: str) -> NonPrivateRelease:
        """Record a release without differential privacy."""
        self.rows.execute(
            "INSERT INTO release (time, after, name, description, certificate)"
            " VALUES (:time, :after, :name, :description, :certificate)",
            {
                "time": format_current_time(),
                "after": self.accounts.read_accountant(EVERYBODY).events,
                "name": name,
                "description": description,
                "certificate": certificate,
            },
        )
        self.chain.append_release(self.list_release_rows()[-1])
        return self.list_releases()[-1]

    def list_releases(self) -> list[NonPrivateRelease]:
        return [
            NonPrivateRelease(
                **row
                | {
                    "time": datetime.fromisoformat(row["time"]),
                    "certificate": json.loads(row["certificate"]),
                }
            )
            for row in self.list_release_rows()
        ]

    def list_release_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the releases without differential privacy, as they are stored."""
        found = self.rows.execute(f"SELECT {', '.join(RELEASE)} FROM release ORDER BY id")
        return [dict(zip(RELEASE, row, strict=True)) for row in found]

    def has_history(self) -> bool:
        """Return whether anything was ever charged or published."""
        return self.accounts.read_accountant(EVERYBODY).events > 0 or bool(self.list_release_rows())

    def list_separate_ledgers(self) -> dict[str, str]:
        """Return the ledgers with a separate promise about the same data: their places, by identity."""
        links = self.chain.list_links(LinkKind.SEPARATE)
        return {str(link.body["other"]): str(link.body["place"]) for link in links}

    def is_alive(self, process: str) -> bool:
        """Return whether a process that has reserved entries still runs."""
        if process not in self.alive:
            self.alive[process] = self.storage.is_process_alive(self.rows, process)
        return self.alive[process]


def match_owner(owner: str | None) -> str:
    """Return a condition on the column analyst: one analyst, or, in words of the same index, any."""
    return "analyst IN (SELECT analyst FROM account)" if owner is None else "analyst = :owner"


def build_damaged_ledger_error() -> RequestError:
    """Return the error for a stored answer that can no longer be read."""
    return RequestError(
        "The answer that the ledger stores cannot be read: the ledger is damaged.",
        hint="Restore it from a backup; without one, treat the whole promise as spent.",
    )


def require_incident(verb: str, incident: str) -> None:
    """Raise an error for an incident that is not a number of the custodian's log."""
    named = isinstance(incident, str) and INCIDENT.fullmatch(incident) is not None
    # the value given may be a message that holds data, so the error does not repeat it
    require_parameter(named, verb, "incident", "another text", "a number such as 20240229-7f3a")


def require_text(owner: str, **values: object) -> None:
    """Raise an error for a value that is no text, or an empty one."""
    for name, value in values.items():
        holds = isinstance(value, str) and bool(value.strip()) and "\0" not in value
        require_parameter(holds, owner, name, repr(value), "a text that is not empty")


def mapping_to_json(place: str, value: Mapping[str, object]) -> str:
    """Return metadata or a certificate as JSON text."""
    try:
        return json.dumps(dict(value), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError):
        # the value given may hold data
        raise InvalidParameterError(f"{place} must be a mapping that JSON can hold; it is not.") from None
