"""The released decision tree: nodes with splits, and the prediction of each leaf.

Pruning     costs nothing, since it reads released counts alone. Down from the root, a node's shares of the
            classes are its own noisy counts together with its parent's shares, which weigh as many rows as
            the noise of the counts is wide: where noise prevails, the parent decides. Up from the leaves, two
            that predict the same and that noise and sampling do not distinguish become one.

Tree splits: how a tree divides rows, and the node of every row at each depth.

A tree is grown a level at a time. `levels[d][i]` is the split of node i of depth d, whose rows go to nodes 2i
(the bins of `first`) and 2i + 1 of depth d + 1. A node that nothing divides any more has a split that sends
all of its rows on to the first child, so that every row is somewhere at every depth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameterError
from discreet.core.guarantees import Guarantee
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.attributes import Codes
from discreet.mining.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows whose bin of the attribute (by its place in the schema) is in `first` go to the first child."""

    attribute: int
    first: frozenset[int]


Level = tuple[Split, ...]


@dataclass(frozen=True, kw_only=True)
class Splits:
    """The levels grown so far; without any, all rows are in the root."""

    levels: tuple[Level, ...] = ()

    @property
    def nodes(self) -> int:
        """The number of nodes below the last level."""
        return 1 << len(self.levels)

    def add_level(self, level: Level) -> Splits:
        """Return the splits with one more level."""
        return Splits(levels=(*self.levels, level))

    def locate_rows(self, codes: Codes) -> Integers:
        """Return the node below the last level of each row."""
        found = np.zeros(len(codes), np.int64)
        for level in self.levels:
            found = _descend_level(found, level, codes)
        return found


def _descend_level(places: Integers, level: Level, codes: Codes) -> Integers:
    """Return the child of each row, node by node; deep down most nodes are empty."""
    below = np.empty(len(places), np.int64)
    order = np.argsort(places, kind="stable")
    held, starts = np.unique(places[order], return_index=True)
    for node, rows in zip(held.tolist(), np.split(order, starts[1:]), strict=False):
        inside = np.isin(codes[rows, level[node].attribute], list(level[node].first))
        below[rows] = 2 * node + ~inside
    return below


def list_candidate_splits(schema: Schema) -> tuple[Split, ...]:
    """Return every possible split: at a cut of an ordered attribute, or one bin against the others."""
    found = []
    for j, attribute in enumerate(schema.attributes):
        if attribute.is_ordered:
            firsts = [frozenset(range(k)) for k in range(1, attribute.bins)]
        else:
            firsts = [frozenset([k]) for k in range(attribute.bins)]
        found += [Split(attribute=j, first=first) for first in firsts]
    return tuple(found)


def count_sides(schema: Schema, counts: Integers) -> tuple[Integers, Integers]:
    """Return counts over (node, candidate, class) of both sides, from counts over (node, cell, class)."""
    parts = []
    for j, attribute in enumerate(schema.attributes):
        own = counts[:, schema.offsets[j] : schema.offsets[j + 1]]
        parts.append(np.cumsum(own, axis=1)[:, :-1] if attribute.is_ordered else own)
    first = np.concatenate(parts, axis=1)
    everything = counts[:, : schema.offsets[1]].sum(axis=1, keepdims=True)
    return first, everything - first


MERGE_THRESHOLD = 2.0
MIN_SHOWN_ROWS = 5  # rows of a leaf of which no share is shown: noise, or the parent, decides
FORMAT = "discreet-tree"


@dataclass(frozen=True, kw_only=True)
class Node:
    """`rows` by the noisy counts; `value`, the shares of the classes or the mean of a number."""

    rows: float
    value: tuple[float, ...]
    split: Split | None = None
    children: tuple[Node, ...] = ()

    @property
    def predicted_class(self) -> int:
        """The predicted class."""
        return max(range(len(self.value)), key=self.value.__getitem__)


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionTree:
    """A decision tree over the attributes of a schema."""

    schema: Schema
    root: Node
    guarantee: Guarantee

    def predict(self, codes: Codes) -> Floats:
        """Return the prediction of each row's leaf."""
        found = np.empty((len(codes), len(self.root.value)))
        _predict_rows(self.root, codes, np.arange(len(codes)), found)
        return found

    @property
    def depth(self) -> int:
        return _compute_depth(self.root)

    @property
    def leaf_count(self) -> int:
        return sum(not node.children for node in iterate_nodes(self.root))

    def describe_split(self, split: Split) -> str:
        """Return a split as a question in words; yes leads to the first child.

        The missing bin is beyond the last cut, so at a cut it answers no.
        """
        attribute = self.schema.attributes[split.attribute]
        if attribute.is_ordered:
            cut = max(split.first) + 1
            known = cut >= attribute.regular_bins
            return (
                f"{attribute.name} is known"
                if known
                else f"{attribute.name} < {attribute.cut_labels[cut - 1]}"
            )
        return f"{attribute.name} is {' or '.join(attribute.labels[k] for k in sorted(split.first))}"

    def to_json(self) -> str:
        """Return the tree as parallel arrays, as scikit-learn does; -1 means no child and no feature.

        `bins` are those of the feature that lead to the left child.
        """
        order = list(iterate_nodes(self.root))
        places = {id(node): place for place, node in enumerate(order)}
        sides = [[places[id(node.children[k])] if node.children else -1 for node in order] for k in (0, 1)]
        target = self.schema.target
        return json.dumps(
            {
                "format": FORMAT,
                "guarantee": repr(self.guarantee),
                "features": [each.name for each in self.schema.attributes],
                "target": target.name if target else None,
                "classes": list(target.values) if target else [],
                "children_left": sides[0],
                "children_right": sides[1],
                "feature": [node.split.attribute if node.split else -1 for node in order],
                "bins": [sorted(node.split.first) if node.split else [] for node in order],
                "question": [self.describe_split(node.split) if node.split else "" for node in order],
                "n_node_samples": [node.rows for node in order],
                "value": [list(node.value) for node in order],
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str, schema: Schema, guarantee: Guarantee) -> DecisionTree:
        """Return the tree that `to_json` wrote, for the schema it was trained with."""
        kept = json.loads(text)
        fits = isinstance(kept, dict) and kept.get("format") == FORMAT
        if not fits or kept["features"] != [each.name for each in schema.attributes]:
            raise InvalidParameterError(
                "This is no tree over these attributes.", hint="Give the schema that it was learned with."
            )
        return cls(schema=schema, root=_parse_node(kept, 0), guarantee=guarantee)


def iterate_nodes(root: Node) -> Iterator[Node]:
    """Yield the node and all below it, first children first."""
    yield root
    for child in root.children:
        yield from iterate_nodes(child)


def build_classification_tree(splits: Splits, counts: Integers, deviation: float) -> Node:
    """Return the pruned tree of noisy counts over (leaf, class) with this standard deviation of noise."""
    totals = [counts.astype(np.float64)]
    for _ in splits.levels:
        totals.append(totals[-1].reshape(-1, 2, counts.shape[1]).sum(axis=1))
    totals.reverse()
    noises = [deviation * 2 ** ((len(splits.levels) - depth) / 2) for depth in range(len(totals))]
    shares = np.full((1, counts.shape[1]), 1 / counts.shape[1])
    levels = []
    for noise, total in zip(noises, totals, strict=True):
        held = np.maximum(total, 0)
        shares = (held + noise * shares) / (held.sum(axis=1, keepdims=True) + noise)
        levels.append((total.sum(axis=1).tolist(), shares.tolist()))
        shares = np.repeat(shares, 2, axis=0)

    def build_node(depth: int, place: int) -> Node:
        rows, values = levels[depth]
        node = Node(rows=rows[place], value=tuple(values[place]))
        if depth == len(splits.levels):
            return node
        first, second = (build_node(depth + 1, 2 * place + side) for side in (0, 1))
        if _are_alike(first, second, noises[depth]):
            return node
        split = splits.levels[depth][place]
        return Node(rows=node.rows, value=node.value, split=split, children=(first, second))

    return build_node(0, 0)


def _are_alike(first: Node, second: Node, noise: float) -> bool:
    """Return True if two leaves predict the same class, and their shares may differ by chance."""
    if first.children or second.children or first.predicted_class != second.predicted_class:
        return False
    sizes = [max(each.rows, noise, 1.0) for each in (first, second)]
    apart = max(abs(one - other) for one, other in zip(first.value, second.value, strict=True))
    chance = sum(1 / (4 * size) + (noise / size) ** 2 for size in sizes) ** 0.5
    return bool(apart <= MERGE_THRESHOLD * chance)


def _predict_rows(node: Node, codes: Codes, rows: Integers, predictions: Floats) -> None:
    if node.split is None:
        predictions[rows] = node.value
        return
    inside = np.isin(codes[rows, node.split.attribute], list(node.split.first))
    _predict_rows(node.children[0], codes, rows[inside], predictions)
    _predict_rows(node.children[1], codes, rows[~inside], predictions)


def _compute_depth(node: Node) -> int:
    return 1 + max(map(_compute_depth, node.children)) if node.children else 0


def _parse_node(document: dict[str, Any], place: int) -> Node:
    value = tuple(map(float, document["value"][place]))
    rows = float(document["n_node_samples"][place])
    if document["feature"][place] < 0:
        return Node(rows=rows, value=value)
    split = Split(attribute=document["feature"][place], first=frozenset(document["bins"][place]))
    children = (
        _parse_node(document, document["children_left"][place]),
        _parse_node(document, document["children_right"][place]),
    )
    return Node(rows=rows, value=value, split=split, children=children)
