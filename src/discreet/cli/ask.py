"""`discreet plan` and `discreet ask`: the cost of a question, or of those in a file, and the answers."""

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
from discreet.cli.question_file import find_question_file, read_questions
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
from discreet.core.errors import RequestError
from discreet.rendering import answer_view
from discreet.rendering.terminal import Console
from discreet.services.curator import Curator
from discreet.services.plan_batches import PlanBatch
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

    It costs nothing and reads no data. The statements of a file, `dashboard.sql`, are planned together, for
    one price; `epsilon=` is then the most to spend for all of them.
    """
    with _open_curator(policy, analyst, engine, ledger) as curator:
        if (path := find_question_file(request.sql)) is not None:
            _show_batch_plan(_plan_file(curator, path, request, verb="plan"), as_json=as_json)
            return
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

    The belief is what an attacker may now hold of a claim about one person. The statements of a file,
    `dashboard.sql`, are asked together, for one price.
    """
    require_one_format(as_json=as_json, as_csv=as_csv)
    with _open_curator(policy, analyst, engine, ledger) as curator:
        if (path := find_question_file(request.sql)) is not None:
            if as_csv or plot is not None:
                raise RequestError("ask: a file has several answers.", hint="Print them, or as `json=`.")
            _ask_file(curator, path, request, as_json=as_json)
            return
        proposal = curator.plan_question(request)
        if not proposal.repeated:
            confirm_data(curator, [request.sql])
        if plot is not None:
            require_plot(plot, proposal.query_plan)
        answer = curator.ask(proposal)
        print_notices(curator, [request.sql])
    if plot is not None:
        save_plot(answer, plot)
    if as_json:
        print(json.dumps(answer.to_json()))
    elif as_csv:
        print(answer.to_csv(), end="")
    else:
        answer_view.show_answer(Console(), answer)


def _plan_file(curator: Curator, path: Path, request: QuestionRequest, *, verb: str) -> PlanBatch:
    requests, epsilon = read_questions(path, request)
    return curator.plan_batch(requests, verb=verb, epsilon=epsilon)


def _show_batch_plan(batch: PlanBatch, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(batch.to_json()))
    else:
        answer_view.show_batch_plan(Console(), batch)


def _ask_file(curator: Curator, path: Path, request: QuestionRequest, *, as_json: bool) -> None:
    batch = _plan_file(curator, path, request, verb="ask")
    texts = [each.text for each in batch.plans]
    if not batch.repeated:
        confirm_data(curator, texts)
    answers = curator.ask(batch)
    print_notices(curator, texts)
    if as_json:
        print(json.dumps(answers.to_json()))
    else:
        answer_view.show_answers(Console(), texts, answers)


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
