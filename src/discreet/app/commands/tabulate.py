"""`discreet tabulate`: publish a table of counts, marginals, or ranges of an ordered column."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.app.commands import counted
from discreet.app.commands.addressed import EngineAddress
from discreet.app.commands.counted import POLICY
from discreet.app.listed import listed
from discreet.core.numbers import parse_number


def run(
    table: Annotated[str, typer.Argument(help="A table of the policy.")],
    columns: Annotated[str | None, typer.Option(help="a,b,c: every combination of their bins.")] = None,
    ranges: Annotated[
        str | None, typer.Option(help="A number or date: every range of it, for each combination.")
    ] = None,
    marginal: Annotated[
        list[str] | None,
        typer.Option(help="Instead of all combinations: --marginal sex --marginal sex,race."),
    ] = None,
    bins: counted.Bins = None,
    log: Annotated[str | None, typer.Option(help="Columns to divide on a log scale: a,b.")] = None,
    policy: counted.PolicyFile = POLICY,
    analyst: counted.Analyst = None,
    engine: EngineAddress = None,
    epsilon: counted.Epsilon = None,
    delta: counted.Delta = "0",
    output: counted.Output = None,
    plan: counted.PlanOnly = False,
    as_json: counted.AsJson = False,
) -> None:
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
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        delta=parse_number("--delta", delta),
    )
    counted.run(
        policy,
        analyst,
        lambda curator, _: publication(curator, request),
        engine=engine,
        output=output,
        plan_only=plan,
        as_json=as_json,
    )
