"""The options `--engine` and `--ledger`, shared by all subcommands that take them."""

from __future__ import annotations

from typing import Annotated

import typer

EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ADDRESS",
        help="The engine that holds the rows, instead of the policy's: duckdb, postgresql://…, spark:local.",
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
