"""Options that several subcommands share, so that each has one name and one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.core.errors import RequestError
from discreet.services.addresses import ENGINE_EXAMPLES

DEFAULT_POLICY = Path("privacy.yaml")
PolicyOption = Annotated[Path, typer.Option("--policy", "-p", help="The custodian's policy.")]
AnalystOption = Annotated[str | None, typer.Option(help="The analyst who asks.")]
MaxBeliefOption = Annotated[
    str | None,
    typer.Option(help="The highest belief that any attack may reach, such as 30%; above it, exit code 4."),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Publish even if an attack succeeds; the certificate says so.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ADDRESS",
        help=f"The engine that holds the rows, instead of the policy's: {ENGINE_EXAMPLES}.",
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="ADDRESS",
        help="The ledger, instead of the policy's: sqlite:///ledger.db or postgresql://….",
    ),
]


def require_one_format(**formats: bool) -> None:
    """Raise RequestError if several formats of stdout are asked for: `as_json=True, as_csv=True`."""
    given = [f"--{name.removeprefix('as_')}" for name, is_given in formats.items() if is_given]
    if len(given) > 1:
        listed = f"{', '.join(given[:-1])} and {given[-1]}"
        raise RequestError(f"{listed} exclude each other.", hint="Give one of them.")
