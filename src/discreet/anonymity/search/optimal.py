"""The best valid nodes of a lattice, proven: bounds rule out every node that was not judged.

State       One bound per node, infinite once the node was judged or ruled out. A node is live while its bound
            is below the worst of the solutions kept.
Descent     From the top, always to the valid child of least bound that improves, until none does: a good
            solution early makes bounds bite.
Then        Always the live node with most nodes below it. If it is hopeless, all of them are ruled out
            (predictive tagging); if it is valid, its certain suppression raises their bounds. A node that is
            slightly too costly itself is also judged if it could rule out many live ones.
Otherwise   Where a verdict implies nothing about other nodes, live nodes are judged by rising bound, each by
            itself; the first one beyond the best solution ends the search.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.exploration import Exploration, Outcome
from discreet.anonymity.search.heuristic import dive
from discreet.anonymity.search.lattice import Floats, Levels, down, up
from discreet.anonymity.search.objectives import LOSS, Objective
from discreet.anonymity.search.solution import Found, Progress

PROVABLE = 4_000_000
"""The most nodes for which bounds are stored; larger lattices are searched by `heuristic_search`."""

BEYOND, MANY = 0.1, 4
"""How far above the best solution a judged node's bound may be, if at least MANY live nodes are below."""

SECONDS = 60.0
"""The default time limit for a lattice that is too large."""


def search(
    tuples: Tuples,
    hierarchies: Sequence[Hierarchy],
    models: Sequence[Model],
    *,
    suppress: Fraction = Fraction(0),
    objective: Objective = LOSS,
    weights: Sequence[float] | None = None,
    top: int = 1,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Found:
    """Return the best full-domain generalizations that meet every model within the suppression limit.

    `suppress` is the fraction of rows that may be suppressed. The result is proven best, unless `seconds` run
    out or the lattice is too large for a proof.
    """
    exploration = Exploration.of(
        tuples,
        hierarchies,
        models,
        suppress=suppress,
        objective=objective,
        weights=weights,
        top=top,
        seconds=seconds,
        progress=progress,
    )
    if exploration.lattice.size > PROVABLE:
        if seconds is None:
            exploration.deadline = time.monotonic() + SECONDS
        dive(exploration)
        return exploration.found(proven=False)
    proven = _Bounded(exploration).run()
    return exploration.found(proven=proven)


class _Bounded:
    """An exploration with a bound for every node."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._lattice = exploration.lattice
        self._bounds: Floats = np.ascontiguousarray(exploration.scale.bounds())
        self._flat = self._bounds.reshape(-1)

    def run(self) -> bool:
        """Judge or rule out every node; return False if time ran out."""
        exploration = self._exploration
        self._descend()
        if exploration.judge.tells:
            order = np.argsort(-self._lattice.below, kind="stable")
        else:
            order = np.argsort(self._flat, kind="stable")
        cutoff, reach = self._limits()
        for place in order[self._flat[order] < reach].tolist():
            bound = self._flat[place]
            if bound < reach and (bound < cutoff or self._decides(place, cutoff)):
                if exploration.over:
                    return False
                exploration.report(self._left)
                self._check(self._lattice.levels(place))
                cutoff, reach = self._limits()
        return True

    def _limits(self) -> tuple[float, float]:
        """Return the bound below which a node is live, and the one below which it may be judged."""
        cutoff = self._exploration.cutoff
        return cutoff, cutoff + BEYOND * abs(cutoff) if self._exploration.judge.tells else cutoff

    def _decides(self, place: int, cutoff: float) -> bool:
        """Return whether a node that is not live itself could rule out many that are."""
        below = self._bounds[down(self._lattice.levels(place))]
        return int(np.count_nonzero(below < cutoff)) >= MANY

    def _left(self) -> int:
        return int((self._flat < self._exploration.cutoff).sum())

    def _descend(self) -> None:
        node: Levels | None = self._lattice.top if self._check(self._lattice.top).valid else None
        while node is not None:
            node = next((child for child in self._children(node) if self._improves(child)), None)

    def _children(self, node: Levels) -> list[Levels]:
        children = [(*node[:j], level - 1, *node[j + 1 :]) for j, level in enumerate(node) if level]
        return sorted(children, key=lambda child: float(self._bounds[child]))

    def _improves(self, node: Levels) -> bool:
        before = self._exploration.cutoff
        return (
            self._bounds[node] < before
            and not self._exploration.over
            and self._check(node).valid
            and (self._exploration.cutoff < before or before == np.inf)
        )

    def _check(self, node: Levels) -> Outcome:
        outcome = self._exploration.check(node)
        self._bounds[node] = np.inf
        if outcome.hopeless:
            self._bounds[down(node)] = np.inf
        elif outcome.view is not None:
            lower = self._bounds[down(node)]
            np.maximum(lower, self._exploration.scale.below(outcome.view), out=lower)
            if self._exploration.scale.above(outcome.view) >= self._exploration.cutoff:
                self._bounds[up(node)] = np.inf
        return outcome
