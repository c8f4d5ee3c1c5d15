"""`discreet bounds`: learn the bounds or the frequent values of a column privately, for the policy."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import DEFAULT_POLICY, AnalystOption, EngineOption, JsonOption, PolicyOption
from discreet.rendering import bounds_view
from discreet.rendering.terminal import Console
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.learn_bounds import learn_bounds, plan_bounds
from discreet.services.bounds.policy_writer import require_writable_entry, write_bounds
from discreet.services.curator import Curator
from discreet.services.policies import load_policy
from discreet.services.request_fields import COST_PANEL, OUTPUT_PANEL


@options_from(BoundsRequest)
def run(
    request: BoundsRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only show the cost, and what may be lost.", rich_help_panel=COST_PANEL),
    ] = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Write what is learned into the policy, with its ledger entry.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn the bounds of a column privately.

    It is charged like a question; repeating it is free.
    """
    terms = load_policy(policy, engine=engine, allow_open_bounds=True)
    with (
        show_progress() as tell,
        Curator.open_policy(terms, analyst=analyst, progress=tell) as curator,
    ):
        planned = plan_bounds(curator, request)
        if write:
            require_writable_entry(policy, request.table, request.column)
        tell("counting")
        found = None if plan else learn_bounds(curator, request)
    if found is None:
        if as_json:
            print(json.dumps(bounds_view.plan_to_json(planned)))
        else:
            bounds_view.print_plan(Console(), planned)
        return
    if not as_json:
        bounds_view.print_bounds(Console(), found)  # first: it is charged, whether or not it can be written
    written = str(policy) if write and write_bounds(found, policy) else None
    if as_json:
        print(json.dumps(bounds_view.bounds_to_json(found, written=written)))
    elif written is not None:
        Console().print(f"wrote {written}", highlight=False, markup=False, soft_wrap=True)
