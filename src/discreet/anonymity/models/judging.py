"""Judging classes by several models at once, and naming the class that is worst."""

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
    """The class that meets a model least: its place, and how far it is inside or outside."""

    place: int
    margin: float
    holds: bool


def judge_all(classes: Classes, models: Sequence[Model], standing: Verdicts | None = None) -> Verdicts:
    """Which classes, of those that stand, may be published so that what is published meets every model.

    Models about the whole table speak last, of what the others leave, and again until none leaves out more:
    an average that a table meets may be broken by leaving out one of its large classes.
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
    """The models whose verdict on a class depends on that class alone."""
    return [model for model in models if not _is_of_tables(model)]


def _is_of_tables(model: Model | TableModel) -> TypeGuard[TableModel]:
    return _are_of_tables(type(model))


@cache
def _are_of_tables(kind: type) -> bool:
    """Remembered, because a search asks at every node and the answer takes longer than most verdicts."""
    return issubclass(kind, TableModel)


def worst(classes: Classes, model: Measured) -> Worst | None:
    """The class that a model has most against; None where there is no class.

    `holds` is the verdict, which is exact; the margin is a float and may show a near tie as 0.
    """
    if len(classes) == 0:
        return None
    verdicts = model.judge(classes)
    # where some fail, the worst is one of them, whatever floats make of ties
    margins = np.where(verdicts.all() | ~verdicts, model.margin(classes), np.inf)
    place = int(margins.argmin())
    return Worst(place=place, margin=float(margins[place]), holds=bool(verdicts.all()))
