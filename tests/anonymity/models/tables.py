"""Small tables of classes, written as how often each sensitive value occurs in each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, SensitiveCounts

Counts = Mapping[str, int]


def sensitive(
    classes: Sequence[Counts], totals: Counts | None = None, names: Sequence[str] | None = None
) -> SensitiveCounts:
    """The counts of one column; the table is what the classes add up to, unless it is given."""
    table = totals if totals is not None else sum((Counter(each) for each in classes), Counter())
    order = tuple(names if names is not None else sorted(table))
    entries = [[(order.index(value), n) for value, n in each.items() if n] for each in classes]
    flat = [entry for each in entries for entry in sorted(each)]
    return SensitiveCounts(
        starts=np.cumsum([0, *map(len, entries)]).astype(np.int64),
        values=np.array([code for code, _ in flat], np.int32),
        counts=np.array([n for _, n in flat], np.int64),
        totals=np.array([table.get(name, 0) for name in order], np.int64),
        names=order,
    )


def table(
    classes: Sequence[Counts],
    *,
    column: str = "disease",
    totals: Counts | None = None,
    names: Sequence[str] | None = None,
    population: Sequence[int] | None = None,
    others: Mapping[str, SensitiveCounts] | None = None,
) -> EquivalenceClasses:
    counted = sensitive(classes, totals, names)
    return EquivalenceClasses(
        sizes=np.array([sum(each.values()) for each in classes], np.int64),
        rows=int(counted.totals.sum()),
        sensitive={column: counted, **(others or {})},
        population=None if population is None else np.array(population, np.int64),
    )


def grouped(rows: Sequence[tuple[str, str]]) -> list[Counter[str]]:
    """Rows of (quasi-identifiers, sensitive value) as classes, in the order of their first rows."""
    found: dict[str, Counter[str]] = {}
    for shown, value in rows:
        found.setdefault(shown, Counter())[value] += 1
    return list(found.values())
