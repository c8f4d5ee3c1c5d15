"""A running search: its tables, models and objective, and the best of the nodes judged so far.

The result of a search says whether it is proven. `anonymity.suppression` judges a node.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.lattice import Lattice, Levels
from discreet.anonymity.search.node_tables import NodeTable, NodeTables
from discreet.anonymity.search.objectives import Objective
from discreet.anonymity.search.objectives.objective import (
    JudgedNode,
    SearchSetting,
    TableObjective,
    normalize_weights,
)
from discreet.anonymity.suppression import NodeJudge, NodeVerdict
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


@dataclass(frozen=True, kw_only=True)
class GeneralizationList:
    """Generalizations to choose from, best first, and the columns that their levels belong to."""

    search: SearchResult
    columns: tuple[str, ...]


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
