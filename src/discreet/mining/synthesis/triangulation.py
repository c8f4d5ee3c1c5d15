"""Triangulation: cliques that contain every measured set of columns.

Columns that are measured together are joined; columns are then eliminated one by one, each with those that it
is joined with, which become joined among themselves. What is eliminated with each is a clique; those that are
inside another are left out. The order is greedy by the number of cells, so that tables stay small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
