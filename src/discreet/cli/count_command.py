"""The shared part of the commands that release counts: `tabulate`, `itemsets` and `stream`.

Each of them declares its own options and returns the publication that they describe, for an epsilon and a
delta. `make_count_command` adds the options that all of them share, and prints or writes the result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import DEFAULT_POLICY, AnalystOption, EngineOption, JsonOption, PolicyOption
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import parse_number
from discreet.rendering.terminal import Console
from discreet.services.progress import ProgressCallback

if TYPE_CHECKING:
    from discreet.services.count_publication import Publication
    from discreet.services.curator import Curator

Bins = Annotated[list[str] | None, typer.Option(help="Divide a number or date into bins: --bins age=8.")]
PublicationBuilder = Callable[["Curator", ProgressCallback], "Publication"]
"""Builds the publication from a curator's tables; may report its progress."""


def make_count_command(verb: Callable[..., PublicationBuilder]) -> Callable[..., None]:
    """Return the command of a verb; the verb gets its own options and, by keyword, epsilon and delta."""
    own = {
        name: each
        for name, each in inspect.signature(verb, eval_str=True).parameters.items()
        if each.kind is not each.KEYWORD_ONLY
    }
    _, *shared = inspect.signature(_run, eval_str=True).parameters.values()

    def command(**given: Any) -> None:
        _run(partial(verb, **{name: given.pop(name) for name in own}), **given)

    command.__doc__ = verb.__doc__
    command.__signature__ = inspect.Signature([*own.values(), *shared])  # type: ignore[attr-defined]
    return command


def _run(
    verb: Callable[..., PublicationBuilder],
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilon that it may cost, a part of the promise.")
    ] = None,
    delta: Annotated[str, typer.Option(help="For a promise with a tail, such as 1e-9.")] = "0",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=".csv, .parquet, .duckdb or FILE.duckdb#TABLE.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the cost and the expected error.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Plan a publication and print the plan, or release it, write it and print it."""
    from discreet.rendering import count_view  # deferred: their imports take a second
    from discreet.services.count_publication import (
        make_offer,
        release_counts,
        require_writable_output,
        write_release,
    )
    from discreet.services.curator import Curator

    spent = None if epsilon is None else parse_number("--epsilon", epsilon)
    planned = verb(epsilon=spent, delta=parse_number("--delta", delta))
    with (
        show_progress() as tell,
        Curator.open(policy, analyst=analyst, engine=engine, progress=tell) as curator,
    ):
        publication = planned(curator, tell)
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


def parse_bins(options: list[str] | None) -> dict[str, int]:
    """Return the number of bins of each column, from texts such as age=8."""
    return dict(map(_parse_bin_option, options or []))


def _parse_bin_option(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal() or int(number) < 1:
        raise InvalidParameterError(
            f"--bins must be a column and its number of bins, such as age=8; got {text}."
        )
    return name, int(number)
