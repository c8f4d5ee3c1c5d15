"""The budget accounts of a ledger: the promise, and each analyst's share and sums, inside one transaction.

An account holds the sums of one analyst's charges; the account without a name holds those of everybody. Both
are written in the same transaction as the entry that increases them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost, amount, is_nothing
from discreet.accounting.chain import Chain, Standing, Sums
from discreet.accounting.entries import Account
from discreet.accounting.notation import fraction_text
from discreet.accounting.shares import require_room, within_share
from discreet.accounting.storage import Rows, Storage
from discreet.core.errors import BudgetError, RequestError

EVERYBODY = ""
SUMS = ("epsilon", "rho", "delta")
TERMS = "prior, posterior, secret, people, tail, leak"  # people holds `group`, which is a keyword of SQL


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The accounts as one transaction sees them; `nothing` is the accountant before the first entry."""

    rows: Rows
    storage: Storage
    nothing: Accountant

    @property
    def chain(self) -> Chain:
        return Chain(self.rows, self.storage)

    def found(self) -> None:
        """Write the promise into a new ledger; raise an error if the ledger has another promise."""
        promise = self.nothing.promise
        terms = {
            "prior": promise.prior,
            "posterior": promise.posterior,
            "secret": promise.secret.value,
            "group": promise.group,
            "tail": promise.tail,
            "leak": fraction_text(self.nothing.leak),
        }
        row = self.rows.execute(f"SELECT {TERMS} FROM terms").fetchone()
        if row is None:
            names = ", ".join(f":{name}" for name in terms)
            self.rows.execute(f"INSERT INTO terms VALUES (1, {names})", terms)
            self.rows.execute(
                "INSERT INTO account VALUES (:everybody, '1', '0', '0', '0', 0, NULL)",
                {"everybody": EVERYBODY},
            )
            self.chain.found(terms)
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
        """Replace the analysts' shares; raise an error unless they cover all past spending."""
        kept = self.shares()
        wanted = dict.fromkeys(kept, Fraction(0)) | dict(shares)
        if wanted == kept:
            return
        require_room(self.nothing, wanted, {name: self.spent(name) for name in kept})
        self.give(wanted)

    def give(self, shares: Mapping[str, Fraction]) -> None:
        """Write shares of analysts, with a new account where there is none."""
        for analyst, share in shares.items():
            self.rows.execute(
                "INSERT INTO account VALUES (:name, :share, '0', '0', '0', 0, NULL)"
                " ON CONFLICT (analyst) DO UPDATE SET share = excluded.share",
                {"name": analyst, "share": str(share)},
            )
        self.chain.append_standings(self._read_standings())

    def check_standings(self) -> None:
        """Refuse shares and suspensions that are not those of the chain; chain those of an older ledger."""
        found, chained = self._read_standings(), self.chain.standings()
        if chained is None:
            if found:
                self.chain.append_standings(found)
            return
        for name in sorted({*found, *chained}):
            self._compare_standing(name, found.get(name), chained)

    def _read_standings(self) -> dict[str, Standing]:
        query = "SELECT analyst, share, incident FROM account WHERE analyst <> :everybody ORDER BY analyst"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: (share, incident) for name, share, incident in found.fetchall()}

    def _compare_standing(
        self, name: str, found: Standing | None, chained: Mapping[str, Standing] | None
    ) -> None:
        """Refuse a share or a suspension that was edited: it would decide wrongly."""
        known = (chained or {}).get(name)
        if found == known:
            return
        if known is None:
            raise self.storage.damaged(f"the account of {name} was inserted: its chain does not hold it")
        if found is None:
            raise self.storage.damaged(f"the account of {name} was removed")
        what = "share" if found[0] != known[0] else "suspension"
        raise self.storage.damaged(f"the {what} of {name} was changed")

    def shares(self) -> dict[str, Fraction]:
        """Return the share of every analyst who ever had one; 0 where it was withdrawn."""
        query = "SELECT analyst, share FROM account WHERE analyst <> :everybody ORDER BY analyst"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: self.number(share) for name, share in found}

    def all_sums(self) -> dict[str, Sums]:
        """Return the sums of each analyst, as they are stored."""
        query = "SELECT analyst, epsilon, rho, delta, events FROM account WHERE analyst <> :everybody"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: (epsilon, rho, delta, events) for name, epsilon, rho, delta, events in found}

    def spent(self, owner: str) -> Accountant:
        """Return the sums of one account as an accountant."""
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
        """Return the analyst's and everybody's spending; raise an error if either lacks budget."""
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

    def charge(self, owner: str, accountant: Accountant) -> Sums:
        """Write the new sums of an account, and return them."""
        sums = {name: fraction_text(getattr(accountant, name)) for name in SUMS}
        self.rows.execute(
            "UPDATE account SET epsilon = :epsilon, rho = :rho, delta = :delta, events = :events"
            " WHERE analyst = :owner",
            {**sums, "events": accountant.events, "owner": owner},
        )
        return sums["epsilon"], sums["rho"], sums["delta"], accountant.events

    def suspend(self, analyst: str, incident: str | None) -> None:
        """Suspend an analyst for an incident, or reinstate them where `incident` is None."""
        self.rows.execute(
            "UPDATE account SET incident = :incident WHERE analyst = :analyst",
            {"incident": incident, "analyst": analyst},
        )
        self.chain.append_standings(self._read_standings())

    def summed(self, epsilon: Fraction, rho: Fraction, delta: Fraction, events: int) -> Accountant:
        """Return sums as an accountant."""
        return replace(self.nothing, epsilon=epsilon, rho=rho, delta=delta, events=events)

    def cost(self, epsilon: str, rho: str, delta: str) -> Cost:
        """Return a stored charge as a cost."""
        return self.nothing.stated(*(self.number(text) for text in (epsilon, rho, delta)))

    def number(self, text: str) -> Fraction:
        """Return a stored number as an exact fraction."""
        try:
            return Fraction(text)
        except (ValueError, TypeError, ZeroDivisionError):
            raise self.storage.damaged("it holds an invalid number") from None

    def _standing(self, owner: str) -> tuple[Accountant, Fraction, str | None]:
        """Return the sums of an account, its share, and the incident that suspends it."""
        query = "SELECT epsilon, rho, delta, events, share, incident FROM account WHERE analyst = :owner"
        row = self.rows.execute(query, {"owner": owner}).fetchone()
        if row is None and owner != EVERYBODY:
            raise RequestError(
                f"The ledger has no analyst {owner}.",
                hint="Give them a share under analysts in the policy.",
            )
        if row is None:
            raise self.storage.damaged("the sum of everything is missing")
        epsilon, rho, delta, share = (self.number(text) for text in (*row[:3], row[4]))
        self._compare(owner, (*row[:3], row[3]))
        if owner != EVERYBODY:
            self._compare_standing(owner, (row[4], row[5]), self.chain.standings())
        return self.summed(epsilon, rho, delta, row[3]), share, row[5]

    def _compare(self, owner: str, sums: Sums) -> None:
        """Raise an error for an account that differs from the chain.

        Such an account was edited, and would decide wrongly.
        """
        chained = self.chain.sums(None if owner == EVERYBODY else owner)
        if sums == chained:
            return
        if sums[3] != chained[3]:
            raise self.storage.damaged("entries are missing")
        if owner == EVERYBODY:
            raise self.storage.damaged("the total of all analysts is not the sum of everything")
        raise self.storage.damaged(f"what {owner} has spent is not the sum of the entries")

    def _refusal(self, analyst: str, own: Accountant, share: Fraction, charge: Cost) -> BudgetError:
        """Return the error with the analyst's remaining budget, and nothing about other analysts."""
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
