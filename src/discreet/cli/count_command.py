"""The shared part of the commands that release counts: `tabulate`, `itemsets` and `stream`.

Each of them makes a publication of its request. `make_count_command` derives the options of the request, adds
those that all of them share, and prints or writes the result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import Command, options_from
from discreet.cli.shared_options import DEFAULT_POLICY, AnalystOption, EngineOption, JsonOption, PolicyOption
from discreet.rendering import count_view
from discreet.rendering.terminal import Console
from discreet.services.count_publication import (
    Publication,
    make_offer,
    release_counts,
    require_writable_output,
    write_release,
)
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback
from discreet.services.request_fields import COST_PANEL, OUTPUT_PANEL

PublicationBuilder = Callable[[Curator, ProgressCallback], Publication]
"""Builds the publication from a curator's tables; may report its progress."""


def make_count_command(model: type[BaseModel]) -> Callable[[Callable[..., PublicationBuilder]], Command]:
    """Return a decorator for a verb that makes a publication of its request.

    The command has the options of the request, the verb's own, and those that all of these verbs share.
    """

    def decorate(plan: Callable[..., PublicationBuilder]) -> Command:
        request, *own = inspect.signature(plan, eval_str=True).parameters.values()
        _, *shared = inspect.signature(_run_publication, eval_str=True).parameters.values()

        def run_command(request: BaseModel, **given: Any) -> None:
            rest = {each.name: given.pop(each.name) for each in own}
            _run_publication(plan(request, **rest), **given)

        run_command.__doc__ = plan.__doc__
        run_command.__signature__ = inspect.Signature([request, *own, *shared])  # type: ignore[attr-defined]
        return options_from(model)(run_command)

    return decorate


def _run_publication(
    build_publication: PublicationBuilder,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=".csv, .parquet, .duckdb or FILE.duckdb#TABLE.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only show the cost and the expected error.", rich_help_panel=COST_PANEL),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Plan a publication and print the plan, or release it, write it and print it."""
    with (
        show_progress() as tell,
        Curator.open(policy, analyst=analyst, engine=engine, progress=tell) as curator,
    ):
        publication = build_publication(curator, tell)
        require_writable_output(curator, publication, output)
        offered = make_offer(curator, publication)
        tell("counting")
        found = None if plan else release_counts(curator, publication)
        written = () if found is None else write_release(found, output)
    if found is None:
        if as_json:
            print(json.dumps(count_view.offer_to_json(offered)))
        else:
            count_view.print_offer(Console(), offered)
    elif as_json:
        print(json.dumps(count_view.counts_to_json(found, written)))
    else:
        count_view.print_counts(Console(), found, written)
