"""The ledger of a policy, and who is charged in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from discreet.accounting.high_water_marks import HighWaterMarks
from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.accounting.ledger_terms import LedgerTerms, require_unmarked_data
from discreet.app.ledger_addresses import kept_at
from discreet.app.ledger_marks import find_foundation
from discreet.app.policies import promise_of
from discreet.app.users.wishes import shares_of
from discreet.core.errors import RequestError
from discreet.core.policy import Policy


def opened(
    policy: Policy,
    *,
    separate_promise: bool = False,
    frames: Collection[str] = (),
    check_units: bool = True,
) -> Ledger:
    """The ledger of the promise, with the shares that policy and custodian give.

    Data that are marked by another ledger are refused, unless this is to be a `separate_promise`. `frames`
    are tables whose rows a program hands over, in place of the policy's source.
    """
    found = find_foundation(policy, separate=separate_promise, frames=frames)
    return _ledger(policy, kept_at(policy.ledger), found if check_units else replace(found, units={}))


def open_unmarked(policy: Policy, address: str) -> Ledger:
    """Open a ledger at an address without looking at marks or units, as restoring one does."""
    return _ledger(policy, address, LedgerTerms())


def find_marks(policy: Policy) -> HighWaterMarks:
    """Return where the marks of a policy's ledger are."""
    return find_foundation(policy).marks


def looked_into(policy: Policy) -> Ledger:
    """The same to be read; one that nobody asked anything yet is shown empty, and not made."""
    address = kept_at(policy.ledger)
    if is_database_address(address) or Path(address).exists():
        return _ledger(policy, address, find_foundation(policy))
    require_unmarked_data(address, find_foundation(policy).marks.read())
    return Ledger(MEMORY, promise_of(policy), analysts=shares_of(policy) or None)


def _ledger(policy: Policy, address: str, foundation: LedgerTerms) -> Ledger:
    shares = shares_of(policy)
    return Ledger(address, promise_of(policy), analysts=shares or None, foundation=foundation)


def asking(policy: Policy, analyst: str | None) -> str:
    """Who asks: as said, or the only one that there is."""
    known = list(policy.analysts)
    who = analyst or (known[0] if len(known) == 1 else None if known else SOLE_ANALYST)
    if who is None or (known and who not in known):
        raise RequestError(
            f"The policy knows the analysts {', '.join(known)}; this is {who or 'none of them'}.",
            hint="Say who asks: --analyst NAME.",
        )
    return who
