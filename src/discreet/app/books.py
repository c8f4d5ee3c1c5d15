"""Opening the ledger of a policy, and resolving the analyst to charge."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from discreet.accounting.high_water_marks import HighWaterMarks, require_unmarked_data
from discreet.accounting.ledger import SOLE_ANALYST, Ledger, LedgerTerms
from discreet.accounting.ledger_storage import MEMORY, is_database_address
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
    """Open the ledger of a policy, with the budget shares that policy and custodian grant.

    Data marked by another ledger is refused, unless `separate_promise` is set. `frames` are tables whose
    rows the program passes in, in place of the policy's source.
    """
    found = find_foundation(policy, separate=separate_promise, frames=frames)
    return _ledger(policy, kept_at(policy.ledger), found if check_units else replace(found, units={}))


def open_unmarked(policy: Policy, address: str) -> Ledger:
    """Open a ledger without checking high-water marks or privacy units, as a restore does."""
    return _ledger(policy, address, LedgerTerms())


def find_marks(policy: Policy) -> HighWaterMarks:
    """Return the high-water marks of a policy's ledger."""
    return find_foundation(policy).marks


def looked_into(policy: Policy) -> Ledger:
    """Open the ledger for reading; return an empty one in memory, not a new file, if there is none yet."""
    address = kept_at(policy.ledger)
    if is_database_address(address) or Path(address).exists():
        return _ledger(policy, address, find_foundation(policy))
    require_unmarked_data(address, find_foundation(policy).marks.read())
    return Ledger(MEMORY, promise_of(policy), analysts=shares_of(policy) or None)


def _ledger(policy: Policy, address: str, foundation: LedgerTerms) -> Ledger:
    shares = shares_of(policy)
    return Ledger(address, promise_of(policy), analysts=shares or None, terms=foundation)


def asking(policy: Policy, analyst: str | None) -> str:
    """Return the analyst to charge: the one named, or the only one that the policy declares."""
    known = list(policy.analysts)
    who = analyst or (known[0] if len(known) == 1 else None if known else SOLE_ANALYST)
    if who is None or (known and who not in known):
        raise RequestError(
            f"The policy declares the analysts {', '.join(known)}; got {who or 'none'}.",
            hint="Name the analyst: --analyst NAME.",
        )
    return who
