"""Objectives of a search, under one protocol: the loss of a release, to be minimized.

Each scores nodes, and bounds the scores of nodes that were not judged, so that a search can skip them.
"""

from discreet.anonymity.search.objectives.class_objectives import Ambiguity, ClassSize, Discernibility
from discreet.anonymity.search.objectives.column_objectives import Entropy, Height, Loss, Precision
from discreet.anonymity.search.objectives.objective import Objective
from discreet.core.errors import InvalidParameterError

LOSS = Loss()

OBJECTIVES: tuple[Objective, ...] = (
    LOSS,
    ClassSize(),
    Discernibility(),
    Precision(),
    Entropy(),
    Ambiguity(),
    Height(),
)


def find_objective(name: str) -> Objective:
    """Return the objective of that name; raise if there is none.

    >>> find_objective("loss")
    Loss()
    """
    found = {each.name: each for each in OBJECTIVES}
    if name not in found:
        raise InvalidParameterError(
            f"anonymize: `objective=` must be one of {', '.join(found)}; got {name!r}."
        )
    return found[name]


__all__ = [
    "LOSS",
    "OBJECTIVES",
    "Ambiguity",
    "ClassSize",
    "Discernibility",
    "Entropy",
    "Height",
    "Loss",
    "Objective",
    "Precision",
    "find_objective",
]
