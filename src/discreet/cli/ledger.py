"""`discreet ledger`: questions asked, their cost and the budget left; and maintenance of the ledger.

`ledger`, `create`, `verify`, `backup`, `restore` and `change-unit` take the policy and at most two words, and
have no request of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.grouped_help import GroupedHelp
from discreet.cli.plot_option import save_plot
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.rendering.ledger_view import (
    describe_restoration,
    describe_verified_ledger,
    format_quantity,
    ledger_to_json,
    marks_to_json,
    show_ledger,
    verified_ledger_to_json,
)
from discreet.rendering.terminal import Console
from discreet.services.ledger_maintenance import (
    ExportRequest,
    back_up_policy_ledger,
    change_privacy_units,
    create_ledger,
    export_policy_ledger,
    format_ledger_address,
    restore_policy_ledger,
    verify_ledger,
)
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy
from discreet.services.request_fields import POLICY_PANEL

LedgerPolicyOption = Annotated[
    Path,
    typer.Option(
        "--policy",
        "-p",
        metavar="FILE",
        help="The policy whose ledger it is.",
        rich_help_panel=POLICY_PANEL,
    ),
]

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def run(
    context: typer.Context,
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    address: LedgerOption = None,
    analyst: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this analyst's entries and account.")
    ] = None,
    clear: Annotated[
        str | None, typer.Option(metavar="NAME", help="Lift an analyst's suspension after a fault.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the belief after each entry into a .svg or .png file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the budget that is spent and left, and the belief.

    The belief is what an attacker may now hold of a claim about one person.
    """
    if context.invoked_subcommand is not None:
        _refuse_early_options(context)
        return
    with open_ledger_readonly(load_policy(policy, ledger=address)) as ledger:
        ledger.verify()
        if clear is not None:
            ledger.clear_suspension(clear)
        if plot is not None:
            save_plot(ledger, plot)
        if as_json:
            print(json.dumps(ledger_to_json(ledger, analyst)))
            return
        show_ledger(Console(), ledger, analyst)
    if clear is not None:
        _print_line(f"{clear} may ask again.", stderr=True)
    if plot is not None:
        _print_line(f"The picture is in {plot}.", stderr=True)


def _refuse_early_options(context: typer.Context) -> None:
    """Refuse options given before a subcommand: Typer would accept them here and silently ignore them."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            verb = context.invoked_subcommand
            raise RequestError(
                f"ledger: give options of {verb} after it.", hint=f"See discreet ledger {verb} --help."
            )


@app.command("create", short_help="Create a ledger and its high-water marks.", cls=GroupedHelp)
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


@app.command("verify", short_help="Check every entry, sum and high-water mark.", cls=GroupedHelp)
def run_verify(
    policy: LedgerPolicyOption = DEFAULT_POLICY, ledger: LedgerOption = None, as_json: JsonOption = False
) -> None:
    """Check every entry, sum and high-water mark; exit code 2 and one sentence if something was changed."""
    terms = load_policy(policy, ledger=ledger)
    found = verify_ledger(terms)
    text = describe_verified_ledger(found, format_ledger_address(terms))
    _print_result(verified_ledger_to_json(found), text, as_json=as_json)


@app.command("backup", short_help="Copy a snapshot of the ledger into a file.", cls=GroupedHelp)
def run_backup(
    file: Annotated[Path, typer.Argument(help="The file to write; a new one.")],
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a snapshot of the ledger into a file; it may be in use meanwhile."""
    entries = back_up_policy_ledger(load_policy(policy, ledger=ledger), file)
    _print_result({"file": str(file), "entries": entries}, f"The backup is in {file}.", as_json=as_json)


@app.command("restore", short_help="Replace the ledger by a backup.", cls=GroupedHelp)
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


@app.command("export", cls=GroupedHelp)
@options_from(ExportRequest)
def run_export(
    request: ExportRequest,
    *,
    policy: LedgerPolicyOption = DEFAULT_POLICY,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the entries to a file, in pages."""
    count, following = export_policy_ledger(load_policy(policy, ledger=ledger), request)
    more = "" if following is None else f" More begin at --from {following}."
    told = {"file": str(request.file), "entries": count, "next": following}
    are = "is" if count == 1 else "are"
    text = f"{format_quantity(count, 'entry', 'entries')} {are} in {request.file}.{more}"
    _print_result(told, text, as_json=as_json)


@app.command("change-unit", short_help="Record a changed privacy unit.", cls=GroupedHelp)
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
        _print_line(text)


def _print_line(text: str, *, stderr: bool = False) -> None:
    Console(stderr=stderr, soft_wrap=True).print(text, markup=False, highlight=False)
