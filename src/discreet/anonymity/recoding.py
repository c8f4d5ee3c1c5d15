"""A recoding: what every distinct tuple of quasi-identifiers becomes, or that its rows are left out.

However it was found (full-domain, multidimensional, local), this is what is judged, measured and written.

Extents     A label stands for some of its column's values. In an order of the values in which siblings of the
            hierarchy stand together every label of every level is one run of them, so its extent is two
            places: `low` and `high` (excluded). An interval of an ordered column is a run in its own order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Codes, Integers

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Extents:
    """What the labels of one column stand for.

    Value v stands at `order[v]`; label i stands for the values at `low[i]` to `high[i]` (excluded), which are
    `shares[i]` of the domain, and `levels[i]` is the least level at which they have one label.
    """

    order: Integers
    low: Integers
    high: Integers
    shares: Floats
    levels: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Tuple i shows `labels[j][codes[i, j]]` in column j, and is published where `kept[i]`.

    `levels` are the levels of a full-domain generalization; None where tuples differ in them. `extents` says
    what labels stand for where that does not follow from the levels.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: Codes
    kept: NDArray[np.bool_]
    levels: tuple[int, ...] | None = None
    extents: tuple[Extents, ...] | None = None
