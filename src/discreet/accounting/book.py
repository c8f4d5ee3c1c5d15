"""The rows of a ledger, read and written inside one transaction.

An account holds the sums of one analyst's charges; the account without a name holds those of everybody. Both
are written together with the entry that they grow by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost, amount, is_nothing
from discreet.accounting.entries import Account, Entry, OpenRelease, State, Stored
from discreet.accounting.notation import fraction_text, read
from discreet.accounting.processes import this_process
from discreet.accounting.shares import require_room, within_share
from discreet.accounting.storage import Rows, Storage
from discreet.core.errors import BudgetError, RequestError

EVERYBODY = ""
ENTRY = (
    "id, time, analyst, question_key, question, guarantee, epsilon, rho, delta, state, process, incident,"
    " number"
)
Sums = tuple[Fraction, Fraction, Fraction, int]
SUMS = ("epsilon", "rho", "delta")
NONE: Sums = (Fraction(0), Fraction(0), Fraction(0), 0)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Book:
    """What one transaction sees; `nothing` is the accountant before the first entry."""

    rows: Rows
    storage: Storage
    nothing: Accountant
    alive: dict[str, bool] = field(default_factory=dict)

    def found(self) -> None:
        """Write the promise into a new ledger; refuse one that was made for another."""
        promise = self.nothing.promise
        terms = {
            "prior": promise.prior,
            "posterior": promise.posterior,
            "secret": promise.secret.value,
            "group": promise.group,
            "tail": promise.tail,
            "leak": fraction_text(self.nothing.leak),
        }
        row = self.rows.execute("SELECT prior, posterior, secret, people, tail, leak FROM terms").fetchone()
        if row is None:
            names = ", ".join(f":{name}" for name in terms)
            self.rows.execute(f"INSERT INTO terms VALUES (1, {names})", terms)
            self.rows.execute(
                "INSERT INTO account VALUES (:everybody, '1', '0', '0', '0', 0, NULL)",
                {"everybody": EVERYBODY},
            )
            return
        kept = dict(zip(terms, row, strict=True))
        changed = [name for name in terms if terms[name] != kept[name]]
        if changed:
            was, wanted = (", ".join(f"{name} {each[name]}" for name in changed) for each in (kept, terms))
            raise RequestError(
                f"The ledger {self.storage.place} was made for another promise: it has {was}, not {wanted}.",
                hint="Answers stay bound to the promise they were given under: put it back, or name a new "
                "file under ledger, whose promise then says nothing about what this one has released.",
            )

    def divide(self, shares: Mapping[str, Fraction]) -> None:
        """Take over new shares, if they leave everybody what was spent."""
        kept = self.shares()
        wanted = dict.fromkeys(kept, Fraction(0)) | dict(shares)
        if wanted == kept:
            return
        require_room(self.nothing, wanted, {name: self.spent(name) for name in kept})
        for name, share in wanted.items():
            self.rows.execute(
                "INSERT INTO account VALUES (:name, :share, '0', '0', '0', 0, NULL)"
                " ON CONFLICT (analyst) DO UPDATE SET share = excluded.share",
                {"name": name, "share": str(share)},
            )

    def shares(self) -> dict[str, Fraction]:
        """Of everybody who ever had one; 0 where it was taken away."""
        query = "SELECT analyst, share FROM account WHERE analyst <> :everybody ORDER BY analyst"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: self._number(share) for name, share in found}

    def spent(self, owner: str) -> Accountant:
        """The sums of one account."""
        return self._standing(owner)[0]

    def account(self, analyst: str) -> Account:
        spent, share, incident = self._standing(analyst)
        return Account(
            analyst=analyst,
            share=share,
            spent=spent.spent,
            left=within_share(spent, share).left,
            entries=spent.events,
            incident=incident,
        )

    def require_room(self, analyst: str, charge: Cost) -> tuple[Accountant, Accountant]:
        """What the analyst and everybody have spent, if there is room in the share and in the whole."""
        own, share, incident = self._standing(analyst)
        if incident is not None:
            raise RequestError(
                f"reserve: {analyst} is suspended since incident {incident}.",
                hint="The custodian looks into it, and then clears it.",
            )
        everything = self.spent(EVERYBODY)
        if not within_share(own, share).fits(charge) or not everything.fits(charge):
            raise self._refusal(analyst, own, share, charge)
        return own, everything

    def _standing(self, owner: str) -> tuple[Accountant, Fraction, str | None]:
        """The sums of an account, its share, and the incident that suspends it."""
        query = "SELECT epsilon, rho, delta, events, share, incident FROM account WHERE analyst = :owner"
        row = self.rows.execute(query, {"owner": owner}).fetchone()
        if row is None and owner != EVERYBODY:
            raise RequestError(
                f"The ledger knows no analyst {owner}.",
                hint="Give them a share under analysts in the policy.",
            )
        if row is None:
            raise self.storage.damaged("the sum of everything is missing")
        epsilon, rho, delta, share = (self._number(text) for text in (*row[:3], row[4]))
        return self._accountant(epsilon, rho, delta, row[3]), share, row[5]

    def _refusal(self, analyst: str, own: Accountant, share: Fraction, charge: Cost) -> BudgetError:
        """What is left of the analyst's own share, and nothing about the others."""
        left, whole = (within_share(each, share).left for each in (own, self.nothing))
        neighbours = self.nothing.promise.secret.neighbours
        stated = f"reserve: this costs {amount(charge, up=True)} for {neighbours} neighbours"
        if is_nothing(left):
            more = "a larger share is the custodian's to grant" if share < 1 else "the whole promise is spent"
            return BudgetError(
                f"{stated}; nothing is left to {analyst}, of a share of {amount(whole)}.",
                hint=f"What was answered already stays free; {more}.",
            )
        return BudgetError(
            f"{stated}; left to {analyst} is {amount(left)}, of a share of {amount(whole)}.",
            hint=f"Ask for less: whatever costs at most {amount(left)} is accepted.",
        )

    def charge(self, owner: str, accountant: Accountant) -> None:
        """Write what an account amounts to now."""
        sums = {name: fraction_text(getattr(accountant, name)) for name in SUMS}
        self.rows.execute(
            "UPDATE account SET epsilon = :epsilon, rho = :rho, delta = :delta, events = :events"
            " WHERE analyst = :owner",
            {**sums, "events": accountant.events, "owner": owner},
        )

    def reserve(self, analyst: str, question_key: str, question: str, guarantee: str, charge: Cost) -> Entry:
        """Charge a question, if there is room: a new entry, reserved by this process, and grown accounts."""
        own, everything = (each.spend(charge) for each in self.require_room(analyst, charge))
        self.charge(analyst, own)
        self.charge(EVERYBODY, everything)
        row = {
            "id": everything.events,
            "time": now(),
            "analyst": analyst,
            "question_key": question_key,
            "question": question,
            "guarantee": guarantee,
            **{name: fraction_text(getattr(charge, name, 0)) for name in SUMS},
            "state": State.RESERVED.value,
            "process": this_process(),
            "incident": None,
            "number": own.events,
        }
        self.insert(row)
        return self.as_entry(row.values())

    def begin(
        self, analyst: str, question_key: str, question: str, guarantee: str, charge: Cost
    ) -> Entry | Stored | None:
        """The stored answer to a question; else a new reservation, unless another is under way."""
        stored = self.stored(analyst, question_key)
        if stored is not None or self.is_under_way(analyst, question_key):
            return stored
        return self.reserve(analyst, question_key, question, guarantee, charge)

    def is_under_way(self, analyst: str, question_key: str) -> bool:
        """Whether somebody who is still there has reserved the same, and may settle it."""
        found = self.rows.execute(
            "SELECT DISTINCT process FROM entry"
            " WHERE analyst = :analyst AND question_key = :key AND state = 'reserved'",
            {"analyst": analyst, "key": question_key},
        )
        return any(self._is_alive(process) for (process,) in found.fetchall())

    def insert(self, row: Mapping[str, object]) -> None:
        """A row of the columns ENTRY."""
        names = ", ".join(f":{name}" for name in row)
        self.rows.execute(f"INSERT INTO entry ({ENTRY}) VALUES ({names})", row)

    def entry(self, entry_id: int) -> Entry:
        row = self.rows.execute(f"SELECT {ENTRY} FROM entry WHERE id = :id", {"id": entry_id}).fetchone()
        if row is None:
            raise RequestError(
                f"The ledger {self.storage.place} has no entry {entry_id}.", hint="Reserve it first."
            )
        return self.as_entry(row)

    def state(self, entry: Entry) -> State | None:
        """How far an entry came; None for one that is not of this ledger."""
        found = self.rows.execute(
            "SELECT state FROM entry WHERE id = :id AND analyst = :analyst AND question_key = :key",
            {"id": entry.id, "analyst": entry.analyst, "key": entry.question_key},
        ).fetchone()
        return None if found is None else State(found[0])

    def stored(self, analyst: str, question_key: str) -> Stored | None:
        """The first settled answer to an analyst's question."""
        row = self.rows.execute(
            f"SELECT answer, metadata, {ENTRY} FROM entry"
            " WHERE analyst = :analyst AND question_key = :key AND state = 'settled' ORDER BY id LIMIT 1",
            {"analyst": analyst, "key": question_key},
        ).fetchone()
        if row is None:
            return None
        return Stored(entry=self.as_entry(row[2:]), answer=bytes(row[0]), metadata=json.loads(row[1]))

    def settle(self, entry: Entry, answer: bytes, metadata: str) -> Entry:
        self.rows.execute(
            "UPDATE entry SET state = 'settled', answer = :answer, metadata = :metadata WHERE id = :id",
            {"answer": answer, "metadata": metadata, "id": entry.id},
        )
        return self.entry(entry.id)

    def fault(self, entry: Entry, incident: str) -> Entry:
        self.rows.execute(
            "UPDATE entry SET state = 'faulted', incident = :incident WHERE id = :id",
            {"incident": incident, "id": entry.id},
        )
        self.suspend(entry.analyst, incident)
        return self.entry(entry.id)

    def suspend(self, analyst: str, incident: str | None) -> None:
        """Until there is no incident any more."""
        self.rows.execute(
            "UPDATE account SET incident = :incident WHERE analyst = :analyst",
            {"incident": incident, "analyst": analyst},
        )

    def orphan(self, entries: Iterable[int]) -> None:
        """Nobody will settle these any more."""
        for each in entries:
            mark = "UPDATE entry SET state = 'orphaned' WHERE id = :id AND state = 'reserved'"
            self.rows.execute(mark, {"id": each})

    def entries(self, analyst: str | None) -> list[Entry]:
        query = f"SELECT {ENTRY} FROM entry" + ("" if analyst is None else " WHERE analyst = :analyst")
        values = {} if analyst is None else {"analyst": analyst}
        return [self.as_entry(row) for row in self.rows.execute(f"{query} ORDER BY id", values)]

    def as_entry(self, row: Iterable[Any]) -> Entry:
        """A row of the columns ENTRY; a reservation whose process is gone is an orphan."""
        entry_id, time, analyst, key, question, guarantee, epsilon, rho, delta, state, process, *rest = row
        if state == State.RESERVED:
            state = State.RESERVED if self._is_alive(process) else State.ORPHANED
        return Entry(
            id=entry_id,
            number=rest[1],
            time=datetime.fromisoformat(time),
            analyst=analyst,
            question_key=key,
            question=question,
            guarantee=read(guarantee),
            charge=self._cost(epsilon, rho, delta),
            state=State(state),
            incident=rest[0],
        )

    def _is_alive(self, process: str) -> bool:
        if process not in self.alive:
            self.alive[process] = self.storage.is_alive(self.rows, process)
        return self.alive[process]

    def moments(self, most: int, analyst: str | None = None) -> list[Accountant]:
        """What was spent after each entry; of a long ledger, at `most` of these moments and at the end."""
        whose = "" if analyst is None else " WHERE analyst = :analyst"
        rows = self.rows.execute(
            f"SELECT epsilon, rho, delta FROM entry{whose} ORDER BY id", {"analyst": analyst}
        ).fetchall()
        every, sums, found = -(-len(rows) // most) or 1, NONE, [self.nothing]
        for texts in rows:
            epsilon, rho, delta = (self._number(text) for text in texts)
            sums = _plus(sums, (epsilon, rho, delta, 1))
            if sums[3] % every == 0 or sums[3] == len(rows):
                found.append(self._accountant(*sums))
        return found

    def release(self, name: str, description: str, certificate: str) -> OpenRelease:
        """Note something that was published without differential privacy."""
        self.rows.execute(
            "INSERT INTO release (time, after, name, description, certificate)"
            " VALUES (:time, :after, :name, :description, :certificate)",
            {
                "time": now(),
                "after": self.spent(EVERYBODY).events,
                "name": name,
                "description": description,
                "certificate": certificate,
            },
        )
        return self.releases()[-1]

    def releases(self) -> list[OpenRelease]:
        query = "SELECT id, time, after, name, description, certificate FROM release ORDER BY id"
        return [
            OpenRelease(
                id=number,
                time=datetime.fromisoformat(time),
                after=after,
                name=name,
                description=description,
                certificate=json.loads(certificate),
            )
            for number, time, after, name, description, certificate in self.rows.execute(query)
        ]

    def compare_totals(self) -> None:
        """Refuse a ledger that has lost entries, or whose accounts do not add up; as fast for a long one."""
        last = self.rows.execute("SELECT coalesce(max(id), 0) FROM entry").fetchone()[0]
        if self.spent(EVERYBODY).events != last:
            raise self.storage.damaged("entries are missing")
        total = NONE
        for name in self.shares():
            total = _plus(total, _sums(self.spent(name)))
        if total != _sums(self.spent(EVERYBODY)):
            raise self.storage.damaged("the analysts' sums are not the sum of everything")

    def compare_entries(self) -> None:
        """Refuse a ledger whose sums are not those of its entries."""
        found = dict.fromkeys(self.shares(), NONE)
        query = "SELECT analyst, count(*), epsilon, rho, delta FROM entry GROUP BY 1, 3, 4, 5"
        for analyst, times, *texts in self.rows.execute(query):
            epsilon, rho, delta = (times * self._number(text) for text in texts)
            found[analyst] = _plus(found.get(analyst, NONE), (epsilon, rho, delta, times))
        for analyst, sums in found.items():
            if _sums(self.spent(analyst)) != sums:
                raise self.storage.damaged(f"what {analyst} has spent is not the sum of the entries")

    def _accountant(self, epsilon: Fraction, rho: Fraction, delta: Fraction, events: int) -> Accountant:
        return replace(self.nothing, epsilon=epsilon, rho=rho, delta=delta, events=events)

    def _cost(self, epsilon: str, rho: str, delta: str) -> Cost:
        return self.nothing.stated(*(self._number(text) for text in (epsilon, rho, delta)))

    def _number(self, text: str) -> Fraction:
        try:
            return Fraction(text)
        except (ValueError, TypeError, ZeroDivisionError):
            raise self.storage.damaged("a number in it is none") from None


def _sums(accountant: Accountant) -> Sums:
    return accountant.epsilon, accountant.rho, accountant.delta, accountant.events


def _plus(one: Sums, two: Sums) -> Sums:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
