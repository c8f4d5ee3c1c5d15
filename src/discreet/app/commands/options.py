"""Options that mean the same wherever they are given; `addressed` has those that name a place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

POLICY = Path("privacy.yaml")
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The custodian's policy.")]
Analyst = Annotated[str | None, typer.Option(help="Who asks.")]
AtMost = Annotated[
    str | None, typer.Option(help="What any attack may come to believe, such as 30%; else exit code 4.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Publish whatever attacks find; the certificate says so.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
