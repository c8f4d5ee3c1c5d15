"""Verification of the whole hash chain of a ledger against its entries and releases.

A migrated ledger is chained in the same way, so that the same checks hold for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.accounting.budget_accounts import EVERYBODY, BudgetAccounts
from discreet.accounting.hash_chain import (
    CHARGE,
    LINK,
    NO_SUMS,
    ORIGIN,
    RELEASE,
    HashChain,
    Link,
    LinkKind,
    RunningSums,
    digest_charge,
    digest_outcome,
    digest_release,
)

OUTCOME = ("state", "incident", "metadata", "answer")
ENDED = ("settled", "faulted")


def check_chain(accounts: BudgetAccounts) -> int:
    """Return the number of links; raise an error if the chain is incomplete or does not match the entries."""
    found: dict[LinkKind, dict[int, Link]] = {kind: {} for kind in LinkKind}
    count = 0
    for link in _iterate_links(accounts.chain):
        count = link.id
        found[link.kind][link.body.get("entry", link.body.get("release", link.id))] = link
    _check_entries(accounts, found[LinkKind.CHARGE], found[LinkKind.OUTCOME])
    _check_releases(accounts, found[LinkKind.RELEASE])
    return count


def _check_entries(accounts: BudgetAccounts, charges: dict[int, Link], outcomes: dict[int, Link]) -> None:
    damaged, running = accounts.storage.make_damage_error, dict[str, RunningSums]()
    there = {number for (number,) in accounts.rows.execute("SELECT id FROM entry")}
    for number in sorted(charges.keys() - there):
        raise damaged(f"entry {number} was removed")
    for number in sorted(there - charges.keys()):
        raise damaged(f"entry {number} was inserted: its chain does not hold it")
    names = (*CHARGE, *OUTCOME)
    for values in accounts.rows.execute(f"SELECT {', '.join(names)} FROM entry ORDER BY id"):
        row = dict(zip(names, values, strict=True))
        charge = charges[row["id"]]
        if charge.body["digest"] != digest_charge(row):
            raise damaged(f"entry {row['id']} was changed")
        if not _matches_outcome(row, outcomes.get(row["id"])):
            raise damaged(f"the outcome of entry {row['id']} was changed")
        for owner, carried in ((row["analyst"], charge.analyst_sums), (EVERYBODY, charge.total_sums)):
            running[owner] = accounts.chain.add_sums(running.get(owner, NO_SUMS), row)
            if running[owner] != carried:
                raise damaged(f"the running sums of entry {row['id']} are not the sums of its entries")


def _check_releases(accounts: BudgetAccounts, links: dict[int, Link]) -> None:
    damaged = accounts.storage.make_damage_error
    for values in accounts.rows.execute(f"SELECT {', '.join(RELEASE)} FROM release ORDER BY id"):
        row = dict(zip(RELEASE, values, strict=True))
        link = links.pop(row["id"], None)
        if link is None:
            raise damaged(f"release {row['name']} was inserted: its chain does not hold it")
        if link.body["digest"] != digest_release(row):
            raise damaged(f"release {row['name']} was changed")
    for link in links.values():
        raise damaged(f"release {link.body['name']} was removed")


def _iterate_links(chain: HashChain) -> Iterator[Link]:
    """Yield all links in order; raise an error for a missing link, or one that does not follow."""
    expected, head, total = 1, ORIGIN, NO_SUMS
    for row in chain.rows.execute(f"SELECT {LINK} FROM link ORDER BY id"):
        link = chain.parse_link(row)
        if link.id != expected or link.previous != head:
            raise chain.storage.make_damage_error(f"a link of its chain is missing before link {link.id}")
        if link.kind is not LinkKind.CHARGE and link.total_sums != total:
            raise chain.storage.make_damage_error(f"the running sums of link {link.id} were changed")
        expected, head, total = link.id + 1, link.head, link.total_sums
        yield link


def _matches_outcome(row: dict[str, Any], outcome: Link | None) -> bool:
    if outcome is None:
        return row["state"] not in ENDED
    return bool(outcome.body["digest"] == digest_outcome(*(row[name] for name in OUTCOME)))
