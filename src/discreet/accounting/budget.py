"""The privacy budget of a ledger: each analyst's share and account, and the check that one more charge fits.

Check       `BudgetAccounts.check_budget`, inside the transaction that writes the charge: the analyst is not
            suspended, and both the analyst's share and the whole promise have room, by the rule of the
            `Accountant`. Accounts that differ from the hash chain are refused before they decide anything.
Account     The sums of one analyst's charges; the account without a name holds those of everybody. Both are
            written in the same transaction as the entry that increases them.
Share       An analyst's accountant counts all other shares as spent. The remaining budget is share * limit
            minus the analyst's own spending, so it reveals to nobody what the others spend.
Room        The larger of each analyst's spending and share fits under the cap for all together. So no
            analyst is ever refused because of another, and the cap holds.
Exact       A share is the decimal that was written: ten times 0.1 is 1. Shares that exceed 100% by a rounding
            error are scaled down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.accounting.amounts import Cost, format_amount, format_fraction, is_exhausted
from discreet.accounting.hash_chain import EVERYBODY, SUMS, ChainPosition, HashChain, RunningSums, Standing
from discreet.accounting.ledger_storage import LedgerStorage, SqlTransaction
from discreet.core.errors import BudgetError, RequestError, require_parameter
from discreet.core.guarantees import Guarantee, PureDP
from discreet.core.number_checks import Real, is_real

TERMS = "prior, posterior, secret, people, tail, leak"  # people holds `group`, which is a keyword of SQL
PLACES = 10**18
SLACK = Fraction(1, 10**9)

ExactSums = tuple[Fraction, Fraction, Fraction, int]
NONE: ExactSums = (Fraction(0), Fraction(0), Fraction(0), 0)


@dataclass(frozen=True, kw_only=True)
class AnalystAccount:
    """The share of one analyst, the total spent and the remaining budget.

    The analyst is suspended while there is an incident.
    """

    analyst: str
    share: Fraction
    spent: Cost
    left: Cost
    entries: int
    incident: str | None = None


@dataclass(frozen=True, kw_only=True)
class BudgetAccounts:
    """The accounts as one transaction sees them; `nothing` is the accountant before the first entry.

    `appended` are the positions of the links that the transaction has added to the chain.
    """

    rows: SqlTransaction
    storage: LedgerStorage
    nothing: Accountant
    appended: list[ChainPosition] = field(default_factory=list)

    @property
    def chain(self) -> HashChain:
        return HashChain(self.rows, self.storage, self.appended)

    def check_budget(self, analyst: str, charge: Cost) -> tuple[Accountant, Accountant]:
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

    def has_room_for(self, analyst: str, guarantee: Guarantee) -> bool:
        """Return whether an analyst's share has room for a guarantee."""
        own, share, _ = self._read_standing(analyst)
        return limit_to_share(own, share).has_room_for(guarantee)

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

    def list_accounts(self) -> list[AnalystAccount]:
        """Return the account of everybody who has a share, or had one."""
        return [self.read_account(name) for name in self.read_shares()]

    def read_accountant(self, owner: str) -> Accountant:
        """Return the sums of one account as an accountant."""
        return self._read_standing(owner)[0]

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
        epsilon, rho, delta, share = (self.chain.parse_fraction(text) for text in (*row[:3], row[4]))
        self._check_against_chain(owner, (*row[:3], row[3]))
        if owner != EVERYBODY:
            self._compare_standing(owner, (row[4], row[5]), self.chain.read_standings())
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

    def read_sums(self) -> dict[str, RunningSums]:
        """Return the sums of each analyst, as they are stored."""
        query = "SELECT analyst, epsilon, rho, delta, events FROM account WHERE analyst <> :everybody"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: (epsilon, rho, delta, events) for name, epsilon, rho, delta, events in found}

    def write_sums(self, owner: str, accountant: Accountant) -> RunningSums:
        """Write the new sums of an account, and return them."""
        sums = {name: format_fraction(getattr(accountant, name)) for name in SUMS}
        self.rows.execute(
            "UPDATE account SET epsilon = :epsilon, rho = :rho, delta = :delta, events = :events"
            " WHERE analyst = :owner",
            {**sums, "events": accountant.events, "owner": owner},
        )
        return sums["epsilon"], sums["rho"], sums["delta"], accountant.events

    def set_suspension(self, analyst: str, incident: str | None) -> None:
        """Suspend an analyst for an incident, or reinstate them where `incident` is None."""
        self.read_account(analyst)  # refuses an analyst whom the ledger does not know
        self.suspend(analyst, incident)

    def suspend(self, analyst: str, incident: str | None) -> None:
        self.rows.execute(
            "UPDATE account SET incident = :incident WHERE analyst = :analyst",
            {"incident": incident, "analyst": analyst},
        )
        self.chain.append_standings(self._read_standings())

    def read_shares(self) -> dict[str, Fraction]:
        """Return the share of every analyst who ever had one; 0 where it was withdrawn."""
        query = "SELECT analyst, share FROM account WHERE analyst <> :everybody ORDER BY analyst"
        found = self.rows.execute(query, {"everybody": EVERYBODY})
        return {name: self.chain.parse_fraction(share) for name, share in found}

    def set_shares(self, shares: Mapping[str, Fraction]) -> None:
        """Replace the analysts' shares; raise an error unless they cover all past spending."""
        kept = self.read_shares()
        wanted = dict.fromkeys(kept, Fraction(0)) | dict(shares)
        if wanted == kept:
            return
        require_shares_cover_spending(
            self.nothing, wanted, {name: self.read_accountant(name) for name in kept}
        )
        self.write_shares(wanted)

    def write_shares(self, shares: Mapping[str, Fraction]) -> None:
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
        found, chained = self._read_standings(), self.chain.read_standings()
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

    def initialize(self, shares: Mapping[str, Fraction] | None, usual: Mapping[str, Fraction]) -> None:
        """Write promise and shares, the `usual` ones if none are given or stored; check what is there."""
        self.initialize_terms()
        self.check_standings()
        self.set_shares(shares or self.read_shares() or usual)

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

    def sample_accountants(self, max_points: int, analyst: str | None = None) -> list[Accountant]:
        """Return the spending after each entry, or after `max_points` of them and at the end."""
        whose = "" if analyst is None else " WHERE analyst = :analyst"
        rows = self.rows.execute(
            f"SELECT epsilon, rho, delta FROM entry{whose} ORDER BY id", {"analyst": analyst}
        ).fetchall()
        every, sums, found = -(-len(rows) // max_points) or 1, NONE, [self.nothing]
        for texts in rows:
            epsilon, rho, delta = (self.chain.parse_fraction(text) for text in texts)
            sums = _add_sums(sums, (epsilon, rho, delta, 1))
            if sums[3] % every == 0 or sums[3] == len(rows):
                found.append(self.to_accountant(*sums))
        return found

    def check_totals(self) -> None:
        """Raise an error for a ledger with lost entries or wrong account totals; the time is constant."""
        last = self.rows.execute("SELECT coalesce(max(id), 0) FROM entry").fetchone()[0]
        total = NONE
        for name in self.read_shares():
            total = _add_sums(total, _to_sums(self.read_accountant(name)))
        everything = self.read_accountant(EVERYBODY)
        if everything.events != last:
            raise self.storage.make_damage_error("entries are missing")
        if total != _to_sums(everything):
            raise self.storage.make_damage_error("the analysts' sums are not the sum of everything")

    def check_entries(self) -> None:
        """Raise an error for a ledger whose sums are not those of its entries."""
        found = dict.fromkeys(self.read_shares(), NONE)
        query = "SELECT analyst, count(*), epsilon, rho, delta FROM entry GROUP BY 1, 3, 4, 5"
        for analyst, times, *texts in self.rows.execute(query):
            epsilon, rho, delta = (times * self.chain.parse_fraction(text) for text in texts)
            found[analyst] = _add_sums(found.get(analyst, NONE), (epsilon, rho, delta, times))
        for analyst, sums in found.items():
            if _to_sums(self.read_accountant(analyst)) != sums:
                raise self.storage.make_damage_error(
                    f"what {analyst} has spent is not the sum of the entries"
                )

    def to_accountant(self, epsilon: Fraction, rho: Fraction, delta: Fraction, events: int) -> Accountant:
        """Return sums as an accountant."""
        return replace(self.nothing, epsilon=epsilon, rho=rho, delta=delta, events=events)

    def to_cost(self, epsilon: str, rho: str, delta: str) -> Cost:
        """Return a stored charge as a cost."""
        return self.nothing.to_cost(*(self.chain.parse_fraction(text) for text in (epsilon, rho, delta)))


def parse_shares(analysts: Mapping[str, Real]) -> dict[str, Fraction]:
    """Return the shares as fractions that add up to at most 1."""
    require_parameter(bool(analysts), "Ledger", "analysts", "none", "at least one analyst with a share")
    shares: dict[str, Fraction] = {}
    for name, share in analysts.items():
        named = isinstance(name, str) and name.isprintable() and name == name.strip() and 0 < len(name) <= 100
        require_parameter(
            named, "Ledger", "analysts", repr(name), "named by a text of 1 to 100 printable characters"
        )
        holds = is_real(share) and 0 <= share <= 1
        require_parameter(holds, "Ledger", f"analysts[{name}]", share, "a share between 0 and 1")
        shares[name] = Fraction(str(share))
    total = sum(shares.values(), Fraction(0))
    if total > 1 + SLACK:
        raise RequestError(
            f"The analysts' shares add up to {float(total):.4%}; there is 100% to divide.",
            hint="Lower some of them in the policy.",
        )
    scale = max(total, Fraction(1))
    # rounded down, so that together they never exceed 1
    return {name: Fraction(share * PLACES // scale, PLACES) for name, share in shares.items()}


def limit_to_share(spent: Accountant, share: Fraction) -> Accountant:
    """Return the accountant of one analyst: everything outside this share counts as spent."""
    return _add_amounts(spent, _scale_limit(spent, 1 - share))


def require_shares_cover_spending(
    nothing: Accountant, shares: Mapping[str, Fraction], spent: Mapping[str, Accountant]
) -> None:
    """Raise an error for shares that would grant again a budget that is already spent."""
    together, beyond = nothing, Fraction(0)
    for name, share in shares.items():
        own, part = spent.get(name, nothing), _scale_limit(nothing, share)
        taken = {each: max(most, getattr(own, each)) for each, most in part.items()}
        together = _add_amounts(together, taken)
        if taken != part:
            beyond += _compute_used_share(own)
    if not together.has_room_for(nothing.total_spent):
        over = [
            name for name, share in shares.items() if _compute_used_share(spent.get(name, nothing)) > share
        ]
        raise RequestError(
            f"These shares grant again what is already spent: {', '.join(over)} spent more than that.",
            hint=f"Let the shares of all others add up to at most {_format_share_down(1 - beyond)}.",
        )


def _scale_limit(accountant: Accountant, share: Fraction) -> dict[str, Fraction]:
    """Return a share of the cap, in each of the sums that it bounds."""
    limit = accountant.limit
    if isinstance(limit, PureDP):
        return {"epsilon": share * Fraction(limit.epsilon)}
    return {"rho": share * Fraction(limit.rho), "delta": share * Fraction(limit.delta)}


def _add_amounts(accountant: Accountant, amounts: Mapping[str, Fraction]) -> Accountant:
    return replace(accountant, **{name: getattr(accountant, name) + more for name, more in amounts.items()})


def _compute_used_share(spent: Accountant) -> Fraction:
    """Return the share of the cap that is spent, in the sum where it is largest."""
    whole = _scale_limit(spent, Fraction(1))
    return max(getattr(spent, name) / most if most else Fraction(0) for name, most in whole.items())


def _format_share_down(share: Fraction) -> str:
    """Return a share as a percentage, rounded down."""
    return f"{float(max(Fraction(0), share) * 10_000 // 1) / 100:g}%"


def _to_sums(accountant: Accountant) -> ExactSums:
    return accountant.epsilon, accountant.rho, accountant.delta, accountant.events


def _add_sums(one: ExactSums, two: ExactSums) -> ExactSums:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
