"""The hash chain of a ledger: each charge, outcome and release is a link with the hash of the one before.

Link        A row (id, kind, analyst, body, previous, head). `body` is JSON; `previous` is the head of the
            link before; `head` is the SHA-256 of `previous` and `body`. Ids count from 1 without gaps. The
            first link holds the identity of the ledger and the terms of its promise.
Sums        Each link carries the running sums of everybody, and a charge also those of its analyst. The
            accounts are compared with the newest sums whenever they are read: an edited account is refused
            before it decides anything, in a time that does not grow with the ledger.
Standing    Each change of a share or a suspension appends a link with the shares and suspensions of all
            analysts. Accounts are compared with the newest such link whenever they are read.
Digests     A link holds the digest of its row, so that a changed row is found without a copy.
Opening     checks the last link, its predecessor and each account: constant time.
Verifying   recomputes every head, digest and running sum, and reports the first mismatch.
Migration   A ledger that was written before entries were chained is chained as it is, in order, and a link
            records the migration and its time: changes before it cannot be detected. One whose accounts are
            not the sums of its entries is refused, as it was before.
Limits      The hashes have no key: a deliberate rewrite of the whole chain leaves a valid chain. The
            high-water marks (`high_water_marks.py`), stored elsewhere, reveal that; the chain alone finds
            accidents and manual edits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.accounting.amounts import format_fraction
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction
from discreet.core.randomness import Randomness

EVERYBODY = ""
"""The owner of the sums of all analysts together."""
ORIGIN = "0" * 64
IDENTITY_BYTES = 16
SUMS = ("epsilon", "rho", "delta")
NO_SUMS = ("0", "0", "0", 0)
CHARGE = (
    "id",
    "time",
    "analyst",
    "question_key",
    "question",
    "guarantee",
    "epsilon",
    "rho",
    "delta",
    "number",
)
OUTCOME = ("state", "incident", "metadata", "answer")
FINISHED = ("settled", "faulted")
RELEASE = ("id", "time", "after", "name", "description", "certificate")
TERMS = ("prior", "posterior", "secret", "group", "tail", "leak")
LINK = "id, kind, analyst, body, previous, head"
LINKS_OF_KIND = f"SELECT {LINK} FROM link WHERE kind = :kind AND kind NOT IN ('charge', 'outcome')"
"""The links of a rare kind, in the words of the index `link_of_kind`."""
LINKS = (
    "CREATE TABLE link (id {number} PRIMARY KEY, kind TEXT NOT NULL, analyst {name}, body TEXT NOT NULL,"
    " previous TEXT NOT NULL, head TEXT NOT NULL)",
    "CREATE INDEX link_of_analyst ON link (analyst, id) WHERE analyst IS NOT NULL",
    "CREATE INDEX link_of_kind ON link (kind, id) WHERE kind NOT IN ('charge', 'outcome')",
)
"""The schema, with placeholders for each storage's types of a number and a name."""

RunningSums = tuple[str, str, str, int]
Standing = tuple[str, str | None]
"""The share of an analyst, and the incident that suspends them."""


class LinkKind(StrEnum):
    """The kind of event that a link records."""

    FOUNDING = "founding"
    CHARGE = "charge"
    OUTCOME = "outcome"
    RELEASE = "release"
    STANDING = "standing"
    UNIT = "unit"
    ACCEPTANCE = "acceptance"
    SEPARATE = "separate"
    SHARING = "sharing"
    BACKUP = "backup"
    MIGRATION = "migration"
    RESTORATION = "restoration"


@dataclass(frozen=True, kw_only=True)
class Link:
    """One link, with its parsed body."""

    id: int
    kind: LinkKind
    analyst: str | None
    body: Mapping[str, Any]
    previous: str
    head: str

    @property
    def total_sums(self) -> RunningSums:
        """The running sums of everybody."""
        epsilon, rho, delta, events = self.body["all"]
        return epsilon, rho, delta, events

    @property
    def analyst_sums(self) -> RunningSums:
        """The running sums of the analyst who was charged."""
        epsilon, rho, delta, events = self.body["own"]
        return epsilon, rho, delta, events


@dataclass(frozen=True)
class ChainPosition:
    """The number of links of a chain, and the newest head: later states of the same history extend it."""

    count: int
    head: str


@dataclass(frozen=True)
class HashChain:
    """The links that one transaction sees; `appended` are the positions of those that it has added."""

    rows: SqlTransaction
    storage: LedgerStorage
    appended: list[ChainPosition] = field(default_factory=list)

    def append(
        self,
        kind: LinkKind,
        body: Mapping[str, object],
        *,
        analyst: str | None = None,
        total: RunningSums | None = None,
    ) -> None:
        """Append a link; without `total` the running sums of everybody are unchanged."""
        last = self.get_last_link()
        number, previous = (1, ORIGIN) if last is None else (last.id + 1, last.head)
        sums = total or (NO_SUMS if last is None else last.total_sums)
        stamped = {**body, "id": number, "kind": kind.value, "analyst": analyst, "all": sums}
        # sorted and without blanks: the text is hashed, so it must be canonical
        text = json.dumps(stamped, sort_keys=True, separators=(",", ":"))
        head = hash_link(previous, text)
        self.rows.execute(
            f"INSERT INTO link ({LINK}) VALUES (:id, :kind, :analyst, :body, :previous, :head)",
            {
                "id": number,
                "kind": kind.value,
                "analyst": analyst,
                "body": text,
                "previous": previous,
                "head": head,
            },
        )
        self.appended.append(ChainPosition(number, head))

    def append_terms(
        self, terms: Mapping[str, object], *, identity: str | None = None, time: str | None = None
    ) -> None:
        """Append the first link: the terms of the promise and an identity, a new one if none is given."""
        name = identity or f"{Randomness().draw_bits(8 * IDENTITY_BYTES):0{2 * IDENTITY_BYTES}x}"
        self.append(
            LinkKind.FOUNDING, {"identity": name, "terms": dict(terms), "time": time or format_current_time()}
        )

    def append_charge(self, row: Mapping[str, Any], own: RunningSums, total: RunningSums) -> None:
        """Append the link of a new entry, given as its row."""
        body = {"entry": row["id"], "time": row["time"], "digest": digest_charge(row), "own": own}
        self.append(LinkKind.CHARGE, body, analyst=row["analyst"], total=total)

    def append_outcome(self, entry: int) -> None:
        """Append the link of an entry that has just been settled or faulted."""
        # read back, so that the digest is of what the table holds and not of what was meant
        state, incident, metadata, answer = self.rows.execute(
            "SELECT state, incident, metadata, answer FROM entry WHERE id = :id", {"id": entry}
        ).fetchone()
        digest = digest_outcome(state, incident, metadata, answer)
        self.append(LinkKind.OUTCOME, {"entry": entry, "digest": digest})

    def append_release(self, row: Mapping[str, Any]) -> None:
        """Append the link of a release without differential privacy, given as its row."""
        self.append(
            LinkKind.RELEASE, {"release": row["id"], "name": row["name"], "digest": digest_release(row)}
        )

    def append_standings(self, standings: Mapping[str, Standing]) -> None:
        """Append a link with the current share and suspension of every analyst."""
        self.append(LinkKind.STANDING, {"accounts": {name: [*each] for name, each in standings.items()}})

    def read_standings(self) -> dict[str, Standing] | None:
        """Return the share and suspension of every analyst, or None for a ledger of an earlier format."""
        newest = f"{LINKS_OF_KIND} ORDER BY id DESC LIMIT 1"
        row = self.rows.execute(newest, {"kind": LinkKind.STANDING.value}).fetchone()
        if row is None:
            return None
        found = self.parse_link(row).body["accounts"]
        return {name: (share, incident) for name, (share, incident) in found.items()}

    def get_last_link(self) -> Link | None:
        """Return the newest link, or None for a ledger that is not initialized yet."""
        row = self.rows.execute(f"SELECT {LINK} FROM link ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else self.parse_link(row)

    def get_position(self) -> ChainPosition | None:
        """Return the position of the newest link, or None for a ledger that is not initialized yet."""
        row = self.rows.execute("SELECT id, head FROM link ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else ChainPosition(*row)

    def extends(self, seen: ChainPosition) -> bool:
        """Return whether the chain is the one that was `seen`, or a later state of it.

        Heads are hashes of everything before them, so the link at `seen.count` decides about all of it.
        """
        found = self.rows.execute("SELECT head FROM link WHERE id = :id", {"id": seen.count}).fetchone()
        return found is not None and bool(found[0] == seen.head)

    def get_link(self, number: int) -> Link | None:
        """Return the link with this id, or None."""
        row = self.rows.execute(f"SELECT {LINK} FROM link WHERE id = :id", {"id": number}).fetchone()
        return None if row is None else self.parse_link(row)

    def list_links(self, kind: LinkKind) -> list[Link]:
        """Return all links of a rare kind: neither charges nor outcomes."""
        found = self.rows.execute(f"{LINKS_OF_KIND} ORDER BY id", {"kind": kind.value})
        return [self.parse_link(row) for row in found.fetchall()]

    def list_heads(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        """Return the ids and heads of some links, in order."""
        listed = ", ".join(str(int(each)) for each in numbers) or "NULL"
        found = self.rows.execute(f"SELECT id, head FROM link WHERE id IN ({listed}) ORDER BY id")
        return [(number, head) for number, head in found.fetchall()]

    def read_sums(self, analyst: str | None, *, until: int | None = None) -> RunningSums:
        """Return the newest running sums of an analyst or of everybody, or those after the link `until`."""
        if analyst is None:
            last = self.get_last_link() if until is None else self.get_link(until)
            return NO_SUMS if last is None else last.total_sums
        older = "" if until is None else " AND id <= :until"
        row = self.rows.execute(
            f"SELECT {LINK} FROM link WHERE analyst = :analyst{older} ORDER BY id DESC LIMIT 1",
            {"analyst": analyst} | ({} if until is None else {"until": until}),
        ).fetchone()
        return NO_SUMS if row is None else self.parse_link(row).analyst_sums

    @property
    def identity(self) -> str:
        """The identity that the ledger was given when it was created."""
        first = self.get_link(1)
        if first is None or not isinstance(first.body.get("identity"), str):
            raise self.storage.make_damage_error("its founding link is missing")
        return str(first.body["identity"])

    def check_last_link(self) -> None:
        """Raise an error unless the last link follows from the one before; the time is constant."""
        last = self.get_last_link()
        if last is None:
            raise self.storage.make_damage_error("its founding link is missing")
        before = self.get_link(last.id - 1)
        previous = ORIGIN if before is None else before.head
        if (before is None) != (last.id == 1) or last.previous != previous:
            raise self.storage.make_damage_error(f"a link of its chain is missing before link {last.id}")

    def verify(self) -> None:
        """Raise an error if the chain is incomplete, or does not match the entries and releases."""
        found: dict[LinkKind, dict[int, Link]] = {kind: {} for kind in LinkKind}
        for link in self._iterate_links():
            found[link.kind][link.body.get("entry", link.body.get("release", link.id))] = link
        self._check_entries(found[LinkKind.CHARGE], found[LinkKind.OUTCOME])
        self._check_releases(found[LinkKind.RELEASE])

    def _check_entries(self, charges: dict[int, Link], outcomes: dict[int, Link]) -> None:
        damaged, running = self.storage.make_damage_error, dict[str, RunningSums]()
        there = {number for (number,) in self.rows.execute("SELECT id FROM entry")}
        for number in sorted(charges.keys() - there):
            raise damaged(f"entry {number} was removed")
        for number in sorted(there - charges.keys()):
            raise damaged(f"entry {number} was inserted: its chain does not hold it")
        names = (*CHARGE, *OUTCOME)
        for values in self.rows.execute(f"SELECT {', '.join(names)} FROM entry ORDER BY id"):
            row = dict(zip(names, values, strict=True))
            charge = charges[row["id"]]
            if charge.body["digest"] != digest_charge(row):
                raise damaged(f"entry {row['id']} was changed")
            if not _matches_outcome(row, outcomes.get(row["id"])):
                raise damaged(f"the outcome of entry {row['id']} was changed")
            for owner, carried in ((row["analyst"], charge.analyst_sums), (EVERYBODY, charge.total_sums)):
                running[owner] = self.add_sums(running.get(owner, NO_SUMS), row)
                if running[owner] != carried:
                    raise damaged(f"the running sums of entry {row['id']} are not the sums of its entries")

    def _check_releases(self, links: dict[int, Link]) -> None:
        damaged = self.storage.make_damage_error
        for values in self.rows.execute(f"SELECT {', '.join(RELEASE)} FROM release ORDER BY id"):
            row = dict(zip(RELEASE, values, strict=True))
            link = links.pop(row["id"], None)
            if link is None:
                raise damaged(f"release {row['name']} was inserted: its chain does not hold it")
            if link.body["digest"] != digest_release(row):
                raise damaged(f"release {row['name']} was changed")
        for link in links.values():
            raise damaged(f"release {link.body['name']} was removed")

    def _iterate_links(self) -> Iterator[Link]:
        """Yield all links in order; raise an error for a missing link, or one that does not follow."""
        expected, head, total = 1, ORIGIN, NO_SUMS
        for row in self.rows.execute(f"SELECT {LINK} FROM link ORDER BY id"):
            link = self.parse_link(row)
            if link.id != expected or link.previous != head:
                raise self.storage.make_damage_error(f"a link of its chain is missing before link {link.id}")
            # only a charge adds to the sums, and `_check_entries` compares those with the entries
            if link.kind is not LinkKind.CHARGE and link.total_sums != total:
                raise self.storage.make_damage_error(f"the running sums of link {link.id} were changed")
            expected, head, total = link.id + 1, link.head, link.total_sums
            yield link

    def parse_link(self, row: Iterable[Any]) -> Link:
        """Return a link whose hash matches its body; raise an error for any other."""
        number, kind, analyst, text, previous, head = row
        if hash_link(previous, text) != head:
            raise self.storage.make_damage_error(f"link {number} of its chain was changed")
        try:
            body = json.loads(text)
            link = Link(
                id=number, kind=LinkKind(kind), analyst=analyst, body=body, previous=previous, head=head
            )
            fits = (
                (body["id"], body["kind"], body["analyst"]) == (number, kind, analyst)
                and len(link.total_sums) == 4
                and (link.kind is not LinkKind.CHARGE or len(link.analyst_sums) == 4)
            )
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise self.storage.make_damage_error(f"link {number} of its chain was changed")
        return link

    def add_sums(self, sums: RunningSums, row: Mapping[str, Any]) -> RunningSums:
        """Return the running sums after one more entry, given as its row."""
        epsilon, rho, delta = (
            format_fraction(self.parse_fraction(before) + self.parse_fraction(row[name]))
            for name, before in zip(SUMS, sums[:3], strict=True)
        )
        return epsilon, rho, delta, sums[3] + 1

    def parse_fraction(self, text: object) -> Fraction:
        """Return a stored number as an exact fraction."""
        try:
            return Fraction(str(text))
        except (ValueError, ZeroDivisionError):
            raise self.storage.make_damage_error("it holds an invalid number") from None


def _matches_outcome(row: dict[str, Any], outcome: Link | None) -> bool:
    if outcome is None:
        return row["state"] not in FINISHED
    return bool(outcome.body["digest"] == digest_outcome(*(row[name] for name in OUTCOME)))


def migrate_to_chain(rows: SqlTransaction, storage: LedgerStorage, format_version: int) -> None:
    """Chain the entries and releases of a ledger of an older format, inside the caller's transaction."""
    terms = rows.execute("SELECT prior, posterior, secret, people, tail, leak FROM terms").fetchone()
    if terms is None:
        return
    chain, first = HashChain(rows, storage), dict[str, Any]()
    entries = rows.execute(f"SELECT state, {', '.join(CHARGE)} FROM entry ORDER BY id").fetchall()
    if entries:
        # older copies of the same ledger get the same identity, so that they are recognized as such
        row = dict(zip(CHARGE, entries[0][1:], strict=True))
        first = {"identity": digest_charge(row)[: 2 * IDENTITY_BYTES], "time": row["time"]}
    chain.append_terms(dict(zip(TERMS, terms, strict=True)), **first)
    releases = rows.execute(f"SELECT {', '.join(RELEASE)} FROM release ORDER BY id").fetchall()
    pending = [dict(zip(RELEASE, row, strict=True)) for row in releases]
    running = {EVERYBODY: NO_SUMS}
    for state, *values in entries:
        row = dict(zip(CHARGE, values, strict=True))
        while pending and pending[0]["after"] < row["id"]:
            chain.append_release(pending.pop(0))
        for owner in (row["analyst"], EVERYBODY):
            running[owner] = chain.add_sums(running.get(owner, NO_SUMS), row)
        chain.append_charge(row, running[row["analyst"]], running[EVERYBODY])
        if state in FINISHED:
            chain.append_outcome(row["id"])
    for row in pending:
        chain.append_release(row)
    chain.append(
        LinkKind.MIGRATION, {"format": format_version, "entries": len(entries), "time": format_current_time()}
    )


def hash_link(previous: object, body: object) -> str:
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def digest_charge(row: Mapping[str, Any]) -> str:
    """Return the digest of the charged columns of an entry, none of which ever changes."""
    return _hash_values([row[name] for name in CHARGE])


def digest_release(row: Mapping[str, Any]) -> str:
    return _hash_values([row[name] for name in RELEASE])


def digest_outcome(state: str, incident: str | None, metadata: str | None, answer: bytes | None) -> str:
    """Return the digest of the outcome of an entry, with the released answer."""
    stored = None if answer is None else hashlib.sha256(bytes(answer)).hexdigest()
    return _hash_values([state, incident, metadata, stored])


def format_current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash_values(values: list[object]) -> str:
    # as JSON, so that no two lists of values have the same text
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
