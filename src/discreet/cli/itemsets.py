"""`discreet itemsets`: find the itemsets that occur in many rows."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import count_command
from discreet.core.number_checks import Real, parse_probability
from discreet.services.itemsets import ItemsetsRequest, plan_itemsets_release
from discreet.services.name_lists import split_names


@count_command.make_count_command
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
) -> count_command.PublicationBuilder:
    """Find the itemsets that many rows have, charged like a question; repeating it is free."""
    request = ItemsetsRequest(
        table=table,
        items=split_names(items) or None,
        threshold=parse_probability("--threshold", threshold),
        basis=basis,
        largest=largest,
        epsilon=epsilon,
        delta=delta,
    )
    return lambda curator, _: plan_itemsets_release(curator, request)
