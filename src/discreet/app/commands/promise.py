"""`discreet promise`: what a promise, or an epsilon found in any other way, means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.belief import (
    Choice,
    Promise,
    accuracy_first,
    belief,
    epsilon_generation,
    identifiability,
    possible_worlds,
    relative_error,
    risk_profile,
)
from discreet.belief.wording import number, percent
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_number, parse_probability
from discreet.core.relations import Relation

PRIORS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
Typed = str | None


def run(
    prior: Annotated[Typed, typer.Option(help="What an attacker believes at most beforehand: 1%.")] = None,
    posterior: Annotated[Typed, typer.Option(help="What may be believed at most afterwards: 5%.")] = None,
    secret: Annotated[str, typer.Option(help="What is kept: value or presence.")] = "value",
    group: Annotated[int, typer.Option(help="People kept together, such as a household.")] = 1,
    tail: Annotated[str, typer.Option(help="How probably the cap may be passed, for each person.")] = "0",
    epsilon: Annotated[Typed, typer.Option(help="Instead: what this epsilon means.")] = None,
    within: Annotated[
        Typed, typer.Option(help="Instead: the epsilon of one answer within ± this, at --confidence.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="For --within and --relative-error.")] = "95%",
    sensitivity: Annotated[str, typer.Option(help="For --within and --possible-worlds.")] = "1",
    identifiability: Annotated[
        Typed, typer.Option(help="Instead: none of --candidates is believed in with more than this.")
    ] = None,
    possible_worlds: Annotated[
        Typed, typer.Option(help="Instead: Lee and Clifton's, with --candidates, --sensitivity, --spread.")
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="How many candidates there are.")] = None,
    spread: Annotated[Typed, typer.Option(help="How far apart the worlds' answers are.")] = None,
    relative_error: Annotated[
        Typed, typer.Option(help="Instead: a count of about --count within this share, at --confidence.")
    ] = None,
    count: Annotated[Typed, typer.Option(help="The public size that --relative-error is taken of.")] = None,
    risk_ratio: Annotated[
        Typed, typer.Option(help="Instead: beliefs grow by at most this, given --membership, --attribute.")
    ] = None,
    membership: Annotated[Typed, typer.Option(help="The probability of being in the data.")] = None,
    attribute: Annotated[Typed, typer.Option(help="The probability of the value, given membership.")] = None,
    egm: Annotated[bool, typer.Option("--egm", help="Instead: EGM's heuristic: --rows, --columns.")] = False,
    rows: Annotated[int | None, typer.Option(help="Rows of the table, for --egm.")] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of the table, for --egm.")] = None,
    people: Annotated[int | None, typer.Option(help="How many people are in the data.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into a .svg or .png file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """What a promise means: in words, odds and, with --plot, a picture."""
    ways: dict[str, tuple[object, Callable[[], Choice]]] = {
        "--epsilon": (epsilon, lambda: _stated(epsilon, secret)),
        "--within": (within, lambda: _within(within, confidence, sensitivity, secret)),
        "--identifiability": (identifiability, lambda: _identifiability(identifiability, candidates)),
        "--possible-worlds": (
            possible_worlds,
            lambda: _possible_worlds(possible_worlds, candidates, sensitivity, spread),
        ),
        "--relative-error": (
            relative_error,
            lambda: _relative_error(relative_error, confidence, count, secret),
        ),
        "--risk-ratio": (risk_ratio, lambda: _risk_profile(risk_ratio, membership, attribute)),
        "--egm": (egm or None, lambda: _egm(rows, columns, secret)),
    }
    named = [name for name, (given, _) in ways.items() if given is not None]
    if len(named) + (posterior is not None) != 1:
        raise RequestError(
            "Say in one way what to explain.",
            hint=f"Give --prior and --posterior, or one of {', '.join(ways)}.",
        )
    if named:
        choice: Choice | None = ways[named[0]][1]()
        if group != 1 or parse_probability("--tail", tail) != 0:
            raise RequestError(
                f"--group and --tail go with --prior and --posterior, not with {named[0]}.",
                hint="Leave them out, or state the promise that you want.",
            )
        assert choice is not None
        made = choice.promise(parse_probability("--prior", prior or "1%"))
    else:
        choice = None
        made = Promise(
            parse_probability("--prior", _needed("--prior", prior, "--posterior")),
            parse_probability("--posterior", posterior or ""),
            secret=secret,
            group=group,
            tail=parse_probability("--tail", tail),
        )
    if plot is not None:
        from discreet.app.charts import promise_picture, save  # charts take a second to load

        save(promise_picture(made), plot)
    if as_json:
        print(json.dumps(as_object(made, choice, people)))
    else:
        show(Console(), made, choice, people)
        if plot is not None:
            Console(stderr=True).print(f"The picture is in {plot}.", highlight=False)


def as_object(promise: Promise, choice: Choice | None, people: int | None) -> dict[str, object]:
    """The machine-readable form."""
    return {
        "prior": promise.prior,
        "posterior": promise.posterior,
        "secret": promise.secret.value,
        "group": promise.group,
        "tail": promise.tail,
        "gamma": promise.gamma,
        "epsilon": promise.epsilon,
        "beliefs": [
            {"prior": prior, "highest": highest, "lowest": lowest}
            for prior, highest, lowest in _beliefs(promise)
        ],
        "explanation": promise.explain(people=people),
        **({"chosen": {"by": choice.name, "note": choice.note}} if choice else {}),
    }


def show(console: Console, promise: Promise, choice: Choice | None, people: int | None) -> None:
    """The explanation and the small table."""
    if choice is not None:
        found = f"[bold]{choice.name}[/bold]: epsilon = {number(choice.epsilon)}. {choice.note}\n"
        console.print(found, highlight=False)
    for line in promise.explain(people=people).splitlines():
        if line.startswith("- "):
            item = Table.grid(padding=(0, 1))
            item.add_row("•", Text(line.removeprefix("- ")))
            console.print(item)
        else:
            console.print(line, highlight=False, markup=False)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("\nbelieved before", justify="right")
    table.add_column("\nafter, at most", justify="right")
    table.add_column("\nafter, at least", justify="right")
    for prior, highest, lowest in _beliefs(promise):
        style = "bold" if prior == promise.prior else ""
        table.add_row(percent(prior), percent(highest), percent(lowest), style=style)
    console.print(table)


def _beliefs(promise: Promise) -> list[tuple[float, float, float]]:
    """Where each of the usual priors can end; about the group, where there is one."""
    priors = sorted({*PRIORS, promise.prior})
    ends = [belief(prior, promise.loss, secret=promise.secret) for prior in priors]
    return [(end.prior, end.highest, end.lowest) for end in ends]


def _needed(name: str, value: str | None, beside: str) -> str:
    if value is None:
        raise RequestError(f"{beside} needs {name} beside it.", hint=f"Add {name}.")
    return value


def _needed_count(name: str, value: int | None, beside: str) -> int:
    if value is None:
        raise RequestError(f"{beside} needs {name} beside it.", hint=f"Add {name}.")
    return value


def _stated(epsilon: Typed, secret: str) -> Choice:
    return Choice(
        name="As stated",
        epsilon=parse_number("--epsilon", epsilon or ""),
        relation=Relation.parse("promise", "secret", secret),
        note="What it allows, for a claim of the prior below:",
    )


def _within(within: Typed, confidence: str, sensitivity: str, secret: str) -> Choice:
    return accuracy_first(
        parse_number("--within", (within or "").lstrip("±")),
        1 - parse_probability("--confidence", confidence),
        sensitivity=parse_number("--sensitivity", sensitivity),
        noise="geometric",
        secret=secret,
    )


def _identifiability(rho: Typed, candidates: int | None) -> Choice:
    return identifiability(
        _needed_count("--candidates", candidates, "--identifiability"),
        parse_probability("--identifiability", rho or ""),
    )


def _possible_worlds(rho: Typed, candidates: int | None, sensitivity: str, spread: Typed) -> Choice:
    return possible_worlds(
        _needed_count("--candidates", candidates, "--possible-worlds"),
        parse_probability("--possible-worlds", rho or ""),
        sensitivity=parse_number("--sensitivity", sensitivity),
        spread=parse_number("--spread", _needed("--spread", spread, "--possible-worlds")),
    )


def _relative_error(share: Typed, confidence: str, count: Typed, secret: str) -> Choice:
    return relative_error(
        parse_probability("--relative-error", share or ""),
        parse_probability("--confidence", confidence),
        parse_number("--count", _needed("--count", count, "--relative-error")),
        secret=secret,
    )


def _risk_profile(ratio: Typed, membership: Typed, attribute: Typed) -> Choice:
    return risk_profile(
        parse_probability("--membership", _needed("--membership", membership, "--risk-ratio")),
        parse_probability("--attribute", _needed("--attribute", attribute, "--risk-ratio")),
        parse_number("--risk-ratio", ratio or ""),
    )


def _egm(rows: int | None, columns: int | None, secret: str) -> Choice:
    return epsilon_generation(
        _needed_count("--rows", rows, "--egm"), _needed_count("--columns", columns, "--egm"), secret=secret
    )
