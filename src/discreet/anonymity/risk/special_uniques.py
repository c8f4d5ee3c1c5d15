"""Special uniques: rows that a few columns already single out.

A set of columns is a minimal sample unique of a row if no other row has the same values in them, and for
every smaller set one does [Elliot 02]. The fewer columns it takes, the easier a row is found. For each
of its minimal uniques of s columns, out of M and searched up to m, a row scores the product of (M - i) over i
from s to m (to M - 1 where all columns are searched): the number of ways in which the set can be extended.

[Elliot 02] Elliot, Manning & Ford, A computational algorithm for handling the special uniques problem, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers, Tuples
from discreet.anonymity.key_numbering import number_rows
from discreet.anonymity.tuple_grouping import sum_by_group
from discreet.core.number_checks import require_count

Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class SpecialUniques:
    """`sizes[s - 1]` minimal uniques have s columns, `columns[j]` contain column j; `scores` per tuple."""

    sizes: Integers
    columns: Integers
    scores: Integers


def find_special_uniques(tuples: Tuples, *, most: int = 3) -> SpecialUniques:
    """Return all minimal sample uniques of at most `most` columns, searched from small sets to large."""
    require_count("find_special_uniques", "most", most)
    width = tuples.codes.shape[1]
    most = min(most, width)
    domains = [int(tuples.codes[:, j].max(initial=0)) + 1 for j in range(width)]
    sizes, columns = np.zeros(most, np.int64), np.zeros(width, np.int64)
    scores = np.zeros(len(tuples), np.int64)
    below: dict[Columns, NDArray[np.bool_]] = {(): np.full(len(tuples), tuples.rows == 1)}
    for size in range(1, most + 1):
        weight = prod(width - i for i in range(size, min(most, width - 1) + 1))
        here: dict[Columns, NDArray[np.bool_]] = {}
        for chosen in combinations(range(width), size):
            alone = _find_unique_tuples(tuples, chosen, domains)
            smaller = [below[chosen[:i] + chosen[i + 1 :]] for i in range(size)]
            minimal = alone & ~np.logical_or.reduce(smaller)
            here[chosen] = alone
            found = int(minimal.sum())
            sizes[size - 1] += found
            columns[list(chosen)] += found
            scores += weight * minimal
        below = here
    return SpecialUniques(sizes=sizes, columns=columns, scores=scores)


def _find_unique_tuples(tuples: Tuples, chosen: Columns, domains: list[int]) -> NDArray[np.bool_]:
    """Return the tuples of one row whose values in some columns no other row has."""
    groups, number = number_rows([tuples.codes[:, j] for j in chosen], [domains[j] for j in chosen])
    alone: NDArray[np.bool_] = sum_by_group(groups, tuples.counts, number) == 1
    single: NDArray[np.bool_] = (tuples.counts == 1) & alone[groups]
    return single
