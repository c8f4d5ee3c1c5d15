"""Other systems that anonymize, each on Adult and on what it is for, beside ours on the same task.

Python packages in environments of their own; ARX from its jar, if DISCREET_ARX points at one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.peers import arx, environments
from benchmarks.peers.environments import ANJANA, ANONYPY, CROWDS, PYCANON, Progress, Told
from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import KAnonymity, RecursiveDiversity, find_strongest
from discreet.anonymity.recoding import group_by_recoding
from discreet.anonymity.recodings.mondrian import Mondrian
from discreet.anonymity.search import SearchResult, group_at_levels, recode_at_levels, search_lattice
from discreet.anonymity.utility.utility_measures import measure_loss

JOB = "occupation"
FIVE = KAnonymity(k=5)
SUPPRESS = Fraction(2, 100)
LIMIT = 300
TASKS = {
    ANJANA: ("k-anonymity", "recursive diversity"),
    CROWDS: ("k-anonymity",),
    PYCANON: ("t-closeness",),
    ANONYPY: ("Mondrian",),
}
PEERS = tuple(TASKS)
TITLES = {
    "k-anonymity": "5-anonymity of Adult, 2% suppressed",
    "recursive diversity": "5-anonymity and (4, 3)-diversity of occupations, 2% suppressed",
    "t-closeness": "how t-close Adult is as it stands, occupations by equal distance",
    "Mondrian": "Mondrian, k = 5, 8 columns of Adult",
}

T = TypeVar("T")
Row = tuple[str, str, str]
Data = tuple[Tuples, list[Hierarchy]]
"""Distinct tuples, and the hierarchies of their columns."""


def rows(folder: Path, whole: Data, with_job: Data, progress: Progress) -> list[Row]:
    """`whole` has every column as a quasi-identifier, `with_job` the occupation as sensitive."""
    problems = environments.install(PEERS, progress)
    ours = {
        "k-anonymity": lambda: _optimum(*_timed(lambda: search_lattice(*whole, [FIVE], suppress=SUPPRESS))),
        "recursive diversity": lambda: _optimum(*_timed(lambda: _diverse(with_job))),
        "t-closeness": lambda: _closeness(with_job),
        "Mondrian": lambda: _mondrian(with_job),
    }
    progress("ARX on Adult …")
    found = [_of_arx(folder, whole, ours["k-anonymity"])]
    for peer in PEERS:
        progress(f"{peer.name} on Adult …")
        told = Told(found=[], problem=problems[peer])
        if not told.problem:
            told = environments.run(peer, "anonymity", str(folder), seconds=LIMIT)
        name = f"{peer.name} {peer.version}"
        found += [_row(name, task, told, whole, ours[task]) for task in TASKS[peer]]
    return found


def _of_arx(folder: Path, whole: Data, ours: Callable[[], str]) -> Row:
    """Beside ours, or why not; the next peer has the same task."""
    if arx.missing():
        return f"{arx.name()}: {TITLES['k-anonymity']}", arx.missing(), ""
    told = arx.generalize(folder, FIVE.k, float(SUPPRESS), seconds=LIMIT)
    return _row(arx.name(), "k-anonymity", told, whole, ours)


def _row(name: str, task: str, told: Told, whole: Data, ours: Callable[[], str]) -> Row:
    theirs = next((each for each in told.found if each["task"] == task), None)
    measured = told.problem or "nothing reported"
    if theirs is not None:
        measured = f"{theirs['seconds']:.1f} s: {_said(task, theirs, whole)}"
    return f"{name}: {TITLES[task]}", measured, f"ours: {ours()}"


def _said(task: str, theirs: dict[str, Any], whole: Data) -> str:
    """What a peer found; its generalization is scored by our loss, with the rows left out that break k."""
    if task == "k-anonymity":
        recoding = recode_at_levels(*whole, theirs["levels"], [FIVE])
        return f"loss {measure_loss(*whole, recoding):.3f}"
    if task == "recursive diversity":
        return f"{theirs['rows']:,} rows published" if theirs["rows"] else "said to be impossible"
    return f"t = {theirs['t']:.3f}" if task == "t-closeness" else f"{theirs['classes']:,} classes"


def _diverse(data: Data) -> SearchResult:
    return search_lattice(
        *data, [FIVE, RecursiveDiversity(column=JOB, c=Fraction(4), l=3)], suppress=SUPPRESS
    )


def _optimum(seconds: float, found: SearchResult) -> str:
    assert found.best is not None
    return f"{seconds:.2f} s: loss {found.best.loss:.3f}, proven least"


def _closeness(data: Data) -> str:
    tuples, hierarchies = data
    classes = group_at_levels(tuples, hierarchies, [0] * len(hierarchies))
    seconds, t = _timed(lambda: find_strongest(classes, "equal", JOB))
    return f"{seconds:.2f} s: t = {float(t):.3f}"


def _mondrian(data: Data) -> str:
    tuples, hierarchies = data
    plan = Mondrian(ordered=frozenset({"age"}))
    seconds, recoding = _timed(lambda: plan.recode(tuples, hierarchies, [FIVE]))
    return f"{seconds:.2f} s: {len(group_by_recoding(tuples, recoding)[0]):,} classes"


def _timed(run: Callable[[], T]) -> tuple[float, T]:
    """Once to load kernels, once for the clock."""
    run()
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found
