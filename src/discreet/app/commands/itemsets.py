"""`discreet itemsets`: which items occur together in many rows."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.app.commands import counted
from discreet.app.listed import listed
from discreet.core.number_checks import Real, parse_probability


@counted.publishing
def run(
    table: Annotated[str, typer.Argument(help="A table of the policy; its rows are baskets.")],
    items: Annotated[str | None, typer.Option(help="Columns that are true or false: a,b; else all.")] = None,
    threshold: Annotated[str, typer.Option(help="The least share of rows, such as 10%.")] = "10%",
    basis: Annotated[int, typer.Option(help="How many items are combined; the most frequent ones.")] = 8,
    largest: Annotated[int, typer.Option(help="How many items a set has at most.")] = 3,
    *,
    epsilon: Real | None,
    delta: Real,
) -> counted.Planned:
    """Find the itemsets that many rows have, charged like a question; the same again is free."""
    from discreet.app.counts.itemsets import Request, publication

    request = Request(
        table=table,
        items=listed(items) or None,
        threshold=parse_probability("--threshold", threshold),
        basis=basis,
        largest=largest,
        epsilon=epsilon,
        delta=delta,
    )
    return lambda curator, _: publication(curator, request)
