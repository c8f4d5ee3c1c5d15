"""A stream of counting questions under one charge: from a file, or asked interactively.

A file is one request: its answers are stored, and the same file again is free. A stream that is opened in
Python is charged when it is opened, for all the questions it allows; its questions are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from discreet.app.counts.publication import Publication, budget_of
from discreet.app.curator import Curator
from discreet.core.engine import Engine
from discreet.core.errors import BudgetError, RequestError
from discreet.core.number_checks import Real
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import query_released_tables
from discreet.mechanisms import get_mechanism_name as mechanism_name
from discreet.mechanisms.sampling import Booleans
from discreet.mining.stream import OnlineAnswerer, StreamAnswer, StreamPlan, plan, read

Told = Callable[[str, float | None], None]

KEY_BITS = 128
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to answer counting questions; without a method, the one with the least error is used."""

    table: str
    columns: Sequence[str] = ()
    method: str | None = None
    questions: int | None = None
    updates: int | None = None
    bins: Mapping[str, int] = field(default_factory=dict)
    epsilon: Real | None = None
    delta: Real = 0


@dataclass(frozen=True, kw_only=True)
class Stream:
    """An open stream: `ask` answers one question after the other."""

    answerer: OnlineAnswerer
    curator: Curator
    entry: int

    @property
    def plan(self) -> StreamPlan:
        return self.answerer.plan

    def ask(self, sql: str) -> StreamAnswer:
        """Return the answer to SELECT COUNT(*) FROM table WHERE …; a refusal costs nothing."""
        return self.answerer.ask(read(sql, self.curator.policy, self.plan.table), query_released_tables)


def silent(doing: str, share: float | None) -> None:
    """Ignore progress."""


def open_stream(curator: Curator, request: Request) -> Stream:
    """Open a stream for questions that are not known yet; charges the cost of all of them now."""
    if not request.columns or request.questions is None:
        raise RequestError(
            "stream: columns and the number of questions must be given.",
            hint="Give columns=[…] and questions=1000.",
        )
    made, _ = _planned(curator, request, request.columns, request.questions)
    answerer, entry = curator.charged(
        f"{Randomness().draw_bits(KEY_BITS):032x}",
        _text(made),
        made.guarantee,
        lambda engine, random: OnlineAnswerer.open(made, curator.policy, engine, random),
        lambda _: b"",
    )
    return Stream(answerer=answerer, curator=curator, entry=entry.number)


def publication(curator: Curator, request: Request, texts: Sequence[str], told: Told = silent) -> Publication:
    """Return the publication of known questions; all of them are validated before anything is charged.

    `progress` is called with the stage and the fraction done.
    """
    if not texts:
        raise RequestError("stream: the file has no questions.", hint="Write one SELECT COUNT(*) … a line.")
    asked = _each(texts, lambda text: read(text, curator.policy, request.table), "reading questions", told)
    columns = request.columns or list(dict.fromkeys(name for each in asked for name in each.columns.values()))
    if not columns:
        raise RequestError(
            "stream: no question reads a column.", hint="Ask for one count of everything instead."
        )
    made, epsilon = _planned(curator, request, columns, request.questions or len(texts))
    cells = _each(
        asked,
        lambda each: made.universe.predicate(each, query_released_tables),
        "finding what they count",
        told,
    )

    def work(engine: Engine, random: Randomness) -> pa.Table:
        stream = OnlineAnswerer.open(made, curator.policy, engine, random)
        return _told(_each(cells, lambda each: _or_refused(stream, each), "answering", told), texts)

    return Publication(
        verb="stream",
        kind="differentially private answers to a stream of questions",
        table=request.table,
        text=_text(made),
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
        expected=_expected(made, columns),
        facts=_facts(made, columns),
        work=work,
    )


def _planned(
    curator: Curator, request: Request, columns: Sequence[str], questions: int
) -> tuple[StreamPlan, Real]:
    epsilon, guarantee = budget_of(curator, "stream", request.epsilon, request.delta)
    made = plan(
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


def _each(found: Sequence[S], taken: Callable[[S], T], doing: str, told: Told) -> list[T]:
    """Return the result for each question; a RequestError names the number of its question."""
    results = []
    for place, each in enumerate(found, 1):
        told(doing, place / len(found))
        try:
            results.append(taken(each))
        except RequestError as refusal:
            message = refusal.message.removeprefix("ask: ")
            raise RequestError(f"stream: question {place}: {message}", hint=refusal.hint) from None
    return results


def _or_refused(stream: OnlineAnswerer, cells: Booleans) -> StreamAnswer | None:
    try:
        return stream.answer(cells)
    except BudgetError:
        return None


def _told(answers: Sequence[StreamAnswer | None], texts: Sequence[str]) -> pa.Table:
    columns = {
        "question": pa.array(texts, pa.string()),
        "count": pa.array([each and each.count for each in answers], pa.int64()),
        "error95": pa.array([each and each.error95 for each in answers], pa.int64()),
        "fresh": pa.array([each and each.fresh for each in answers], pa.bool_()),
    }
    return pa.table(columns)


def _text(made: StreamPlan) -> str:
    """Return the text of the ledger entry."""
    return f"stream {made.table} --questions {made.questions} --method {made.method}"


def _expected(made: StreamPlan, columns: Sequence[str]) -> dict[str, object]:
    return {
        "columns": list(columns),
        "cells": made.universe.cells,
        "method": made.method,
        "questions": made.questions,
        "updates": made.updates,
        "mechanism": mechanism_name(type(made.answering)),
        "error95": {"fresh": made.fresh95, "known": made.error95},
        "weighed": dict(made.weighed),
    }


def _facts(made: StreamPlan, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    cells = f"{made.universe.cells:,} of {', '.join(columns)}"
    if made.testing is None:
        told = (
            ("method", f"{made.method}: noise on each of {made.questions:,} answers"),
            ("error", f"± {made.fresh95:,} for 95% of them"),
        )
    else:
        told = (
            ("method", f"{made.method}: up to {made.updates} of {made.questions:,} answers are counted anew"),
            ("error", f"95% of those ± {made.fresh95:,}, of the others ± {made.error95:,}"),
        )
    return (("cells", cells), *told, *_why(made))


def _why(made: StreamPlan) -> tuple[tuple[str, str], ...]:
    """Return the fact that explains the choice of a method, if the request named none."""
    if not made.weighed:
        return ()
    others = [f"{name} ± {error:,}" for name, error in made.weighed.items() if name != made.method]
    others += [] if "median" in made.weighed else ["median does not fit so many cells"]
    return (("chosen", f"{made.method} errs least; {', '.join(others)}"),)
