"""Options shared by several subcommands; `address_options` has those that name an engine or a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

POLICY = Path("privacy.yaml")
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The custodian's policy.")]
Analyst = Annotated[str | None, typer.Option(help="The analyst who asks.")]
AtMost = Annotated[
    str | None,
    typer.Option(help="The highest belief that any attack may reach, such as 30%; above it, exit code 4."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Publish even if an attack succeeds; the certificate says so.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
