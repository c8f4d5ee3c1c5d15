"""`discreet tabulate`: publish a table of counts, marginals, or ranges of an ordered column."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import count_command
from discreet.core.number_checks import Real
from discreet.services.name_lists import split_names
from discreet.services.tabulate import TabulateRequest, plan_table_release


@count_command.make_count_command
def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    columns: Annotated[str | None, typer.Option(help="a,b,c: count every combination of their bins.")] = None,
    ranges: Annotated[
        str | None,
        typer.Option(help="A number or date column: count every range of it, for each combination."),
    ] = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(help="Instead of all combinations: --marginal sex --marginal sex,race."),
    ] = None,
    bins: count_command.Bins = None,
    log: Annotated[str | None, typer.Option(help="Columns to divide on a log scale: a,b.")] = None,
    *,
    epsilon: Real | None,
    delta: Real,
) -> count_command.PublicationBuilder:
    """Publish counts under the promise: a histogram, a contingency table, marginals or ranges."""
    sets = [split_names(each) for each in marginal or []]
    named = split_names(columns) or tuple(dict.fromkeys(name for each in sets for name in each))
    request = TabulateRequest(
        table=table,
        columns=named,
        ranges=ranges,
        marginals=sets,
        bins=count_command.parse_bins(bins),
        logarithmic=split_names(log),
        epsilon=epsilon,
        delta=delta,
    )
    return lambda curator, _: plan_table_release(curator, request)
