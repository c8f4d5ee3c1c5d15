"""Full-domain generalization of the published tables, beside the GROUP BY that compresses each of them.

Times are of the processor, all threads together, because a machine may be busy; the best of a few runs. The
search starts from distinct tuples and ends at the proven optimum of the loss. Bars are 1.6 times what a first
prototype took. Data: DISCREET_DATA, else ../shared/data beside the repository.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np

from discreet.anonymity.classes import Classes, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.hierarchy import listed
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.models.model import Verdicts
from discreet.anonymity.search import classes_of, minimal, search

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
FIVE = KAnonymity(k=5)
LARGE = 5_000_000

Row = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Unforeseeable:
    """5-anonymity that claims no monotony, so that every node has to be judged."""

    column: ClassVar[str | None] = None
    name: ClassVar[str] = "5-anonymity"
    belief: ClassVar[str] = ""
    not_stopped: ClassVar[tuple[str, ...]] = ()
    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: Classes) -> Verdicts:
        return FIVE.judge(classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Distinct tuples, the hierarchies, and how long the GROUP BY took that made them."""

    name: str
    tuples: Tuples
    hierarchies: list[Hierarchy]
    grouping: float


def rows() -> list[Row]:
    if not (DATA / "adult_arx").is_dir():
        return [("full-domain generalization", f"not measured: no microdata at {DATA}", "")]
    adult, fars, cup = (
        compressed(*place)
        for place in (("Adult", "adult_arx", "adult"), ("FARS", "fars", "fars_int"), ("CUP", "cup", "cup"))
    )
    return [
        _optimum(adult, 0, 0.035),
        _optimum(adult, 2, 0.147),
        _optimum(adult, 5, 0.104),
        _optimum(fars, 2, 0.8),
        _optimum(cup, 2, 0.8),
        _every_node(adult),
        _minimal(adult),
        _second_process(),
        *_large(),
        _huge(),
    ]


def compressed(name: str, folder: str, stem: str) -> Table:
    place = DATA / folder
    con = duckdb.connect()
    source = f"read_csv('{place / stem}.csv', delim=';', all_varchar=true)"
    con.execute(f"CREATE TABLE t AS SELECT * FROM {source}")
    columns = [column[0] for column in con.sql("DESCRIBE t").fetchall()]
    names = ", ".join(f'"{column}"' for column in columns)
    grouped = con.sql(f"SELECT {names}, COUNT(*) AS n FROM t GROUP BY ALL")
    seconds = _best(grouped.to_arrow_table)
    found = grouped.to_arrow_table().to_pydict()
    hierarchies = [_hierarchy(column, place / f"{stem}_hierarchy_{column}.csv") for column in columns]
    codes = np.stack([[h.places[value] for value in found[h.name]] for h in hierarchies], axis=1)
    tuples = Tuples(codes=codes.astype(np.int32), counts=np.asarray(found["n"], np.int64))
    return Table(name=name, tuples=tuples, hierarchies=hierarchies, grouping=seconds)


def _hierarchy(name: str, path: Path) -> Hierarchy:
    with path.open(newline="") as file:
        return listed(name, [row for row in csv.reader(file, delimiter=";") if row])


def _optimum(table: Table, percent: int, bar: float) -> Row:
    def run() -> object:
        return search(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(percent, 100))

    found = search(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(percent, 100))
    seconds = _best(run)
    return (
        f"{table.name}, 5-anonymity, {percent}% suppressed: {found.checked:,} of {found.nodes:,} nodes",
        f"{1000 * seconds:.0f} ms ({seconds / table.grouping:.1f}× the GROUP BY)",
        f"under {1000 * bar:.0f} ms",
    )


def _every_node(table: Table) -> Row:
    seconds = _best(lambda: minimal(table.tuples, table.hierarchies, [Unforeseeable()]))
    return f"{table.name}, all 12,960 nodes one by one", f"{seconds:.2f} s", "under 0.72 s"


def _minimal(table: Table) -> Row:
    found = minimal(table.tuples, table.hierarchies, [FIVE])
    seconds = _best(lambda: minimal(table.tuples, table.hierarchies, [FIVE]))
    name = f"{table.name}, all {len(found.solutions)} minimal of {found.valid} solutions"
    return name, f"{1000 * seconds:.0f} ms", ""


def _second_process() -> Row:
    """Import, compile or load the kernels, and one small search."""
    _child("small")
    seconds = min(float(_child("small")["seconds"]) for _ in range(3))
    return "a second process: import, kernels from disk, first search", f"{seconds:.2f} s", "about 1 s"


def _large() -> list[Row]:
    found = _child("large")
    return [
        (f"{2 * LARGE:,} rows, {LARGE:,} distinct tuples", f"{float(found['seconds']):.0f} s", ""),
        ("most memory used for it", f"{float(found['gib']):.2f} GiB", "under 1.5 GiB"),
    ]


def _huge() -> Row:
    table = compressed("MACH", "mach2019", "mach2019_int")
    found = search(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(5, 100), seconds=20)
    assert found.best is not None
    name = f"MACH, 5% suppressed, {found.nodes:,} nodes, 20 s of search"
    return name, f"loss {found.best.loss:.3f} after {found.checked:,} nodes", "not proven"


def small() -> None:
    hierarchies, tuples = _drawn(1000)
    search(tuples, hierarchies, [FIVE], suppress=Fraction(2, 100))


def large() -> None:
    hierarchies, tuples = _drawn(LARGE)
    found = search(tuples, hierarchies, [FIVE], suppress=Fraction(2, 100))
    assert found.best is not None
    classes_of(tuples, hierarchies, found.best.levels)


def _drawn(tuples: int) -> tuple[list[Hierarchy], Tuples]:
    labels = [(str(v), f"{v // 4} of 16", f"{v // 16} of 4", "*") for v in range(64)]
    draws = np.random.default_rng(1).binomial(63, 0.5, size=(tuples, 6))
    drawn = Tuples(codes=draws.astype(np.int32), counts=np.full(tuples, 2))
    return [listed(f"column {j}", labels) for j in range(6)], drawn


def _child(what: str) -> dict[str, float]:
    """One of the above in a process of its own, with what it took."""
    run = [sys.executable, "-m", "benchmarks.anonymize", what]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _best(run: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


if __name__ == "__main__":
    if sys.argv[1:]:
        {"small": small, "large": large}[sys.argv[1]]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"seconds": time.process_time(), "gib": peak}))
    else:
        for row in rows():
            print("  ".join(row))
