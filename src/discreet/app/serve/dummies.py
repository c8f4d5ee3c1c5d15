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
from discreet.app.answers import Answer
from discreet.app.audits.neighbours import Draw, Rows, pools_of, written
from discreet.app.curator import Curator
from discreet.app.policies import promise_of
from discreet.app.serve.spending import Spending
from discreet.core.policy import Column, ColumnType, Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store

PEOPLE = 1_000
VARIETY = 200
SENTENCE = "This answer is about people made up from the policy: no data was read and nothing was charged."
DAY = date(2020, 1, 1)


class Dummies:
    """Answers about synthetic people, who are drawn with the first question."""

    def __init__(self, policy: Policy) -> None:
        self._real = policy
        self._guard = threading.Lock()
        self._made: tuple[Policy, DuckDB] | None = None

    def ask(self, sql: str, spending: Spending) -> Answer:
        with self._guard:
            policy, engine = self._made = self._made or _made(self._real)
            with Ledger(MEMORY, promise_of(policy)) as ledger:
                curator = Curator(policy, ledger=ledger, engine=engine, analyst=SOLE_ANALYST)
                return replace(curator.ask(sql, **spending), sentence=SENTENCE)

    def close(self) -> None:
        with self._guard:
            if self._made is not None:
                self._made[1].close()
                self._made = None


def _made(policy: Policy) -> tuple[Policy, DuckDB]:
    with tempfile.TemporaryDirectory(prefix="discreet-dummies-") as folder:
        dummy = written(policy, people(policy, Randomness()), Path(folder) / "tables")
        return dummy, DuckDB.open(prepare_store(dummy, None))


def people(policy: Policy, random: Randomness) -> Rows:
    """Return rows of synthetic people, each with a row in every table about people."""
    pools = pools_of(policy, lambda _, column: _pool(column, random))
    return Draw(policy=policy, pools=pools, random=random).crowd(PEOPLE)


def _pool(column: Column, random: Randomness) -> list[str | None]:
    """Return values that a column may have; about one in twenty is NULL if NULLs are allowed."""
    if column.type is ColumnType.CATEGORY or column.type is ColumnType.TEXT:
        found: list[str | None] = list(column.values or ("a", "b", "c"))
    elif column.type is ColumnType.BOOLEAN:
        found = ["true", "false"]
    elif column.type in (ColumnType.DATE, ColumnType.TIMESTAMP):
        found = [_day(column, random).isoformat() for _ in range(VARIETY)]
    else:
        found = [_number(column, random) for _ in range(VARIETY)]
    return found if column.nulls is False else [*found * max(1, 20 // len(found)), None]


def _number(column: Column, random: Randomness) -> str:
    low, high = column.grid_bounds or (0, 99)
    step = (low + random.draw_below(high - low + 1)) * column.grid_step
    return str(float(step)) if step.denominator > 1 else str(step.numerator)


def _day(column: Column, random: Randomness) -> date:
    low = column.low if isinstance(column.low, date) else DAY
    high = column.high if isinstance(column.high, date) else DAY + timedelta(days=364)
    first, last = (each.date() if isinstance(each, datetime) else each for each in (low, high))
    return first + timedelta(days=random.draw_below((last - first).days + 1))
