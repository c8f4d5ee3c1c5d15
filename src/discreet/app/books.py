"""The ledger of a policy, and who is charged in it."""

from __future__ import annotations

from pathlib import Path

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.storage import MEMORY, is_database
from discreet.app.ledger_addresses import kept_at
from discreet.app.policies import promise_of
from discreet.app.users.wishes import shares_of
from discreet.core.errors import RequestError
from discreet.core.policy import Policy


def opened(policy: Policy) -> Ledger:
    """The ledger of the promise, with the shares that policy and custodian give."""
    return _ledger(policy, kept_at(policy.ledger))


def looked_into(policy: Policy) -> Ledger:
    """The same to be read; one that nobody asked anything yet is shown empty, and not made."""
    address = kept_at(policy.ledger)
    return _ledger(policy, address if is_database(address) or Path(address).exists() else MEMORY)


def _ledger(policy: Policy, address: str) -> Ledger:
    shares = shares_of(policy)
    return Ledger(address, promise_of(policy), analysts=shares or None)


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
