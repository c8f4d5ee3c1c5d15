"""A bounding-box tree that finds the boxes containing each point: the join of knowledge with classes.

Boxes are ordered by repeated splits at the median of the widest side. Eight neighbors in this order share one
bounding box, eight of those another, up to the root. A point descends only into bounding boxes that contain
it. An unknown coordinate (-1) lies in every interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import Integers
from discreet.core.numba_kernels import compile_kernel

FANOUT = 8
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Box i spans `low[i, j]` to `high[i, j]` (excluded) on side j.

    If `mask_offsets[i, j]` is not -1, only the places p of that span with `masks[mask_offsets[i, j] + p]`.
    """

    low: Integers
    high: Integers
    mask_offsets: Integers
    masks: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxTree:
    """Boxes in tree order, and the bounds of every group of eight, level by level from the leaves."""

    boxes: Boxes
    order: Integers
    bounds: Integers
    levels: Integers


def build_tree(boxes: Boxes) -> BoxTree:
    """Return the tree over some boxes."""
    order = np.lexsort(boxes.low.T)
    order_boxes(boxes.low + boxes.high, order, FANOUT)
    low, high = boxes.low[order], boxes.high[order]
    bounds, levels = [np.stack([low, high], axis=1)], [0, len(low)]
    while len(bounds[-1]) > 1:
        starts = np.arange(0, len(bounds[-1]), FANOUT)
        low = np.minimum.reduceat(bounds[-1][:, 0], starts)
        high = np.maximum.reduceat(bounds[-1][:, 1], starts)
        bounds.append(np.stack([low, high], axis=1))
        levels.append(levels[-1] + len(low))
    return BoxTree(boxes=boxes, order=order, bounds=np.concatenate(bounds), levels=np.array(levels, np.int64))


def count_containing_boxes(tree: BoxTree, points: Integers, box_hashes: Hashes) -> tuple[Integers, Hashes]:
    """Return how many boxes contain each point, and the sum of their hashes, which identifies the boxes."""
    number, sums = np.zeros(len(points), np.int64), np.zeros(len(points), np.uint64)
    nothing = np.zeros(1, np.int64)
    search_boxes(*_unpack_arrays(tree), points, box_hashes, number, sums, nothing, nothing, False)
    return number, sums


def list_containing_boxes(tree: BoxTree, points: Integers, box_counts: Integers) -> tuple[Integers, Integers]:
    """Return where each point's boxes start, and the boxes that contain each point in sequence."""
    starts = np.concatenate([[0], np.cumsum(box_counts)]).astype(np.int64)
    found = np.empty(starts[-1], np.int64)
    words, sums = np.zeros(len(tree.order), np.uint64), np.zeros(len(points), np.uint64)
    search_boxes(
        *_unpack_arrays(tree), points, words, np.zeros(len(points), np.int64), sums, starts, found, True
    )
    return starts, found


def _unpack_arrays(tree: BoxTree) -> tuple[Integers, Integers, Integers, Integers, NDArray[np.bool_]]:
    return tree.bounds, tree.levels, tree.order, tree.boxes.mask_offsets, tree.boxes.masks


@compile_kernel
def order_boxes(middles: Integers, order: Integers, block_size: int) -> None:
    """Reorder boxes in place so that near ones are adjacent; blocks are cut at multiples of `block_size`."""
    stack = [(0, len(order))]
    while len(stack) > 0:
        start, end = stack.pop()
        if end - start <= block_size:
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
        by = np.argsort(keys, kind="mergesort")  # stable: boxes that are equal on this side stay together
        before = order[start:end].copy()
        for i in range(end - start):
            order[start + i] = before[by[i]]
        half = start + ((end - start) // 2 + block_size - 1) // block_size * block_size
        stack.append((start, half))
        stack.append((half, end))


@compile_kernel
def search_boxes(
    bounds: Integers,
    levels: Integers,
    order: Integers,
    mask_offsets: Integers,
    masks: NDArray[np.bool_],
    points: Integers,
    box_hashes: Hashes,
    number: Integers,
    sums: Hashes,
    starts: Integers,
    found: Integers,
    is_listing: bool,
) -> None:
    """Descend the tree with every point, counting or listing the boxes that contain it."""
    sides, top = points.shape[1], len(levels) - 2
    nodes, depths = np.empty(FANOUT * (top + 2), np.int64), np.empty(FANOUT * (top + 2), np.int64)
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
                for child in range(min((node + 1) * FANOUT, size) - 1, node * FANOUT - 1, -1):
                    nodes[left], depths[left] = child, depth - 1
                    left += 1
                continue
            box = order[node]
            for j in range(sides):
                row = mask_offsets[box, j]
                if row >= 0 and points[p, j] >= 0 and not masks[row + points[p, j]]:
                    holds = False
                    break
            if holds:
                if is_listing:
                    found[starts[p] + number[p]] = box
                number[p] += 1
                sums[p] += box_hashes[box]
