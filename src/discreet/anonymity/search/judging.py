"""Which classes of a node are kept, how many rows that suppresses, and what it says about other nodes.

Kept        A class is kept where it meets every model. Where a model judges classes by what is published beside
            them (it is not monotone in suppression), the kept ones are judged again until all of them stay.
Valid       A node is, where it suppresses no more rows than the limit.
Hopeless    Nothing below a node is valid, where it breaks the limit by models alone that say so:
              monotone in addition         a class that meets the model still does with more rows: so what is
                                           suppressed here is suppressed in every finer class of it;
              monotone in generalization   and no row may be suppressed: a valid node below would make this
                                           one valid.
Certain     The classes that fail a model which is monotone in addition: their rows are suppressed below, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.anonymity.classes import Classes, Integers, Sensitive
from discreet.anonymity.models import Model
from discreet.anonymity.search.kernels import Truths, suppressed_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """What the models say of a node; `kept` is None where it was rejected before all had spoken."""

    suppressed: int
    kept: Truths | None = None
    certain: Truths | None = None
    hopeless: bool = False


class Judge:
    """The models of a search, in the order in which they are asked, and the limit of suppressed rows."""

    def __init__(self, models: Sequence[Model], limit: int) -> None:
        self._limit = limit
        self._growing = tuple(model for model in models if monotone_in_addition(model))
        self._merging = tuple(
            model
            for model in models
            if model not in self._growing
            and limit == 0
            and model.monotone_in_generalization
            and model.monotone_in_suppression
        )
        told = self._growing + self._merging
        self._others = tuple(model for model in models if model not in told)
        self._again = not all(model.monotone_in_suppression for model in models)
        self._models = tuple(models)

    @property
    def tells(self) -> bool:
        """Whether a verdict on one node can rule out others."""
        return bool(self._growing or self._merging)

    @property
    def monotone(self) -> bool:
        """Whether everything above a valid node is valid."""
        return not self._others

    def judge(self, classes: Classes) -> Verdict:
        certain = _met(self._growing, classes)
        if (rows := suppressed_rows(classes.sizes, certain)) > self._limit:
            return Verdict(suppressed=rows, hopeless=True)
        kept = certain
        for models, hopeless in ((self._merging, True), (self._others, False)):
            if models:
                kept = kept & _met(models, classes)
                if (rows := suppressed_rows(classes.sizes, kept)) > self._limit:
                    return Verdict(suppressed=rows, hopeless=hopeless)
        if self._again:
            kept = self._settled(classes, kept)
        return Verdict(suppressed=suppressed_rows(classes.sizes, kept), kept=kept, certain=certain)

    def valid(self, verdict: Verdict) -> bool:
        return verdict.kept is not None and verdict.suppressed <= self._limit

    def _settled(self, classes: Classes, kept: Truths) -> Truths:
        while True:
            places = np.flatnonzero(kept)
            stays = _met(self._models, among(classes, places))
            if stays.all():
                return kept
            kept = kept.copy()
            kept[places[~stays]] = False


def kept_classes(classes: Classes, models: Sequence[Model]) -> Truths:
    """Which classes may be published."""
    kept = Judge(models, classes.rows).judge(classes).kept
    assert kept is not None  # a limit of all rows rejects nothing
    return kept


def monotone_in_addition(model: Model) -> bool:
    """Whether a class that meets the model still does with more rows, whatever they hold."""
    return bool(getattr(model, "monotone_in_addition", False)) and model.monotone_in_suppression


def among(classes: Classes, places: Integers) -> Classes:
    """Some of the classes, before the same whole table."""
    population = None if classes.population is None else classes.population[places]
    return replace(
        classes,
        sizes=classes.sizes[places],
        population=population,
        sensitive={name: _some(held, places) for name, held in classes.sensitive.items()},
    )


def _met(models: Sequence[Model], classes: Classes) -> Truths:
    """Which classes have rows and meet all of these models."""
    met = classes.sizes > 0
    for model in models:
        met &= model.judge(classes)
    return met


def _some(held: Sensitive, places: Integers) -> Sensitive:
    lengths = np.diff(held.starts)[places]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    entries = np.repeat(held.starts[:-1][places] - starts[:-1], lengths) + np.arange(starts[-1])
    return replace(held, starts=starts, values=held.values[entries], counts=held.counts[entries])
