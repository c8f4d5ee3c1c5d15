"""Which classes of a node are kept, how many rows that suppresses, and what it says about other nodes.

Kept        The classes that meet every model. A model about the whole table speaks last, of what the others
            leave, and again until nothing more is left out.
Absent      A class of the population that has no rows is not published, and cannot be suppressed either: a
            model that minds absent classes (`forbids_absent_classes`) rejects the node.
Valid       A node is, where it suppresses no more rows than the limit.
Hopeless    Nothing below a node is valid, where models that say so break the limit by themselves:
              monotone in suppression      whatever merges with a class that meets the model meets it, so
                                           what is suppressed here is suppressed in every finer class of it;
              monotone in generalization   if no row may be suppressed: a valid node below would make this
                                           one valid;
              others                       where all that finer classes can keep (`most_kept`) is too little.
Certain     The classes that meet the models monotone in suppression, and of which finer ones can keep any
            rows. The rows of all others are suppressed at every node below, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.models.model import Limited, Verdicts
from discreet.anonymity.search.kernels import suppressed_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """What the models say of a node; `kept` is None where it is not valid."""

    suppressed: int
    kept: Verdicts | None = None
    certain: Verdicts | None = None
    hopeless: bool = False


class Judge:
    """The models of a search, in the order in which they are asked, and how many rows may be suppressed."""

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
        self._limited = tuple(model for model in others if isinstance(model, Limited))
        self.tells = bool(sure or merging or self._limited)
        """Whether a verdict on one node can rule out others."""
        self.monotone = not others
        """Whether everything above a valid node is valid."""

    def judge(self, classes: Classes) -> Verdict:
        if self._minding and self._minded(classes):
            return Verdict(suppressed=0, hopeless=True)
        suppressed, kept = 0, classes.sizes > 0 if classes.population is not None else None
        certain: Verdicts | None = None
        for models, hopeless in self._panels:
            kept = judge_all(classes, models, kept)
            suppressed = suppressed_rows(classes.sizes, kept)
            if suppressed > self.limit:
                over = hopeless or self._too_little(classes, certain)
                return Verdict(suppressed=suppressed, hopeless=over)
            certain = kept if models is self._sure else certain
        every = classes.sizes > 0
        if self._limited:
            certain = self._most_kept(classes, certain) > 0
        return Verdict(
            suppressed=suppressed,
            kept=every if kept is None else kept,
            certain=every if certain is None else certain,
        )

    def _too_little(self, classes: Classes, certain: Verdicts | None) -> bool:
        """Whether no node below can keep enough."""
        if not self._limited:
            return False
        return int(classes.sizes.sum() - self._most_kept(classes, certain).sum()) > self.limit

    def _most_kept(self, classes: Classes, certain: Verdicts | None) -> Integers:
        """The most rows of each class that nodes below can keep."""
        most = classes.sizes if certain is None else np.where(certain, classes.sizes, 0)
        for model in self._limited:
            most = np.minimum(most, model.most_kept(classes))
        return most

    def _minded(self, classes: Classes) -> bool:
        """Finer classes of one without rows have none either, so what is rejected here is so below."""
        absent = classes.sizes == 0
        return any(not model.judge(classes)[absent].all() for model in self._minding)
