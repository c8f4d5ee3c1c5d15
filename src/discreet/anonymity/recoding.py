"""A recoding: what every distinct tuple of quasi-identifiers becomes, or that its rows are left out.

However it was found (full-domain, multidimensional, local), this is what is judged, measured and written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes import Codes


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Tuple i shows `labels[j][codes[i, j]]` in column j, and is published where `kept[i]`.

    `levels` are the levels of a full-domain generalization; None where tuples differ in them.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: Codes
    kept: NDArray[np.bool_]
    levels: tuple[int, ...] | None = None
