"""What an objective is: how much worse a release is than the table, less being better.

An objective is first set to a table (`over`), and then scores nodes. A score is a number that rises with what
is shown to people (`shown`), so nodes are compared by it. Three bounds let a search pass over nodes:

    bounds    for every node, from the levels and the single columns alone
    below     for every node below one that was judged
    above     for every node above one that was judged, and for itself

A bound is never above the score of a node that it is about, whatever is suppressed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from discreet.anonymity.classes import Integers
from discreet.anonymity.search.columns import Column
from discreet.anonymity.search.kernels import Truths
from discreet.anonymity.search.lattice import Floats, Lattice, Levels
from discreet.core.errors import require

ANY = -np.inf  # the bound that says nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """A node that was judged: its classes by keys and sizes, and which of them are kept.

    Rows of classes that are not `certain` are suppressed at every node below, too.
    """

    levels: Levels
    keys: Integers
    sizes: Integers
    kept: Truths
    certain: Truths

    @cached_property
    def gone(self) -> Gone:
        """What is suppressed."""
        return Gone.of(self, self.kept)

    @cached_property
    def surely_gone(self) -> Gone:
        """What is suppressed at every node below, too."""
        return self.gone if self.certain is self.kept else Gone.of(self, self.certain)


@dataclass(frozen=True, kw_only=True, eq=False)
class Gone:
    """Classes of a node that are suppressed."""

    levels: Levels
    keys: Integers
    sizes: Integers

    @staticmethod
    def of(view: View, kept: Truths) -> Gone:
        places = np.flatnonzero(~kept)
        return Gone(levels=view.levels, keys=view.keys[places], sizes=view.sizes[places])

    @cached_property
    def rows(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """The table that is searched: its columns and their weights, its rows, how many tuples it has."""

    columns: tuple[Column, ...]
    rows: int
    tuples: int
    weights: Floats

    @property
    def lattice(self) -> Lattice:
        return Lattice.of([column.hierarchy for column in self.columns])

    def most_classes(self) -> Floats:
        """For every node, no more classes than labels allow, or than there are tuples."""
        total = np.ones(())
        for column in self.columns:
            total = total[..., None] * np.array([float(len(places)) for places in column.places])
        return np.minimum(total, self.tuples)


class Scale(Protocol):
    """An objective for one table."""

    def bounds(self) -> Floats:
        """For every node the least score that it can have."""

    def score(self, view: View) -> float:
        """How bad a node is."""

    def below(self, view: View) -> Floats | float:
        """The least scores of the nodes below, as an array of them or as one number for all."""

    def above(self, view: View) -> float:
        """The least score of the node and of those above it."""

    def shown(self, score: float) -> float:
        """The score as people know it."""


class Objective(Protocol):
    """One way to measure what a release loses."""

    name: ClassVar[str]
    weighted: ClassVar[bool]

    def over(self, setting: Setting) -> Scale:
        """The objective for one table."""


def weights_of(objective: Objective, columns: Sequence[str], weights: Sequence[float] | None) -> Floats:
    """The weights of columns, so that all equal ones are 1 each."""
    if weights is None:
        return np.ones(len(columns))
    require(objective.weighted, "search", "weights", "weights", f"left out: {objective.name} has no columns")
    found = np.array(weights, np.float64)
    fine = len(found) == len(columns) and bool((found >= 0).all()) and found.sum() > 0
    require(fine, "search", "weights", list(weights), "one number of at least 0 a column, not all 0")
    return found * (len(found) / float(found.sum()))
