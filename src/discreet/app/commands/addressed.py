"""`--ledger`, which means the same wherever it is given."""

from __future__ import annotations

from typing import Annotated

import typer

LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="ADDRESS",
        help="Another ledger than the policy names: sqlite:///ledger.db or postgresql://….",
    ),
]
