"""Private SQL against the raw query of each engine, in the same run: DuckDB, PostgreSQL and Spark.

The question is COUNT, SUM and AVG of `visits` by 1,000 cities, as in `ask`, at most 5 rows a person: by row
and by person, where a prepared table may be written and where none may, and of the rows that pass a filter.
By person rows are kept where they are prepared and weigh in place, as a policy has it that says nothing; the
other way round is measured too.
Each time is that of the whole call from text to answer, warm, less the 20 ms that are allowed on top of a
count; the processor's time is of all processes of the engine together. The raw query is measured in turns
with ours, and of each the least counts, which others on the machine disturb least.

Rows        1 and 10 million; `DISCREET_BENCH_ROWS=1000000` stops at the first, 100000000 adds as many from
            Parquet on DuckDB.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow.parquet as pq

from benchmarks import clusters
from benchmarks.ask import ALLOWED, BY_CITY, fresh, open_curator, visits
from benchmarks.ask import policy as table_policy
from benchmarks.peers.environments import Progress
from discreet.core.policy import ContributionBounding, Policy

LARGEST = int(os.environ.get("DISCREET_BENCH_ROWS", "10000000"))
MOST = 100_000_000
MEMORY, ROOM = 4.0, 30.0
TICKS = os.sysconf("SC_CLK_TCK")
TURNS, FEWEST, LONG = 5, 2, 8.0
QUIET = 0.5
HEADINGS = ("engine, rows", "question", "× raw", "processor, µs a row", "goal")
ABOUT = (
    "COUNT, SUM and AVG of spend by 1,000 cities of `visits(user_id, city, age, spend)`, 5 rows a person at "
    "most, as a multiple of the same engine's raw query on the original table in the same run: the whole "
    "call, warm, less 20 ms, the least of a few runs in turns with the raw query. *Prepared* reads a table "
    "that was written once; *in place* nothing is written. By person rows are kept in the one and weigh in "
    "the other, unless it is said otherwise."
)
FILTERED = "visits WHERE age >= 40"
ASKED = {"by row": "rowwise", "by person": "visits", "by person, 7 rows of 10 asked for": FILTERED}
Goals = Mapping[str, Mapping[str, str]]
PREPARED, WEIGHED, IN_PLACE, KEPT = "prepared", "prepared, by weight", "in place", "in place, rows kept"
FORMS: Mapping[str, ContributionBounding | None] = {
    PREPARED: None,
    WEIGHED: ContributionBounding.WEIGHTS,
    IN_PLACE: None,
    KEPT: ContributionBounding.ROWS,
}
EMBEDDED: Goals = {
    PREPARED: {"rowwise": "≤ 0.8×", "visits": "≤ 0.8×", FILTERED: "≤ 5×"},
    WEIGHED: {"visits": "≤ 5×", FILTERED: "≤ 5×"},
}
SERVED: Goals = {
    PREPARED: {"rowwise": "≤ 1.5×", "visits": "≤ 2×", FILTERED: "≤ 6×"},
    IN_PLACE: {"rowwise": "≤ 1.5×", "visits": "≤ 6×", FILTERED: "≤ 6×"},
    KEPT: {"visits": "", FILTERED: ""},
}
Row = tuple[str, ...]


class Bench(Protocol):
    """An engine with the table, its raw query, and what its processes have computed so far.

    `goals` are those of each form that it is asked in, and of each table there.
    """

    @property
    def name(self) -> str: ...

    @property
    def goals(self) -> Goals: ...

    def raw(self) -> object: ...

    def policy(self, *, prepared: bool) -> Policy: ...

    def processor(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds on the clock and of the processor."""

    clock: float
    processor: float


def tables(progress: Progress) -> tuple[list[Row], list[str]]:
    """The table, and how busy the machine was before each engine."""
    found: list[Row] = []
    loads: list[float] = []
    for size in (size for size in (MOST // 100, MOST // 10) if size <= LARGEST):
        with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
            Path(folder).chmod(0o755)
            source = visits(Path(folder), size)
            for started in (_duckdb, _postgres, _spark):
                progress(f"measuring: Engines, {started.__name__[1:]}, {size:,} rows …")
                loads.append(_load())
                try:
                    with started(source, Path(folder)) as bench:
                        found += _of_engine(bench, size)
                except clusters.NotInstalledError as missing:
                    found.append((f"{started.__name__[1:]}, {size:,}", str(missing), "–", "–", ""))
    return found + (_largest(progress) if LARGEST >= MOST else []), [_said(loads)]


def _load(seconds: float = 1.0) -> float:
    """How many of the machine's cores are busy while nothing is measured."""
    before = _busy()
    time.sleep(seconds)
    return (_busy() - before) / seconds


def _busy() -> float:
    """Seconds that the machine's processors have computed: for users, for itself, and for other machines."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / TICKS


def _said(loads: list[float]) -> str:
    """
    >>> _said([0.1, 1.8])
    'The machine was busy with other work (0.1–1.8 cores before each engine), so figures are too high.'
    """
    least, most = min(loads), max(loads)
    if most <= QUIET:
        return f"The machine was idle (at most {most:.1f} cores busy before each engine)."
    cores = f"{least:.1f}–{most:.1f} cores before each engine"
    return f"The machine was busy with other work ({cores}), so figures are too high."


def _of_engine(bench: Bench, size: int) -> list[Row]:
    title = f"{bench.name}, {size // 1_000_000}M"
    (raw,) = costs(bench, bench.raw)
    found: list[Row] = [(title, "raw, not private", f"{1000 * raw.clock:.0f} ms", _a_row(raw, size), "")]
    for form, goals in bench.goals.items():
        terms = bench.policy(prepared=form in (PREPARED, WEIGHED)).model_copy(
            update={"bounding": FORMS[form]}
        )
        begun, before = time.perf_counter(), bench.processor()
        with open_curator(terms) as curator:
            opened = Cost(clock=time.perf_counter() - begun, processor=bench.processor() - before)
            if form == PREPARED:
                once = ("preparing both tables, once", f"{opened.clock:.1f} s", _a_row(opened, size), "")
                found.append((title, *once))
            for question, table in ((each, ASKED[each]) for each in ASKED if ASKED[each] in goals):
                raw, ours = costs(bench, bench.raw, fresh(curator, BY_CITY.format(table)))
                ratio = max(ours.clock - ALLOWED, 0) / raw.clock
                shown = f"{ratio:.2f}× ({1000 * ours.clock:.0f} of {1000 * raw.clock:.0f} ms)"
                found.append((title, f"{question}, {form}", shown, _a_row(ours, size), goals[table]))
    return found


def costs(bench: Bench, *works: Callable[[], object]) -> list[Cost]:
    """The least cost of each in a few turns, after one that warms up; fewer turns where they take long."""
    found: list[list[Cost]] = [[] for _ in works]
    begun = time.perf_counter()
    for turn in count():
        for work, spent in zip(works, found, strict=True):
            spent.append(_spent(bench, work))
        if turn >= TURNS or (turn >= FEWEST and time.perf_counter() - begun > LONG):
            break
    return [
        Cost(
            clock=min(each.clock for each in spent[1:]),
            processor=min(each.processor for each in spent[1:]),
        )
        for spent in found
    ]


def _spent(bench: Bench, work: Callable[[], object]) -> Cost:
    begun, before = time.perf_counter(), bench.processor()
    work()
    return Cost(clock=time.perf_counter() - begun, processor=bench.processor() - before)


def _a_row(spent: Cost, size: int) -> str:
    return f"{1e6 * spent.processor / size:.2f}"


def _processor(*processes: int) -> float:
    """Seconds that processes, and those of their children that have ended, have computed."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / TICKS


def _policy(source: str, engine: str, store: str | None) -> Policy:
    made = table_policy(Path(source), "").model_dump(mode="json", exclude_unset=True)
    tables: dict[str, Any] = made["tables"]
    del tables["bounded"]
    for table in tables.values():
        table["source"] = source
    return Policy.model_validate(made | {"tables": tables, "engine": engine, "store": store})


# -- DuckDB -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _DuckDB:
    source: Path
    folder: Path
    connection: duckdb.DuckDBPyConnection
    name: str = "DuckDB"
    goals: Goals = field(default_factory=lambda: EMBEDDED)

    def raw(self) -> object:
        return self.connection.sql(BY_CITY.format("visits")).to_arrow_table()

    def policy(self, *, prepared: bool) -> Policy:
        return _policy(str(self.source), "duckdb", str(self.folder / "store"))

    def processor(self) -> float:
        return time.process_time()


@contextmanager
def _duckdb(source: Path, folder: Path) -> Iterator[Bench]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM read_parquet('{source}')")
        yield _DuckDB(source=source, folder=folder, connection=connection)


# -- PostgreSQL ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Postgres:
    address: str
    line: Any
    name: str = "PostgreSQL"
    goals: Goals = field(default_factory=lambda: SERVED)

    def raw(self) -> object:
        with self.line.cursor() as cursor:
            cursor.execute(BY_CITY.format("visits"))
            return cursor.fetch_arrow_table()

    def policy(self, *, prepared: bool) -> Policy:
        return _policy("visits", self.address, "prepared" if prepared else None)

    def processor(self) -> float:
        """Workers that have ended are the server's; this process's own time is the noise and the planning."""
        with self.line.cursor() as cursor:
            cursor.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
            backends = [int(pid) for (pid,) in cursor.fetchall()]
        server = int(Path(f"/proc/{backends[0]}/stat").read_text().rpartition(")")[2].split()[1])
        return _processor(server, *backends) + time.process_time()


@contextmanager
def _postgres(source: Path, folder: Path) -> Iterator[Bench]:
    from adbc_driver_postgresql import dbapi

    with clusters.postgres() as address, dbapi.connect(address, autocommit=True) as line:
        with line.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE visits (user_id bigint, city text, age integer, spend numeric(9, 2))"
            )
            batches = pq.ParquetFile(source).iter_batches(1 << 17)
            for batch in batches:
                cursor.adbc_ingest("visits", batch, mode="append")
            cursor.execute("VACUUM ANALYZE visits")
            cursor.execute("CREATE SCHEMA prepared")
        yield _Postgres(address=address, line=line)


# -- Spark --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Spark:
    source: Path
    folder: Path
    session: Any
    process: int
    name: str = "Spark"
    goals: Goals = field(default_factory=lambda: SERVED)

    def raw(self) -> object:
        return self.session.sql(BY_CITY.format("visits")).toArrow()

    def policy(self, *, prepared: bool) -> Policy:
        return _policy(str(self.source), "spark:local", str(self.folder / "spark") if prepared else None)

    def processor(self) -> float:
        return _processor(self.process) + time.process_time()


@contextmanager
def _spark(source: Path, folder: Path) -> Iterator[Bench]:
    clusters.require_spark()
    from discreet.engines.spark_session import start_session

    session = start_session("spark:local")
    session.read.parquet(str(source)).createOrReplaceTempView("visits")
    process = int(session._jvm.java.lang.ProcessHandle.current().pid())
    try:
        yield _Spark(source=source, folder=folder, session=session, process=process)
    finally:
        session.stop()


# -- As many rows as a disk holds ---------------------------------------------------------------------------


def _largest(progress: Progress) -> list[Row]:
    """DuckDB from Parquet, in a process of its own, whose memory is measured."""
    title = f"DuckDB from Parquet, {MOST // 1_000_000}M"
    if shutil.disk_usage(tempfile.gettempdir()).free < ROOM * 2**30:
        return [(title, f"not measured: it takes {ROOM:.0f} GiB of disk", "–", "–", "")]
    progress(f"measuring: Engines, {title} rows …")
    script = "from benchmarks.engines import largest; largest()"
    told = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
    return [tuple(line.split("\t")) for line in told.stdout.splitlines()]


def largest() -> None:
    """What `_largest` measures, a line each."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder, duckdb.connect() as connection:
        source = visits(Path(folder), MOST)
        connection.execute(f"SET memory_limit = '2GiB'; SET temp_directory = '{folder}'")
        connection.execute(f"CREATE VIEW visits AS FROM read_parquet('{source}')")
        bench = _DuckDB(source=source, folder=Path(folder), connection=connection, name="DuckDB from Parquet")
        found = _of_engine(bench, MOST)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found.append((found[0][0], "most memory used", f"{peak:.2f} GiB", "–", f"under {MEMORY:.0f} GiB"))
    for row in found:
        print(*row, sep="\t")
