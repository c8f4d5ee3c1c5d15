"""Models for tests of the search, each with another kind of monotony.

Diverse    monotone in both ways: every class has l values
Close      monotone in generalization alone: the equal distance from the whole table is at most t
Recursive  the same: r1 < c (rl + … + rm)
Even       in neither way: a class has an even number of rows
Present    monotone in generalization, and minds classes of the population that have no rows
Rows       of the whole table: at least so many rows are published, or none
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models.model import Verdicts


@dataclass(frozen=True, kw_only=True)
class _Test:
    """What a model must have that the search never reads."""

    not_stopped: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def belief(self) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class Diverse(_Test):
    column: str
    l: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True

    def judge(self, classes: Classes) -> Verdicts:
        found: Verdicts = np.diff(classes.sensitive[self.column].starts) >= self.l
        return found


@dataclass(frozen=True, kw_only=True)
class Close(_Test):
    column: str
    t: Fraction

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: Classes) -> Verdicts:
        totals = classes.sensitive[self.column].totals
        rows = int(totals.sum())

        def close(counts: Integers) -> bool:
            size = int(counts.sum())
            moved = int(np.abs(counts * rows - totals * size).sum())
            return moved <= 2 * self.t * rows * size

        return _one_by_one(classes, self.column, close)


@dataclass(frozen=True, kw_only=True)
class Recursive(_Test):
    column: str
    c: Fraction
    l: int

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: Classes) -> Verdicts:
        held = classes.sensitive[self.column]
        owners = np.repeat(np.arange(len(classes)), np.diff(held.starts))
        ranked = held.counts[np.lexsort((-held.counts, owners))]
        late = np.arange(len(ranked)) - held.starts[owners] >= self.l - 1
        tails = np.bincount(owners, weights=ranked * late, minlength=len(classes)).astype(np.int64)
        found: Verdicts = ranked[held.starts[:-1]] * self.c.denominator < self.c.numerator * tails
        return found


@dataclass(frozen=True, kw_only=True)
class Even(_Test):
    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: Classes) -> Verdicts:
        found: Verdicts = classes.sizes % 2 == 0
        return found


@dataclass(frozen=True, kw_only=True)
class Rows(_Test):
    least: int
    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: Classes) -> Verdicts:
        return self.keep(classes, np.ones(len(classes), np.bool_))

    def keep(self, classes: Classes, standing: Verdicts) -> Verdicts:
        return standing & bool(classes.sizes[standing].sum() >= self.least)


def _one_by_one(classes: Classes, column: str, met: Callable[[Integers], bool]) -> Verdicts:
    held = classes.sensitive[column]
    verdicts = []
    for start, end in zip(held.starts[:-1], held.starts[1:], strict=True):
        counts = np.zeros(len(held.totals), np.int64)
        counts[held.values[start:end]] = held.counts[start:end]
        verdicts.append(met(counts))
    return np.array(verdicts, np.bool_)


@dataclass(frozen=True, kw_only=True)
class Present(_Test):
    """Of every class of the population, some are in the table."""

    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    minds_absent: ClassVar[bool] = True

    def judge(self, classes: Classes) -> Verdicts:
        return classes.sizes > 0
