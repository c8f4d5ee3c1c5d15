"""Cell suppression: under one generalization, blank single cells of a row instead of the whole row.

It is local recoding with two levels: a column shows its label, or the top. Sets of columns are blanked by
rising weight, in an order fixed before data is read. The same may be claimed of its labels as of those of
local recoding, which overlap too.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models.privacy_model import Model
from discreet.anonymity.recoding import Recoding, Weights
from discreet.anonymity.recodings.local_recoding import (
    build_recoding,
    make_ascending_search,
    order_nodes,
    place_tuples,
)
from discreet.core.errors import require_parameter


def suppress_cells(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    levels: Sequence[int],
    *,
    weights: Weights | None = None,
) -> Recoding:
    """Return the recoding that shows tuples at `levels` and blanks as few cells as the models allow.

    Rows that do not meet the models with every cell blank are suppressed.
    """
    for hierarchy, level in zip(hierarchies, levels, strict=True):
        holds = 0 <= level <= hierarchy.height
        require_parameter(
            holds, "suppress_cells", "levels", level, f"a level of the hierarchy {hierarchy.name}"
        )
    choices = [sorted({level, h.height}) for h, level in zip(hierarchies, levels, strict=True)]
    search = make_ascending_search(order_nodes(hierarchies, weights=weights, choices=choices))
    return build_recoding(tuples, hierarchies, models, place_tuples(tuples, hierarchies, models, search))
