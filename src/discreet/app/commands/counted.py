"""What the verbs that release counts share: a plan or a result, for people or machines, and a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.app.commands.progress import Tell, spinner
from discreet.app.terminal import Console
from discreet.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from discreet.app.counts.publication import Publication
    from discreet.app.curator import Curator

POLICY = Path("privacy.yaml")
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The custodian's policy.")]
Analyst = Annotated[str | None, typer.Option(help="Who asks.")]
Epsilon = Annotated[str | None, typer.Option(help="What it may cost, a part of the promise.")]
Delta = Annotated[str, typer.Option(help="Under a promise with a tail, such as 1e-9.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help=".csv, .parquet, .duckdb or FILE.duckdb#TABLE.")
]
Bins = Annotated[list[str] | None, typer.Option(help="Divide a number or date into bins: --bins age=8.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only what it would cost and how wrong it may be.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def run(
    policy: Path,
    analyst: str | None,
    publication_of: Callable[[Curator, Tell], Publication],
    *,
    engine: str | None,
    output: Path | None,
    plan_only: bool,
    as_json: bool,
) -> None:
    """Plan a publication and show that, or carry it out, write it and show it."""
    from discreet.app.counts import view  # what these need takes a second to load
    from discreet.app.counts.publication import make, offer, publish, require_place
    from discreet.app.curator import Curator

    with spinner() as tell, Curator.open(policy, analyst=analyst, engine=engine, progress=tell) as curator:
        publication = publication_of(curator, tell)
        require_place(curator, publication, output)
        offered = offer(curator, publication)
        tell("counting")
        found = None if plan_only else make(curator, publication)
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
    """The columns and their bins, as typed."""
    return dict(map(_bins, options or []))


def _bins(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not number.isdecimal() or int(number) < 1:
        raise InvalidParameterError(
            f"--bins must be a column and how many bins it has, such as age=8; got {text}."
        )
    return name, int(number)
