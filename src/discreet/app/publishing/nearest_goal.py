"""What could be met where a goal cannot: the nearest suppression limit, or the strongest parameters.

The table as one class is the coarsest of all. A model that it fails is out of reach of generalization; what
of it the whole table meets is named instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.anonymity.classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import (
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    Model,
    OrderedCloseness,
    ProbabilisticDiversity,
    strongest,
)
from discreet.anonymity.search import classes_of, search
from discreet.belief.wording import number

FAMILIES: dict[type, str] = {
    KAnonymity: "k",
    DistinctDiversity: "distinct",
    ProbabilisticDiversity: "probabilistic",
    EntropyDiversity: "entropy",
    EqualCloseness: "equal",
    OrderedCloseness: "ordered",
}
SECONDS = 5.0
FINEST = Fraction(1, 1000)


def nearest(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], suppress: Fraction
) -> str:
    """One sentence that says what to ask for instead."""
    top = classes_of(tuples, hierarchies, [each.height for each in hierarchies])
    failed = [model for model in models if not model.judge(top).all()]
    limit = _least_limit(tuples, hierarchies, models, suppress)
    ways = [f"allow --suppress {number(100 * float(limit))}%"] if limit is not None else []
    for model in failed:
        family = FAMILIES.get(type(model))
        if family is None:
            ways.append(f"ask for less than {model.name}")
            continue
        reached = float(strongest(top, family, model.column))
        ways.append(f"instead of {model.name} ask for at most {number(reached)} ({family})")
    return "Nearest: " + ", or ".join(ways) + "." if ways else "Ask for weaker models."


def _least_limit(
    tuples: Tuples, hierarchies: Sequence[Hierarchy], models: Sequence[Model], suppress: Fraction
) -> Fraction | None:
    """The least limit, in tenths of a percent, under which there is a solution."""

    def solved(limit: Fraction) -> bool:
        return search(tuples, hierarchies, models, suppress=limit, seconds=SECONDS).best is not None

    low, high = int(suppress / FINEST), int(1 / FINEST) - 1
    if low >= high or not solved(high * FINEST):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if solved(middle * FINEST) else (middle, high)
    return high * FINEST
