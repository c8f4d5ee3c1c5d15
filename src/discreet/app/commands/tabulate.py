"""`discreet tabulate`: publish a table of counts, marginals, or ranges of an ordered column."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.app.commands import counted
from discreet.app.listed import listed
from discreet.core.number_checks import Real


@counted.publishing
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
    bins: counted.Bins = None,
    log: Annotated[str | None, typer.Option(help="Columns to divide on a log scale: a,b.")] = None,
    *,
    epsilon: Real | None,
    delta: Real,
) -> counted.Planned:
    """Publish counts under the promise: a histogram, a contingency table, marginals or ranges."""
    from discreet.app.counts.tables import Request, publication

    sets = [listed(each) for each in marginal or []]
    named = listed(columns) or tuple(dict.fromkeys(name for each in sets for name in each))
    request = Request(
        table=table,
        columns=named,
        ranges=ranges,
        marginals=sets,
        bins=counted.bins_of(bins),
        logarithmic=listed(log),
        epsilon=epsilon,
        delta=delta,
    )
    return lambda curator, _: publication(curator, request)
