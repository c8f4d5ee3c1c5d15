"""The budget accounts of a ledger: the promise, and each analyst's share and sums, inside one transaction.

An account holds the sums of one analyst's charges; the account without a name holds those of everybody. Both
are written in the same transaction as the entry that increases them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.accounting.analyst_shares import limit_to_share, require_shares_cover_spending
from discreet.accounting.budget_amounts import Cost, format_amount, is_exhausted
from discreet.accounting.guarantee_json import format_fraction
from discreet.accounting.hash_chain import HashChain, RunningSums, Standing
from discreet.accounting.ledger_entries import AnalystAccount
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction
from discreet.core.errors import BudgetError, RequestError

EVERYBODY = ""
SUMS = ("epsilon", "rho", "delta")
TERMS = "prior, posterior, secret, people, tail, leak"  # people holds `group`, which is a keyword of SQL


@dataclass(frozen=True, kw_only=True)
class BudgetAccounts:
    """The accounts as one transaction sees them; `nothing` is the accountant before the first entry."""

    rows: SqlTransaction
    storage: LedgerStorage
    nothing: Accountant

    @property
    def chain(self) -> HashChain:
        return HashChain(self.rows, self.storage)

    def initialize_terms(self) -> None:
        """Write the promise into a new ledger; raise an error if the ledger has another promise."""
        promise = self.nothing.promise
        terms = {
            "prior": promise.prior,
            "posterior": promise.posterior,
            "secret": promise.secret.value,
            "group": promise.group,
            "tail": promise.tail,
            "leak": format_fraction(self.nothing.leak),
        }
        row = self.rows.execute(f"SELECT {TERMS} FROM terms").fetchone()
        if row is None:
            names = ", ".join(f":{name}" for name in terms)
            self.rows.execute(f"INSERT INTO terms VALUES (1, {names})", terms)
            self.rows.execute(
                "INSERT INTO account VALUES (:everybody, '1', '0', '0', '0', 0, NULL)",
                {"everybody": EVERYBODY},
            )
            self.chain.append_terms(terms)
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

    def set_shares(self, shares: Mapping[str, Fraction]) -> None:
        """Replace the analysts' shares; raise an error unless they cover all past spending."""
        kept = self.read_shares()
        wanted = dict.fromkeys(kept, Fraction(0)) | dict(shares)
        if wanted == kept:
            return
        require_shares_cover_spending(
            self.nothing, wanted, {name: self.read_accountant(name) for name in kept}
        )
        self.set_share(wanted)

    def set_share(self, shares: Mapping[str, Fraction]) -> None:
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
            raise self.storage.make_damage_error(
                f"the account of {name} was inserted: its chain does not hold it"
            )
        if found is None:
            raise self.storage.make_damage_error(f"the account of {name} was removed")
        what = "share" if found[0] != known[0] else "suspension"
        raise self.storage.make_damage_error(f"the {what} of {name} was changed")

    def read_shares(self) -> dict[str, Fraction]:
        """Return the share of every analyst who ever had one; 0 where it was withdrawn."""
        query = "SELECT analyst, share FROM account WHERE analyst <> :everybody ORDER BY analyst"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: self.parse_fraction(share) for name, share in found}

    def read_sums(self) -> dict[str, RunningSums]:
        """Return the sums of each analyst, as they are stored."""
        query = "SELECT analyst, epsilon, rho, delta, events FROM account WHERE analyst <> :everybody"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: (epsilon, rho, delta, events) for name, epsilon, rho, delta, events in found}

    def read_accountant(self, owner: str) -> Accountant:
        """Return the sums of one account as an accountant."""
        return self._read_standing(owner)[0]

    def read_account(self, analyst: str) -> AnalystAccount:
        spent, share, incident = self._read_standing(analyst)
        return AnalystAccount(
            analyst=analyst,
            share=share,
            spent=spent.total_spent,
            left=limit_to_share(spent, share).remaining_budget,
            entries=spent.events,
            incident=incident,
        )

    def require_budget(self, analyst: str, charge: Cost) -> tuple[Accountant, Accountant]:
        """Return the analyst's and everybody's spending; raise an error if either lacks budget."""
        own, share, incident = self._read_standing(analyst)
        if incident is not None:
            raise RequestError(
                f"reserve: {analyst} is suspended since incident {incident}.",
                hint="The custodian looks into it, and then clears it.",
            )
        everything = self.read_accountant(EVERYBODY)
        if not limit_to_share(own, share).has_room_for(charge) or not everything.has_room_for(charge):
            raise self._make_budget_error(analyst, own, share, charge)
        return own, everything

    def write_sums(self, owner: str, accountant: Accountant) -> RunningSums:
        """Write the new sums of an account, and return them."""
        sums = {name: format_fraction(getattr(accountant, name)) for name in SUMS}
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

    def to_accountant(self, epsilon: Fraction, rho: Fraction, delta: Fraction, events: int) -> Accountant:
        """Return sums as an accountant."""
        return replace(self.nothing, epsilon=epsilon, rho=rho, delta=delta, events=events)

    def to_cost(self, epsilon: str, rho: str, delta: str) -> Cost:
        """Return a stored charge as a cost."""
        return self.nothing.to_cost(*(self.parse_fraction(text) for text in (epsilon, rho, delta)))

    def parse_fraction(self, text: str) -> Fraction:
        """Return a stored number as an exact fraction."""
        try:
            return Fraction(text)
        except (ValueError, TypeError, ZeroDivisionError):
            raise self.storage.make_damage_error("it holds an invalid number") from None

    def _read_standing(self, owner: str) -> tuple[Accountant, Fraction, str | None]:
        """Return the sums of an account, its share, and the incident that suspends it."""
        query = "SELECT epsilon, rho, delta, events, share, incident FROM account WHERE analyst = :owner"
        row = self.rows.execute(query, {"owner": owner}).fetchone()
        if row is None and owner != EVERYBODY:
            raise RequestError(
                f"The ledger has no analyst {owner}.",
                hint="Give them a share under analysts in the policy.",
            )
        if row is None:
            raise self.storage.make_damage_error("the sum of everything is missing")
        epsilon, rho, delta, share = (self.parse_fraction(text) for text in (*row[:3], row[4]))
        self._check_against_chain(owner, (*row[:3], row[3]))
        if owner != EVERYBODY:
            self._compare_standing(owner, (row[4], row[5]), self.chain.standings())
        return self.to_accountant(epsilon, rho, delta, row[3]), share, row[5]

    def _check_against_chain(self, owner: str, sums: RunningSums) -> None:
        """Raise an error for an account that differs from the chain.

        Such an account was edited, and would decide wrongly.
        """
        chained = self.chain.read_sums(None if owner == EVERYBODY else owner)
        if sums == chained:
            return
        if sums[3] != chained[3]:
            raise self.storage.make_damage_error("entries are missing")
        if owner == EVERYBODY:
            raise self.storage.make_damage_error("the total of all analysts is not the sum of everything")
        raise self.storage.make_damage_error(f"what {owner} has spent is not the sum of the entries")

    def _make_budget_error(self, analyst: str, own: Accountant, share: Fraction, charge: Cost) -> BudgetError:
        """Return the error with the analyst's remaining budget, and nothing about other analysts."""
        left, whole = (limit_to_share(each, share).remaining_budget for each in (own, self.nothing))
        neighbours = self.nothing.promise.secret.neighbours
        stated = f"reserve: this costs {format_amount(charge, up=True)} for {neighbours} neighbours"
        if is_exhausted(left):
            more = "a larger share is the custodian's to grant" if share < 1 else "the whole promise is spent"
            return BudgetError(
                f"{stated}; nothing is left to {analyst}, of a share of {format_amount(whole)}.",
                hint=f"What was answered already stays free; {more}.",
            )
        return BudgetError(
            f"{stated}; left to {analyst} is {format_amount(left)}, of a share of {format_amount(whole)}.",
            hint=f"Ask for less: whatever costs at most {format_amount(left)} is accepted.",
        )
