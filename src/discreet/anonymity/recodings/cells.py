"""Cell suppression: under one generalization, blank single cells of a row instead of the whole row.

It is local recoding with two levels: a column shows its label, or the top. Sets of columns are blanked by
rising weight, in an order fixed before data is read; `discreet.anonymity.recodings.local_recoding` states
what may be claimed of labels that overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.anonymity.classes import Tuples
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.models.model import Model
from discreet.anonymity.recoding import Recoding
from discreet.anonymity.recodings.local import place, recoding_of_levels
from discreet.anonymity.recodings.schedule import ascending, nodes
from discreet.anonymity.recodings.weights import Weights
from discreet.core.errors import require


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
        require(holds, "suppress_cells", "levels", level, f"a level of the hierarchy {hierarchy.name}")
    choices = [sorted({level, h.height}) for h, level in zip(hierarchies, levels, strict=True)]
    search = ascending(nodes(hierarchies, weights=weights, choices=choices))
    return recoding_of_levels(tuples, hierarchies, models, place(tuples, hierarchies, models, search))
