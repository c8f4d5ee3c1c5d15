"""Search of a lattice for the best valid nodes: proven by bounds, or heuristic in a large lattice.

Proven: bounds rule out every node that was not judged.

State       One bound per node, infinite once the node was judged or ruled out. A node is live while its bound
            is below the worst of the solutions kept.
Descent     From the top, always to the valid child of least bound that improves, until none does: a good
            solution early makes bounds bite.
Then        Always the live node with most nodes below it. If it is hopeless, all of them are ruled out
            (predictive tagging); if it is valid, its certain suppression raises their bounds. A node that is
            slightly too costly itself is also judged if it could rule out many live ones.
Otherwise   Where a verdict implies nothing about other nodes, live nodes are judged by rising bound, each by
            itself; the first one beyond the best solution ends the search.

Heuristic, for lattices too large for bounds: the best nodes found within the time, without proof.

Descent     From the top to the best valid child, and on from there until there is none; then again from the
            best node so far whose children were not visited. So solutions come early, and without a time
            limit every node reachable through valid ones would be visited. Where a model is not monotone,
            invalid nodes are expanded as well, after the valid ones.
Best        By score plus a penalty for the used part of the suppression limit: ROOM times the top's score if
            all of it is used, because a node that suppresses less has more valid nodes below.
Skipped     Nodes that were seen, and those below a hopeless one.

Related     Incognito [LDR05], OLA [EE09] and Flash [KPEKK12] search the same lattice for full-domain
            generalizations. Incognito judges it bottom-up, over growing sets of columns, and finds every
            valid node; OLA and Flash bisect paths, and tag what follows from a verdict. They then choose
            the valid node of least loss. Ours tags as well, but goes top-down and also rules out nodes by a
            bound on their loss, so that valid nodes which cannot be the best are never judged.

[LDR05]     LeFevre, DeWitt & Ramakrishnan, Incognito: efficient full-domain k-anonymity, SIGMOD 2005.
[EE09]      El Emam et al., A globally optimal k-anonymity method for the de-identification of health data,
            JAMIA 2009.
[KPEKK12]   Kohlmayer, Prasser, Eckert, Kemper & Kuhn, Flash: efficient, stable and optimal k-anonymity, 2012.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import Model
from discreet.anonymity.search.exploration import Exploration, NodeOutcome, Progress, SearchResult
from discreet.anonymity.search.lattice import Floats, Levels, slice_above, slice_below
from discreet.anonymity.search.objectives import LOSS, Objective

REMEMBERED = 2048  # hopeless nodes, the latest
ROOM = 0.15

Place = tuple[bool, float, Levels]
"""The sort key of a node among those to expand: valid nodes first, the best of them first."""


def search_heuristically(exploration: Exploration) -> None:
    """Search until time runs out; the exploration keeps the best nodes."""
    _HeuristicSearch(exploration).run()


class _HeuristicSearch:
    """Judged nodes that are not yet expanded, and hopeless nodes that rule out others."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._waiting: list[Place] = []
        self._seen: set[Levels] = set()
        self._hopeless = np.full((REMEMBERED, len(exploration.lattice.shape)), -1, np.int16)
        self._ruled_out = 0
        self._room = 0.0

    def run(self) -> None:
        start = self._judge(self._exploration.lattice.top)
        if start is not None:
            self._waiting = [start]
            self._room = ROOM * abs(start[1]) / max(1, self._exploration.judge.limit) if not start[0] else 0.0
        while self._waiting and not self._exploration.is_out_of_time:
            self._descend(heapq.heappop(self._waiting))

    def _descend(self, place: Place | None) -> None:
        while place is not None:
            self._exploration.report_progress(lambda: len(self._waiting))
            found = [self._judge(child) for child in self._list_children(place[2])]
            places = sorted(one for one in found if one is not None)
            place = places.pop(0) if places and not places[0][0] else None
            for other in places:
                heapq.heappush(self._waiting, other)

    def _list_children(self, node: Levels) -> Iterator[Levels]:
        """Yield the children of a node that were not seen, while there is time."""
        for j, level in enumerate(node):
            child = (*node[:j], level - 1, *node[j + 1 :])
            if (
                level
                and child not in self._seen
                and not self._exploration.is_out_of_time
                and not self._is_hopeless(child)
            ):
                yield child

    def _judge(self, node: Levels) -> Place | None:
        """Judge a node and return its sort key, or None if no node below can be valid."""
        self._seen.add(node)
        outcome = self._exploration.evaluate(node)
        if outcome.is_hopeless:
            self._hopeless[self._ruled_out % REMEMBERED] = node
            self._ruled_out += 1
            return None
        return not outcome.is_valid, outcome.score + self._room * outcome.suppressed, node

    def _is_hopeless(self, node: Levels) -> bool:
        return bool((self._hopeless >= np.array(node)).all(axis=1).any())


PROVABLE = 4_000_000
"""The most nodes for which bounds are stored; larger lattices are searched by `search_heuristically`."""

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
