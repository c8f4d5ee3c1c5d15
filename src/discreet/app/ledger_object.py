"""A ledger as one JSON object: entries, amounts, accounts, belief, releases."""

from __future__ import annotations

import json

from discreet.accounting.accountant import Cost, name_unit
from discreet.accounting.budget import AnalystAccount
from discreet.accounting.entries import Entry, NonPrivateRelease, guarantee_to_json
from discreet.accounting.ledger import Ledger
from discreet.belief import Belief
from discreet.core.guarantees import PureDP


def as_object(ledger: Ledger, analyst: str | None = None, *, alone: str | None = None) -> dict[str, object]:
    """Return the whole ledger, or one analyst's part; amounts are epsilon, or rho if the promise has a tail.

    Belief covers all answers, or those of the analyst in `belief_scope`.
    """
    now = ledger.compute_belief(analyst=alone)
    spent, left = ledger.get_total_spent(analyst), ledger.get_remaining_budget(analyst)
    return {
        "entries": [entry_object(each, own=analyst is not None) for each in ledger.list_entries(analyst)],
        "unit": name_unit(spent),
        "spent": size(spent),
        "left": size(left),
        **({} if isinstance(spent, PureDP) else {"delta": {"spent": _delta(spent), "left": _delta(left)}}),
        "analysts": {each.analyst: _account(each) for each in accounts_of(ledger, analyst)},
        "belief": belief_object(now, ledger.promise.posterior),
        "releases": [release_object(each) for each in ledger.list_releases()],
        "sentence": ledger.describe_belief(analyst=alone),
    }


def accounts_of(ledger: Ledger, analyst: str | None) -> list[AnalystAccount]:
    """Return all accounts, or one analyst's."""
    return ledger.list_accounts() if analyst is None else [ledger.get_account(analyst)]


def size(cost: Cost) -> float:
    return float(cost.epsilon if isinstance(cost, PureDP) else cost.rho)


def _delta(cost: Cost) -> float:
    return 0.0 if isinstance(cost, PureDP) else float(cost.delta)


def entry_object(entry: Entry, *, own: bool = False) -> dict[str, object]:
    """Return an entry with its id in the ledger, or with its number among the analyst's entries."""
    amounts: dict[str, object] = {"epsilon": size(entry.charge)}
    if not isinstance(entry.charge, PureDP):
        amounts = {"rho": size(entry.charge), "delta": _delta(entry.charge)}
    return {
        "id": entry.number if own else entry.id,
        "time": entry.time.isoformat(),
        "analyst": entry.analyst,
        "question": entry.question,
        **amounts,
        "guarantee": json.loads(guarantee_to_json(entry.guarantee)),
        "state": entry.state.value,
        "incident": entry.incident,
    }


def _account(account: AnalystAccount) -> dict[str, object]:
    return {
        "share": float(account.share),
        "spent": size(account.spent),
        "left": size(account.left),
        "entries": account.entries,
        "incident": account.incident,
    }


def belief_object(now: Belief, promised: float) -> dict[str, object]:
    return {"prior": now.prior, "posterior": now.highest, "promised": promised, "tail": now.tail}


def release_object(release: NonPrivateRelease) -> dict[str, object]:
    return {
        "name": release.name,
        "time": release.time.isoformat(),
        "description": release.description,
        "certificate": dict(release.certificate),
    }
