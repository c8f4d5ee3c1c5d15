"""What `discreet audit` does: audit a mechanism or a question, and show what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.app.policies import load
from discreet.app.question_audit import RUNS, audit_question
from discreet.attacks.audit import Audited, audit
from discreet.attacks.pairs import DELTA, pair
from discreet.belief.odds import highest
from discreet.belief.wording import at_most, number, percent
from discreet.core.errors import RequestError
from discreet.core.numbers import parse_number
from discreet.core.randomness import Randomness

PRIOR = 0.01


def audit_mechanism(
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


def audit_policy(
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
