"""Dummy answers: a question on synthetic people drawn from the policy alone, free of charge.

Rows        follow the declared bounds, values, links and rows per person. No data is read.
Answer      The same plan and the same noise, under a temporary ledger: it looks like the real answer and
            reveals nothing.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

from discreet.accounting.ledger import SOLE_ANALYST, Ledger
from discreet.accounting.ledger_storage import MEMORY
from discreet.core.column_entry import Column, ColumnType
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.services.answers import Answer
from discreet.services.audit.neighboring_databases import (
    RowGenerator,
    Rows,
    build_value_pools,
    write_database,
)
from discreet.services.curator import Curator
from discreet.services.policies import get_promise
from discreet.services.question_request import QuestionRequest

PERSON_COUNT = 1_000
VALUES_PER_COLUMN = 200
DUMMY_SENTENCE = (
    "This answer is about people made up from the policy: no data was read and nothing was charged."
)
DEFAULT_FIRST_DAY = date(2020, 1, 1)


class DummyAnswers:
    """Answers about synthetic people, who are drawn with the first question."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._dummy_engine: tuple[Policy, DuckDB] | None = None

    def ask(self, request: QuestionRequest) -> Answer:
        with self._lock:
            policy, engine = self._dummy_engine = self._dummy_engine or _build_dummy_engine(self._policy)
            with Ledger(MEMORY, get_promise(policy)) as ledger:
                curator = Curator.from_parts(policy, ledger=ledger, engine=engine, analyst=SOLE_ANALYST)
                return replace(curator.ask(curator.plan_question(request)), sentence=DUMMY_SENTENCE)

    def close(self) -> None:
        with self._lock:
            if self._dummy_engine is not None:
                self._dummy_engine[1].close()
                self._dummy_engine = None


def _build_dummy_engine(policy: Policy) -> tuple[Policy, DuckDB]:
    with tempfile.TemporaryDirectory(prefix="discreet-dummies-") as folder:
        dummy = write_database(policy, draw_people(policy, Randomness()), Path(folder) / "tables")
        return dummy, DuckDB.open(prepare_store(dummy, None))


def draw_people(policy: Policy, random: Randomness) -> Rows:
    """Return rows of synthetic people, each with a row in every table about people."""
    pools = build_value_pools(policy, lambda _, column: _draw_values(column, random))
    return RowGenerator(policy=policy, pools=pools, random=random).generate_crowd(PERSON_COUNT)


def _draw_values(column: Column, random: Randomness) -> list[str | None]:
    """Return values that a column may have; about one in twenty is NULL if NULLs are allowed."""
    if column.type is ColumnType.CATEGORY or column.type is ColumnType.TEXT:
        found: list[str | None] = list(column.values or ("a", "b", "c"))
    elif column.type is ColumnType.BOOLEAN:
        found = ["true", "false"]
    elif column.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        found = [_draw_day(column, random).isoformat() for _ in range(VALUES_PER_COLUMN)]
    else:
        found = [_draw_number(column, random) for _ in range(VALUES_PER_COLUMN)]
    return found if column.nulls is False else [*found * max(1, 20 // len(found)), None]


def _draw_number(column: Column, random: Randomness) -> str:
    low, high = column.grid_bounds or (0, 99)
    step = (low + random.draw_below(high - low + 1)) * column.grid_step
    return str(float(step)) if step.denominator > 1 else str(step.numerator)


def _draw_day(column: Column, random: Randomness) -> date:
    low = column.low if isinstance(column.low, date) else DEFAULT_FIRST_DAY
    high = column.high if isinstance(column.high, date) else DEFAULT_FIRST_DAY + timedelta(days=364)
    first, last = (each.date() if isinstance(each, datetime) else each for each in (low, high))
    return first + timedelta(days=random.draw_below((last - first).days + 1))
