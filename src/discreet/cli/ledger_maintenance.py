"""`discreet ledger create`, `verify`, `backup`, `restore`, `export`, `change-unit`: ledger maintenance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.rendering.ledger_view import (
    describe_restoration,
    describe_verified_ledger,
    format_quantity,
    marks_to_json,
    verified_ledger_to_json,
)
from discreet.rendering.terminal import Console
from discreet.services.ledger_maintenance import (
    back_up_policy_ledger,
    change_privacy_units,
    create_ledger,
    export_policy_ledger,
    format_ledger_address,
    restore_policy_ledger,
    verify_ledger,
)
from discreet.services.policies import load_policy

LedgerPolicyOption = Annotated[Path, typer.Option("--policy", "-p", help="The policy whose ledger it is.")]


def run_create(
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    separate_promise: Annotated[
        bool,
        typer.Option(
            "--separate-promise",
            help="Allow it even if another ledger exists for the same data; each then names the other.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a ledger, and write its high-water marks beside the data."""
    terms = load_policy(policy, ledger=ledger)
    made = create_ledger(terms, separate_promise=separate_promise)
    told = {"ledger": made.identity, "sentence": made.sentence} | marks_to_json(made.marks)
    text = f"The ledger {format_ledger_address(terms)} was made. {made.sentence}"
    _print_result(told, text, as_json=as_json)


def run_verify(
    policy: LedgerPolicyOption = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Check every entry, sum and high-water mark; exit code 2 and one sentence if something was changed."""
    terms = load_policy(policy, ledger=ledger)
    found = verify_ledger(terms)
    text = describe_verified_ledger(found, format_ledger_address(terms))
    _print_result(verified_ledger_to_json(found), text, as_json=as_json)


def run_backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a new one.")],
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a snapshot of the ledger into a file; it may be in use meanwhile."""
    entries = back_up_policy_ledger(load_policy(policy, ledger=ledger), file)
    _print_result({"file": str(file), "entries": entries}, f"The backup is in {file}.", as_json=as_json)


def run_restore(
    file: Annotated[
        Path | None, typer.Argument(help="A backup or an older copy; by default, the current ledger.")
    ] = None,
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the ledger by a backup, and charge what was asked since the backup."""
    restored, sentence = restore_policy_ledger(load_policy(policy, ledger=ledger), file)
    text = f"{describe_restoration(restored)} {sentence}"
    _print_result(vars(restored) | {"sentence": sentence}, text, as_json=as_json)


def run_export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's entries.")] = None,
    first: Annotated[int, typer.Option("--from", min=1, help="The first entry, by its id.")] = 1,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The most entries to write.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the entries to a file, in pages."""
    count, following = export_policy_ledger(
        load_policy(policy, ledger=ledger), file, analyst=analyst, first=first, limit=limit
    )
    more = "" if following is None else f" More begin at --from {following}."
    told = {"file": str(file), "entries": count, "next": following}
    are = "is" if count == 1 else "are"
    _print_result(
        told, f"{format_quantity(count, 'entry', 'entries')} {are} in {file}.{more}", as_json=as_json
    )


def run_change_unit(
    policy: LedgerPolicyOption = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Record a changed privacy unit; from then on the ledger's sentence mentions the earlier answers."""
    changed, sentence = change_privacy_units(load_policy(policy, ledger=ledger))
    text = f"The privacy unit of {', '.join(changed)} was changed." if changed else "Nothing is changed."
    _print_result({"changed": changed, "sentence": sentence}, f"{text} {sentence}", as_json=as_json)


def _print_result(result: Mapping[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
    else:
        Console(soft_wrap=True).print(text, markup=False, highlight=False)
