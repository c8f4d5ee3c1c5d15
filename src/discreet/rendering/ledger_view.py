"""A ledger in the terminal and as JSON: entries, amounts, accounts, belief, releases."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from discreet.accounting.amounts import Cost, format_amount, format_remaining, get_amount, name_unit
from discreet.accounting.belief_sentences import SHOWN
from discreet.accounting.budget import AnalystAccount
from discreet.accounting.entries import Entry, EntryState, NonPrivateRelease
from discreet.accounting.guarantee_json import guarantee_to_json
from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_backup import RestoreResult
from discreet.belief import Belief
from discreet.belief.wording import format_number
from discreet.core.guarantees import PureDP
from discreet.rendering.terminal import Console, build_plain_table
from discreet.services.budget_units import compute_share, format_share
from discreet.services.ledger_maintenance import MarkState, VerifiedLedger

MAX_ENTRIES = 50
STYLES = {
    EntryState.RESERVED: "dim",
    EntryState.SETTLED: "",
    EntryState.FAULTED: "red",
    EntryState.ORPHANED: "yellow",
}
CUSTODIAN_ONLY_FIELDS = {"path", "inner"}
"""Certificate entries for the custodian only: where the file is."""


def show_ledger(console: Console, ledger: Ledger, analyst: str | None = None) -> None:
    """Print the entries, the accounts and the sentence about belief."""
    accounts, entries = list_accounts(ledger, analyst), ledger.list_entries(analyst)
    if entries:
        console.print(_build_entries_table(entries, console.width, own=analyst is not None))
        if len(entries) > MAX_ENTRIES:
            console.print(
                f"… after {len(entries) - MAX_ENTRIES:,} earlier ones, which --json lists.", style="dim"
            )
    else:
        console.print("Nothing was asked yet.")
    console.print()
    console.print(_build_accounts_table(ledger, accounts, total=analyst is None))
    for each in accounts:
        if each.incident is not None:
            console.print(
                f"{each.analyst} is suspended since incident {each.incident}: look into it, then "
                f"discreet ledger --clear {each.analyst}",
                style="red",
                markup=False,
                highlight=False,
            )
    console.print()
    for newest in ledger.list_acceptances()[-1:] if analyst is None else []:
        versions = ", ".join(f"{name} (version {state.version})" for name, state in newest.tables.items())
        told = f"Accepted for analysts on {newest.time:%Y-%m-%d}: {versions}."
        console.print(told, markup=False, highlight=False)
    console.print(ledger.describe_belief(), markup=False, highlight=False)


def _build_entries_table(entries: list[Entry], width: int, *, own: bool) -> Table:
    shown = entries[-MAX_ENTRIES:]
    others = 56 + max(len(each.analyst) for each in shown)
    table = build_plain_table(gap=2)
    table.add_column("id", justify="right")
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("analyst", no_wrap=True)
    table.add_column("question", no_wrap=True)
    table.add_column(name_unit(entries[-1].charge), justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for each in shown:
        table.add_row(
            str(each.number if own else each.id),
            f"{each.time:%Y-%m-%d %H:%M}",
            Text(each.analyst),
            Text(_shorten_question(each.question, max(24, width - others))),
            format_number(get_amount(each.charge), 4),
            Text(each.state.value, style=STYLES[each.state]),
        )
    return table


def _shorten_question(question: str, length: int) -> str:
    line = " ".join(question.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _build_accounts_table(ledger: Ledger, accounts: list[AnalystAccount], *, total: bool) -> Table:
    table = build_plain_table(gap=2)
    table.add_column("analyst", overflow="fold")
    for name in ("share", "spent", "left"):
        table.add_column(name, justify="right")
    limit = ledger.get_accountant().limit
    for each in accounts:
        share = f"{format_number(float(100 * each.share))}%"
        table.add_row(Text(each.analyst), share, *_format_account(each.spent, each.left, limit))
    if total:
        spent, left = ledger.get_total_spent(), ledger.get_remaining_budget()
        table.add_row("in all", "100%", *_format_account(spent, left, limit), style="bold")
    return table


def _format_account(spent: Cost, left: Cost, limit: Cost) -> tuple[str, str]:
    """Return what is spent and left; a rho with its share of the promise, as nobody can type a rho."""
    texts = format_amount(spent, up=True), format_remaining(left)
    if isinstance(limit, PureDP):
        return texts
    shares = format_share(compute_share(spent, limit), up=True), format_share(compute_share(left, limit))
    return f"{texts[0]} ({shares[0]})", f"{texts[1]} ({shares[1]})"


def describe_verified_ledger(verified: VerifiedLedger, address: str) -> str:
    """Return the outcome of a verification; places of other ledgers are for the custodian only."""
    entries = format_quantity(verified.entries, "entry", "entries")
    links = format_quantity(verified.links, "link", "links")
    return (
        f"The ledger {address} is whole: {entries}, {links}. {_describe_marks(verified.marks)}"
        f"{_describe_separate(verified.identity, verified.separate)}"
    )


def _describe_marks(marks: MarkState) -> str:
    without = f" It has none at {', '.join(map(str, marks.missing))}." if marks.missing else ""
    if not marks.entries:
        return f"No mark stands anywhere, so that an older copy in its place would not be noticed.{without}"
    return f"Its marks: {', '.join(map(str, marks.entries))}.{without}"


def _describe_separate(identity: str, separate: Mapping[str, str]) -> str:
    if not separate:
        return ""
    others = ", ".join(f"{each[:SHOWN]} at {place}" for each, place in separate.items())
    return f" This ledger is {identity[:SHOWN]}. With a separate promise about the same data: {others}."


def describe_restoration(restored: RestoreResult) -> str:
    """Return what a restoration charged, and the releases that it entered from a mark."""
    charged = ", ".join(restored.charged)
    if restored.whole:
        text = f"No mark tells what was asked since: all that was left is charged ({charged or 'nothing'})."
    elif restored.charged:
        text = f"What was asked since the backup is charged to {charged}."
    else:
        text = "Nothing was lost."
    if restored.releases:
        text += f" Entered from a mark: {', '.join(restored.releases)}."
    return text


def format_quantity(number: int, one: str, several: str) -> str:
    """Return a number with its noun: 1 entry, 2 entries."""
    return f"{number:,} {one if number == 1 else several}"


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
        **({} if analyst is not None else {"accepted": _list_acceptances(ledger)}),
        "sentence": ledger.describe_belief(analyst=belief_scope),
    }


def _list_acceptances(ledger: Ledger) -> list[dict[str, object]]:
    """Return which versions of the data were accepted when, and nothing of what their check found."""
    return [
        {"time": each.time.isoformat(), "version": state.version, "table": name}
        for each in ledger.list_acceptances()
        for name, state in each.tables.items()
    ]


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
