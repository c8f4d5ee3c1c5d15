"""A running search: its tables, models and objective, and the best of the nodes judged so far."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.judging import Judge, Verdict
from discreet.anonymity.search.lattice import Lattice, Levels
from discreet.anonymity.search.objectives import Objective
from discreet.anonymity.search.objectives.objective import Scale, Setting, View, weights_of
from discreet.anonymity.search.solution import Found, Progress, Solution
from discreet.anonymity.search.tables import Table, Tables
from discreet.core.errors import RequestError, require

TIE = 1e-12  # relative; scores that differ by less come from rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The result of judging a node; `view`, `score` and `suppressed` are set if it is valid."""

    hopeless: bool = False
    view: View | None = None
    score: float = np.inf
    suppressed: int = 0

    @property
    def valid(self) -> bool:
        """True if the node suppresses no more rows than the limit."""
        return self.view is not None


@dataclass(kw_only=True, eq=False)
class Exploration:
    """Judges nodes, and keeps the best `top` of the valid ones."""

    tables: Tables
    judge: Judge
    scale: Scale
    lattice: Lattice
    top: int = 1
    deadline: float = np.inf
    progress: Progress | None = None
    checked: int = 0
    _best: list[tuple[float, int, Solution]] = field(default_factory=list)

    @staticmethod
    def of(
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
        _check(tuples, hierarchies, suppress, top)
        read = {name for model in models for name in (model.column, getattr(model, "earlier", None))}
        judged = {name: held for name, held in tuples.sensitive.items() if name in read}
        tables = Tables(replace(tuples, sensitive=judged), hierarchies)
        names = [hierarchy.name for hierarchy in hierarchies]
        setting = Setting(
            columns=tables.columns,
            rows=tables.rows,
            tuples=len(tuples),
            weights=weights_of(objective, names, weights),
        )
        return Exploration(
            tables=tables,
            judge=Judge(models, int(Fraction(suppress) * tables.rows)),
            scale=objective.over(setting),
            lattice=setting.lattice,
            top=top,
            deadline=np.inf if seconds is None else time.monotonic() + seconds,
            progress=progress,
        )

    def check(self, levels: Levels) -> Outcome:
        """Judge a node and keep it if it is among the best; its view is valid until the next call."""
        table, verdict = self.verdict(levels)
        if verdict.kept is None or verdict.certain is None:
            return Outcome(hopeless=verdict.hopeless)
        view = View(
            levels=levels, keys=table.keys, sizes=table.sizes, kept=verdict.kept, certain=verdict.certain
        )
        score = self.scale.score(view)
        if len(self._best) < self.top or score < self._best[-1][0]:
            solution = Solution(
                levels=levels,
                loss=self.scale.shown(score),
                suppressed=verdict.suppressed,
                classes=int(verdict.kept.sum()),
            )
            insort(self._best, (score, self.checked, solution))
            del self._best[self.top :]
        return Outcome(view=view, score=score, suppressed=verdict.suppressed)

    def verdict(self, levels: Levels) -> tuple[Table, Verdict]:
        """Return a node's table and the models' verdict on it."""
        self.checked += 1
        table = self.tables.at(levels)
        return table, self.judge.judge(self.tables.classes(table))

    @property
    def cutoff(self) -> float:
        """The score below which a node would enter the best ones."""
        if len(self._best) < self.top:
            return np.inf
        worst = self._best[-1][0]
        return worst - TIE * abs(worst)

    @property
    def over(self) -> bool:
        """True if the deadline has passed."""
        return time.monotonic() > self.deadline

    def report(self, left: Callable[[], int]) -> None:
        if self.progress is not None:
            self.progress(self.checked, left())

    def found(self, *, proven: bool, valid: int | None = None) -> Found:
        return Found(
            solutions=tuple(solution for _, _, solution in self._best),
            proven=proven,
            predictive=self.judge.tells,
            checked=self.checked,
            nodes=self.lattice.size,
            valid=valid,
        )


def _check(tuples: Tuples, hierarchies: Sequence[Hierarchy], suppress: Fraction, top: int) -> None:
    require(0 <= suppress <= 1, "search", "suppress", suppress, "a fraction between 0 and 1")
    require(top >= 1, "search", "top", top, "an integer of at least 1")
    if not hierarchies or tuples.codes.shape[1] != len(hierarchies):
        raise RequestError(
            f"The search needs one hierarchy per quasi-identifier; there are {len(hierarchies)} for "
            f"{tuples.codes.shape[1]} columns.",
            hint="Give every quasi-identifier a hierarchy.",
        )
    if not tuples.rows:
        raise RequestError("The table has no rows.", hint="There is nothing to publish.")
