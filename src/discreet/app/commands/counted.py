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

from discreet.app.commands.addressed import EngineAddress
from discreet.app.commands.options import POLICY, Analyst, AsJson, PolicyFile
from discreet.app.commands.progress import spinner
from discreet.app.progress import Tell
from discreet.app.terminal import Console
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import parse_number

if TYPE_CHECKING:
    from discreet.app.counts.publication import Publication
    from discreet.app.curator import Curator

Bins = Annotated[list[str] | None, typer.Option(help="Divide a number or date into bins: --bins age=8.")]
Planned = Callable[["Curator", Tell], "Publication"]
"""Builds the publication from a curator's tables; may report its progress."""


def publishing(verb: Callable[..., Planned]) -> Callable[..., None]:
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
    verb: Callable[..., Planned],
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    engine: EngineAddress = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilon that it may cost, a part of the promise.")
    ] = None,
    delta: Annotated[str, typer.Option(help="For a promise with a tail, such as 1e-9.")] = "0",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=".csv, .parquet, .duckdb or FILE.duckdb#TABLE.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the cost and the expected error.")] = False,
    as_json: AsJson = False,
) -> None:
    """Plan a publication and print the plan, or release it, write it and print it."""
    from discreet.app.counts import view  # deferred: their imports take a second
    from discreet.app.counts.publication import make, offer, publish, require_place
    from discreet.app.curator import Curator

    spent = None if epsilon is None else parse_number("--epsilon", epsilon)
    planned = verb(epsilon=spent, delta=parse_number("--delta", delta))
    with spinner() as tell, Curator.open(policy, analyst=analyst, engine=engine, progress=tell) as curator:
        publication = planned(curator, tell)
        require_place(curator, publication, output)
        offered = offer(curator, publication)
        tell("counting")
        found = None if plan else make(curator, publication)
        written = () if found is None else publish(found, output)
    if found is None:
        if as_json:
            print(json.dumps(view.offered(offered)))
        else:
            view.show_offer(Console(), offered)
    elif as_json:
        print(json.dumps(view.made(found, written)))
    else:
        view.show(Console(), found, written)


def bins_of(options: list[str] | None) -> dict[str, int]:
    """Return the number of bins of each column, from texts such as age=8."""
    return dict(map(_bins, options or []))


def _bins(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal() or int(number) < 1:
        raise InvalidParameterError(
            f"--bins must be a column and its number of bins, such as age=8; got {text}."
        )
    return name, int(number)
