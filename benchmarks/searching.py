"""Searches over made-up tuples, each in a process of its own: what starting takes, and what many tuples take.

`python -m benchmarks.searching small`, or `large`, prints seconds of CPU and the peak of memory. It loads
what a search needs and nothing else.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import Tuples
from discreet.anonymity.hierarchies import Hierarchy
from discreet.anonymity.hierarchies.generalization_hierarchy import hierarchy_from_rows
from discreet.anonymity.models import KAnonymity
from discreet.anonymity.search import group_at_levels, search_lattice

FIVE = KAnonymity(k=5)
LARGE = 5_000_000
TUPLES = {"small": 1000, "large": LARGE}


def main() -> None:
    hierarchies, tuples = _drawn(TUPLES[sys.argv[1]])
    found = search_lattice(tuples, hierarchies, [FIVE], suppress=Fraction(2, 100))
    assert found.best is not None
    group_at_levels(tuples, hierarchies, found.best.levels)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.process_time(), "gib": peak}))


def _drawn(tuples: int) -> tuple[list[Hierarchy], Tuples]:
    labels = [(str(v), f"{v // 4} of 16", f"{v // 16} of 4", "*") for v in range(64)]
    draws = np.random.default_rng(1).binomial(63, 0.5, size=(tuples, 6))
    drawn = Tuples(codes=draws.astype(np.int32), counts=np.full(tuples, 2))
    return [hierarchy_from_rows(f"column {j}", labels) for j in range(6)], drawn


if __name__ == "__main__":
    main()
