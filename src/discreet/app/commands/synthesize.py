"""`discreet synthesize`: publish a synthetic table whose counts are close to those of the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from discreet.app.collect.yaml_files import parse_promise
from discreet.app.commands.addressed import EngineAddress
from discreet.app.commands.options import POLICY, AsJson, AtMost, Force, PolicyFile
from discreet.app.commands.progress import spinner
from discreet.app.listed import listed
from discreet.app.policies import load
from discreet.app.terminal import Console
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help=".parquet, .csv, .duckdb or FILE.duckdb#TABLE.")
    ],
    policy: PolicyFile = POLICY,
    analyst: Annotated[str | None, typer.Option(help="The analyst whose share is charged.")] = None,
    engine: EngineAddress = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilon that it may cost, a part of the promise.")
    ] = None,
    promise: Annotated[
        str | None,
        typer.Option(help="Instead of --epsilon: prior:posterior for this table alone, such as 1%:2%."),
    ] = None,
    delta: Annotated[str, typer.Option(help="For a promise with a tail, such as 1e-9.")] = "0",
    quality: Annotated[str, typer.Option(help="lean (MST, a second) or best (AIM, minutes).")] = "lean",
    columns: Annotated[str | None, typer.Option(help="a,b,c; all declared columns by default.")] = None,
    log: Annotated[str | None, typer.Option(help="Columns to divide on a log scale: a,b.")] = None,
    agree: Annotated[
        str | None,
        typer.Option("--with", help="Earlier answers to be consistent with, by ledger entry: 3,5 or all."),
    ] = None,
    panel: Annotated[
        Path | None, typer.Option(help="A file of people who are not in the data, as a baseline for attacks.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A column to predict from real and from synthetic rows, with --panel.")
    ] = None,
    at_most: AtMost = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Publish a synthetic table under the promise; attacks are run on it before it is written."""
    from discreet.app.synthesis import publishing, view  # deferred: their imports take a second
    from discreet.app.synthesis.synthesizing import Request

    if quality not in ("lean", "best"):
        raise RequestError(f"--quality is lean or best; got {quality}.", hint="Leave it out for lean.")
    if promise is not None and (epsilon is not None or parse_number("--delta", delta)):
        raise RequestError(
            "--promise and --epsilon or --delta exclude each other.", hint="Leave --epsilon and --delta out."
        )
    request = Request(
        table=table,
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        promise=None if promise is None else _beliefs(promise),
        delta=parse_number("--delta", delta),
        quality=cast(Literal["lean", "best"], quality),
        columns=listed(columns) or None,
        logarithmic=listed(log),
        earlier=_entries(agree),
    )
    with spinner() as tell:
        made = publishing.publish(
            load(policy, engine=engine),
            request,
            output,
            analyst=analyst,
            panel=panel,
            target=target,
            at_most=None if at_most is None else parse_probability("--at-most", at_most),
            force=force,
            tell=tell,
        )
    if as_json:
        print(json.dumps(view.as_object(made.found, made.comparison, made.trial, made.written)))
    else:
        view.show(Console(), made.found, made.comparison, made.trial, made.written)


def _beliefs(text: str) -> tuple[float, float]:
    promise = parse_promise("--promise", text)
    return promise.prior, promise.posterior


def _entries(text: str | None) -> tuple[int, ...] | Literal["all"]:
    if text is None or text == "all":
        return "all" if text else ()
    words = listed(text)
    if not words or not all(word.isdecimal() for word in words):
        raise RequestError(
            f"--with must be entries of the ledger, such as 3,5, or all; got {text}.",
            hint="`discreet ledger` lists them.",
        )
    return tuple(map(int, words))
