"""Baskets in the local model: what a million of them cost, and how wrong the supports of pairs are.

Times are those of the processor, so that a busy machine measures what an idle one does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import TypeVar

import numpy as np

from discreet.belief.promise import Promise
from discreet.core.randomness import Randomness
from discreet.local.baskets import find_frequent_itemsets, pack_baskets
from discreet.local.design import design_baskets
from discreet.mechanisms.sampling import Floats, Integers

ITEMS, SIZE, ASKED, MILLION = 1_000, 5, 50, 1_000_000
GAMMA_19 = Promise(0.05, 0.5)
LEAST = 0.05

T = TypeVar("T")


def rows() -> list[tuple[str, str, str]]:
    best, random = design_baskets(GAMMA_19, ITEMS, SIZE, MILLION)[0], Randomness()
    operator = best.operator
    lists = np.random.default_rng().integers(0, ITEMS, (MILLION, SIZE))
    lists[: MILLION // 5, :2] = 998, 999  # a pair that is there to be found
    pairs = np.column_stack(np.triu_indices(ASKED, 1))
    baskets = pack_baskets(lists.tolist(), ITEMS)
    find_frequent_itemsets(
        operator.estimate(operator.randomize_baskets(baskets[:100], random)), LEAST, max_size=2
    )  # compiles
    sent, reports = _spent(lambda: operator.randomize_baskets(baskets, random))
    turned, supports = _spent(lambda: operator.estimate(reports))
    mined, found = _spent(lambda: find_frequent_itemsets(supports, LEAST, max_size=2))
    times, estimates = zip(*(_spent(lambda: supports.estimate_each(pairs)) for _ in range(5)), strict=True)
    quick, off = median(times), estimates[0].supports - _truth(lists, pairs)
    bits = np.random.default_rng().random((ASKED, MILLION)) < float(operator.noise)
    slow, _ = _spent(lambda: [np.count_nonzero(bits[a] & bits[b]) for a, b in pairs])
    return [
        ("1,000,000 baskets of 5 of 1,000 items: randomize", f"{sent:.1f} s", ""),
        ("the same: pack the reports, once", f"{turned:.2f} s", ""),
        (
            "the same: 1,225 supports of pairs",
            f"{quick:.3f} s ({slow / quick:.0f}× faster than AND of NumPy booleans)",
            "under 0.04 s",
        ),
        (
            "the same: frequent items and pairs, one pair planted",
            f"{mined:.2f} s, {len(found.itemsets)} itemsets found",
            "3 itemsets",
        ),
        (
            "the same: error of a pair's support at γ = 19",
            f"{math.sqrt(float((off**2).mean())):.5f}, predicted {best.error:.5f}",
            "at most 0.0024",
        ),
    ]


def _spent(work: Callable[[], T]) -> tuple[float, T]:
    start = process_time()
    found = work()
    return process_time() - start, found


def _truth(lists: Integers, pairs: Integers) -> Floats:
    held = np.zeros((len(lists), ASKED))
    row, place = np.nonzero(lists < ASKED)
    held[row, lists[row, place]] = 1
    shared = held.T @ held / len(lists)
    return np.asarray(shared[pairs[:, 0], pairs[:, 1]])
