"""Which boxes hold each point: the join of what is known of people with what classes show.

Boxes are ordered by halving them at the median of the widest side, again and again, and eight neighbours in
this order have one bounding box, eight of those another, up to one. A point goes down only where a bounding
box holds it. A coordinate that is not known (-1) lies everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.core.numba_kernels import compile_kernel

FAN = 8
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Box i spans `low[i, j]` to `high[i, j]` (excluded) on side j.

    Where `marks[i, j]` is not -1, of those only the places p with `inside[marks[i, j] + p]`.
    """

    low: Integers
    high: Integers
    marks: Integers
    inside: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """Boxes in their order, and the bounds of every eight neighbours, level by level from the lowest."""

    boxes: Boxes
    order: Integers
    bounds: Integers
    levels: Integers


def tree(boxes: Boxes) -> Tree:
    """The boxes, ready to be asked."""
    order = np.lexsort(boxes.low.T)
    halve(boxes.low + boxes.high, order, FAN)
    low, high = boxes.low[order], boxes.high[order]
    bounds, levels = [np.stack([low, high], axis=1)], [0, len(low)]
    while len(bounds[-1]) > 1:
        starts = np.arange(0, len(bounds[-1]), FAN)
        low = np.minimum.reduceat(bounds[-1][:, 0], starts)
        high = np.maximum.reduceat(bounds[-1][:, 1], starts)
        bounds.append(np.stack([low, high], axis=1))
        levels.append(levels[-1] + len(low))
    return Tree(boxes=boxes, order=order, bounds=np.concatenate(bounds), levels=np.array(levels, np.int64))


def summed(tree: Tree, points: Integers, words: Words) -> tuple[Integers, Words]:
    """For each point how many boxes hold it, and the sum of their words: equal where the boxes are."""
    number, sums = np.zeros(len(points), np.int64), np.zeros(len(points), np.uint64)
    nothing = np.zeros(1, np.int64)
    walk(*_parts(tree), points, words, number, sums, nothing, nothing, False)
    return number, sums


def listed(tree: Tree, points: Integers, number: Integers) -> tuple[Integers, Integers]:
    """The boxes that hold each point, one after the other, and where each point's begin."""
    starts = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
    found = np.empty(starts[-1], np.int64)
    words, sums = np.zeros(len(tree.order), np.uint64), np.zeros(len(points), np.uint64)
    walk(*_parts(tree), points, words, np.zeros(len(points), np.int64), sums, starts, found, True)
    return starts, found


def _parts(tree: Tree) -> tuple[Integers, Integers, Integers, Integers, NDArray[np.bool_]]:
    return tree.bounds, tree.levels, tree.order, tree.boxes.marks, tree.boxes.inside


@compile_kernel
def halve(middles: Integers, order: Integers, least: int) -> None:
    """Put near boxes together, in place; blocks are cut at multiples of `least`."""
    stack = [(0, len(order))]
    while len(stack) > 0:
        start, end = stack.pop()
        if end - start <= least:
            continue
        widest, side = -1, 0
        for j in range(middles.shape[1]):
            smallest, largest = middles[order[start], j], middles[order[start], j]
            for i in range(start, end):
                value = middles[order[i], j]
                smallest, largest = min(smallest, value), max(largest, value)
            if largest - smallest > widest:
                widest, side = largest - smallest, j
        if widest <= 0:
            continue
        keys = np.empty(end - start, np.int64)
        for i in range(start, end):
            keys[i - start] = middles[order[i], side]
        by = np.argsort(keys, kind="mergesort")  # stable: boxes that are alike on this side stay together
        before = order[start:end].copy()
        for i in range(end - start):
            order[start + i] = before[by[i]]
        half = start + ((end - start) // 2 + least - 1) // least * least
        stack.append((start, half))
        stack.append((half, end))


@compile_kernel
def walk(
    bounds: Integers,
    levels: Integers,
    order: Integers,
    marks: Integers,
    inside: NDArray[np.bool_],
    points: Integers,
    words: Words,
    number: Integers,
    sums: Words,
    starts: Integers,
    found: Integers,
    listing: bool,
) -> None:
    """Send every point down the tree."""
    sides, top = points.shape[1], len(levels) - 2
    nodes, depths = np.empty(FAN * (top + 2), np.int64), np.empty(FAN * (top + 2), np.int64)
    for p in range(len(points)):
        nodes[0], depths[0], left = 0, top, min(len(order), 1)
        while left > 0:
            left -= 1
            node, depth = nodes[left], depths[left]
            bound = bounds[levels[depth] + node]
            holds = True
            for j in range(sides):
                value = points[p, j]
                if value >= 0 and (value < bound[0, j] or value >= bound[1, j]):
                    holds = False
                    break
            if not holds:
                continue
            if depth > 0:
                size = levels[depth] - levels[depth - 1]
                for child in range(min((node + 1) * FAN, size) - 1, node * FAN - 1, -1):
                    nodes[left], depths[left] = child, depth - 1
                    left += 1
                continue
            box = order[node]
            for j in range(sides):
                row = marks[box, j]
                if row >= 0 and points[p, j] >= 0 and not inside[row + points[p, j]]:
                    holds = False
                    break
            if holds:
                if listing:
                    found[starts[p] + number[p]] = box
                number[p] += 1
                sums[p] += words[box]
