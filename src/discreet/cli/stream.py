"""`discreet stream`: answer many counting questions over one table, under one charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import count_command
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.services.name_lists import split_names
from discreet.services.stream import StreamRequest, plan_stream_release


@count_command.make_count_command
def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    file: Annotated[Path, typer.Argument(help="One SELECT COUNT(*) FROM table WHERE … a line.")],
    method: Annotated[
        str | None, typer.Option(help="median, weights or laplace; by default, the one with the least error.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="a,b,c; by default, those that the questions use.")
    ] = None,
    bins: count_command.Bins = None,
    updates: Annotated[int | None, typer.Option(help="The most answers to measure afresh.")] = None,
    *,
    epsilon: Real | None,
    delta: Real,
) -> count_command.PublicationBuilder:
    """Answer counting questions in order, each from earlier releases if they are accurate enough."""
    request = StreamRequest(
        table=table,
        columns=split_names(columns),
        method=method,
        updates=updates,
        bins=count_command.parse_bins(bins),
        epsilon=epsilon,
        delta=delta,
    )
    texts = _read_questions(file)
    return lambda curator, tell: plan_stream_release(curator, request, texts, tell)


def _read_questions(file: Path) -> list[str]:
    """Return the questions of a file, one a line, without blank lines and -- comments."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise RequestError(f"{file} cannot be read as text.", hint="Name a file of questions.") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("--")]
