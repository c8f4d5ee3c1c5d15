"""Small mechanisms that can be enumerated: the truth that bounds are checked against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core.guarantees import GroupOf, Guarantee
from discreet.core.neighbor_relations import Relation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """A mechanism given by its matrix; its guarantee is exact, by summing over outputs."""

    matrix: Floats
    relation: Relation = Relation.VALUE

    @property
    def cap(self) -> float:
        least, most = self.matrix.min(axis=0), self.matrix.max(axis=0)
        if np.any((least == 0) & (most > 0)):
            return math.inf
        return float(np.log(most[most > 0] / least[most > 0]).max())

    def profile(self, epsilon: float) -> float:
        pairs = itertools.permutations(self.matrix, 2)
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in pairs)

    def for_group(self, size: int) -> Guarantee:
        return GroupOf(member=self, size=size, relation=self.relation)


@dataclass(frozen=True)
class OneWay:
    """The first row of a matrix against the second, and not the other way."""

    matrix: Floats
    relation: Relation = Relation.VALUE

    @property
    def cap(self) -> float:
        p, q = self.matrix[:, self.matrix[0] > 0]
        return float(np.log(p / q).max()) if np.all(q > 0) else math.inf

    def profile(self, epsilon: float) -> float:
        return float(np.maximum(self.matrix[0] - math.exp(epsilon) * self.matrix[1], 0).sum())

    def for_group(self, size: int) -> Guarantee:
        return GroupOf(member=self, size=size, relation=self.relation)


def random_channel(random: np.random.Generator, inputs: int, outputs: int) -> Channel:
    """Mixed with a common row, so that losses of all sizes occur."""
    rows = random.dirichlet(np.full(outputs, random.choice([0.2, 1.0, 5.0])), inputs)
    share = random.choice([0.0, 0.5, 0.95])
    return Channel((1 - share) * rows + share * random.dirichlet(np.ones(outputs)))


def properties(inputs: int) -> Iterator[NDArray[np.bool_]]:
    """Every property that is neither always nor never true."""
    for bits in itertools.product([False, True], repeat=inputs):
        if any(bits) and not all(bits):
            yield np.array(bits)


def events(outputs: int) -> Iterator[list[int]]:
    """Every event: what is seen after any binary post-processing."""
    for size in range(1, outputs + 1):
        yield from (list(each) for each in itertools.combinations(range(outputs), size))
