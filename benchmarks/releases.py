"""Adult resampled, from Parquet to the written release by the real command, each in a process of its own.

The command does all that it does for a custodian: it counts, searches, judges once more, writes the release,
its certificate and the report with its charts. CPU time is of all threads. Bars are 1.6 times what a first
prototype took, which wrote the release alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.peers.environments import ROOT, Progress

FOLDER = ROOT / "build" / "anonymize"
COMMAND = str(Path(sys.executable).with_name("discreet"))
SIZES = {1_000_000: {0: 3.0, 2: 2.6}, 10_000_000: {0: 11.2, 2: 8.8}}
"""By rows, and by the percentage of them that may be suppressed: the bar in seconds of CPU."""

MOST_SECONDS, MOST_MEMORY = 15, 1.5  # of the clock; GiB

Row = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a process took: seconds of the clock and of the processor, and GiB at its peak."""

    wall: float
    cpu: float
    memory: float


def rows(adult: Path, progress: Progress) -> list[Row]:
    found: list[Row] = []
    for size, bars in SIZES.items():
        progress(f"Adult resampled to {size:,} rows …")
        source = resampled(adult, size)
        grouping = _grouping(source)
        for percent, bar in bars.items():
            run = released(adult, source, percent)
            measured = f"{run.cpu:.1f} s CPU, {run.wall:.1f} s, {run.memory:.2f} GiB"
            found.append(
                (
                    f"{size:,} rows of Adult, {percent}% suppressed: Parquet to release and report",
                    f"{measured} ({run.cpu / grouping:.1f}× the GROUP BY)",
                    f"under {bar:.1f} s CPU, {MOST_SECONDS} s, {MOST_MEMORY} GiB",
                )
            )
    return found


def resampled(adult: Path, size: int) -> Path:
    """Rows of Adult drawn with replacement, the same in every run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"adult-{size}.parquet"
    if not path.exists():
        draft = path.with_suffix(".draft")
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t AS FROM read_csv('{adult / 'adult.csv'}', delim=';')")
        drawn = f"SELECT hash(range) % (SELECT count(*) FROM t) AS place FROM range({size})"
        rows = f"SELECT t.* FROM ({drawn}) AS drawn JOIN t ON t.rowid = place"
        connection.execute(f"COPY ({rows}) TO '{draft}' (FORMAT parquet)")
        connection.close()
        draft.rename(path)
    return path


def released(adult: Path, source: Path, percent: int) -> Run:
    columns = [path.stem.removeprefix("adult_hierarchy_") for path in adult.glob("adult_hierarchy_*.csv")]
    hierarchies = [f"--hierarchy={name}={adult / f'adult_hierarchy_{name}.csv'}" for name in columns]
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        words = ["anonymize", str(source), f"--quasi={','.join(columns)}", *hierarchies]
        limits = ["-k", "5", "--suppress", f"{percent}%", "-o", "release.parquet"]
        return _run([COMMAND, *words, *limits], folder)


def _run(command: list[str], folder: str) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        said = process.stderr.read() if process.stderr else ""
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {said}")
    return Run(wall=wall, cpu=used.ru_utime + used.ru_stime, memory=used.ru_maxrss / 2**20)


def _grouping(source: Path) -> float:
    """The seconds of CPU of the one GROUP BY that compresses the table, with all columns as text."""
    connection = duckdb.connect()
    text = f"SELECT COLUMNS(*)::VARCHAR, count(*) FROM read_parquet('{source}') GROUP BY ALL"
    taken = []
    for _ in range(3):
        start = time.process_time()
        connection.sql(text).to_arrow_table()
        taken.append(time.process_time() - start)
    connection.close()
    return min(taken)
