"""`discreet itemsets`: find the itemsets that occur in many rows."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.app.commands import counted
from discreet.app.listed import listed
from discreet.core.number_checks import Real, parse_probability


@counted.publishing
def run(
    table: Annotated[str, typer.Argument(help="A table of the policy; its rows are baskets.")],
    items: Annotated[str | None, typer.Option(help="Boolean columns: a,b; all by default.")] = None,
    threshold: Annotated[
        str, typer.Option(help="The least share of rows that have the itemset, such as 10%.")
    ] = "10%",
    basis: Annotated[int, typer.Option(help="How many of the most frequent items to combine.")] = 8,
    largest: Annotated[int, typer.Option(help="The most items of an itemset.")] = 3,
    *,
    epsilon: Real | None,
    delta: Real,
) -> counted.Planned:
    """Find the itemsets that many rows have, charged like a question; repeating it is free."""
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
