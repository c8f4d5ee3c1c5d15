"""A search of lattices too large for bounds: the best nodes found in the time given, and no proof.

Descent     From the top to the best child that is valid, and on from there until there is none; then again
            from the best node so far whose children were not looked at. So solutions come early, and time
            without limit would visit every node that valid ones lead to. Where a model is not monotone, nodes
            that are not valid are gone on from as well, after those that are.
Best        By score, and by how much of the limit of suppressed rows is used up: ROOM times the score of
            the top is added where all of it is, because a node that leaves room leads further.
Passed over Nodes that were seen, and those below one that is hopeless.
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
"""Where a node stands among those to go on from: valid ones first, the best of them."""


def dive(exploration: Exploration) -> None:
    """Leave the best that is found until time runs out in the exploration."""
    _Dive(exploration).run()


class _Dive:
    """Nodes that were judged and not yet gone on from, and what rules out others."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._waiting: list[Place] = []
        self._seen: set[Levels] = set()
        self._hopeless = np.full((REMEMBERED, len(exploration.lattice.shape)), -1, np.int16)
        self._ruled_out = 0
        self._room = 0.0

    def run(self) -> None:
        start = self._judged(self._exploration.lattice.top)
        if start is not None:
            self._waiting = [start]
            self._room = ROOM * abs(start[1]) / max(1, self._exploration.judge.limit) if not start[0] else 0.0
        while self._waiting and not self._exploration.over:
            self._descend(heapq.heappop(self._waiting))

    def _descend(self, place: Place | None) -> None:
        while place is not None:
            self._exploration.report(lambda: len(self._waiting))
            found = [self._judged(child) for child in self._children(place[2])]
            places = sorted(one for one in found if one is not None)
            place = places.pop(0) if places and not places[0][0] else None
            for other in places:
                heapq.heappush(self._waiting, other)

    def _children(self, node: Levels) -> Iterator[Levels]:
        """Those that were not seen, while there is time."""
        for j, level in enumerate(node):
            child = (*node[:j], level - 1, *node[j + 1 :])
            if (
                level
                and child not in self._seen
                and not self._exploration.over
                and not self._is_hopeless(child)
            ):
                yield child

    def _judged(self, node: Levels) -> Place | None:
        """Where the node stands, if nodes below it may be valid."""
        self._seen.add(node)
        outcome = self._exploration.check(node)
        if outcome.hopeless:
            self._hopeless[self._ruled_out % REMEMBERED] = node
            self._ruled_out += 1
            return None
        return not outcome.valid, outcome.score + self._room * outcome.suppressed, node

    def _is_hopeless(self, node: Levels) -> bool:
        return bool((self._hopeless >= np.array(node)).all(axis=1).any())
