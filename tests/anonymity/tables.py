"""Small random tables with random hierarchies, and what a reader sees of their release, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import TOP, Hierarchy, hierarchy_from_rows
from discreet.anonymity.recoding import Recoding
from tests.anonymity.data import tuples_of

Row = tuple[tuple[int, ...], str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    rows: Sequence[Row]
    tuples: Tuples
    hierarchies: tuple[Hierarchy, ...]

    def __repr__(self) -> str:
        return f"{self.rows} under {[hierarchy.maps for hierarchy in self.hierarchies]}"


@st.composite
def hierarchies(draw: st.DrawFn, name: str) -> Hierarchy:
    """A nested hierarchy of at most five values and three levels above them."""
    values = draw(st.integers(1, 5))
    groups = list(range(values))
    levels = [[f"{name}{value}" for value in range(values)]]
    for level in range(draw(st.integers(0, 2))):
        number = max(groups) + 1
        parent = [draw(st.integers(0, max(number - 2, 0))) for _ in range(number)]
        groups = [parent[group] for group in groups]
        levels.append([f"{name}·{level}·{group}" for group in groups])
    levels.append([TOP] * values)
    return hierarchy_from_rows(name, list(zip(*levels, strict=True)))


@st.composite
def tables(draw: st.DrawFn, columns: int = 3, rows: int = 30) -> Table:
    found = tuple(draw(hierarchies(f"c{j}")) for j in range(draw(st.integers(1, columns))))
    row = st.tuples(
        st.tuples(*(st.integers(0, len(h.values) - 1) for h in found)), st.sampled_from(["a", "b", "c"])
    )
    drawn = draw(st.lists(row, min_size=1, max_size=rows))
    return Table(rows=drawn, tuples=tuples_of(drawn, "illness"), hierarchies=found)


def published(table: Table, recoding: Recoding) -> dict[tuple[str, ...], list[Row]]:
    """The rows that show each combination of labels."""
    place = {tuple(codes): number for number, codes in enumerate(table.tuples.codes.tolist())}
    classes: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table.rows:
        number = place[row[0]]
        if recoding.published[number]:
            classes[labels(recoding, number)].append(row)
    return classes


def labels(recoding: Recoding, number: int) -> tuple[str, ...]:
    codes = recoding.codes[number].tolist()
    return tuple(names[code] for names, code in zip(recoding.labels, codes, strict=True))


def meaning(hierarchy: Hierarchy, label: str) -> set[int]:
    """The values that a label stands for, read from its text alone: a node, a value or [first, last]."""
    for codes, names in zip(hierarchy.maps[::-1], hierarchy.labels[::-1], strict=True):
        if label in names:
            return {value for value, code in enumerate(codes.tolist()) if names[code] == label}
    first, last = label.strip("[]").split(", ")
    return set(range(hierarchy.positions[first], hierarchy.positions[last] + 1))


def region(hierarchies: Sequence[Hierarchy], shown: tuple[str, ...]) -> list[set[int]]:
    return [meaning(hierarchy, label) for hierarchy, label in zip(hierarchies, shown, strict=True)]
