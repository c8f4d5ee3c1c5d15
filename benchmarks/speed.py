"""The same person-level question in other systems: COUNT, SUM and AVG of spend by 1,000 cities.

Every system gets the same million rows in the form that it likes best, and answers warm: the quickest of
its runs counts. A person is bounded to 5 rows, or to 5 cities of 2 rows, whichever the system does faster.
The ratio is to the raw query in DuckDB on the same rows, measured just before and after that system's turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import duckdb

from benchmarks import ask
from benchmarks.noise import seconds
from benchmarks.peers import environments
from benchmarks.peers.environments import OPENDP, PIPELINE_DP, QRLEW, SMARTNOISE, TUMULT, Peer, Progress

ABOUT = (
    "Person-level COUNT, SUM and AVG of spend by 1,000 cities over 1,000,000 rows of "
    "`visits(user_id, city, age, spend)`, warm, as a multiple of the raw query in DuckDB on the same rows, "
    "measured beside it."
)
HEADINGS = ("system", "seconds", "× raw DuckDB", "remark")
ROWS = 1_000_000
PEERS = (OPENDP, SMARTNOISE, QRLEW, PIPELINE_DP, TUMULT)
LIMIT = 360
HOW = {
    OPENDP: "5 rows a person; pure ε, declared cities",
    SMARTNOISE: "5 rows a person; its data-frame reader runs SQLite; small cities dropped with δ",
    QRLEW: "5 cities a person; its SQL run by DuckDB; Gaussian noise, small cities dropped with δ",
    PIPELINE_DP: "5 cities of 2 rows a person; local backend; Laplace, declared cities",
    TUMULT: "5 cities of 2 rows a person; local Spark, three evaluations; pure ε, declared cities",
}


def rows(progress: Progress) -> list[tuple[str, ...]]:
    problems = environments.install(PEERS, progress)
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        source = ask.visits(Path(folder), ROWS)
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM read_parquet('{source}')")

        def raw() -> float:
            return seconds(lambda: connection.sql(ask.BY_CITY.format("visits")).to_arrow_table())

        first = (f"DuckDB {version('duckdb')}, raw", f"{raw():.3f}", "1×", "not private")
        found = [first, _ours(source, folder, raw)]
        for peer in PEERS:
            progress(f"{peer.name}: {ROWS:,} rows …")
            found.append(_theirs(peer, source, raw, problems[peer]))
        connection.close()
    return found


def _ours(source: Path, folder: str, raw: Callable[[], float]) -> tuple[str, ...]:
    before = raw()
    with ask.open_curator(ask.policy(source, folder)) as curator:
        ours = seconds(ask.fresh(curator, ask.BY_CITY.format("visits")))
    remark = (
        "5 rows a person; pure ε, declared cities, intervals and ledger; 10M rows are in the section above"
    )
    return f"discreet {version('discreet')}", f"{ours:.3f}", _times(ours / min(before, raw())), remark


def _theirs(peer: Peer, source: Path, raw: Callable[[], float], problem: str) -> tuple[str, ...]:
    name = f"{peer.name} {peer.version}"
    if problem:
        return name, "–", "–", problem
    before = raw()
    told = environments.run(peer, "speed", str(source), seconds=LIMIT)
    times = [each["seconds"] for each in told.found]
    if not times:
        return name, "–", "–", told.problem
    return name, f"{min(times):.2f}", _times(min(times) / min(before, raw())), HOW[peer]


def _times(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 10 else f"{ratio:,.0f}×"
