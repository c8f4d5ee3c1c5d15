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

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.exploration import Exploration, NodeOutcome
from discreet.anonymity.search.heuristic_search import search_heuristically
from discreet.anonymity.search.lattice import Floats, Levels, slice_above, slice_below
from discreet.anonymity.search.objectives import LOSS, Objective
from discreet.anonymity.search.search_result import Progress, SearchResult

PROVABLE = 4_000_000
"""The most nodes for which bounds are stored; larger lattices are searched by `heuristic_search`."""

BEYOND, MANY = 0.1, 4
"""How far above the best solution a judged node's bound may be, if at least MANY live nodes are below."""

SECONDS = 60.0
"""The default time limit for a lattice that is too large."""


def search_lattice(
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
) -> SearchResult:
    """Return the best full-domain generalizations that meet every model within the suppression limit.

    `suppress` is the fraction of rows that may be suppressed. The result is proven best, unless `seconds` run
    out or the lattice is too large for a proof.
    """
    exploration = Exploration.from_tuples(
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
        search_heuristically(exploration)
        return exploration.build_result(proven=False)
    proven = _BoundedSearch(exploration).run()
    return exploration.build_result(proven=proven)


class _BoundedSearch:
    """An exploration with a bound for every node."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._lattice = exploration.lattice
        self._bounds: Floats = np.ascontiguousarray(exploration.scale.compute_bounds())
        self._flat = self._bounds.reshape(-1)

    def run(self) -> bool:
        """Judge or rule out every node; return False if time ran out."""
        exploration = self._exploration
        self._descend()
        if exploration.judge.is_predictive:
            order = np.argsort(-self._lattice.counts_below, kind="stable")
        else:
            order = np.argsort(self._flat, kind="stable")
        cutoff, reach = self._compute_limits()
        for place in order[self._flat[order] < reach].tolist():
            bound = self._flat[place]
            if bound < reach and (bound < cutoff or self._could_rule_out_many(place, cutoff)):
                if exploration.is_out_of_time:
                    return False
                exploration.report_progress(self._count_live)
                self._check(self._lattice.get_levels(place))
                cutoff, reach = self._compute_limits()
        return True

    def _compute_limits(self) -> tuple[float, float]:
        """Return the bound below which a node is live, and the one below which it may be judged."""
        cutoff = self._exploration.cutoff
        return cutoff, cutoff + BEYOND * abs(cutoff) if self._exploration.judge.is_predictive else cutoff

    def _could_rule_out_many(self, place: int, cutoff: float) -> bool:
        """Return whether a node that is not live itself could rule out many that are."""
        below = self._bounds[slice_below(self._lattice.get_levels(place))]
        return int(np.count_nonzero(below < cutoff)) >= MANY

    def _count_live(self) -> int:
        return int((self._flat < self._exploration.cutoff).sum())

    def _descend(self) -> None:
        node: Levels | None = self._lattice.top if self._check(self._lattice.top).is_valid else None
        while node is not None:
            node = next((child for child in self._list_children(node) if self._improves(child)), None)

    def _list_children(self, node: Levels) -> list[Levels]:
        children = [(*node[:j], level - 1, *node[j + 1 :]) for j, level in enumerate(node) if level]
        return sorted(children, key=lambda child: float(self._bounds[child]))

    def _improves(self, node: Levels) -> bool:
        before = self._exploration.cutoff
        return (
            self._bounds[node] < before
            and not self._exploration.is_out_of_time
            and self._check(node).is_valid
            and (self._exploration.cutoff < before or before == np.inf)
        )

    def _check(self, node: Levels) -> NodeOutcome:
        outcome = self._exploration.evaluate(node)
        self._bounds[node] = np.inf
        if outcome.is_hopeless:
            self._bounds[slice_below(node)] = np.inf
        elif outcome.view is not None:
            lower = self._bounds[slice_below(node)]
            np.maximum(lower, self._exploration.scale.bound_below(outcome.view), out=lower)
            if self._exploration.scale.bound_above(outcome.view) >= self._exploration.cutoff:
                self._bounds[slice_above(node)] = np.inf
        return outcome
