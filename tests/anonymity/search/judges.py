"""Models for tests of the search, each with another kind of monotony.

Even       in neither way: a class has an even number of rows
Present    monotone in generalization, and minds classes of the population that have no rows
Rows       of the whole table: at least so many rows are published, or none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models.privacy_model import Verdicts


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
class Even(_Test):
    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        found: Verdicts = classes.sizes % 2 == 0
        return found


@dataclass(frozen=True, kw_only=True)
class Rows(_Test):
    least: int
    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = False
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return self.select_publishable(classes, np.ones(len(classes), np.bool_))

    def select_publishable(self, classes: EquivalenceClasses, eligible: Verdicts) -> Verdicts:
        return eligible & bool(classes.sizes[eligible].sum() >= self.least)


@dataclass(frozen=True, kw_only=True)
class Present(_Test):
    """Of every class of the population, some are in the table."""

    column: str | None = None

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    forbids_absent_classes: ClassVar[bool] = True

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return classes.sizes > 0
