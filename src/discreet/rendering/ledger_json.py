"""A promise and a ledger as JSON objects: entries, amounts, accounts, belief, releases."""

from __future__ import annotations

import json

from discreet.accounting.accountant import Cost, get_amount, name_unit
from discreet.accounting.budget import AnalystAccount
from discreet.accounting.entries import Entry, NonPrivateRelease, guarantee_to_json
from discreet.accounting.ledger import Ledger
from discreet.belief import Belief, Promise
from discreet.core.guarantees import PureDP
from discreet.services.ledger_maintenance import MarkState, VerifiedLedger

CUSTODIAN_ONLY_FIELDS = {"path", "inner"}
"""Certificate entries for the custodian only: where the file is."""


def ledger_to_json(
    ledger: Ledger, analyst: str | None = None, *, belief_scope: str | None = None
) -> dict[str, object]:
    """Return the whole ledger, or one analyst's part; amounts are epsilon, or rho if the promise has a tail.

    Belief covers all answers, or those of the analyst in `belief_scope`.
    """
    now = ledger.compute_belief(analyst=belief_scope)
    spent, left = ledger.get_total_spent(analyst), ledger.get_remaining_budget(analyst)
    return {
        "entries": [entry_to_json(each, own=analyst is not None) for each in ledger.list_entries(analyst)],
        "unit": name_unit(spent),
        "spent": get_amount(spent),
        "left": get_amount(left),
        **(
            {}
            if isinstance(spent, PureDP)
            else {"delta": {"spent": _get_delta(spent), "left": _get_delta(left)}}
        ),
        "analysts": {each.analyst: _account_to_json(each) for each in list_accounts(ledger, analyst)},
        "belief": belief_to_json(now, ledger.promise.posterior),
        "releases": [release_to_json(each) for each in ledger.list_releases()],
        "sentence": ledger.describe_belief(analyst=belief_scope),
    }


def list_accounts(ledger: Ledger, analyst: str | None) -> list[AnalystAccount]:
    """Return all accounts, or one analyst's."""
    return ledger.list_accounts() if analyst is None else [ledger.get_account(analyst)]


def _get_delta(cost: Cost) -> float:
    return 0.0 if isinstance(cost, PureDP) else float(cost.delta)


def entry_to_json(entry: Entry, *, own: bool = False) -> dict[str, object]:
    """Return an entry with its id in the ledger, or with its number among the analyst's entries."""
    amounts: dict[str, object] = {"epsilon": get_amount(entry.charge)}
    if not isinstance(entry.charge, PureDP):
        amounts = {"rho": get_amount(entry.charge), "delta": _get_delta(entry.charge)}
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


def _account_to_json(account: AnalystAccount) -> dict[str, object]:
    return {
        "share": float(account.share),
        "spent": get_amount(account.spent),
        "left": get_amount(account.left),
        "entries": account.entries,
        "incident": account.incident,
    }


def belief_to_json(belief: Belief, promised_posterior: float) -> dict[str, object]:
    return {
        "prior": belief.prior,
        "posterior": belief.highest,
        "promised": promised_posterior,
        "tail": belief.tail,
    }


def release_to_json(release: NonPrivateRelease) -> dict[str, object]:
    return {
        "name": release.name,
        "time": release.time.isoformat(),
        "description": release.description,
        "certificate": dict(release.certificate),
    }


def promise_to_json(promise: Promise) -> dict[str, object]:
    """Return the parameters of a promise as a JSON object."""
    return {
        "prior": promise.prior,
        "posterior": promise.posterior,
        "secret": promise.secret.value,
        "group": promise.group,
        "tail": promise.tail,
        "gamma": promise.gamma,
        "epsilon": promise.epsilon,
    }


def verified_ledger_to_json(verified: VerifiedLedger) -> dict[str, object]:
    return {
        "ledger": verified.identity,
        "entries": verified.entries,
        "links": verified.links,
        "head": verified.head,
        "separate": [*verified.separate],
        "separate_ledgers": dict(verified.separate),
    } | marks_to_json(verified.marks)


def marks_to_json(marks: MarkState) -> dict[str, object]:
    return {
        "marks": [{"file": str(path), "entries": entries} for path, entries in marks.entries.items()],
        "unmarked": [str(path) for path in marks.missing],
    }


def open_release_to_json(release: NonPrivateRelease, *, for_custodian: bool) -> dict[str, object]:
    """Return a release without differential privacy with its number; only a custodian sees its path."""
    certificate = {
        name: value
        for name, value in release.certificate.items()
        if for_custodian or name not in CUSTODIAN_ONLY_FIELDS
    }
    kind = release.certificate.get("kind", "table")
    told = {"id": release.id, "private": False, "kind": kind} | release_to_json(release)
    return told | {"certificate": certificate}
