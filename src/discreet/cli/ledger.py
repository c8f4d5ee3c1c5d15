"""`discreet ledger`: questions asked, their cost, the budget left, and what an attacker may now believe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from discreet.accounting.accountant import format_amount, format_remaining, get_amount, name_unit
from discreet.accounting.budget import AnalystAccount
from discreet.accounting.entries import Entry, EntryState
from discreet.accounting.ledger import Ledger
from discreet.belief.wording import format_number
from discreet.cli import ledger_maintenance
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.rendering.ledger_json import ledger_to_json, list_accounts
from discreet.rendering.terminal import Console
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy

MAX_ENTRIES = 50
STYLES = {
    EntryState.RESERVED: "dim",
    EntryState.SETTLED: "",
    EntryState.FAULTED: "red",
    EntryState.ORPHANED: "yellow",
}

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False)
for name, verb in (
    ("create", ledger_maintenance.run_create),
    ("verify", ledger_maintenance.run_verify),
    ("backup", ledger_maintenance.run_backup),
    ("restore", ledger_maintenance.run_restore),
    ("export", ledger_maintenance.run_export),
    ("change-unit", ledger_maintenance.run_change_unit),
):
    app.command(name)(verb)


@app.callback()
def run(
    context: typer.Context,
    policy: Annotated[
        Path, typer.Option("--policy", "-p", help="The policy whose ledger it is.")
    ] = DEFAULT_POLICY,
    address: LedgerOption = None,
    analyst: Annotated[str | None, typer.Option(help="Only this analyst's entries and account.")] = None,
    clear: Annotated[
        str | None, typer.Option(metavar="ANALYST", help="Lift an analyst's suspension after a fault.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the staircase into a .svg or .png file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the budget spent and left, and what an attacker may now believe."""
    if context.invoked_subcommand is not None:
        _refuse_early_options(context)
        return
    with open_ledger_readonly(load_policy(policy, ledger=address)) as ledger:
        ledger.verify()
        if clear is not None:
            ledger.clear_suspension(clear)
        if plot is not None:
            # only with --plot: the charting library takes most of the command's time to load
            from discreet.rendering.altair_charts import save_chart
            from discreet.rendering.ledger_chart import draw_ledger_chart

            save_chart(draw_ledger_chart(ledger), plot)
        if as_json:
            print(json.dumps(ledger_to_json(ledger, analyst)))
        else:
            show_ledger(Console(), ledger, analyst)
    for done in (
        f"{clear} may ask again." if clear is not None else "",
        f"The picture is in {plot}." if plot is not None else "",
    ):
        if done and not as_json:
            Console(stderr=True, soft_wrap=True).print(done, markup=False, highlight=False)


def _refuse_early_options(context: typer.Context) -> None:
    """Refuse options given before a subcommand: Typer would accept them here and silently ignore them."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            verb = context.invoked_subcommand
            raise RequestError(
                f"ledger: give options of {verb} after it.", hint=f"See discreet ledger {verb} --help."
            )


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
    console.print(ledger.describe_belief(), markup=False, highlight=False)


def _build_entries_table(entries: list[Entry], width: int, *, own: bool) -> Table:
    shown = entries[-MAX_ENTRIES:]
    others = 56 + max(len(each.analyst) for each in shown)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
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
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("analyst", overflow="fold")
    for name in ("share", "spent", "left"):
        table.add_column(name, justify="right")
    for each in accounts:
        share = f"{format_number(float(100 * each.share))}%"
        table.add_row(
            Text(each.analyst), share, format_amount(each.spent, up=True), format_remaining(each.left)
        )
    if total:
        table.add_row(
            "in all",
            "100%",
            format_amount(ledger.get_total_spent(), up=True),
            format_remaining(ledger.get_remaining_budget()),
            style="bold",
        )
    return table
