"""`discreet promise`: the meaning of a promise, or of an epsilon that was chosen in another way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.promise_options import PromiseOptions, parse_promise
from discreet.cli.shared_options import JsonOption
from discreet.rendering.promise_view import explanation_to_json, show_explanation
from discreet.rendering.terminal import Console

OptionText = str | None


def run(
    prior: Annotated[OptionText, typer.Option(help="An attacker's highest belief beforehand: 1%.")] = None,
    posterior: Annotated[OptionText, typer.Option(help="The highest belief allowed afterwards: 5%.")] = None,
    secret: Annotated[
        OptionText, typer.Option(help="The secret to protect: value (the default) or presence.")
    ] = None,
    group: Annotated[
        int | None, typer.Option(help="The size of a group protected together, such as a household.")
    ] = None,
    tail: Annotated[
        OptionText, typer.Option(help="The probability, per person, that the posterior may be exceeded.")
    ] = None,
    epsilon: Annotated[OptionText, typer.Option(help="Instead: explain this epsilon.")] = None,
    within: Annotated[
        OptionText, typer.Option(help="Instead: the epsilon of one answer within ± this, at --confidence.")
    ] = None,
    confidence: Annotated[
        OptionText, typer.Option(help="For --within and --relative-error; 95% by default.")
    ] = None,
    sensitivity: Annotated[
        OptionText, typer.Option(help="For --within and --possible-worlds; 1 by default.")
    ] = None,
    identifiability: Annotated[
        OptionText, typer.Option(help="Instead: the highest belief in any one of --candidates.")
    ] = None,
    possible_worlds: Annotated[
        OptionText,
        typer.Option(help="Instead: Lee and Clifton's, with --candidates, --sensitivity, --spread."),
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="The number of candidates.")] = None,
    spread: Annotated[OptionText, typer.Option(help="The distance between the worlds' answers.")] = None,
    relative_error: Annotated[
        OptionText, typer.Option(help="Instead: a count of about --count within this share, at --confidence.")
    ] = None,
    count: Annotated[
        OptionText, typer.Option(help="The public count that --relative-error refers to.")
    ] = None,
    risk_ratio: Annotated[
        OptionText,
        typer.Option(help="Instead: the highest growth factor of a belief, given --membership, --attribute."),
    ] = None,
    membership: Annotated[OptionText, typer.Option(help="The probability of being in the data.")] = None,
    attribute: Annotated[
        OptionText, typer.Option(help="The probability of the value, given membership.")
    ] = None,
    egm: Annotated[bool, typer.Option("--egm", help="Instead: EGM's heuristic: --rows, --columns.")] = False,
    rows: Annotated[int | None, typer.Option(help="Rows of the table, for --egm.")] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of the table, for --egm.")] = None,
    people: Annotated[int | None, typer.Option(help="How many people are in the data.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into a .svg or .png file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a promise in words, odds and, with --plot, a chart."""
    given: PromiseOptions = {
        "--prior": prior,
        "--posterior": posterior,
        "--secret": secret,
        "--group": group,
        "--tail": tail,
        "--epsilon": epsilon,
        "--within": within,
        "--confidence": confidence,
        "--sensitivity": sensitivity,
        "--identifiability": identifiability,
        "--possible-worlds": possible_worlds,
        "--candidates": candidates,
        "--spread": spread,
        "--relative-error": relative_error,
        "--count": count,
        "--risk-ratio": risk_ratio,
        "--membership": membership,
        "--attribute": attribute,
        "--egm": egm or None,
        "--rows": rows,
        "--columns": columns,
    }
    made, choice = parse_promise({name: value for name, value in given.items() if value is not None})
    if plot is not None:
        # only with --plot: the charting library takes most of the command's time to load
        from discreet.rendering.charts import save_chart
        from discreet.rendering.promise_chart import draw_promise

        save_chart(draw_promise(made), plot)
    if as_json:
        print(json.dumps(explanation_to_json(made, choice, people)))
    else:
        show_explanation(Console(), made, choice, people)
        if plot is not None:
            Console(stderr=True).print(f"The picture is in {plot}.", highlight=False)
