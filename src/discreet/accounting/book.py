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
from sqlite3 import Connection
from typing import Any

from discreet.accounting.accountant import Accountant, Cost
from discreet.accounting.entries import Account, Entry, OpenRelease, State
from discreet.accounting.ledger_file import LedgerFile
from discreet.accounting.notation import fraction_text, read
from discreet.accounting.processes import is_alive, this_process
from discreet.accounting.shares import require_room, within_share
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP

EVERYBODY = ""
ENTRY = "id, time, analyst, question_key, question, guarantee, epsilon, rho, delta, state, process, incident"
Sums = tuple[Fraction, Fraction, Fraction, int]
NONE: Sums = (Fraction(0), Fraction(0), Fraction(0), 0)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Book:
    """What one transaction sees; `nothing` is the accountant before the first entry."""

    rows: Connection
    file: LedgerFile
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
            self.rows.execute("INSERT INTO terms VALUES (1, ?, ?, ?, ?, ?, ?)", tuple(terms.values()))
            self.rows.execute("INSERT INTO account VALUES (?, '1', '0', '0', '0', 0, NULL)", (EVERYBODY,))
            return
        kept = dict(zip(terms, row, strict=True))
        changed = [name for name in terms if terms[name] != kept[name]]
        if changed:
            was, wanted = (", ".join(f"{name} {each[name]}" for name in changed) for each in (kept, terms))
            raise RequestError(
                f"The ledger {self.file.path} was made for another promise: it has {was}, not {wanted}.",
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
        self.rows.executemany(
            "INSERT INTO account VALUES (?, ?, '0', '0', '0', 0, NULL)"
            " ON CONFLICT (analyst) DO UPDATE SET share = excluded.share",
            [(name, str(share)) for name, share in wanted.items()],
        )

    def shares(self) -> dict[str, Fraction]:
        """Of everybody who ever had one; 0 where it was taken away."""
        query = "SELECT analyst, share FROM account WHERE analyst <> ? ORDER BY analyst"
        return {name: self._number(share) for name, share in self.rows.execute(query, (EVERYBODY,))}

    def spent(self, owner: str) -> Accountant:
        """The sums of one account."""
        query = "SELECT epsilon, rho, delta, events FROM account WHERE analyst = ?"
        row = self.rows.execute(query, (owner,)).fetchone()
        if row is None and owner != EVERYBODY:
            raise RequestError(
                f"The ledger knows no analyst {owner}.",
                hint="Give them a share under analysts in the policy.",
            )
        if row is None:
            raise self.file.damaged("the sum of everything is missing")
        epsilon, rho, delta = (self._number(text) for text in row[:3])
        return self._accountant(epsilon, rho, delta, row[3])

    def account(self, analyst: str) -> Account:
        spent = self.spent(analyst)
        query = "SELECT share, incident FROM account WHERE analyst = ?"
        share, incident = self.rows.execute(query, (analyst,)).fetchone()
        return Account(
            analyst=analyst,
            share=self._number(share),
            spent=spent.spent,
            left=within_share(spent, self._number(share)).left,
            entries=spent.events,
            incident=incident,
        )

    def charge(self, owner: str, accountant: Accountant) -> None:
        """Write what an account amounts to now."""
        sums = (accountant.epsilon, accountant.rho, accountant.delta)
        self.rows.execute(
            "UPDATE account SET epsilon = ?, rho = ?, delta = ?, events = ? WHERE analyst = ?",
            (*map(fraction_text, sums), accountant.events, owner),
        )

    def insert(self, analyst: str, question_key: str, question: str, guarantee: str, charge: Cost) -> Entry:
        """A new entry, reserved by this process."""
        sums = [fraction_text(getattr(charge, name, 0)) for name in ("epsilon", "rho", "delta")]
        cursor = self.rows.execute(
            "INSERT INTO entry (time, analyst, question_key, question, guarantee, epsilon, rho, delta, state,"
            " process) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'reserved', ?)",
            (now(), analyst, question_key, question, guarantee, *sums, this_process()),
        )
        return self.entry(int(cursor.lastrowid or 0))

    def entry(self, entry_id: int) -> Entry:
        row = self.rows.execute(f"SELECT {ENTRY} FROM entry WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            raise RequestError(
                f"The ledger {self.file.path} has no entry {entry_id}.", hint="Reserve it first."
            )
        return self.as_entry(row)

    def entries(self, analyst: str | None) -> list[Entry]:
        query = f"SELECT {ENTRY} FROM entry WHERE ?1 IS NULL OR analyst = ?1 ORDER BY id"
        return [self.as_entry(row) for row in self.rows.execute(query, (analyst,))]

    def as_entry(self, row: Iterable[Any]) -> Entry:
        """A row of the columns ENTRY; a reservation whose process is gone is an orphan."""
        number, time, analyst, key, question, guarantee, epsilon, rho, delta, state, process, incident = row
        if state == State.RESERVED:
            if process not in self.alive:
                self.alive[process] = is_alive(process)
            state = State.RESERVED if self.alive[process] else State.ORPHANED
        return Entry(
            id=number,
            time=datetime.fromisoformat(time),
            analyst=analyst,
            question_key=key,
            question=question,
            guarantee=read(guarantee),
            charge=self._cost(epsilon, rho, delta),
            state=State(state),
            incident=incident,
        )

    def moments(self, most: int) -> list[Accountant]:
        """What was spent after each entry; of a long ledger, at `most` of these moments and at the end."""
        rows = self.rows.execute("SELECT epsilon, rho, delta FROM entry ORDER BY id").fetchall()
        every, sums, found = -(-len(rows) // most) or 1, NONE, [self.nothing]
        for texts in rows:
            epsilon, rho, delta = (self._number(text) for text in texts)
            sums = _plus(sums, (epsilon, rho, delta, 1))
            if sums[3] % every == 0 or sums[3] == len(rows):
                found.append(self._accountant(*sums))
        return found

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
            raise self.file.damaged("entries are missing")
        total = NONE
        for name in self.shares():
            total = _plus(total, _sums(self.spent(name)))
        if total != _sums(self.spent(EVERYBODY)):
            raise self.file.damaged("the analysts' sums are not the sum of everything")

    def compare_entries(self) -> None:
        """Refuse a ledger whose sums are not those of its entries."""
        found = dict.fromkeys(self.shares(), NONE)
        query = "SELECT analyst, count(*), epsilon, rho, delta FROM entry GROUP BY 1, 3, 4, 5"
        for analyst, times, *texts in self.rows.execute(query):
            epsilon, rho, delta = (times * self._number(text) for text in texts)
            found[analyst] = _plus(found.get(analyst, NONE), (epsilon, rho, delta, times))
        for analyst, sums in found.items():
            if _sums(self.spent(analyst)) != sums:
                raise self.file.damaged(f"what {analyst} has spent is not the sum of the entries")

    def _accountant(self, epsilon: Fraction, rho: Fraction, delta: Fraction, events: int) -> Accountant:
        return replace(self.nothing, epsilon=epsilon, rho=rho, delta=delta, events=events)

    def _cost(self, epsilon: str, rho: str, delta: str) -> Cost:
        secret = self.nothing.promise.secret
        if self.nothing.pure:
            return PureDP(epsilon=self._number(epsilon), relation=secret)
        return ZeroConcentratedDP(rho=self._number(rho), delta=self._number(delta), relation=secret)

    def _number(self, text: str) -> Fraction:
        try:
            return Fraction(text)
        except (ValueError, TypeError, ZeroDivisionError):
            raise self.file.damaged("a number in it is none") from None


def _sums(accountant: Accountant) -> Sums:
    return accountant.epsilon, accountant.rho, accountant.delta, accountant.events


def _plus(one: Sums, two: Sums) -> Sums:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
