"""`discreet audit`: an empirical lower bound on epsilon, of a mechanism or of a question under a policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from discreet.app.commands.progress import spinner
from discreet.app.policies import load
from discreet.app.question_audit import RUNS, audit_question
from discreet.attacks.audit import Audited, audit
from discreet.attacks.pairs import DELTA, named, pair
from discreet.belief.odds import highest
from discreet.belief.wording import at_most, number, percent
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_number, parse_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms import MECHANISMS

NAMES = ", ".join(named(kind) for kind in MECHANISMS)
NOT_MET = 4
PRIOR = 0.01


def run(
    audited: Annotated[
        str, typer.Argument(metavar="MECHANISM|SQL", help=f"With --policy, a question; else one of {NAMES}.")
    ],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="Audit a question, on made-up tables that follow it."),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The epsilon that is claimed; 1, or what the policy says.")
    ] = None,
    delta: Annotated[str | None, typer.Option(help="For mechanisms that have one; 1e-6.")] = None,
    runs: Annotated[
        int | None, typer.Option(help="How often to run it on each of the two neighbours.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure the bound is.")] = "95%",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """A lower bound on epsilon from many runs; exit code 4 if it is above what is claimed.

    Reads no data and charges nothing: mechanisms run on numbers, questions on tables that are made up.
    """
    sure = parse_probability("--confidence", confidence)
    claimed = None if epsilon is None else parse_number("--epsilon", epsilon)
    with spinner() as tell:
        if policy is not None:
            found = _question(policy, audited, claimed, delta, runs, sure, tell)
        else:
            tell(f"running {audited}")
            found = _mechanism(audited, claimed, delta, runs, sure)
    if as_json:
        print(json.dumps(as_object(found)))
    else:
        show(Console(), audited, found)
    if not found.holds:
        raise typer.Exit(NOT_MET)


def _mechanism(
    name: str, epsilon: float | None, delta: str | None, runs: int | None, confidence: float
) -> Audited:
    claimed = 1.0 if epsilon is None else epsilon
    audited = pair(name, epsilon=claimed, delta=DELTA if delta is None else parse_number("--delta", delta))
    here, there = audited.draws(Randomness())
    return audit(
        here,
        there,
        claimed=claimed,
        delta=max(0.0, audited.mechanism.guarantee.profile(claimed)),
        runs=audited.runs if runs is None else runs,
        confidence=confidence,
    )


def _question(
    path: Path,
    sql: str,
    epsilon: float | None,
    delta: str | None,
    runs: int | None,
    confidence: float,
    tell: Callable[[str], None],
) -> Audited:
    if delta is not None:
        raise RequestError(
            "audit: --delta goes with a mechanism.", hint="A question's delta follows from the promise."
        )
    policy = load(path)
    return audit_question(
        policy,
        sql,
        epsilon=(policy.epsilon or 1.0) if epsilon is None else epsilon,
        runs=RUNS if runs is None else runs,
        confidence=confidence,
        progress=tell,
    )


def as_object(found: Audited) -> dict[str, object]:
    """The machine-readable form."""
    return {
        "claimed": found.claimed,
        "lower_bound": found.lower_bound,
        "confidence": found.confidence,
        "delta": found.delta,
        "runs": found.runs,
        "holds": found.holds,
        "verdict": found.verdict,
    }


def show(console: Console, audited: str, found: Audited) -> None:
    """Claim and bound, each with the belief that it allows, and the verdict."""
    console.print(audited, style="bold", markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for title in ("", "epsilon", f"a belief of {percent(PRIOR)} can become"):
        table.add_column(title, justify="right" if title else "left")
    table.add_row("claimed", number(found.claimed), f"at most {at_most(highest(PRIOR, found.claimed))}")
    reached = percent(highest(PRIOR, found.lower_bound))
    table.add_row("shown by the runs", number(found.lower_bound), f"at least {reached}")
    console.print(table)
    more, fewer = found.hits
    console.print(
        f"\nAn event was chosen on half of {found.runs:,} runs on each of two neighbours. In the other half "
        f"it happened {more:,} times on the one and {fewer:,} times on the other.",
        highlight=False,
    )
    style = "green" if found.holds else "red"
    console.print(found.verdict, style=style, highlight=False)
