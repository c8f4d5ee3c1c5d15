"""Real tables with ARX's hierarchies, as distinct tuples; tests skip and say so where the data is missing."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet.anonymity.equivalence_classes import SensitiveCounts, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy, hierarchy_from_rows
from tests.conftest import SHARED

DATA = Path(os.environ.get("DISCREET_DATA", SHARED / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "adult_arx").is_dir(), reason=f"no microdata at {DATA}: set DISCREET_DATA"
)
ADULT = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


def records(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return [row for row in csv.reader(file, delimiter=";") if row]


@cache
def published(folder: str, stem: str, sensitive: str = "") -> tuple[Tuples, tuple[Hierarchy, ...]]:
    """A table with ARX's hierarchies; a sensitive column is not among the quasi-identifiers."""
    place = DATA / folder
    if not (place / f"{stem}.csv").exists():
        pytest.skip(f"no microdata at {place}: set DISCREET_DATA to a folder with {folder}")
    head, *rows = records(place / f"{stem}.csv")
    names = [name for name in head if name != sensitive]
    hierarchies = tuple(
        hierarchy_from_rows(name, records(place / f"{stem}_hierarchy_{name}.csv")) for name in names
    )
    places = [head.index(name) for name in names]
    codes = coded(hierarchies, [[row[place] for place in places] for row in rows])
    values = [row[head.index(sensitive)] if sensitive else "" for row in rows]
    return tuples_of(list(zip(codes, values, strict=True)), sensitive), hierarchies


def adult(sensitive: str = "") -> tuple[Tuples, tuple[Hierarchy, ...]]:
    return published("adult_arx", "adult", sensitive)


def coded(hierarchies: Sequence[Hierarchy], rows: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """The places of a row's values in their hierarchies."""
    return [tuple(h.positions[value] for h, value in zip(hierarchies, row, strict=True)) for row in rows]


def tuples_of(rows: Sequence[tuple[tuple[int, ...], str]], sensitive: str = "") -> Tuples:
    """Distinct tuples of codes, each with a sensitive value (ignored where the column has no name)."""
    counts = Counter(codes for codes, _ in rows)
    codes = np.array(list(counts), np.int32).reshape(len(counts), -1)
    found = Tuples(codes=codes, counts=np.array(list(counts.values()), np.int64))
    if not sensitive:
        return found
    place = {key: number for number, key in enumerate(counts)}
    totals = Counter(value for _, value in rows)
    names = tuple(sorted(totals))
    pairs = sorted(Counter((place[key], names.index(value)) for key, value in rows).items())
    owners = [owner for (owner, _), _ in pairs]
    column = SensitiveCounts(
        starts=np.searchsorted(owners, np.arange(len(counts) + 1)).astype(np.int64),
        values=np.array([value for (_, value), _ in pairs], np.int32),
        counts=np.array([count for _, count in pairs], np.int64),
        totals=np.array([totals[name] for name in names], np.int64),
        names=names,
    )
    return Tuples(codes=codes, counts=found.counts, sensitive={sensitive: column})
