"""The protocol of a privacy model, a judgement of equivalence classes by their counts; and joint judgement.

A class that does not meet every model is suppressed; what is left is published. Two properties decide how far
a search may prune; both are tested by brute force:

    monotone in generalization   where every class meets the model, every class does after some are merged:
                                 without suppression, every node coarser than a solution is a solution
    monotone in suppression      merging classes never suppresses more rows: under any limit, every node
                                 coarser than a solution is a solution. For models of single classes this
                                 means that a class that meets the model still does when merged with any other

Without monotonicity in suppression, `bound_kept_rows` still bounds how many rows finer classes can keep, so
that a search can rule them out.

A model of the whole table, such as an average, is applied after all other models; `select_publishable`
returns which of the remaining classes may be published. `judge_all` defines the order.

A missing sensitive value is judged as a value of its own. That is right only where being missing is
informative, so the policy must declare it (`missing: category` or `suppress`) before any model is applied.

Ties are decided exactly, in integers or in logarithms with a proof, never by a rounded float. Thresholds are
fractions: a float means the decimal that it prints as, so that 0.3 is 3/10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers

Verdicts = NDArray[np.bool_]
Floats = NDArray[np.float64]

HOMOGENEITY = "homogeneity"
NEAR_HOMOGENEITY = "homogeneity of nearly all rows"
"""What is left of homogeneity where a class must have several values."""

BACKGROUND_KNOWLEDGE = "background knowledge"
SIMILARITY = "similarity"
SKEWNESS = "skewness"
COMPOSITION = "composition"
MEMBERSHIP = "membership"

INFORMED_ATTACKER = "An attacker who knows the quasi-identifiers of a person in the table"
"""The subject of most sentences about the belief that a model allows."""

MEANINGS = {
    HOMOGENEITY: "All rows of a class share one sensitive value, or nearly all.",
    BACKGROUND_KNOWLEDGE: "Knowledge from elsewhere rules out some of a class's values.",
    SIMILARITY: "The values of a class differ but have a similar meaning.",
    SKEWNESS: "A value is far commoner in a class than in the table.",
    COMPOSITION: "Two releases about the same people, each safe, are joined.",
    MEMBERSHIP: "The presence of a person in the table is itself the secret.",
}
ATTACKS = tuple(MEANINGS)


def list_attacks_except(*stopped: str) -> tuple[str, ...]:
    """Return the attacks that remain for a model that stops these."""
    return tuple(each for each in ATTACKS if each not in stopped)


def list_attacks_on_values(least: int) -> tuple[str, ...]:
    """Return the attacks that remain where every class has at least `least` values."""
    return ATTACKS if least == 1 else (NEAR_HOMOGENEITY, *list_attacks_except(HOMOGENEITY))


class Model(Protocol):
    """One privacy model with its parameters; a frozen dataclass."""

    monotone_in_generalization: ClassVar[bool]
    monotone_in_suppression: ClassVar[bool]

    @property
    def not_stopped(self) -> tuple[str, ...]:
        """The attacks that the model does not stop."""

    @property
    def name(self) -> str:
        """The model with its parameters, as written in text: 5-anonymity."""

    @property
    def column(self) -> str | None:
        """The sensitive column that the model is about, if any."""

    @property
    def belief(self) -> str:
        """A sentence on the belief that an attacker who knows the quasi-identifiers may reach."""

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        """Return whether each class meets the model."""


class MeasuredModel(Model, Protocol):
    """A model that also measures a margin; every model in `MODELS` does."""

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        """Return how far each class is inside (above 0) or outside (below), in the model's own parameter.

        The margin is for reading and ranking; `judge` decides.
        """


@runtime_checkable
class LimitsKeptRows(Protocol):
    """A model that is not monotone in suppression, but bounds the rows that finer classes can keep."""

    def bound_kept_rows(self, classes: EquivalenceClasses) -> Integers:
        """Return the most rows of each class that finer classes which meet the model have together."""


@runtime_checkable
class TableModel(Protocol):
    """A model about all published classes together."""

    def select_publishable(self, classes: EquivalenceClasses, eligible: Verdicts) -> Verdicts:
        """Return which of the eligible classes can be published so that the model holds for them."""


@dataclass(frozen=True, kw_only=True)
class WorstClass:
    """The class with the least margin under a model: its position and margin, and whether the model holds."""

    place: int
    margin: float
    holds: bool


def judge_all(
    classes: EquivalenceClasses, models: Sequence[Model], eligible: Verdicts | None = None
) -> Verdicts:
    """Return which of the eligible classes can be published so that the release meets every model.

    Models of the whole table are applied last, to the classes that the others leave, and repeatedly until
    none suppresses more: an average that a table meets can be broken by suppressing one of its large classes.
    """
    kept = eligible
    averages: list[TableModel] = []
    for model in models:
        if _is_table_model(model):
            averages.append(model)
        else:
            kept = model.judge(classes) if kept is None else kept & model.judge(classes)
    if kept is None:
        kept = np.ones(len(classes), np.bool_)
    before = -1
    while averages and before != (before := int(kept.sum())):
        for average in averages:
            kept = average.select_publishable(classes, kept)
    return kept


def select_class_models(models: Sequence[Model]) -> list[Model]:
    """Return the models whose verdict on a class depends on that class alone."""
    return [model for model in models if not _is_table_model(model)]


def _is_table_model(model: Model | TableModel) -> TypeGuard[TableModel]:
    return _is_table_model_type(type(model))


@cache
def _is_table_model_type(kind: type) -> bool:
    """Return whether a type is a `TableModel`; cached, because a search asks this at every node."""
    return issubclass(kind, TableModel)


def find_worst_class(classes: EquivalenceClasses, model: MeasuredModel) -> WorstClass | None:
    """Return the class with the least margin under a model, or None if there is no class.

    `holds` is the verdict, which is exact; the margin is a float and may show a near tie as 0.
    """
    if len(classes) == 0:
        return None
    verdicts = model.judge(classes)
    # where some fail, the worst is one of them, even if rounded margins tie
    margins = np.where(verdicts.all() | ~verdicts, model.measure_margins(classes), np.inf)
    place = int(margins.argmin())
    return WorstClass(place=place, margin=float(margins[place]), holds=bool(verdicts.all()))
