"""A cache of count queries by private multiplicative weights, in the manner of Turbo (PMW-Bypass).

Kostopoulou, Tholoniat, Cidon, Geambasu, Lécuyer: Turbo: Effective Caching in Differentially-Private
Databases, SOSP 2023. The curator keeps a public histogram h over the cells of a declared domain:

Exact       a statement that was asked before, up to whitespace, is free.
Bypass      while the histogram is not *ready* for a statement, it is answered by Laplace noise at the
            statement's epsilon, and h is updated by the noisy answer. Ready means that every cell which the
            statement reads was updated at least `threshold` times.
Sparse      a ready statement is compared: the largest error of h over its groups, with noise, against half
            of the half-width that is asked for, with noise. Below, h is the answer and nothing is charged.
            Above, the statement is bypassed, its cells need one more update, and the sparse vector must be
            paid for again.

Assumptions, each in favour of the cache:
- The domain holds the columns that most of the session's count statements read, known in hindsight, as long
  as it has at most `MOST_CELLS` cells. What reads other columns, sums or means is answered by noise.
- An update scales the cells of every group to its noisy count, where Turbo moves them by one step.
- A sparse vector costs three times the epsilon at which its two Laplace draws stay below half of the
  half-width with probability 95%, by their exact law and on one side; Turbo's published bound is larger.
- The threshold is the best of several for each session, in hindsight.
- The number of rows is public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import sqlglot
from numpy.typing import NDArray
from scipy.optimize import brentq
from sqlglot import exp as sql

MOST_CELLS = 1_000_000
BETA = 0.05
MARGIN = 0.05  # of the half-width: a closer histogram is not updated
Values = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class CountQuery:
    """The counts of one GROUP BY: the keys and the predicate over one table."""

    keys: tuple[str, ...]
    predicate: str

    @property
    def columns(self) -> frozenset[str]:
        parsed = (sqlglot.parse_one(text, read="duckdb") for text in (*self.keys, self.predicate))
        return frozenset(column.name for each in parsed for column in each.find_all(sql.Column))


def find_count_queries(statement: str, table: str) -> list[CountQuery] | None:
    """Return the count queries that a statement is computed from; None if it needs anything else."""
    found = []
    for select in sqlglot.parse_one(statement, read="duckdb").find_all(sql.Select):
        source = select.args.get("from_") or select.args.get("from")
        if source is None or not isinstance(source.this, sql.Table):
            continue
        query = _read_count_query(select) if source.this.name == table else None
        if query is None:
            return None
        found.append(query)
    return found or None


def _read_count_query(select: sql.Select) -> CountQuery | None:
    measured = list(select.find_all(sql.AggFunc))
    if not measured or not all(_is_plain_count(each) for each in measured) or select.find(sql.Subquery):
        return None
    group = select.args.get("group")
    if group is not None and group.find(sql.Rollup, sql.Cube, sql.GroupingSets):
        return None
    bare = [strip_tables(resolve_key(key, select)) for key in (group.expressions if group else ())]
    where = select.args.get("where")
    predicate = strip_tables(where.this) if where else "TRUE"
    return CountQuery(keys=tuple(bare), predicate=predicate)


def _is_plain_count(aggregate: sql.AggFunc) -> bool:
    if isinstance(aggregate.parent, sql.Filter | sql.Window):
        return False
    argument = aggregate.this
    if isinstance(aggregate, sql.Count):
        return isinstance(argument, sql.Star | sql.Literal)
    return isinstance(aggregate, sql.Sum) and isinstance(argument, sql.Literal) and argument.name == "1"


def resolve_key(key: Any, select: sql.Select) -> Any:
    """Return the expression of a key that is given by its place or its alias."""
    if isinstance(key, sql.Literal) and key.is_int:
        return select.expressions[int(key.name) - 1].unalias()
    named = {each.alias: each.unalias() for each in select.expressions if isinstance(each, sql.Alias)}
    return named.get(key.name, key) if isinstance(key, sql.Column) else key


def strip_tables(expression: Any) -> str:
    """Return the text of an expression whose columns do not name their table."""
    stripped = expression.copy()
    for column in stripped.find_all(sql.Column):
        column.set("table", None)
    return str(stripped.sql("duckdb"))


def choose_columns(queries: Sequence[CountQuery], domains: Mapping[str, Sequence[object]]) -> list[str]:
    """Return the columns of the histogram: those read most often, as long as the domain stays small."""
    read = Counter(column for query in queries for column in query.columns if column in domains)
    chosen: list[str] = []
    cells = 1
    for column, _ in read.most_common():
        if cells * len(domains[column]) <= MOST_CELLS:
            chosen.append(column)
            cells *= len(domains[column])
    return chosen


class Cells:
    """The cells of a domain with their true counts; the truth is read by the simulated curator alone."""

    def __init__(self, data: pa.Table, table: str, domains: Mapping[str, Sequence[object]]) -> None:
        self._connection, self._labels = duckdb.connect(), dict[CountQuery, Labels]()
        self._connection.register(table, data)
        self.columns = frozenset(domains)
        names = ", ".join(f'"{name}"' for name in domains)
        for name, values in domains.items():
            # values that nobody declared are no cell, as in the product
            column = pa.array(values).cast(data.schema.field(name).type)
            self._connection.register(f"domain_{name}", pa.table({name: column}))
        crossed = " CROSS JOIN ".join(f'"domain_{name}"' for name in domains)
        self._connection.execute(
            f"CREATE TABLE cells AS SELECT {names}, CAST(0 AS DOUBLE) AS true_count FROM {crossed}"
        )
        joined = " AND ".join(f'cells."{name}" = g."{name}"' for name in domains)
        self._connection.execute(
            f"UPDATE cells SET true_count = g.n FROM "
            f'(SELECT {names}, COUNT(*) AS n FROM "{table}" GROUP BY {names}) AS g WHERE {joined}'
        )
        self.true_counts: Values = self._connection.sql(
            "SELECT true_count FROM cells ORDER BY rowid"
        ).fetchnumpy()["true_count"]

    def label(self, query: CountQuery) -> Labels:
        """Return the group of each cell, and -1 for cells that the predicate leaves out."""
        if query in self._labels:
            return self._labels[query]
        keys = ", ".join(query.keys)
        group = f"DENSE_RANK() OVER (ORDER BY {keys})" if keys else "1"
        labels = np.full(self.true_counts.size, -1, np.int32)
        found = self._connection.sql(
            f"SELECT rowid AS cell, {group} AS label FROM cells WHERE {query.predicate}"
        ).fetchnumpy()
        labels[found["cell"]] = found["label"] - 1
        return self._labels.setdefault(query, labels)


@dataclass(kw_only=True)
class PMWCache:
    """A session's histogram and sparse vector; `epsilon` is that of a bypassed statement.

    `sensitivity` is the most by which one person moves all counts together, as the noise has it.
    """

    cells: Cells
    epsilon: float
    sensitivity: float
    threshold: int
    random: np.random.Generator
    spent: float = 0.0
    _asked: set[str] = field(default_factory=set)
    _checking: bool = False

    def __post_init__(self) -> None:
        size = self.cells.true_counts.size
        self._histogram = np.full(size, self.cells.true_counts.sum() / size)
        self._updates, self._needed = np.zeros(size, np.int64), np.full(size, self.threshold)
        self.half_width = self.sensitivity * log(1 / BETA) / self.epsilon
        # one person moves the largest error of a group by half of what all groups move together
        self._sparse_scale = self.half_width / 2 / _find_sum_quantile(BETA)
        self._sparse_cost = 3 * (self.sensitivity / 2) / self._sparse_scale

    def answer(self, statement: str, queries: Sequence[CountQuery] | None) -> float:
        """Answer a statement; return what it was charged."""
        key = " ".join(statement.split())
        if key in self._asked:
            return 0.0
        before = self.spent
        if queries is None or not all(query.columns <= self.cells.columns for query in queries):
            self.spent += self.epsilon
        else:
            labels = [self.cells.label(query) for query in queries]
            if not self._is_ready(labels) or not self._is_close(labels):
                self.spent += self.epsilon
                for each in labels:
                    self._update(each)
        self._asked.add(key)
        return self.spent - before

    def _is_ready(self, labels: Sequence[Labels]) -> bool:
        return all(bool((self._updates >= self._needed)[each >= 0].all()) for each in labels)

    def _is_close(self, labels: Sequence[Labels]) -> bool:
        """Check by the sparse vector whether the histogram answers well enough."""
        if not self._checking:
            self.spent += self._sparse_cost
            self._limit = self.half_width / 2 + self.random.laplace(scale=self._sparse_scale)
            self._checking = True
        error = max(
            float(np.abs(_add_up(each, self._histogram) - _add_up(each, self.cells.true_counts)).max())
            for each in labels
        )
        if error + self.random.laplace(scale=self._sparse_scale) < self._limit:
            return True
        self._checking = False
        for each in labels:
            self._needed[each >= 0] = self._updates[each >= 0].min() + 2
        return False

    def _update(self, labels: Labels) -> None:
        """Release noisy counts, and scale the histogram to them."""
        total, read = self._histogram.sum(), labels >= 0
        true = _add_up(labels, self.cells.true_counts)
        noisy = np.maximum(
            true + self.random.laplace(scale=self.sensitivity / self.epsilon, size=true.size), 1
        )
        now = np.maximum(_add_up(labels, self._histogram), 1e-9)
        wanted = np.where(np.abs(noisy - now) > MARGIN * self.half_width, noisy, now)
        self._histogram[read] *= (wanted / now)[labels[read]]
        self._histogram *= total / self._histogram.sum()
        self._updates[read] += 1


def _add_up(labels: Labels, counts: Values) -> Values:
    read = labels >= 0
    return np.asarray(np.bincount(labels[read], counts[read], minlength=1), np.float64)


def _find_sum_quantile(beta: float) -> float:
    """Return t with Pr[Z + Z' > t] = beta, for two standard Laplace draws: (1 + t/2) exp(-t) / 2."""
    return float(brentq(lambda t: (1 + t / 2) * exp(-t) / 2 - beta, 0, 50))
