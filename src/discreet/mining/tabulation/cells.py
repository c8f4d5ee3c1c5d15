"""Sets of columns, and the number of combinations of their bins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

Columns = tuple[int, ...]
"""Columns by their places in a schema, in increasing order."""


def count_cells(columns: Iterable[int], shape: Sequence[int]) -> int:
    """Return the number of combinations of the columns' bins.

    >>> count_cells([0, 2], [2, 3, 5])
    10
    """
    return prod(shape[each] for each in columns)
