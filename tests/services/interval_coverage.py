"""How often printed intervals hold the truth: many answers of new curators over the same rows.

Hit      one for each draw and column. An answer of kind `per_row` promises each row by itself: the row at
         place (draw modulo rows) is looked at, so that hits of different draws are independent and each has
         at least the probability that is promised. An answer of kind `all_rows` promises all rows together.
Truth    what DuckDB computes from the rows, for the row with the same keys.
Untold   a row whose interval has no ends promises nothing. A column without any interval is not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.answers import Answer
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger_unmarked
from discreet.services.policies import resolve_analyst
from tests.services.coverage_shapes import Shape

PER_ROW, ALL_ROWS = "per_row", "all_rows"
Key = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What is printed of an answer: its rows, and the interval of each row of a column."""

    rows: Sequence[Mapping[str, Any]]
    intervals: Mapping[str, Sequence[tuple[float | None, float | None]]]
    kinds: Mapping[str, str]
    statement: str

    @classmethod
    def from_answer(cls, answer: Answer, statement: str) -> Self:
        kinds = getattr(answer, "interval_kind", PER_ROW)
        return cls(
            rows=answer.to_arrow().to_pylist(),
            intervals={name: list(zip(*ends, strict=True)) for name, ends in answer.intervals.items()},
            kinds={
                name: kinds.get(name, PER_ROW) if isinstance(kinds, Mapping) else str(kinds or PER_ROW)
                for name in answer.intervals
            },
            statement=statement,
        )


Ask = Callable[[Curator, Shape], Printed]


def ask_curator(curator: Curator, shape: Shape) -> Printed:
    """Ask a shape, and what follows from its answer."""
    first, second = shape.epsilons
    answer, statement = curator.ask(shape.sql, epsilon=first), shape.sql
    if shape.then is not None:
        statement = shape.then(answer)
        answer = curator.ask(statement, epsilon=second)
    return Printed.from_answer(answer, statement)


@dataclass(frozen=True, kw_only=True)
class CountOnce:
    """An engine that counts each statement once and is closed by whoever opened it."""

    engine: Engine
    known: dict[str, Exact[pa.Table]] = field(default_factory=dict)

    def count(self, sql: str) -> Exact[pa.Table]:
        if sql not in self.known:
            self.known[sql] = self.engine.count(sql)
        return self.known[sql]

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """The same rows, asked by as many curators as are wanted, each with its own ledger and noise."""

    policy: Policy
    engine: Engine
    raw: duckdb.DuckDBPyConnection
    _truths: dict[tuple[str, ...], dict[Key, Mapping[str, Any]]] = field(default_factory=dict)

    def count_hits(self, shape: Shape, draws: int, ask: Ask = ask_curator) -> dict[str, list[bool]]:
        """Return, for each column with intervals, whether its promise held in each draw."""
        hits: dict[str, list[bool]] = defaultdict(list)
        for draw in range(draws):
            with self._open_curator(draw) as curator:
                printed = ask(curator, shape)
            truths = self._compute_truth(shape.truth or printed.statement, shape.keys)
            for column in printed.intervals:
                hits[column].append(_holds(printed, column, draw, truths, shape.keys))
        return hits

    def _open_curator(self, draw: int) -> Curator:
        source = np.random.Generator(np.random.Philox([2024, draw])).bytes
        return Curator.from_parts(
            self.policy,
            ledger=open_ledger_unmarked(self.policy, ":memory:"),
            engine=self.engine,
            analyst=resolve_analyst(self.policy, None),
            random=Randomness(source=source),
        )

    def _compute_truth(self, statement: str, keys: tuple[str, ...]) -> dict[Key, Mapping[str, Any]]:
        known = (statement, *keys)
        if known not in self._truths:
            rows = self.raw.sql(statement).to_arrow_table().to_pylist()
            self._truths[known] = {_get_key(row, keys): row for row in rows}
        return self._truths[known]


def _get_key(row: Mapping[str, Any], keys: tuple[str, ...]) -> Key:
    return tuple(str(row[key])[:10] for key in keys)  # a day is a date here and a timestamp there


def _holds(
    printed: Printed,
    column: str,
    draw: int,
    truths: Mapping[Key, Mapping[str, Any]],
    keys: tuple[str, ...],
) -> bool:
    rows = range(len(printed.rows))
    if not rows:
        return True
    looked_at = rows if printed.kinds[column] == ALL_ROWS else [rows[draw % len(rows)]]
    return all(
        _is_inside(
            # a declared group that no row is in is shown, with a count of 0
            truths.get(_get_key(printed.rows[place], keys), {column: 0})[column],
            printed.intervals[column][place],
        )
        for place in looked_at
    )


def _is_inside(truth: Any, ends: tuple[float | None, float | None]) -> bool:
    low, high = ends
    if truth is None:
        return True
    slack = 1e-9 * max(1.0, abs(float(truth)))
    above = low is None or isinf(low) or low - slack <= float(truth)
    return above and (high is None or isinf(high) or float(truth) <= high + slack)
