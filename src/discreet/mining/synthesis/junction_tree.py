"""Junction tree: a distribution over many columns, stored in small tables.

Model       p(x) proportional to the product of exp(potential_s(x_s)) over sets s of columns. Each set is at
            home in a clique; cliques are joined into a tree so that those that share a column are connected
            through cliques that have it too.
Calibrated  tables of the cliques that are marginals of p, by sums sent up the tree and down again [LS88].
Marginals   of a set inside a clique by summing its table; of another set by going through the tree from one
            of its cliques and carrying along only the columns that are still needed.

Triangulation: cliques that contain every measured set of columns.

Columns that are measured together are joined; columns are then eliminated one by one, each with those that it
is joined with, which become joined among themselves. What is eliminated with each is a clique; those that are
inside another are left out. The order is greedy by the number of cells, so that tables stay small.

[LS88]      Lauritzen & Spiegelhalter, Local Computations with Probabilities on Graphical Structures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.mechanisms.sampling import Floats
from discreet.mining.tabulation.cells import Columns, count_cells


def find_cliques(sets: Iterable[Columns], shape: Sequence[int]) -> list[Columns]:
    """Return cliques that contain all sets, and every column.

    >>> find_cliques([(0, 1), (1, 2), (2, 3), (0, 3)], [2, 9, 2, 2])
    [(0, 1, 2), (0, 2, 3)]
    """
    joined: dict[int, set[int]] = {column: set() for column in range(len(shape))}
    for each in sets:
        for column in each:
            joined[column].update(each)
    for column, others in joined.items():
        others.discard(column)
    found: list[set[int]] = []
    sizes = {column: shape[column] * count_cells(others, shape) for column, others in joined.items()}
    while joined:
        column = min(joined, key=lambda each: sizes[each])
        around = joined.pop(column)
        if not any(around | {column} <= clique for clique in found):
            found.append(around | {column})
        for other in around:
            joined[other] |= around
            joined[other] -= {column, other}
            sizes[other] = shape[other] * count_cells(joined[other], shape)
    return sorted(tuple(sorted(clique)) for clique in found)


def count_clique_cells(sets: Iterable[Columns], shape: Sequence[int]) -> int:
    """Return the number of cells of the cliques that contain all sets."""
    return sum(count_cells(clique, shape) for clique in find_cliques(sets, shape))


Potentials = Mapping[Columns, Floats]
Beliefs = tuple[Floats, ...]


@dataclass(frozen=True, kw_only=True)
class CliqueEdge:
    """The edge from clique `child` to its `parent`, which share the columns of `separator`."""

    child: int
    parent: int
    separator: Columns


@dataclass(frozen=True, kw_only=True)
class JunctionTree:
    """Cliques over columns with `shape` bins; `edges` lead from the first clique to all others."""

    shape: tuple[int, ...]
    cliques: tuple[Columns, ...]
    edges: tuple[CliqueEdge, ...]

    @classmethod
    def from_sets(cls, sets: Iterable[Columns], shape: Sequence[int]) -> JunctionTree:
        """Return the tree in which every set is inside a clique."""
        found = tuple(find_cliques(sets, shape))
        return cls(shape=tuple(shape), cliques=found, edges=_build_spanning_tree(found))

    def find_clique(self, columns: Columns) -> int | None:
        """Return the smallest clique that has all the columns, or None."""
        wanted = set(columns)
        inside = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(inside, key=lambda place: count_cells(self.cliques[place], self.shape), default=None)

    def calibrate(self, potentials: Potentials, homes: Mapping[Columns, int]) -> tuple[Beliefs, float]:
        """Return the cliques' marginals of the model, and the log normalization constant."""
        tables = [np.zeros([self.shape[column] for column in clique]) for clique in self.cliques]
        for columns, potential in potentials.items():
            tables[homes[columns]] += potential.reshape(self._get_broadcast_shape(homes[columns], columns))
        for joint in reversed(self.edges):
            sent = _normalize_logarithms(
                tables[joint.child], _list_other_axes(self.cliques[joint.child], joint.separator)
            )
            tables[joint.parent] += sent.reshape(self._get_broadcast_shape(joint.parent, joint.separator))
        logarithm = _normalize_logarithms(tables[0], tuple(range(tables[0].ndim)))
        for joint in self.edges:
            told = self._sum_onto(tables[joint.parent], joint.parent, joint.separator)
            tables[joint.child] *= told.reshape(self._get_broadcast_shape(joint.child, joint.separator))
        return tuple(tables), float(logarithm.reshape(()))

    def compute_marginal(self, beliefs: Beliefs, columns: Columns) -> Floats:
        """Return the probability of each combination of the columns' bins."""
        home = self.find_clique(columns)
        if home is not None:
            return self._sum_onto(beliefs[home], home, columns)
        wanted = frozenset(columns)
        root = max(range(len(self.cliques)), key=lambda place: len(wanted & set(self.cliques[place])))
        kept, table = self._gather_table(beliefs, root, None, (), wanted)
        return contract_tables([(table, kept)], columns)

    def _gather_table(
        self, beliefs: Beliefs, place: int, origin: int | None, separator: Columns, wanted: frozenset[int]
    ) -> tuple[list[int], Floats]:
        """Return a table over the separator and the wanted columns beyond it, away from `origin`."""
        ahead = [
            (other, shared)
            for other, shared, reached in self._neighbors[place]
            if other != origin and reached & wanted
        ]
        needed = wanted.union(separator, *(shared for _, shared in ahead))
        kept = [column for column in self.cliques[place] if column in needed]
        table = self._sum_onto(beliefs[place], place, tuple(kept))
        for number, (other, shared) in enumerate(ahead):
            found, more = self._gather_table(beliefs, other, place, shared, wanted)
            below = self._sum_onto(beliefs[other], other, shared)
            given = below.reshape(below.shape + (1,) * (len(found) - len(shared)))
            conditional = np.divide(more, given, out=np.zeros_like(more), where=given > 0)
            needed = wanted.union(separator, *(later for _, later in ahead[number + 1 :]))
            out = [column for column in dict.fromkeys(kept + found) if column in needed]
            kept, table = out, contract_tables([(table, kept), (conditional, found)], out)
        out = [*separator, *(column for column in kept if column in wanted and column not in separator)]
        return out, contract_tables([(table, kept)], out)

    @cached_property
    def _neighbors(self) -> dict[int, list[tuple[int, Columns, frozenset[int]]]]:
        """Each clique's neighbors, the shared columns, and the columns reached only through them."""
        found: dict[int, list[tuple[int, Columns, frozenset[int]]]] = {
            place: [] for place in range(len(self.cliques))
        }
        below = {place: set(clique) for place, clique in enumerate(self.cliques)}
        every = set(range(len(self.shape)))
        for joint in reversed(self.edges):
            below[joint.parent] |= below[joint.child]
        for joint in self.edges:
            down = frozenset(below[joint.child] - set(joint.separator))
            found[joint.parent].append((joint.child, joint.separator, down))
            up = frozenset(every - below[joint.child])
            found[joint.child].append((joint.parent, joint.separator, up))
        return found

    def _sum_onto(self, table: Floats, place: int, columns: Columns) -> Floats:
        """Return a clique's table summed onto some of its columns."""
        return np.asarray(table.sum(axis=_list_other_axes(self.cliques[place], columns)))

    def _get_broadcast_shape(self, place: int, columns: Columns) -> tuple[int, ...]:
        """Return the shape that broadcasts a table over some columns to the clique's table."""
        return _compute_broadcast_shape(self.shape, self.cliques[place], columns)


def contract_tables(tables: Sequence[tuple[Floats, Sequence[int]]], columns: Sequence[int]) -> Floats:
    """Return the product of tables over columns, summed over all columns but these.

    Columns are numbered anew, as einsum takes no label above 51; few of them meet in one product.
    """
    labels = {
        column: label for label, column in enumerate(dict.fromkeys(c for _, axes in tables for c in axes))
    }
    operands: list[Any] = [each for table, axes in tables for each in (table, [labels[c] for c in axes])]
    return np.asarray(np.einsum(*operands, [labels[column] for column in columns]))


def _normalize_logarithms(table: Floats, axes: tuple[int, ...]) -> Floats:
    """Turn logarithms into probabilities along the axes, in place; return the logarithms of their sums.

    Largest values are taken out first, so that nothing overflows and no sum vanishes that should not; where
    all is impossible the probabilities are 0.
    """
    largest = table.max(axis=axes, keepdims=True)
    kept = np.where(np.isneginf(largest), 0.0, largest)
    np.exp(np.subtract(table, kept, out=table), out=table)
    sums = table.sum(axis=axes, keepdims=True)
    np.divide(table, sums, out=table, where=sums > 0)
    with np.errstate(divide="ignore"):
        return np.asarray(kept + np.log(sums))


@lru_cache(maxsize=1 << 16)
def _list_other_axes(clique: Columns, columns: Columns) -> tuple[int, ...]:
    return tuple(axis for axis, column in enumerate(clique) if column not in columns)


@lru_cache(maxsize=1 << 16)
def _compute_broadcast_shape(shape: tuple[int, ...], clique: Columns, columns: Columns) -> tuple[int, ...]:
    return tuple(shape[column] if column in columns else 1 for column in clique)


def _build_spanning_tree(found: Sequence[Columns]) -> tuple[CliqueEdge, ...]:
    """Return a maximum spanning tree of cliques by shared columns: a junction tree."""
    joints: list[CliqueEdge] = []
    reached, left = [0], set(range(1, len(found)))
    while left:
        shared = {
            (child, parent): tuple(sorted(set(found[child]) & set(found[parent])))
            for child in left
            for parent in reached
        }
        child, parent = max(sorted(shared), key=lambda pair: len(shared[pair]))
        joints.append(CliqueEdge(child=child, parent=parent, separator=shared[child, parent]))
        reached.append(child)
        left.discard(child)
    return tuple(joints)
