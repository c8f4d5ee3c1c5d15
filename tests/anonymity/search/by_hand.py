"""The search by hand: every node of the lattice, from rows and definitions, without arrays."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log2, prod

from discreet.anonymity.models import Model
from tests.anonymity.models import brute
from tests.anonymity.search.worlds import World

Levels = tuple[int, ...]
Class = tuple[str, ...]
Members = list[str]
Rule = Callable[[Members, list[str]], bool]
"""Whether a class may be published, from its sensitive values and those of the whole table."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One generalization: what every row shows, and which rows are left out."""

    world: World
    levels: Levels
    shown: tuple[Class, ...]
    gone: tuple[bool, ...]

    @property
    def suppressed(self) -> int:
        return sum(self.gone)

    @property
    def sizes(self) -> list[int]:
        """Of the kept classes."""
        return list(Counter(row for row, out in zip(self.shown, self.gone, strict=True) if not out).values())


def at_least(k: int) -> Rule:
    return lambda members, _: len(members) >= k


def diverse(l: int) -> Rule:
    return lambda members, _: len(set(members)) >= l


def even() -> Rule:
    return lambda members, _: len(members) % 2 == 0


def close(t: Fraction) -> Rule:
    def rule(members: Members, everyone: list[str]) -> bool:
        here, there = Counter(members), Counter(everyone)
        size, rows = len(members), len(everyone)
        return (
            sum(abs(Fraction(here[value], size) - Fraction(there[value], rows)) for value in there) / 2 <= t
        )

    return rule


def meeting(model: Model) -> Rule:
    """As the model is defined."""
    return lambda members, everyone: brute.meets(
        model, Counter(members), Counter(everyone), sorted(set(everyone))
    )


def nodes(world: World, rules: Sequence[Rule], *, least_rows: int = 0) -> list[Node]:
    """Every node, valid or not."""
    return [
        _node(world, levels, rules, least_rows)
        for levels in product(*(range(len(column[0])) for column in world.columns))
    ]


def _node(world: World, levels: Levels, rules: Sequence[Rule], least_rows: int) -> Node:
    label = [
        {row[0]: row[level] for row in column} for column, level in zip(world.columns, levels, strict=True)
    ]
    shown = [tuple(label[j][value] for j, value in enumerate(row)) for row, _ in world.rows]
    members: dict[Class, Members] = defaultdict(list)
    for row, (_, ill) in zip(shown, world.rows, strict=True):
        members[row].append(ill)
    everyone = [ill for _, ill in world.rows]
    broken = {row for row, some in members.items() if not all(rule(some, everyone) for rule in rules)}
    gone = [row in broken for row in shown]
    if gone.count(False) < least_rows:
        gone = [True] * len(gone)
    return Node(world=world, levels=levels, shown=tuple(shown), gone=tuple(gone))


def minimal(valid: Sequence[Node]) -> set[Levels]:
    """The valid nodes that are no generalization of another one."""
    found = [node.levels for node in valid]
    return {
        node
        for node in found
        if not any(
            other != node and all(low <= high for low, high in zip(other, node, strict=True))
            for other in found
        )
    }


def loss(node: Node, weights: Sequence[float] | None = None) -> float:
    rows, factors = len(node.shown), []
    for j, column in enumerate(node.world.columns):
        size = len(column)
        under = Counter(row[node.levels[j]] for row in column)
        cost = sum(
            1.0 if out else under[row[j]] / size for row, out in zip(node.shown, node.gone, strict=True)
        )
        finest = rows / size
        factors.append(1 + ((cost - finest) / (rows - finest) if size > 1 else 0))
    parts = [1.0] * len(factors) if weights is None else list(weights)
    return float(prod(f ** (w / sum(parts)) for f, w in zip(factors, parts, strict=True))) - 1


def precision(node: Node) -> float:
    cells = []
    for j, column in enumerate(node.world.columns):
        height = len(column[0]) - 1
        cells += [1.0 if out else (node.levels[j] / height if height else 0.0) for out in node.gone]
    return sum(cells) / len(cells)


def entropy(node: Node) -> float:
    bits = 0.0
    for j in range(len(node.levels)):
        values = Counter(row[j] for row, _ in node.world.rows)
        under = Counter(row[j] for row in node.shown)
        bits += sum(
            log2(under[label[j]] / values[row[j]])
            for (row, _), label in zip(node.world.rows, node.shown, strict=True)
        )
        pool = Counter(row[j] for row, out in zip(node.shown, node.gone, strict=True) if out)
        bits += sum(count * log2(node.suppressed / count) for count in pool.values())
    return bits


def height(node: Node) -> float:
    return float(sum(node.levels))


def class_size(node: Node) -> float:
    return len(node.shown) / (len(node.sizes) + (node.suppressed > 0))


def discernibility(node: Node) -> float:
    return float(sum(size**2 for size in node.sizes) + node.suppressed * len(node.shown))


def ambiguity(node: Node) -> float:
    columns = node.world.columns
    under = [Counter(row[node.levels[j]] for row in column) for j, column in enumerate(columns)]
    domain = prod(len(column) for column in columns)
    return float(
        sum(
            domain if out else prod(under[j][label] for j, label in enumerate(row))
            for row, out in zip(node.shown, node.gone, strict=True)
        )
    )


MEASURES: dict[str, Callable[[Node], float]] = {
    "loss": loss,
    "class-size": class_size,
    "discernibility": discernibility,
    "precision": precision,
    "entropy": entropy,
    "ambiguity": ambiguity,
    "height": height,
}
