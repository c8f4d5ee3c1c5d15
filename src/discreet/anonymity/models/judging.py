"""Judging classes by several models at once, and finding the worst class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

import numpy as np

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.model import Measured, Model, TableModel, Verdicts


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The class with the least margin under a model: its position and margin, and whether the model holds."""

    place: int
    margin: float
    holds: bool


def judge_all(classes: Classes, models: Sequence[Model], standing: Verdicts | None = None) -> Verdicts:
    """Return which of the eligible classes can be published so that the release meets every model.

    Models of the whole table are applied last, to the classes that the others leave, and repeatedly until
    none suppresses more: an average that a table meets can be broken by suppressing one of its large classes.
    """
    kept = standing
    averages: list[TableModel] = []
    for model in models:
        if _is_of_tables(model):
            averages.append(model)
        else:
            kept = model.judge(classes) if kept is None else kept & model.judge(classes)
    if kept is None:
        kept = np.ones(len(classes), np.bool_)
    before = -1
    while averages and before != (before := int(kept.sum())):
        for average in averages:
            kept = average.keep(classes, kept)
    return kept


def by_class(models: Sequence[Model]) -> list[Model]:
    """Return the models whose verdict on a class depends on that class alone."""
    return [model for model in models if not _is_of_tables(model)]


def _is_of_tables(model: Model | TableModel) -> TypeGuard[TableModel]:
    return _are_of_tables(type(model))


@cache
def _are_of_tables(kind: type) -> bool:
    """Return whether a type is a `TableModel`; cached, because a search asks this at every node."""
    return issubclass(kind, TableModel)


def worst(classes: Classes, model: Measured) -> Worst | None:
    """Return the class with the least margin under a model, or None if there is no class.

    `holds` is the verdict, which is exact; the margin is a float and may show a near tie as 0.
    """
    if len(classes) == 0:
        return None
    verdicts = model.judge(classes)
    # where some fail, the worst is one of them, even if rounded margins tie
    margins = np.where(verdicts.all() | ~verdicts, model.margin(classes), np.inf)
    place = int(margins.argmin())
    return Worst(place=place, margin=float(margins[place]), holds=bool(verdicts.all()))
