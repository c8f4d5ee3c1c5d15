"""Discovery of quasi-identifiers: how well sets of columns distinguish people.

distinction the number of different tuples over the number of rows: 1 where every row is unique
separation  the share of pairs of rows that differ in the columns                      [Motwani & Xu 07]

The engine counts, for a set of columns, how many tuples occur once, twice, and so on, which is a short result
for any table. Supersets of columns that already distinguish all rows are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sqlglot import exp

from discreet.anonymity.equivalence_classes import Integers, Tuples, number_rows
from discreet.anonymity.recoding import sum_by_group
from discreet.core.engine import Publisher
from discreet.core.number_checks import require_count


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """`tuples[i]` different tuples occur `times[i]` times (above 0)."""

    times: Integers
    tuples: Integers


Count = Callable[[tuple[str, ...]], Occurrences]


@dataclass(frozen=True, kw_only=True)
class Identifiability:
    """The distinction and separation of a set of columns."""

    columns: tuple[str, ...]
    distinction: float
    separation: float


def discover_quasi_identifiers(
    columns: Sequence[str], count: Count, *, most: int = 3
) -> list[Identifiability]:
    """Return every set of up to `most` columns without a subset that separates all rows; strongest first."""
    require_count("discover_quasi_identifiers", "most", most)
    found: list[Identifiability] = []
    complete: list[set[str]] = []
    for size in range(1, min(most, len(columns)) + 1):
        for chosen in combinations(columns, size):
            if any(part <= set(chosen) for part in complete):
                continue
            measured = measure_identifiability(chosen, count(chosen))
            found.append(measured)
            if measured.separation == 1:
                complete.append(set(chosen))
    return sorted(found, key=lambda one: (-one.distinction, -one.separation, len(one.columns), one.columns))


def measure_identifiability(columns: tuple[str, ...], occurrences: Occurrences) -> Identifiability:
    """Compute both measures from counts of counts, in integers up to the division."""
    pairs = list(zip(occurrences.times.tolist(), occurrences.tuples.tolist(), strict=True))
    rows = sum(times * number for times, number in pairs)
    alike = sum(times * (times - 1) * number for times, number in pairs)
    all_pairs = rows * (rows - 1)
    return Identifiability(
        columns=columns,
        distinction=sum(number for _, number in pairs) / rows if rows else 0.0,
        separation=(all_pairs - alike) / all_pairs if all_pairs else 1.0,
    )


def make_engine_counter(engine: Publisher, table: str) -> Count:
    """Return a counter that queries the engine."""

    def count(columns: tuple[str, ...]) -> Occurrences:
        names = [exp.column(name, quoted=True) for name in columns]
        once = exp.select(exp.Count(this=exp.Star()).as_("times")).from_(
            exp.to_identifier(table, quoted=True)
        )
        often = exp.select("times", "count(*) AS tuples").from_(once.group_by(*names).subquery("s"))
        found = engine.count(often.group_by("times").sql(dialect="duckdb")).secret
        return Occurrences(times=found.column("times").to_numpy(), tuples=found.column("tuples").to_numpy())

    return count


def make_tuple_counter(tuples: Tuples, names: Sequence[str]) -> Count:
    """Return a counter over distinct tuples that are already counted."""
    places = {name: j for j, name in enumerate(names)}
    domains = [int(tuples.codes[:, j].max(initial=0)) + 1 for j in range(len(names))]

    def count(columns: tuple[str, ...]) -> Occurrences:
        chosen = [places[name] for name in columns]
        groups, number = number_rows([tuples.codes[:, j] for j in chosen], [domains[j] for j in chosen])
        times, often = np.unique(sum_by_group(groups, tuples.counts, number), return_counts=True)
        return Occurrences(times=times[times > 0], tuples=often[times > 0])

    return count
