"""Whether an answer leaves at the same time with and without one person, for the worst plan that is accepted.

Attack      400 people of at most 46 rows, `secret: presence`. Subqueries that keep nobody but the target are
            joined by person, and costly text functions are computed on what comes of it. The more functions,
            the more work: the most that is still accepted is tried, on numbers and on the longest text that
            is not ASCII.
Trial       the work of one plan, once without the person and once with, in an order that is drawn. It ends
            by its fixed time, by the next one, or never: the three things that an analyst can tell apart.
            Times are those of a server that was calibrated here and now.
Bound       Clopper-Pearson, one-sided at 95%, of how often the two differ.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import beta

from benchmarks import clusters
from benchmarks.peers.environments import Progress
from discreet.core.column_entry import LONGEST_TEXT
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.engines.released_queries import query_released_tables
from discreet.services.policies import get_promise
from discreet.services.serving.query_timeouts import measure_slowness
from discreet.services.work_limits import WorkLimits
from discreet.sql.plan_execution import execute_plan
from discreet.sql.planner import QueryPlan, plan_query

ROWS = 46
KEPT = 1_000  # of the target's rows, which may be more than count
PEOPLE = 400
PAIRS = {"duckdb": 1_000, "postgresql": 1_000, "spark": 1_000}
MOST_FUNCTIONS = 160
DEEPEST = 8
KEY = bytes(range(32))
NAMES = ("patient", "age", "zip", "cost", "note")
TARGET = "SELECT patient, cost, note FROM visits WHERE age = 33 AND zip = 99999"
HEADINGS = ("engine", "pairs", "that differ", "bound at 95%", "fixed time", "longest without, with")
ABOUT = (
    "The worst plan that is accepted, with and without the person it is aimed at; a pair differs where the "
    "two answers would leave at different times, or one would be a fault."
)


def nested(text: str, times: int) -> str:
    """The text under so many pairs of functions."""
    for _ in range(times):
        text = f"UPPER(LOWER({text}))"
    return text


def attack(times: int, tables: str = "abc", *, of_text: bool = False) -> str:
    """Every combination of rows of the target, with text functions over a product of numbers, or a text."""
    product = " * ".join(f"{each}.cost" for each in tables)
    first, others = tables[0], tables[1:]
    joins = "".join(f" JOIN ({TARGET}) AS {each} ON {first}.patient = {each}.patient" for each in others)
    # different ones, so that no engine computes them once; none is nested more deeply than may be read
    depths = [DEEPEST] * (times // DEEPEST) + [times % DEEPEST]
    texts = [
        f"{first}.note" if of_text else f"CAST({product} + {place} AS VARCHAR)"
        for place in range(len(depths))
    ]
    long = [
        nested(f"SUBSTR({text}, {place + 1})", depth)
        for place, (text, depth) in enumerate(zip(texts, depths, strict=True))
    ]
    conditions = " AND ".join(f"LENGTH({each}) > 0" for each in long)
    return f"SELECT COUNT(*) AS n FROM ({TARGET}) AS {first}{joins} WHERE {conditions}"


def clinic(*, present: bool, people: int = PEOPLE) -> pa.Table:
    """A table with or without the target, whose rows are as many and as long as they can be."""
    each = [(person, 20 + person % 60, 10_000 + person, 7, "a") for person in range(people)]
    target = [(people, 33, 99_999, 99_000 + row, "é" * LONGEST_TEXT) for row in range(KEPT)]
    rows = [row for row in each for _ in range(3)] + (target if present else [])
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(NAMES)})


def policy_over(source: str, engine: str = "duckdb") -> Policy:
    return Policy.model_validate(
        {
            "promise": {"prior": "1%", "posterior": "5%", "secret": "presence"},
            "engine": engine,
            "tables": {
                "visits": {
                    "source": source,
                    "person": "patient",
                    "rows_per_person": ROWS,
                    "most_rows": 20_000,
                    "columns": {
                        "patient": {"type": "integer", "role": "identifier"},
                        "age": {"type": "integer", "low": 0, "high": 120},
                        "zip": {"type": "integer", "low": 0, "high": 99_999},
                        "cost": {"type": "integer", "low": 0, "high": 100_000},
                        "note": {"type": "text"},
                    },
                }
            },
        }
    )


def worst_plan(policy: Policy) -> QueryPlan:
    """Return, of the largest attacks that are accepted, the one in which the person is the largest part."""
    limits = WorkLimits(policy=policy)
    found = [
        made
        for tables in ("a", "ab", "abc")
        for of_text in (False, True)
        if (made := _largest_accepted(limits, tables, of_text=of_text)) is not None
    ]
    return max(found, key=lambda made: limits.estimate_person_work(made)[0] / limits.compute_fixed_time(made))


def _largest_accepted(limits: WorkLimits, tables: str, *, of_text: bool) -> QueryPlan | None:
    """Return the attack with the most functions that is not refused; more of them are more work."""
    found, few, many = None, 0, MOST_FUNCTIONS + 1
    while few < many:
        times = (few + many) // 2
        try:
            made = plan_query(
                attack(times, tables, of_text=of_text), limits.policy, get_promise(limits.policy), epsilon=1
            )
            limits.require_within_limits(made)
        except RequestError:
            many = times
        else:
            found, few = made, times + 1
    return found


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What came of so many pairs."""

    pairs: int
    differ: int
    fixed_time: float
    longest: tuple[float, float]

    @property
    def bound(self) -> float:
        """The upper end of Clopper and Pearson's interval, one-sided at 95%."""
        if self.differ == self.pairs:
            return 1.0
        return float(beta.ppf(0.95, self.differ + 1, self.pairs - self.differ))


def run_trials(
    engines: tuple[Engine, Engine],
    made: QueryPlan,
    policy: Policy,
    pairs: int,
    slowness: float,
    progress: Progress = lambda _: None,
) -> Trials:
    """Ask an engine without the person and one with, so many times, and compare when answers would leave."""
    fixed, random = WorkLimits(policy=policy).compute_fixed_time(made) * slowness, Randomness()
    orders = np.random.default_rng().integers(0, 2, pairs)
    for engine in engines:
        execute_plan(made, engine, random, query_released_tables)
    differ, longest = 0, [0.0, 0.0]
    for done, order in enumerate(orders):
        progress(
            f"{done:,} of {pairs:,} pairs, {differ} differ, longest {longest[0]:.2g} s and {longest[1]:.2g} s"
        )
        classes = [0, 0]
        for world in (order, 1 - order):
            began = time.perf_counter()
            execute_plan(made, engines[world], random, query_released_tables)
            taken = time.perf_counter() - began
            longest[world] = max(longest[world], taken)
            classes[world] = min(2, int(taken / fixed))
        differ += classes[0] != classes[1]
    return Trials(pairs=pairs, differ=differ, fixed_time=fixed, longest=(longest[0], longest[1]))


@dataclass(frozen=True, kw_only=True)
class _Lent:
    """An engine that is closed by whoever opened it."""

    engine: Engine

    def count(self, sql: str) -> Exact[pa.Table]:
        return self.engine.count(sql)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


# -- Engines ------------------------------------------------------------------------------------------------


@contextmanager
def over_duckdb() -> Iterator[tuple[tuple[Engine, Engine], Policy]]:
    with tempfile.TemporaryDirectory(prefix="discreet-work-") as folder, ExitStack() as stack:
        engines, policies = [], []
        for present in (False, True):
            file = Path(folder) / f"visits{present:d}.parquet"
            pq.write_table(clinic(present=present), file)
            policies.append(policy_over(str(file)))
            engines.append(stack.enter_context(DuckDB.open(prepare_store(policies[-1], None))))
        yield (engines[0], engines[1]), policies[0]


@contextmanager
def over_postgres() -> Iterator[tuple[tuple[Engine, Engine], Policy]]:
    from adbc_driver_postgresql import dbapi

    from discreet.engines.postgres import PostgreSQL

    with clusters.postgres() as url, ExitStack() as stack:
        with dbapi.connect(url) as connection, connection.cursor() as cursor:
            for present in (False, True):
                cursor.adbc_ingest(f"visits{present:d}", clinic(present=present), mode="create")
            connection.commit()
        policies = [policy_over(f"public.visits{present:d}", url) for present in (False, True)]
        engines = [stack.enter_context(PostgreSQL.open(each, url, KEY)) for each in policies]
        yield (engines[0], engines[1]), policies[0]


@contextmanager
def over_spark() -> Iterator[tuple[tuple[Engine, Engine], Policy]]:
    clusters.require_spark()
    from discreet.engines.spark import Spark

    address = "spark:local[2]"
    with tempfile.TemporaryDirectory(prefix="discreet-work-") as folder, ExitStack() as stack:
        engines, policies = [], []
        for present in (False, True):
            file = Path(folder) / f"visits{present:d}.parquet"
            pq.write_table(clinic(present=present), file)
            policies.append(policy_over(str(file), address))
            engines.append(stack.enter_context(Spark.open(policies[-1], address, KEY)))
        yield (engines[0], engines[1]), policies[0]


ENGINES: Mapping[str, Any] = {"duckdb": over_duckdb, "postgresql": over_postgres, "spark": over_spark}


def trials_of(engine: str, pairs: int, progress: Progress = lambda _: None) -> tuple[Trials, QueryPlan]:
    """Run so many pairs of the worst plan on one engine."""
    with ENGINES[engine]() as (engines, policy):
        made, lent = worst_plan(policy), iter(engines)
        slowness = measure_slowness(policy, lambda: _Lent(engine=next(lent)), len(engines))
        return run_trials(engines, made, policy, pairs, slowness, progress), made


def tables(progress: Progress) -> tuple[list[tuple[str, ...]], list[str]]:
    rows: list[tuple[str, ...]] = []
    for engine, pairs in PAIRS.items():
        try:
            found, _ = trials_of(engine, pairs, progress)
        except clusters.NotInstalledError as missing:
            rows.append((engine, "-", "-", "-", "-", str(missing)))
            continue
        rows.append(_row(engine, found))
    return rows, []


def _row(engine: str, found: Trials) -> tuple[str, ...]:
    times = " s, ".join(f"{each:.2g}" for each in found.longest)
    bound = f"{found.bound:.2%}"
    return engine, f"{found.pairs:,}", f"{found.differ:,}", bound, f"{found.fixed_time:g} s", f"{times} s"


if __name__ == "__main__":
    name, number = sys.argv[1], int(sys.argv[2])
    told = trials_of(name, number, lambda text: print(f"\r{text}", end="", file=sys.stderr, flush=True))[0]
    print("", *_row(name, told), sep=" | ")
