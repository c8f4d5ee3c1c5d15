"""Tables to search, so small that they can be searched by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from tests.anonymity.data import coded, tuples_of

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
        return [hierarchy_from_rows(f"column {j}", labels) for j, labels in enumerate(self.columns)]

    @property
    def tuples(self) -> Tuples:
        rows, ills = zip(*self.rows, strict=True)
        return tuples_of(list(zip(coded(self.hierarchies, rows), ills, strict=True)), ILLNESS)


def without_illness(hierarchies: Sequence[Hierarchy], rows: Sequence[Sequence[str]]) -> Tuples:
    """Rows of text, counted by their distinct tuples."""
    return tuples_of([(codes, "") for codes in coded(hierarchies, rows)])


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
