"""Judging classes by several models at once, and naming the class that is worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.classes import Classes
from discreet.anonymity.models.model import Measured, Model, TableModel, Verdicts


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The class that meets a model least: its place, and how far it is inside or outside."""

    place: int
    margin: float
    holds: bool


def judge_all(classes: Classes, models: Sequence[Model]) -> Verdicts:
    """Which classes may be published so that what is published meets every model.

    Models about the whole table speak last, of what the others leave, and again until none leaves out more:
    an average that a table meets may be broken by leaving out one of its large classes.
    """
    standing = np.ones(len(classes), np.bool_)
    for model in models:
        if not isinstance(model, TableModel):
            standing &= model.judge(classes)
    averages = [model for model in models if isinstance(model, TableModel)]
    before = -1
    while before != (before := int(standing.sum())):
        for average in averages:
            standing = average.keep(classes, standing)
    return standing


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
