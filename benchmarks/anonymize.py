"""Full-domain generalization of the published tables, beside the GROUP BY that compresses each of them.

Times are of the processor, all threads together, because a machine may be busy; the best of a few runs. The
search starts from distinct tuples and ends at the proven optimum of the loss. Bars are 1.6 times what a first
prototype took. Data: DISCREET_DATA, else ../shared/data beside the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import duckdb

from benchmarks import anonymity_peers, releases, searching
from benchmarks.peers.environments import Progress
from discreet.anonymity.equivalence_classes import EquivalenceClasses, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.hierarchy_formats import read_hierarchy_csv
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.models.privacy_model import Verdicts
from discreet.anonymity.recodings.local_recoding import recode_locally
from discreet.anonymity.search import find_minimal_generalizations, search_lattice
from discreet.anonymity.tuple_counts import ReleaseSource, build_count_query, count_combinations, count_tuples
from discreet.anonymity.utility.utility_measures import measure_granularity
from discreet.engines.duckdb_publisher import DuckDBPublisher

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
FIVE = KAnonymity(k=5)

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

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return FIVE.judge(classes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Distinct tuples, the hierarchies, and how long the GROUP BY took that made them."""

    name: str
    tuples: Tuples
    hierarchies: list[Hierarchy]
    grouping: float

    @property
    def data(self) -> tuple[Tuples, list[Hierarchy]]:
        return self.tuples, self.hierarchies


def rows(progress: Progress) -> list[Row]:
    if not (DATA / "adult_arx").is_dir():
        return [("full-domain generalization", f"not measured: no microdata at {DATA}", "")]
    adult, fars, cup = (
        compressed(*place)
        for place in (("Adult", "adult_arx", "adult"), ("FARS", "fars", "fars_int"), ("CUP", "cup", "cup"))
    )
    with_job = compressed("Adult", "adult_arx", "adult", anonymity_peers.JOB)
    return [
        _optimum(adult, 0, 0.035),
        _optimum(adult, 2, 0.147),
        _optimum(adult, 5, 0.104),
        _optimum(fars, 2, 0.8),
        _optimum(cup, 2, 0.8),
        _every_node(adult),
        _minimal(adult),
        _local(adult),
        _second_process(),
        *releases.rows(DATA / "adult_arx", progress),
        *_large(),
        _huge(),
        *anonymity_peers.rows(DATA / "adult_arx", adult.data, with_job.data, progress),
    ]


def compressed(name: str, folder: str, stem: str, sensitive: str = "") -> Table:
    """Counted and coded as a release is; a sensitive column is not among the quasi-identifiers."""
    place = DATA / folder
    reading = f"FROM read_csv('{place / stem}.csv', delim=';', all_varchar=true)"
    frame = duckdb.connect().sql(reading).to_arrow_table()
    columns = tuple(column for column in frame.column_names if column != sensitive)
    listings = [read_hierarchy_csv(column, place / f"{stem}_hierarchy_{column}.csv") for column in columns]
    hierarchies = [listing.build_hierarchy(listing.list_example_values()) for listing in listings]
    subject = ReleaseSource(table=stem, quasi=columns, sensitive=(sensitive,) if sensitive else ())
    with DuckDBPublisher({}, {stem: frame}) as engine:
        seconds = _best(lambda: engine.count(build_count_query(subject, columns)))
        tuples = count_tuples(engine, count_combinations(engine, subject), hierarchies)
    return Table(name=name, tuples=tuples, hierarchies=hierarchies, grouping=seconds)


def _optimum(table: Table, percent: int, bar: float) -> Row:
    def run() -> object:
        return search_lattice(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(percent, 100))

    found = search_lattice(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(percent, 100))
    seconds = _best(run)
    return (
        f"{table.name}, 5-anonymity, {percent}% suppressed: {found.checked:,} of {found.nodes:,} nodes",
        f"{1000 * seconds:.0f} ms ({seconds / table.grouping:.1f}× the GROUP BY)",
        f"under {1000 * bar:.0f} ms",
    )


def _every_node(table: Table) -> Row:
    seconds = _best(lambda: find_minimal_generalizations(table.tuples, table.hierarchies, [Unforeseeable()]))
    return f"{table.name}, all 12,960 nodes one by one", f"{seconds:.2f} s", "under 0.72 s"


def _minimal(table: Table) -> Row:
    found = find_minimal_generalizations(table.tuples, table.hierarchies, [FIVE])
    seconds = _best(lambda: find_minimal_generalizations(table.tuples, table.hierarchies, [FIVE]))
    name = f"{table.name}, all {len(found.solutions)} minimal of {found.valid} solutions"
    return name, f"{1000 * seconds:.0f} ms", ""


def _local(table: Table) -> Row:
    recoding = recode_locally(*table.data, [FIVE])
    seconds = _best(lambda: recode_locally(*table.data, [FIVE]), times=1)
    kept = measure_granularity(*table.data, recoding)
    name = f"{table.name}, 5-anonymity by local recoding, nothing suppressed: granularity"
    return name, f"{kept:.3f} in {seconds:.1f} s", "at least 0.932"


def _second_process() -> Row:
    """Import, compile or load the kernels, and one small search."""
    _child("small")
    seconds = min(float(_child("small")["seconds"]) for _ in range(3))
    return "a second process: import, kernels from disk, first search", f"{seconds:.2f} s", "about 1 s"


def _large() -> list[Row]:
    found = _child("large")
    return [
        (
            f"{2 * searching.LARGE:,} rows, {searching.LARGE:,} distinct tuples",
            f"{float(found['seconds']):.0f} s",
            "",
        ),
        ("most memory used for it", f"{float(found['gib']):.2f} GiB", "under 1.5 GiB"),
    ]


def _huge() -> Row:
    table = compressed("MACH", "mach2019", "mach2019_int")
    found = search_lattice(table.tuples, table.hierarchies, [FIVE], suppress=Fraction(5, 100), seconds=20)
    assert found.best is not None
    name = f"MACH, 5% suppressed, {found.nodes:,} nodes, 20 s of search"
    return name, f"loss {found.best.loss:.3f} after {found.checked:,} nodes", "not proven"


def _child(what: str) -> dict[str, float]:
    """A search over made-up tuples in a process of its own, with what it took."""
    run = [sys.executable, "-m", "benchmarks.searching", what]
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
