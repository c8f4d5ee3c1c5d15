"""A stream of counting questions under one charge: from a file, or asked interactively.

A file is one request: its answers are stored, and the same file again is free. A stream that is opened in
Python is charged when it is opened, for all the questions it allows; its questions are not stored.

Neither uses the measurement store: which questions get noise of their own depends on the data, through noisy
tests, and the others are computed from a histogram that is learned from these answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from discreet.belief.wording import format_number
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError, require_parameter
from discreet.core.html_summary import build_facts, build_summary
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms import get_mechanism_name as mechanism_name
from discreet.mechanisms.sampling import Booleans
from discreet.mining.stream import OnlineAnswerer, StreamAnswer, StreamPlan, parse_counting_query, plan_stream
from discreet.services.count_publication import Publication, resolve_budget
from discreet.services.count_requests import StreamRequest
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback, ignore_progress

KEY_BITS = 128
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, repr=False)
class Stream:
    """An open stream: `ask` answers one question after the other."""

    answerer: OnlineAnswerer
    curator: Curator
    entry: int
    sentence: str

    def __repr__(self) -> str:
        """Return table, number of questions and method; which of them were answered anew is not shown."""
        questions = f"{self.plan.questions:,} questions by {self.plan.method}"
        return f"<Stream over {self.plan.table}: {questions} (entry {self.entry})>"

    def _repr_html_(self) -> str:
        facts = [
            ("questions", f"{self.answerer.asked:,} of {self.plan.questions:,} asked"),
            ("method", self.plan.method),
            ("error, 95%", f"± {self.plan.error95:,}"),
            ("cost", self._describe_cost()),
            ("belief", self.sentence),
        ]
        return build_summary(build_facts(facts, caption=f"Stream over {self.plan.table}"))

    def _describe_cost(self) -> str:
        budget = self.plan.budget
        name = "epsilon" if budget.is_pure else "rho"
        return f"{name} {format_number(float(budget.amount))} for all questions (entry {self.entry})"

    @property
    def plan(self) -> StreamPlan:
        """The plan: method, cost and expected errors."""
        return self.answerer.plan

    def ask(self, sql: str) -> StreamAnswer:
        """Return the answer to SELECT COUNT(*) FROM table WHERE …; a refusal costs nothing."""
        require_parameter(isinstance(sql, str), "stream", "sql", sql, "a counting question in SQL")
        return self.answerer.ask(
            parse_counting_query(sql, self.curator.policy, self.plan.table), query_released_tables
        )


def open_stream(curator: Curator, request: StreamRequest) -> Stream:
    """Open a stream for questions that are not known yet; charges the cost of all of them now."""
    if not request.columns or request.questions is None:
        raise RequestError(
            "stream: columns and the number of questions must be given.",
            hint="Give `columns=[…]` and `questions=1000`.",
        )
    made, _ = _plan_request(curator, request, request.columns, request.questions)
    answerer, entry = curator.charge_and_release(
        f"{Randomness().draw_bits(KEY_BITS):032x}",
        _format_ledger_text(made),
        made.guarantee,
        lambda engine, random: OnlineAnswerer.open(made, curator.policy, engine, random),
        lambda _: b"",
        verb="stream",
    )
    return Stream(
        answerer=answerer,
        curator=curator,
        entry=entry.number,
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
    )


def plan_stream_release(
    curator: Curator,
    request: StreamRequest,
    texts: Sequence[str],
    progress: ProgressCallback = ignore_progress,
) -> Publication:
    """Return the publication of known questions; all of them are validated before anything is charged.

    `progress` is called with the stage and the fraction done.
    """
    if not texts:
        raise RequestError("stream: the file has no questions.", hint="Write one SELECT COUNT(*) … a line.")
    asked = _map_questions(
        texts,
        lambda text: parse_counting_query(text, curator.policy, request.table),
        "reading questions",
        progress,
    )
    columns = request.columns or list(dict.fromkeys(name for each in asked for name in each.columns.values()))
    if not columns:
        raise RequestError(
            "stream: no question reads a column.", hint="Ask for one count of everything instead."
        )
    made, epsilon = _plan_request(curator, request, columns, request.questions or len(texts))
    cells = _map_questions(
        asked,
        lambda each: made.universe.find_cells(each, query_released_tables),
        "finding what they count",
        progress,
    )

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        stream = OnlineAnswerer.open(made, curator.policy, engine, random)
        return _answers_to_table(
            _map_questions(cells, lambda each: _answer_or_none(stream, each), "answering", progress), texts
        )

    return Publication(
        verb="stream",
        kind="differentially private answers to a stream of questions",
        table=request.table,
        ledger_text=_format_ledger_text(made),
        terms={
            "table": request.table,
            "columns": list(columns),
            "method": request.method,
            "questions": made.questions,
            "updates": request.updates,
            "bins": dict(request.bins),
            "epsilon": epsilon,
            "delta": request.delta,
            "texts": list(texts),
        },
        epsilon=epsilon,
        delta=request.delta,
        guarantee=made.guarantee,
        plan_summary=_summarize_plan(made, columns),
        plan=made,
        compute_rows=compute_rows,
    )


def _plan_request(
    curator: Curator, request: StreamRequest, columns: Sequence[str], questions: int
) -> tuple[StreamPlan, Real]:
    epsilon, guarantee = resolve_budget(curator, "stream", request.epsilon, request.delta)
    made = plan_stream(
        curator.policy,
        request.table,
        columns,
        guarantee,
        questions=questions,
        method=request.method,
        updates=request.updates,
        bins=request.bins,
    )
    return made, epsilon


def _map_questions(
    items: Sequence[S], function: Callable[[S], T], stage: str, progress: ProgressCallback
) -> list[T]:
    """Return the result for each question; a RequestError names the number of its question."""
    results = []
    for place, each in enumerate(items, 1):
        progress(stage, place / len(items))
        try:
            results.append(function(each))
        except RequestError as refusal:
            message = refusal.message.removeprefix("ask: ")
            raise RequestError(f"stream: question {place}: {message}", hint=refusal.hint) from None
    return results


def _answer_or_none(stream: OnlineAnswerer, cells: Booleans) -> StreamAnswer | None:
    try:
        return stream.answer_cells(cells)
    except BudgetError:
        return None


def _answers_to_table(answers: Sequence[StreamAnswer | None], texts: Sequence[str]) -> pa.Table:
    columns = {
        "question": pa.array(texts, pa.string()),
        "count": pa.array([each and each.count for each in answers], pa.int64()),
        "error95": pa.array([each and each.error95 for each in answers], pa.int64()),
        "fresh": pa.array([each and each.is_fresh for each in answers], pa.bool_()),
    }
    return pa.table(columns)


def _format_ledger_text(plan: StreamPlan) -> str:
    """Return the text of the ledger entry."""
    return f"stream {plan.table} --questions {plan.questions} --method {plan.method}"


def _summarize_plan(plan: StreamPlan, columns: Sequence[str]) -> dict[str, object]:
    return {
        "columns": list(columns),
        "cells": plan.universe.cells,
        "method": plan.method,
        "questions": plan.questions,
        "updates": plan.updates,
        "mechanism": mechanism_name(type(plan.answer_noise)),
        "error95": {"fresh": plan.fresh_error95, "known": plan.error95},
        "weighed": dict(plan.method_errors),
    }
