"""Heuristic search of lattices too large for bounds: the best nodes found within the time, without proof.

Descent     From the top to the best valid child, and on from there until there is none; then again from the
            best node so far whose children were not visited. So solutions come early, and without a time
            limit every node reachable through valid ones would be visited. Where a model is not monotone,
            invalid nodes are expanded as well, after the valid ones.
Best        By score plus a penalty for the used part of the suppression limit: ROOM times the top's score if
            all of it is used, because a node that suppresses less has more valid nodes below.
Skipped     Nodes that were seen, and those below a hopeless one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from discreet.anonymity.search.exploration import Exploration
from discreet.anonymity.search.lattice import Levels

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
