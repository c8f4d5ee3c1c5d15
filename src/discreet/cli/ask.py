"""`discreet plan` and `discreet ask`: the cost of a question, and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from discreet.cli.progress_bar import show_progress
from discreet.cli.shared_options import (
    DEFAULT_POLICY,
    AnalystOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    PolicyOption,
)
from discreet.core.errors import InvalidParameterError
from discreet.core.number_checks import parse_number, parse_probability
from discreet.rendering import answer_view
from discreet.rendering.terminal import Console
from discreet.services.curator import Curator

Sql = Annotated[str, typer.Argument(help="The question, as SQL.")]
Epsilon = Annotated[str | None, typer.Option(help="The epsilon that the question may cost.")]
Share = Annotated[str | None, typer.Option(help="Instead of --epsilon: a share of the promise, such as 5%.")]
Within = Annotated[
    str | None,
    typer.Option(
        help="Instead of --epsilon: the least cost for an error of ± this; for MEDIAN in ranks, such as 2%."
    ),
]
LeastRows = Annotated[
    int | None,
    typer.Option(help="Your assumption of the least rows in a group; for --within of AVG and MEDIAN."),
]
Split = Annotated[
    list[str] | None,
    typer.Option(help="Weights by which columns share the cost: --split n=1 --split mean=3."),
]
Confidence = Annotated[str, typer.Option(help="The confidence of the intervals.")]
Raw = Annotated[bool, typer.Option("--raw", help="Leave negative counts as they are.")]


def run_plan(
    sql: Sql,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    epsilon: Epsilon = None,
    share: Share = None,
    within: Within = None,
    least_rows: LeastRows = None,
    split: Split = None,
    confidence: Confidence = "95%",
    raw: Raw = False,
    as_json: JsonOption = False,
) -> None:
    """Show the cost of a question and the error of its answer. Costs nothing."""
    with _open_curator(policy, analyst, engine, ledger) as curator:
        proposal = curator.plan(
            sql,
            **_parse_cost(epsilon, share, within, confidence),
            **_parse_accuracy(least_rows, split),
            raw=raw,
        )
    if as_json:
        print(json.dumps(proposal.to_json()))
    else:
        answer_view.show_proposal(Console(), proposal)


def run_ask(
    sql: Sql,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    epsilon: Epsilon = None,
    share: Share = None,
    within: Within = None,
    least_rows: LeastRows = None,
    split: Split = None,
    confidence: Confidence = "95%",
    raw: Raw = False,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The table as CSV on stdout.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it into a .svg or .png file.")] = None,
) -> None:
    """Answer a question, with error bars, its cost, and the belief that an attacker may now hold."""
    with _open_curator(policy, analyst, engine, ledger) as curator:
        proposal = curator.plan(
            sql,
            **_parse_cost(epsilon, share, within, confidence),
            **_parse_accuracy(least_rows, split),
            raw=raw,
        )
        if plot is not None:
            # only with --plot: an answer need not wait for the charting library to load
            from discreet.rendering.answer_chart import require_drawable
            from discreet.rendering.charts import require_chart_path

            require_chart_path(plot)
            require_drawable(proposal.query_plan)
        answer = curator.ask(proposal)
    if plot is not None:
        from discreet.rendering.answer_chart import draw_answer_chart
        from discreet.rendering.charts import save_chart  # see above

        save_chart(draw_answer_chart(answer), plot)
    if as_json:
        print(json.dumps(answer.to_json()))
    elif as_csv:
        print(answer.to_csv(), end="")
    else:
        answer_view.show_answer(Console(), answer)


class CostOptions(TypedDict):
    """Limits on the cost of a question, given in one of three ways, and the confidence of its intervals."""

    epsilon: float | None
    share: float | None
    within: float | str | None
    confidence: float


def _parse_cost(epsilon: str | None, share: str | None, within: str | None, confidence: str) -> CostOptions:
    return CostOptions(
        epsilon=None if epsilon is None else parse_number("--epsilon", epsilon),
        share=None if share is None else parse_probability("--share", share),
        within=None if within is None else _parse_within(within.strip().lstrip("±")),
        confidence=parse_probability("--confidence", confidence),
    )


def _parse_within(text: str) -> float | str:
    return text if text.endswith("%") else parse_number("--within", text)


class AccuracyOptions(TypedDict):
    """The analyst's assumption about group sizes, and the division of the cost among columns."""

    least_rows: int | None
    split: dict[str, float] | None


def _parse_accuracy(least_rows: int | None, split: list[str] | None) -> AccuracyOptions:
    return AccuracyOptions(least_rows=least_rows, split=dict(map(_parse_weight, split)) if split else None)


def _parse_weight(text: str) -> tuple[str, float]:
    name, sign, weight = text.rpartition("=")
    if not sign or not name:
        raise InvalidParameterError(f"--split must be a column and its weight, such as n=2; got {text}.")
    return name, parse_number(f"--split {name}", weight)


@contextmanager
def _open_curator(
    policy: Path, analyst: str | None, engine: str | None, ledger: str | None
) -> Iterator[Curator]:
    """Open the curator; the first call prepares the store and shows its progress."""
    with show_progress() as tell:
        curator = Curator.open(policy, analyst=analyst, engine=engine, ledger=ledger, progress=tell)
    with curator:
        yield curator
