"""Counts of a table, which are all that the search and the models see; they never see rows.

Tuples      the distinct combinations of quasi-identifiers, how many rows each has, and how often each
            sensitive value occurs with it.
Classes     the counts after recoding: rows that show the same quasi-identifiers are one equivalence class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


def select_ragged_rows(starts: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Select rows of a ragged array whose row i is at starts[i]:starts[i + 1].

    Return the starts of the selected rows, and the positions of their entries.

    >>> starts, places = select_ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    >>> starts.tolist(), places.tolist()
    ([0, 3, 5], [2, 3, 4, 0, 1])
    """
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ends, np.repeat(starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveCounts:
    """Counts of each value of one sensitive column in each class (or with each tuple).

    Class i holds the values `values[starts[i]:starts[i + 1]]`, each `counts` times (above 0), by rising code.
    `totals` counts every value in the whole input table, which models that compare with the table use, also
    after suppression. `names` are the values as text, in the order of their codes; that order is the order of
    an ordered distance.
    """

    starts: Integers
    values: Codes
    counts: Integers
    totals: Integers
    names: tuple[str, ...]

    def select(self, places: Integers) -> SensitiveCounts:
        """Return the counts of some classes; `totals` still describes the whole table."""
        starts, inside = select_ragged_rows(self.starts, places)
        return replace(self, starts=starts, values=self.values[inside], counts=self.counts[inside])


@dataclass(frozen=True, kw_only=True, eq=False)
class EquivalenceClasses:
    """Equivalence classes, as counts.

    `population[i]` counts the people of the population table who share the quasi-identifiers of class i;
    None without a population table. `rows` counts the whole input table.
    """

    sizes: Integers
    rows: int
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    population: Integers | None = None

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuples:
    """The distinct tuples of quasi-identifiers: `codes[i, j]` is a position in the values of hierarchy j."""

    codes: Codes
    counts: Integers
    sensitive: Mapping[str, SensitiveCounts] = field(default_factory=dict)
    population: Integers | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())
