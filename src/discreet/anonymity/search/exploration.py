"""A running search: its tables, models and objective, and the best of the nodes judged so far.

The result of a search, and whether it is proven.

The verdict on a node: the classes kept, the rows suppressed, and the conclusions for other nodes.

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
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import Model, judge_all
from discreet.anonymity.models.privacy_model import LimitsKeptRows, Verdicts
from discreet.anonymity.search.grouping_kernels import count_suppressed_rows
from discreet.anonymity.search.lattice import Lattice, Levels
from discreet.anonymity.search.node_tables import NodeTable, NodeTables
from discreet.anonymity.search.objectives import Objective
from discreet.anonymity.search.objectives.objective import (
    JudgedNode,
    SearchSetting,
    TableObjective,
    normalize_weights,
)
from discreet.core.errors import RequestError, require_parameter

Progress = Callable[[int, int], None]
"""Callback with the number of nodes judged, and of those that may still have to be."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A valid node: its levels, its objective, the rows it suppresses and the classes it keeps."""

    levels: Levels
    loss: float
    suppressed: int
    classes: int


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The solutions of a search, best first; none if there is no valid node, or none was found in time.

    `proven` means that no node is better than these, or, for minimal nodes, that the list is complete.
    `predictive` means that verdicts on nodes ruled out others; where no model is monotone, each is judged by
    itself. `checked` of `nodes` were judged; `valid` counts the valid ones if all are known.
    """

    solutions: tuple[Solution, ...]
    proven: bool
    predictive: bool
    checked: int
    nodes: int
    valid: int | None = None

    @property
    def best(self) -> Solution | None:
        return self.solutions[0] if self.solutions else None


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


TIE = 1e-12  # relative; scores that differ by less come from rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeOutcome:
    """The result of judging a node; `view`, `score` and `suppressed` are set if it is valid."""

    is_hopeless: bool = False
    view: JudgedNode | None = None
    score: float = np.inf
    suppressed: int = 0

    @property
    def is_valid(self) -> bool:
        """True if the node suppresses no more rows than the limit."""
        return self.view is not None


@dataclass(kw_only=True, eq=False)
class Exploration:
    """Judges nodes, and keeps the best `top` of the valid ones."""

    tables: NodeTables
    judge: NodeJudge
    scale: TableObjective
    lattice: Lattice
    top: int = 1
    deadline: float = np.inf
    progress: Progress | None = None
    checked: int = 0
    _best: list[tuple[float, int, Solution]] = field(default_factory=list)

    @staticmethod
    def from_tuples(
        tuples: Tuples,
        hierarchies: Sequence[Hierarchy],
        models: Sequence[Model],
        *,
        suppress: Fraction,
        objective: Objective,
        weights: Sequence[float] | None,
        top: int = 1,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> Exploration:
        """Return an exploration of these tuples, with no node judged yet."""
        _check_arguments(tuples, hierarchies, suppress, top)
        read = {name for model in models for name in (model.column, getattr(model, "earlier", None))}
        judged = {name: held for name, held in tuples.sensitive.items() if name in read}
        tables = NodeTables(replace(tuples, sensitive=judged), hierarchies)
        names = [hierarchy.name for hierarchy in hierarchies]
        setting = SearchSetting(
            columns=tables.columns,
            rows=tables.rows,
            tuples=len(tuples),
            weights=normalize_weights(objective, names, weights),
        )
        return Exploration(
            tables=tables,
            judge=NodeJudge(models, int(Fraction(suppress) * tables.rows)),
            scale=objective.for_table(setting),
            lattice=setting.lattice,
            top=top,
            deadline=np.inf if seconds is None else time.monotonic() + seconds,
            progress=progress,
        )

    def evaluate(self, levels: Levels) -> NodeOutcome:
        """Judge a node and keep it if it is among the best; its view is valid until the next call."""
        table, verdict = self.judge_levels(levels)
        if verdict.kept is None or verdict.certain is None:
            return NodeOutcome(is_hopeless=verdict.is_hopeless)
        view = JudgedNode(
            levels=levels, keys=table.keys, sizes=table.sizes, kept=verdict.kept, certain=verdict.certain
        )
        score = self.scale.score(view)
        if len(self._best) < self.top or score < self._best[-1][0]:
            solution = Solution(
                levels=levels,
                loss=self.scale.convert_score(score),
                suppressed=verdict.suppressed,
                classes=int(verdict.kept.sum()),
            )
            insort(self._best, (score, self.checked, solution))
            del self._best[self.top :]
        return NodeOutcome(view=view, score=score, suppressed=verdict.suppressed)

    def judge_levels(self, levels: Levels) -> tuple[NodeTable, NodeVerdict]:
        """Return a node's table and the models' verdict on it."""
        self.checked += 1
        table = self.tables.get_table(levels)
        return table, self.judge.judge(self.tables.to_classes(table))

    @property
    def cutoff(self) -> float:
        """The score below which a node would enter the best ones."""
        if len(self._best) < self.top:
            return np.inf
        worst = self._best[-1][0]
        return worst - TIE * abs(worst)

    @property
    def is_out_of_time(self) -> bool:
        """True if the deadline has passed."""
        return time.monotonic() > self.deadline

    def report_progress(self, left: Callable[[], int]) -> None:
        if self.progress is not None:
            self.progress(self.checked, left())

    def build_result(self, *, proven: bool, valid: int | None = None) -> SearchResult:
        return SearchResult(
            solutions=tuple(solution for _, _, solution in self._best),
            proven=proven,
            predictive=self.judge.is_predictive,
            checked=self.checked,
            nodes=self.lattice.size,
            valid=valid,
        )


def _check_arguments(tuples: Tuples, hierarchies: Sequence[Hierarchy], suppress: Fraction, top: int) -> None:
    require_parameter(0 <= suppress <= 1, "search", "suppress", suppress, "a fraction between 0 and 1")
    require_parameter(top >= 1, "search", "top", top, "an integer of at least 1")
    if not hierarchies or tuples.codes.shape[1] != len(hierarchies):
        raise RequestError(
            f"The search needs one hierarchy per quasi-identifier; there are {len(hierarchies)} for "
            f"{tuples.codes.shape[1]} columns.",
            hint="Give every quasi-identifier a hierarchy.",
        )
    if not tuples.rows:
        raise RequestError("The table has no rows.", hint="There is nothing to publish.")
