"""Opening the ledger of a policy, and resolving the analyst to charge."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from discreet.accounting.high_water_marks import HighWaterMarks, require_unmarked_data
from discreet.accounting.ledger import SOLE_ANALYST, Ledger, LedgerTerms
from discreet.accounting.ledger_storage import MEMORY, is_database_address
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.services.ledger_addresses import strip_sibling_path
from discreet.services.ledger_marks import find_ledger_terms
from discreet.services.policies import get_promise
from discreet.services.users.budget_requests import get_analyst_shares


def open_ledger(
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
    found = find_ledger_terms(policy, separate=separate_promise, frames=frames)
    return _build_ledger(
        policy, strip_sibling_path(policy.ledger), found if check_units else replace(found, units={})
    )


def open_ledger_unmarked(policy: Policy, address: str) -> Ledger:
    """Open a ledger without checking high-water marks or privacy units, as a restore does."""
    return _build_ledger(policy, address, LedgerTerms())


def find_high_water_marks(policy: Policy) -> HighWaterMarks:
    """Return the high-water marks of a policy's ledger."""
    return find_ledger_terms(policy).marks


def open_ledger_readonly(policy: Policy) -> Ledger:
    """Open the ledger for reading; return an empty one in memory, not a new file, if there is none yet."""
    address = strip_sibling_path(policy.ledger)
    if is_database_address(address) or Path(address).exists():
        return _build_ledger(policy, address, find_ledger_terms(policy))
    require_unmarked_data(address, find_ledger_terms(policy).marks.read())
    return Ledger(MEMORY, get_promise(policy), analysts=get_analyst_shares(policy) or None)


def _build_ledger(policy: Policy, address: str, terms: LedgerTerms) -> Ledger:
    shares = get_analyst_shares(policy)
    return Ledger(address, get_promise(policy), analysts=shares or None, terms=terms)


def resolve_analyst(policy: Policy, analyst: str | None) -> str:
    """Return the analyst to charge: the one named, or the only one that the policy declares."""
    known = list(policy.analysts)
    who = analyst or (known[0] if len(known) == 1 else None if known else SOLE_ANALYST)
    if who is None or (known and who not in known):
        raise RequestError(
            f"The policy declares the analysts {', '.join(known)}; got {who or 'none'}.",
            hint="Name the analyst: --analyst NAME.",
        )
    return who
