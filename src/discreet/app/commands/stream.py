"""`discreet stream`: many counting questions over one table, under one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.app.commands import counted
from discreet.app.commands.addressed import EngineAddress
from discreet.app.commands.counted import POLICY
from discreet.app.listed import listed
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_number


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    file: Annotated[Path, typer.Argument(help="One SELECT COUNT(*) FROM table WHERE … a line.")],
    method: Annotated[
        str | None, typer.Option(help="median, weights or laplace; else the one that errs least.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="a,b,c; else those that are asked for.")] = None,
    bins: counted.Bins = None,
    updates: Annotated[int | None, typer.Option(help="How many answers may be counted anew.")] = None,
    policy: counted.PolicyFile = POLICY,
    analyst: counted.Analyst = None,
    engine: EngineAddress = None,
    epsilon: counted.Epsilon = None,
    delta: counted.Delta = "0",
    output: counted.Output = None,
    plan: counted.PlanOnly = False,
    as_json: counted.AsJson = False,
) -> None:
    """Answer counting questions one after the other, each from what was released where that suffices."""
    from discreet.app.counts.streams import Request, publication

    request = Request(
        table=table,
        columns=listed(columns),
        method=method,
        updates=updates,
        bins=counted.bins_of(bins),
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        delta=parse_number("--delta", delta),
    )
    texts = _questions(file)
    counted.run(
        policy,
        analyst,
        lambda curator, tell: publication(curator, request, texts, tell),
        engine=engine,
        output=output,
        plan_only=plan,
        as_json=as_json,
    )


def _questions(file: Path) -> list[str]:
    """The lines that say something; those that begin with -- are comments."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise RequestError(f"{file} cannot be read as text.", hint="Name a file of questions.") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("--")]
