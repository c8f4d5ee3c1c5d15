"""Tables to search: small ones that can be searched by hand, and the published ones where they are there."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from discreet.anonymity.classes import Sensitive, Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.hierarchy import listed
from tests.conftest import SHARED

DATA = Path(os.environ.get("DISCREET_DATA", SHARED / "data"))
ILLNESS = "illness"

Labels = tuple[tuple[str, ...], ...]
"""One row of labels for each value of a column, from itself to the top."""


@dataclass(frozen=True, kw_only=True)
class World:
    """A table by its rows: quasi-identifiers, and one sensitive value."""

    columns: tuple[Labels, ...]
    rows: tuple[tuple[tuple[str, ...], str], ...]

    @property
    def hierarchies(self) -> list[Hierarchy]:
        return [listed(f"column {j}", labels) for j, labels in enumerate(self.columns)]

    @property
    def tuples(self) -> Tuples:
        rows, ills = zip(*self.rows, strict=True)
        return tuples_of(self.hierarchies, rows, {ILLNESS: ills})


def tuples_of(
    hierarchies: Sequence[Hierarchy],
    rows: Sequence[Sequence[str]],
    sensitive: Mapping[str, Sequence[str]],
) -> Tuples:
    """Rows, counted by their distinct tuples."""
    codes = [tuple(h.places[value] for h, value in zip(hierarchies, row, strict=True)) for row in rows]
    counts = Counter(codes)
    place = {code: number for number, code in enumerate(counts)}
    owners = [place[code] for code in codes]
    return Tuples(
        codes=np.array(list(counts), np.int32).reshape(len(counts), len(hierarchies)),
        counts=np.array(list(counts.values()), np.int64),
        sensitive={name: _sensitive(owners, values, len(counts)) for name, values in sensitive.items()},
    )


def _sensitive(owners: Sequence[int], values: Sequence[str], tuples: int) -> Sensitive:
    names = tuple(sorted(set(values)))
    pairs = sorted(Counter(zip(owners, (names.index(value) for value in values), strict=True)).items())
    lengths = np.bincount([owner for (owner, _), _ in pairs], minlength=tuples)
    totals = Counter(values)
    return Sensitive(
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        values=np.array([value for (_, value), _ in pairs], np.int32),
        counts=np.array([count for _, count in pairs], np.int64),
        totals=np.array([totals[name] for name in names], np.int64),
        names=names,
    )


@st.composite
def labels(draw: st.DrawFn) -> Labels:
    """Values in nested groups of neighbours under one top; a single value may be its own."""
    values = draw(st.integers(1, 5))
    width, groups = 1, []
    for factor in draw(st.lists(st.integers(2, 3), max_size=2)):
        width *= factor
        groups.append([f"{width}:{value // width}" for value in range(values)])
    top = ["*"] * values if values > 1 or groups or draw(st.booleans()) else None
    levels = [[str(value) for value in range(values)], *groups, *([top] if top else [])]
    return tuple(zip(*levels, strict=True))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    columns = tuple(draw(st.lists(labels(), min_size=1, max_size=3)))
    row = st.tuples(*(st.sampled_from([value[0] for value in column]) for column in columns))
    rows = draw(st.lists(st.tuples(row, st.sampled_from("abc")), min_size=1, max_size=16))
    return World(columns=columns, rows=tuple(rows))


def records(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return [row for row in csv.reader(file, delimiter=";") if row]


@cache
def published(folder: str, stem: str, sensitive: str = "") -> tuple[Tuples, list[Hierarchy]]:
    """A table of the shared data with ARX's hierarchies; a sensitive column is not a quasi-identifier."""
    if not (DATA / folder / f"{stem}.csv").exists():
        pytest.skip(f"no microdata at {DATA}: set DISCREET_DATA to a folder with {folder}")
    head, *rows = records(DATA / folder / f"{stem}.csv")
    names = [name for name in head if name != sensitive]
    hierarchies = [listed(name, records(DATA / folder / f"{stem}_hierarchy_{name}.csv")) for name in names]
    places = [head.index(name) for name in names]
    kept = {sensitive: [row[head.index(sensitive)] for row in rows]} if sensitive else {}
    return tuples_of(hierarchies, [[row[place] for place in places] for row in rows], kept), hierarchies
