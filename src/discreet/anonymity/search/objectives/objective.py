"""The protocol of an objective: a measure of what a release loses, to be minimized.

An objective is first applied to a table (`for_table`), and then scores nodes. Nodes are compared by score;
`convert_score` maps it to the value that users see, which rises with it. Three lower bounds let a search skip
nodes:

    compute_bounds  for every node, from the levels and the single columns alone
    bound_below     for every node below a judged one
    bound_above     for a judged node and every node above it

A bound is never above the score of its node, whatever is suppressed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from discreet.anonymity.equivalence_classes import Integers
from discreet.anonymity.search.grouping_kernels import Truths
from discreet.anonymity.search.lattice import Floats, Lattice, Levels
from discreet.anonymity.search.node_tables import SearchColumn
from discreet.core.errors import require_parameter

ANY = -np.inf  # the trivial bound


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedNode:
    """A judged node: its classes by keys and sizes, and which of them are kept.

    Rows of classes that are not `certain` are suppressed at every node below as well.
    """

    levels: Levels
    keys: Integers
    sizes: Integers
    kept: Truths
    certain: Truths

    @cached_property
    def suppressed_classes(self) -> SuppressedClasses:
        """The classes that are suppressed."""
        return SuppressedClasses.from_node(self, self.kept)

    @cached_property
    def surely_suppressed_classes(self) -> SuppressedClasses:
        """The classes whose rows are suppressed at every node below as well."""
        return (
            self.suppressed_classes
            if self.certain is self.kept
            else SuppressedClasses.from_node(self, self.certain)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SuppressedClasses:
    """Suppressed classes of a node."""

    levels: Levels
    keys: Integers
    sizes: Integers

    @staticmethod
    def from_node(view: JudgedNode, kept: Truths) -> SuppressedClasses:
        """Return the classes of a judged node that are not kept."""
        places = np.flatnonzero(~kept)
        return SuppressedClasses(levels=view.levels, keys=view.keys[places], sizes=view.sizes[places])

    @cached_property
    def rows(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSetting:
    """The table that is searched: its columns and their weights, and its numbers of rows and tuples."""

    columns: tuple[SearchColumn, ...]
    rows: int
    tuples: int
    weights: Floats

    @property
    def lattice(self) -> Lattice:
        return Lattice.from_hierarchies([column.hierarchy for column in self.columns])

    def bound_classes(self) -> Floats:
        """Return for every node a bound on its classes: the combinations of labels, and the tuples."""
        total = np.ones(())
        for column in self.columns:
            total = total[..., None] * np.array([float(len(places)) for places in column.places])
        return np.minimum(total, self.tuples)


class TableObjective(Protocol):
    """An objective for one table."""

    def compute_bounds(self) -> Floats:
        """Return for every node a lower bound on its score."""

    def score(self, view: JudgedNode) -> float:
        """Return the loss of a judged node."""

    def bound_below(self, view: JudgedNode) -> Floats | float:
        """Return lower bounds for the nodes below, as an array or as one number for all."""

    def bound_above(self, view: JudgedNode) -> float:
        """Return a lower bound for the node and for those above it."""

    def convert_score(self, score: float) -> float:
        """Return the score in the objective's published unit."""


class Objective(Protocol):
    """A measure of what a release loses."""

    name: ClassVar[str]
    weighted: ClassVar[bool]

    def for_table(self, setting: SearchSetting) -> TableObjective:
        """Return the objective for one table."""


def normalize_weights(
    objective: Objective, columns: Sequence[str], weights: Sequence[float] | None
) -> Floats:
    """Return the weights of columns, scaled to a mean of 1."""
    if weights is None:
        return np.ones(len(columns))
    require_parameter(
        objective.weighted, "search", "weights", "weights", f"left out: {objective.name} has no columns"
    )
    found = np.array(weights, np.float64)
    fine = len(found) == len(columns) and bool((found >= 0).all()) and found.sum() > 0
    require_parameter(
        fine, "search", "weights", list(weights), "one number of at least 0 per column, not all 0"
    )
    return found * (len(found) / float(found.sum()))
