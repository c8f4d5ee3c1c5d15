"""`discreet ledger`: questions asked, their cost, the budget left, and what an attacker may now believe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import ledger_maintenance
from discreet.cli.shared_options import DEFAULT_POLICY, JsonOption, LedgerOption
from discreet.core.errors import RequestError
from discreet.rendering.ledger_json import ledger_to_json
from discreet.rendering.ledger_view import show_ledger
from discreet.rendering.terminal import Console
from discreet.services.ledgers import open_ledger_readonly
from discreet.services.policies import load_policy

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
            from discreet.rendering.charts import save_chart
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
