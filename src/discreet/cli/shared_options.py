"""Options shared by several subcommands; `address_options` has those that name an engine or a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
