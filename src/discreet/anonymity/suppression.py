"""Suppression: the records that a release leaves out, because their classes do not meet every model.

Limit       The largest share of records that may be suppressed.
Kept        The classes that meet every model. A model of the whole table is applied last, to the classes that
            the others leave, and repeatedly until nothing more is suppressed.
Absent      A class of the population without rows is not published, and cannot be suppressed either: a model
            with `forbids_absent_classes` rejects the node.
Valid       A node that suppresses no more rows than the limit.
Hopeless    A node below which none is valid, because models break the limit by themselves that are
              monotone in suppression      any union with a class that meets the model meets it, so rows
                                           suppressed here are suppressed in every finer class;
              monotone in generalization   if no row may be suppressed: a valid node below would make this
                                           one valid;
              others                       if the bound on kept rows (`bound_kept_rows`) is too small.
Certain     The classes that meet the models monotone in suppression, and of which finer classes can keep some
            rows. The rows of all other classes are suppressed at every node below as well.

A recoding holds which tuples are suppressed (`recoding.Recoding.published`). Single cells are suppressed by
`recodings/cell_suppression.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.model_option import parse_fraction, to_fraction
from discreet.anonymity.models.privacy_model import LimitsKeptRows, Model, Verdicts, judge_all
from discreet.core.errors import InvalidParameterError
from discreet.core.numba_kernels import compile_kernel

Truths = NDArray[np.bool_]


def parse_suppression_limit(suppress: object) -> Fraction:
    """Return the share of records that may be suppressed, from a number or a text: 2%, 0.02 or 1/50."""
    share = parse_fraction("`suppress=`", suppress) if isinstance(suppress, str) else to_fraction(suppress)
    if share is None or not 0 <= share <= 1:
        raise InvalidParameterError(
            f"`suppress=` must be a share such as 2%; got {suppress}.", hint="Give at most 100%."
        )
    return share


@compile_kernel
def count_suppressed_rows(sizes: Integers, kept: Truths) -> int:
    """Return how many rows are in classes that are not kept."""
    total = 0
    for i in range(len(sizes)):
        if not kept[i]:
            total += sizes[i]
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeVerdict:
    """The models' verdict on a node; `kept` is None if it is not valid."""

    suppressed: int
    kept: Verdicts | None = None
    certain: Verdicts | None = None
    is_hopeless: bool = False


class NodeJudge:
    """The models of a search, in the order of judgement, and the limit of suppressed rows."""

    def __init__(self, models: Sequence[Model], limit: int) -> None:
        self.limit = limit
        sure = [model for model in models if model.monotone_in_suppression]
        merging = [
            model
            for model in models
            if limit == 0 and model.monotone_in_generalization and not model.monotone_in_suppression
        ]
        others = [model for model in models if model not in sure and model not in merging]
        self._sure = sure
        self._panels = tuple((some, some is not others) for some in (sure, merging, others) if some)
        self._minding = tuple(model for model in models if getattr(model, "forbids_absent_classes", False))
        self._limited = tuple(model for model in others if isinstance(model, LimitsKeptRows))
        self.is_predictive = bool(sure or merging or self._limited)
        """True if a verdict on one node can rule out others."""
        self.is_monotone = not others
        """True if every node above a valid one is valid."""

    def judge(self, classes: EquivalenceClasses) -> NodeVerdict:
        """Return the verdict on the classes of a node."""
        if self._minding and self._rejects_absent(classes):
            return NodeVerdict(suppressed=0, is_hopeless=True)
        suppressed, kept = 0, classes.sizes > 0 if classes.population is not None else None
        certain: Verdicts | None = None
        for models, hopeless in self._panels:
            kept = judge_all(classes, models, kept)
            suppressed = count_suppressed_rows(classes.sizes, kept)
            if suppressed > self.limit:
                over = hopeless or self._keeps_too_little(classes, certain)
                return NodeVerdict(suppressed=suppressed, is_hopeless=over)
            certain = kept if models is self._sure else certain
        every = classes.sizes > 0
        if self._limited:
            certain = self._bound_kept_rows(classes, certain) > 0
        return NodeVerdict(
            suppressed=suppressed,
            kept=every if kept is None else kept,
            certain=every if certain is None else certain,
        )

    def _keeps_too_little(self, classes: EquivalenceClasses, certain: Verdicts | None) -> bool:
        """Return whether no node below can keep enough rows."""
        if not self._limited:
            return False
        return int(classes.sizes.sum() - self._bound_kept_rows(classes, certain).sum()) > self.limit

    def _bound_kept_rows(self, classes: EquivalenceClasses, certain: Verdicts | None) -> Integers:
        """Return the most rows of each class that nodes below can keep."""
        most = classes.sizes if certain is None else np.where(certain, classes.sizes, 0)
        for model in self._limited:
            most = np.minimum(most, model.bound_kept_rows(classes))
        return most

    def _rejects_absent(self, classes: EquivalenceClasses) -> bool:
        """Return whether absent classes break a model; their finer classes are absent and break it too."""
        absent = classes.sizes == 0
        return any(not model.judge(classes)[absent].all() for model in self._minding)
