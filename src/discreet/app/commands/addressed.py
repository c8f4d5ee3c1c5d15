"""`--engine` and `--ledger`, which mean the same wherever they are given."""

from __future__ import annotations

from typing import Annotated

import typer

EngineAddress = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ADDRESS",
        help="Where the rows are, instead of the policy's: duckdb, postgresql://…, spark:local.",
    ),
]
LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="ADDRESS",
        help="Another ledger than the policy names: sqlite:///ledger.db or postgresql://….",
    ),
]
