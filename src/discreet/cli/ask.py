"""`discreet plan` and `discreet ask`: the cost of a question, and its answer."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.check import confirm_data, print_notices
from discreet.cli.plot_option import PlotOption, require_plot, save_plot
from discreet.cli.progress_bar import show_progress
from discreet.cli.request_options import options_from
from discreet.cli.shared_options import (
    DEFAULT_POLICY,
    AnalystOption,
    EngineOption,
    JsonOption,
    LedgerOption,
    PolicyOption,
    require_one_format,
)
from discreet.rendering import answer_view
from discreet.rendering.terminal import Console
from discreet.services.curator import Curator
from discreet.services.question_request import QuestionRequest
from discreet.services.request_fields import OUTPUT_PANEL


@options_from(QuestionRequest)
def run_plan(
    request: QuestionRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the cost of a question and the error of its answer.

    It costs nothing and reads no data.
    """
    with _open_curator(policy, analyst, engine, ledger) as curator:
        proposal = curator.plan_question(request, verb="plan")
    if as_json:
        print(json.dumps(proposal.to_json()))
    else:
        answer_view.show_proposal(Console(), proposal)


@options_from(QuestionRequest)
def run_ask(
    request: QuestionRequest,
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    analyst: AnalystOption = None,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The table as CSV on stdout.", rich_help_panel=OUTPUT_PANEL)
    ] = False,
    plot: PlotOption = None,
) -> None:
    """Answer a question; print its errors, cost and belief.

    The belief is what an attacker may now hold of a claim about one person.
    """
    require_one_format(as_json=as_json, as_csv=as_csv)
    with _open_curator(policy, analyst, engine, ledger) as curator:
        proposal = curator.plan_question(request)
        if not proposal.repeated:
            confirm_data(curator, request.sql)
        if plot is not None:
            require_plot(plot, proposal.query_plan)
        answer = curator.ask(proposal)
        print_notices(curator, request.sql)
    if plot is not None:
        save_plot(answer, plot)
    if as_json:
        print(json.dumps(answer.to_json()))
    elif as_csv:
        print(answer.to_csv(), end="")
    else:
        answer_view.show_answer(Console(), answer)


@contextmanager
def _open_curator(
    policy: Path, analyst: str | None, engine: str | None, ledger: str | None
) -> Iterator[Curator]:
    """Open the curator; the first call prepares the store and shows its progress."""
    with show_progress() as tell, warnings.catch_warnings():
        # `confirm_data` refuses what the library warns of
        warnings.filterwarnings("ignore", message="check: not as declared")
        curator = Curator.open(policy, analyst=analyst, engine=engine, ledger=ledger, progress=tell)
    with curator:
        yield curator
