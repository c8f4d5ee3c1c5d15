"""Totals of a ledger's entries: over time, and checked against the accounts."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.accountant import Accountant
from discreet.accounting.budget_accounts import EVERYBODY, BudgetAccounts

Sums = tuple[Fraction, Fraction, Fraction, int]
NONE: Sums = (Fraction(0), Fraction(0), Fraction(0), 0)


def sample_accountants(
    accounts: BudgetAccounts, max_points: int, analyst: str | None = None
) -> list[Accountant]:
    """Return the spending after each entry; of a long ledger, after `max_points` of them and at the end."""
    whose = "" if analyst is None else " WHERE analyst = :analyst"
    rows = accounts.rows.execute(
        f"SELECT epsilon, rho, delta FROM entry{whose} ORDER BY id", {"analyst": analyst}
    ).fetchall()
    every, sums, found = -(-len(rows) // max_points) or 1, NONE, [accounts.nothing]
    for texts in rows:
        epsilon, rho, delta = (accounts.parse_fraction(text) for text in texts)
        sums = _add_sums(sums, (epsilon, rho, delta, 1))
        if sums[3] % every == 0 or sums[3] == len(rows):
            found.append(accounts.to_accountant(*sums))
    return found


def check_totals(accounts: BudgetAccounts) -> None:
    """Raise an error for a ledger with lost entries or wrong account totals; the time is constant."""
    last = accounts.rows.execute("SELECT coalesce(max(id), 0) FROM entry").fetchone()[0]
    total = NONE
    for name in accounts.read_shares():
        total = _add_sums(total, _to_sums(accounts.read_accountant(name)))
    everything = accounts.read_accountant(EVERYBODY)
    if everything.events != last:
        raise accounts.storage.make_damage_error("entries are missing")
    if total != _to_sums(everything):
        raise accounts.storage.make_damage_error("the analysts' sums are not the sum of everything")


def check_entries(accounts: BudgetAccounts) -> None:
    """Raise an error for a ledger whose sums are not those of its entries."""
    found = dict.fromkeys(accounts.read_shares(), NONE)
    query = "SELECT analyst, count(*), epsilon, rho, delta FROM entry GROUP BY 1, 3, 4, 5"
    for analyst, times, *texts in accounts.rows.execute(query):
        epsilon, rho, delta = (times * accounts.parse_fraction(text) for text in texts)
        found[analyst] = _add_sums(found.get(analyst, NONE), (epsilon, rho, delta, times))
    for analyst, sums in found.items():
        if _to_sums(accounts.read_accountant(analyst)) != sums:
            raise accounts.storage.make_damage_error(
                f"what {analyst} has spent is not the sum of the entries"
            )


def _to_sums(accountant: Accountant) -> Sums:
    return accountant.epsilon, accountant.rho, accountant.delta, accountant.events


def _add_sums(one: Sums, two: Sums) -> Sums:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
