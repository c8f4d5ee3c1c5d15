"""`discreet synthesize`: publish a synthetic table whose counts are close to those of the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import (
    DEFAULT_POLICY,
    EngineOption,
    ForceOption,
    JsonOption,
    MaxBeliefOption,
    PolicyOption,
)
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.rendering import synthetic_view
from discreet.rendering.synthetic_report import write_synthetic_report
from discreet.rendering.terminal import Console
from discreet.services.collect.collect_requests import parse_promise
from discreet.services.policies import load_policy
from discreet.services.request_fields import split_names
from discreet.services.synthesize import synthetic_publication
from discreet.services.synthesize.synthetic_table import SynthesizeRequest


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help=".parquet, .csv, .duckdb or FILE.duckdb#TABLE.")
    ],
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: Annotated[str | None, typer.Option(help="The analyst whose share is charged.")] = None,
    engine: EngineOption = None,
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
    at_most: MaxBeliefOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish a synthetic table under the promise; attacks are run on it before it is written."""
    if quality not in ("lean", "best"):
        raise RequestError(f"--quality is lean or best; got {quality}.", hint="Leave it out for lean.")
    if promise is not None and (epsilon is not None or parse_number("--delta", delta)):
        raise RequestError(
            "--promise and --epsilon or --delta exclude each other.", hint="Leave --epsilon and --delta out."
        )
    request = SynthesizeRequest(
        table=table,
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        promise=None if promise is None else _parse_beliefs(promise),
        delta=parse_number("--delta", delta),
        quality=cast(Literal["lean", "best"], quality),
        columns=split_names(columns) or None,
        logarithmic=split_names(log),
        earlier=_parse_entries(agree),
    )
    with show_progress() as tell:
        made = synthetic_publication.publish_synthetic(
            load_policy(policy, engine=engine),
            request,
            output,
            analyst=analyst,
            panel=panel,
            target=target,
            at_most=None if at_most is None else parse_probability("--at-most", at_most),
            force=force,
            report_progress=tell,
        )
        files = (*made.files, write_synthetic_report(made))
    if as_json:
        print(json.dumps(synthetic_view.synthetic_to_json(made, files)))
    else:
        synthetic_view.print_synthetic(Console(), made, files)


def _parse_beliefs(text: str) -> tuple[float, float]:
    promise = parse_promise("--promise", text)
    return promise.prior, promise.posterior


def _parse_entries(text: str | None) -> tuple[int, ...] | Literal["all"]:
    if text is None or text == "all":
        return "all" if text else ()
    words = split_names(text)
    if not words or not all(word.isdecimal() for word in words):
        raise RequestError(
            f"--with must be entries of the ledger, such as 3,5, or all; got {text}.",
            hint="`discreet ledger` lists them.",
        )
    return tuple(map(int, words))
