"""All minimal generalizations: the valid nodes that are not a generalization of another valid one.

Monotone    All nodes above a valid one are valid, and none below an invalid one is: on a path from any node
            up to the top, bisection finds where validity begins, which decides all nodes on either side.
Otherwise   Every node but those below a hopeless one is judged, in the order in which their tables are rolled
            up from each other.

Incognito [LDR05] finds all valid nodes bottom-up, over growing sets of columns; these are the minimal ones of
its result.

[LDR05]     LeFevre, DeWitt & Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.exploration import Exploration, Progress, SearchResult
from discreet.anonymity.search.lattice import Levels, Truths, slice_above, slice_below
from discreet.anonymity.search.lattice_search import PROVABLE
from discreet.anonymity.search.objectives import LOSS, Objective
from discreet.core.errors import RequestError


def find_minimal_generalizations(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    *,
    suppress: Fraction = Fraction(0),
    objective: Objective = LOSS,
    weights: Sequence[float] | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Return every minimal node, best first; proven to be all, unless `seconds` run out."""
    exploration = Exploration.from_tuples(
        tuples,
        hierarchies,
        models,
        suppress=suppress,
        objective=objective,
        weights=weights,
        seconds=seconds,
        progress=progress,
    )
    if exploration.lattice.size > PROVABLE:
        raise RequestError(
            f"The hierarchies have {exploration.lattice.size:,} generalizations; minimal ones are listed "
            f"among at most {PROVABLE:,}.",
            hint="Remove levels or columns, or ask for the best generalization only.",
        )
    return _Census(exploration).run()


class _Census:
    """An exploration that determines for every node whether it is valid."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._lattice = exploration.lattice
        self._known: Truths = np.zeros(exploration.lattice.shape, np.bool_)
        self._valid: Truths = np.zeros(exploration.lattice.shape, np.bool_)

    def run(self) -> SearchResult:
        proven = self._judge_all()
        valid = int(self._valid.sum())
        least = np.flatnonzero(self._lattice.find_minimal(self._valid.reshape(-1))).tolist()
        judged = self._exploration.checked
        self._exploration.top = max(1, len(least))
        for place in least:
            self._exploration.evaluate(self._lattice.get_levels(place))
        self._exploration.checked = judged
        return self._exploration.build_result(proven=proven, valid=valid if proven else None)

    def _judge_all(self) -> bool:
        """Determine the validity of all nodes; return False if time ran out."""
        decide = self._bisect if self._exploration.judge.is_monotone else self._judge
        for node in self._lattice.walk(self._exploration.tables.order):
            if not self._known[node]:
                if self._exploration.is_out_of_time:
                    return False
                self._exploration.report_progress(self._count_unknown)
                decide(node)
        return True

    def _count_unknown(self) -> int:
        return int((~self._known).sum())

    def _bisect(self, node: Levels) -> None:
        path = self._find_path(node)
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._judge(path[middle]) else (middle + 1, high)

    def _find_path(self, node: Levels) -> list[Levels]:
        """Return the unknown nodes from a node upwards; the column that is rolled up last changes first."""
        path = [node]
        for j in reversed(self._exploration.tables.order):
            while path[-1][j] < self._lattice.top[j]:
                higher = (*path[-1][:j], path[-1][j] + 1, *path[-1][j + 1 :])
                if self._known[higher]:
                    break
                path.append(higher)
        return path

    def _judge(self, node: Levels) -> bool:
        _, verdict = self._exploration.judge_levels(node)
        valid = verdict.kept is not None
        self._known[node] = True
        self._valid[node] = valid
        if self._exploration.judge.is_monotone and valid:
            self._known[slice_above(node)] = self._valid[slice_above(node)] = True
        elif verdict.is_hopeless:
            self._known[slice_below(node)] = True
        return valid
