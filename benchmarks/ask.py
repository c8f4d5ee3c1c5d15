"""Private SQL against the raw DuckDB query on the original table, in the same run.

`visits(user_id, city, age, spend)`: person-level COUNT, SUM and AVG by 1,000 cities with at most 5 rows a
person by rank (prepared), with at most 5 cities of 2 rows, and after a filter (per question), one that all
rows pass and one that leaves most people short; the same at row level, one AVG, a GROUP BY with a million
groups, and planning alone. Each is the whole call from text to answer, warm.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.noise import seconds
from discreet.accounting.ledger_storage import MEMORY
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services import policy_engines
from discreet.services.curator import Curator
from discreet.services.ledgers import open_ledger_unmarked
from discreet.services.policies import resolve_analyst
from discreet.sql import interval_estimates
from discreet.sql.aggregates.count import estimate_count

ROWS = int(os.environ.get("DISCREET_BENCH_ROWS", "10000000"))
ALLOWED = 0.020
BY_CITY = "SELECT city, COUNT(*) AS n, SUM(spend) AS s, AVG(spend) AS a FROM {} GROUP BY city"
ONE_AVG = "SELECT AVG(spend) AS a FROM {}"


def rows() -> list[tuple[str, str, str]]:
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        source = visits(Path(folder), ROWS)
        raw = duckdb.connect()
        raw.execute(f"CREATE TABLE visits AS SELECT * FROM read_parquet('{source}')")
        # the fastest of three rounds, so that a disturbed raw query does not flatter ours
        grouped = min(seconds(lambda: raw.sql(BY_CITY.format("visits")).to_arrow_table()) for _ in range(3))
        single = min(seconds(lambda: raw.sql(ONE_AVG.format("visits")).to_arrow_table()) for _ in range(3))
        raw.close()
        start = time.perf_counter()
        curator = open_curator(policy(source, folder))
        prepared = time.perf_counter() - start
        with curator:
            found = [
                (f"preparing {ROWS:,} rows in three forms, once", f"{prepared:.1f} s", ""),
                _ratio(
                    "person-level COUNT, SUM, AVG by 1,000 groups, by rank", curator, "visits", grouped, 0.8
                ),
                _ratio("the same, 5 groups of 2 rows a person", curator, "bounded", grouped, 0.8),
                _ratio("the same, bounded per question", curator, "visits WHERE age >= 18", grouped, 5.0),
                _ratio("the same, 7 rows of 10 asked for", curator, "visits WHERE age >= 40", grouped, 5.0),
                _ratio("row-level, the same", curator, "rowwise", grouped, 0.8),
                _ratio("a single row-level AVG", curator, "rowwise", single, 1.5, sql=ONE_AVG),
                _planning(curator),
            ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [*found, _million_groups(), ("most memory used", f"{peak:.2f} GiB", "under 2 GiB")]


def _ratio(
    name: str, curator: Curator, table: str, raw: float, bar: float, sql: str = BY_CITY
) -> tuple[str, str, str]:
    ours = seconds(fresh(curator, sql.format(table)))
    return (
        name,
        f"{max(ours - ALLOWED, 0) / raw:.2f}× raw ({1000 * ours:.0f} of {1000 * raw:.0f} ms)",
        f"≤ {bar}×",
    )


def open_curator(policy: Policy) -> Curator:
    """Open a curator that is asked about the same rows by two privacy units, to compare what these cost.

    No ledger takes such a policy (`app.privacy_units`); this one keeps no promise to anybody.
    """
    ledger = open_ledger_unmarked(policy, MEMORY)
    return Curator.from_parts(
        policy,
        ledger=ledger,
        engine=policy_engines.open_engine(policy),
        analyst=resolve_analyst(policy, None),
    )


def fresh(curator: Curator, sql: str) -> Callable[[], object]:
    """A new budget each time, so that no stored answer is measured."""
    drawn = iter(np.linspace(1e-6, 2e-6, 64))
    return lambda: curator.ask(sql, epsilon=float(next(drawn)))


def _planning(curator: Curator) -> tuple[str, str, str]:
    drawn = iter(np.linspace(0.1, 0.2, 64))  # the curator keeps its last plans
    spent = seconds(lambda: curator.plan(BY_CITY.format("visits"), epsilon=float(next(drawn))))
    return "planning alone", f"{1000 * spent:.1f} ms", "under 15 ms"


def _million_groups() -> tuple[str, str, str]:
    noise = DiscreteLaplace(epsilon=1, sensitivity=2)  # type: ignore[arg-type]
    counts = Exact(np.arange(1_000_000))

    def work() -> pa.Table:
        released = interval_estimates.ReleasedPrimitive(
            numbers=noise.release_many(counts, Randomness()).value, noise=noise
        )
        found = estimate_count(released, 0.95)
        table = pa.table({"m0": found.values, "m0.low": found.low, "m0.high": found.high})
        return query_released_tables("SELECT * FROM released", {"released": table})

    return "noise and intervals for 1,000,000 groups", f"{seconds(work):.2f} s", "under 1.5 s"


def visits(folder: Path, rows: int) -> Path:
    """The table as a file; about ten rows a person."""
    path = folder / "visits.parquet"
    duckdb.execute("SET enable_progress_bar = false")
    duckdb.execute(
        f"""
        COPY (SELECT (random() * {rows // 10})::BIGINT AS user_id,
                     'city ' || (1000 * random() ** 2)::INTEGER AS city,
                     (18 + 72 * random())::INTEGER AS age, (500 * random() ** 3)::DECIMAL(9, 2) AS spend
              FROM range({rows})) TO '{path}' (FORMAT parquet)
        """
    )
    return path


def policy(source: Path, folder: str) -> Policy:
    columns = {
        "city": {"type": "category", "values": [f"city {i}" for i in range(1001)]},
        "age": {"type": "integer", "low": 18, "high": 90},
        "spend": {"type": "decimal", "low": 0, "high": 500, "resolution": "0.01"},
    }
    person = {"person": "user_id", "columns": {"user_id": {"role": "identifier"}, **columns}}
    return Policy.model_validate(
        {
            "promise": {"prior": 0.01, "posterior": 0.05},
            "tables": {
                "visits": {"source": str(source), "rows_per_person": 5, **person},
                "bounded": {"source": str(source), "rows_per_person": 2, "groups_per_person": 5, **person},
                "rowwise": {"source": str(source), "person": "row", "columns": columns},
            },
            "ledger": MEMORY,
            "store": str(Path(folder) / "store"),
        }
    )
