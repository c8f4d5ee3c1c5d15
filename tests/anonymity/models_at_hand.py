"""Four models of different nature, each with a judge of its own that looks at rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses
from discreet.anonymity.models import KAnonymity, Model
from discreet.anonymity.models.privacy_model import Verdicts
from tests.anonymity.tables import Row


@dataclass(frozen=True, kw_only=True)
class Named:
    column: str | None = None
    belief: str = ""
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = True
    not_stopped: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return repr(self)


@dataclass(frozen=True, kw_only=True)
class AtLeastValues(Named):
    """Each class has l different illnesses."""

    l: int
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return np.diff(classes.sensitive["illness"].starts) >= self.l


@dataclass(frozen=True, kw_only=True)
class Near(Named):
    """The frequency of each illness in a class is within t of the table's, in sum of absolute differences."""

    t: Fraction

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        column = classes.sensitive["illness"]
        found = []
        for i, size in enumerate(classes.sizes.tolist()):
            here = slice(column.starts[i], column.starts[i + 1])
            counts = dict(zip(column.values[here].tolist(), column.counts[here].tolist(), strict=True))
            total = int(column.totals.sum())
            gap = sum(
                abs(Fraction(counts.get(v, 0), size) - Fraction(t, total))
                for v, t in enumerate(column.totals.tolist())
            )
            found.append(gap <= self.t)
        return np.array(found, np.bool_)


@dataclass(frozen=True, kw_only=True)
class NotTooLarge(Named):
    """No class has more than `most` rows: merging classes breaks it."""

    most: int
    monotone_in_generalization: ClassVar[bool] = False

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return classes.sizes <= self.most


@dataclass(frozen=True, kw_only=True)
class LargeOnAverage(Named):
    """Classes have `size` rows on average; the smallest are left out until they do."""

    size: int
    monotone_in_suppression: ClassVar[bool] = False

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return self.select_publishable(classes, np.ones(len(classes), np.bool_))

    def select_publishable(self, classes: EquivalenceClasses, eligible: Verdicts) -> Verdicts:
        by = np.argsort(-np.where(eligible, classes.sizes, 0), kind="stable")[: int(eligible.sum())]
        average = np.cumsum(classes.sizes[by]) / np.arange(1, len(by) + 1)
        verdicts = np.zeros(len(classes), np.bool_)
        verdicts[by[: int((average >= self.size).sum())]] = True
        return verdicts


def holds(model: Model, classes: Sequence[list[Row]], table: Sequence[Row]) -> bool:
    """Whether every class of rows meets a model, from its definition."""
    sizes = [len(rows) for rows in classes]
    match model:
        case KAnonymity(k=k):
            return all(size >= k for size in sizes)
        case AtLeastValues(l=l):
            return all(len({value for _, value in rows}) >= l for rows in classes)
        case NotTooLarge(most=most):
            return all(size <= most for size in sizes)
        case LargeOnAverage(size=size):
            return not sizes or sum(sizes) >= size * len(sizes)
        case Near(t=t):
            whole = Counter(value for _, value in table)
            return all(_gap(Counter(v for _, v in rows), whole) <= t for rows in classes)
    raise AssertionError(model)


def _gap(part: Counter[str], whole: Counter[str]) -> Fraction:
    return sum(
        (abs(Fraction(part[v], part.total()) - Fraction(whole[v], whole.total())) for v in whole), Fraction()
    )
