"""A recoding: the labels that every distinct tuple of quasi-identifiers shows, or its suppression.

Every method (full-domain, multidimensional, local) ends in a recoding, which is then judged, measured and
written.

Extents     A label covers some of its column's values. In an order in which siblings of the hierarchy are
            adjacent, every label of every level is one run of values, so its extent is two positions: `low`
            and `high` (excluded). An interval of an ordered column is a run in that column's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Codes, Integers

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelExtents:
    """The values that the labels of one column cover.

    Value v is at position `order[v]`. Label i covers the positions `low[i]` to `high[i]` (excluded), which
    are the share `shares[i]` of the domain; `levels[i]` is the lowest level at which they have one label.
    """

    order: Integers
    low: Integers
    high: Integers
    shares: Floats
    levels: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Tuple i shows `labels[j][codes[i, j]]` in column j, and is published where `published[i]` is true.

    `levels` are the levels of a full-domain generalization, and None where tuples differ in them. `extents`
    lists the values that labels cover, where the levels do not determine it.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: Codes
    published: NDArray[np.bool_]
    levels: tuple[int, ...] | None = None
    extents: tuple[LabelExtents, ...] | None = None
