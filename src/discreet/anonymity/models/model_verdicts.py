"""Judging classes by several models at once, and finding the worst class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models.privacy_model import MeasuredModel, Model, TableModel, Verdicts


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
