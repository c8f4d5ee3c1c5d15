"""Cells: the combinations of some columns' bins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

Columns = tuple[int, ...]
"""Columns by their places in a schema, in increasing order."""


def cells(columns: Iterable[int], shape: Sequence[int]) -> int:
    """How many combinations of bins some columns have.

    >>> cells([0, 2], [2, 3, 5])
    10
    """
    return prod(shape[each] for each in columns)
