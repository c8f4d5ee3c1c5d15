"""Naive Bayes: noisy class counts of every bin, released once.

Release     how many rows of each class every cell has, each with discrete Laplace noise.
Requires    Bins, classes and rows per person R are declared.
Guarantee   epsilon-DP for added and removed people: a row adds 1 to one count for each of the d attributes,
            so one person moves the counts by at most R d in L1.
Utility     log Pr[class] + sum over attributes of log Pr[bin | class]. Every bin gets as many rows as its
            noise is wide, divided as the classes are, so that where noise prevails a bin says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.number_checks import coerce_positive_fraction, require_count
from discreet.core.randomness import Randomness
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mining.additive_model import Scores
from discreet.mining.bin_counters import Counter
from discreet.mining.decision_tree import Splits
from discreet.mining.schema import Schema


@dataclass(frozen=True, kw_only=True)
class NaiveBayesPlan:
    """The plan of a naive Bayes model and its cost."""

    schema: Schema
    epsilon: Fraction
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        require_count(self, "rows_per_person", self.rows_per_person)

    @property
    def guarantee(self) -> PureDP:
        return PureDP(epsilon=self.epsilon, relation=Relation.PRESENCE)

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(
            epsilon=self.epsilon,
            sensitivity=self.rows_per_person * len(self.schema.attributes),
            relation=Relation.PRESENCE,
        )


def release_class_scores(plan: NaiveBayesPlan, counter: Counter, random: Randomness) -> Scores:
    """Return the scores computed from noisy counts."""
    schema = plan.schema
    exact = counter.count_cells_by_node(Splits()).secret[0]
    released = plan.noise.release_many(Exact(exact.reshape(-1)), random)
    counts = np.maximum(released.value.reshape(exact.shape), 0).astype(np.float64)
    totals = np.maximum(counts.sum(axis=0) / len(schema.attributes), 1.0)
    shares = totals / totals.sum()
    filled = counts + (1 + plan.noise.variance**0.5) * shares
    table = np.empty_like(filled)
    for begin, end in zip(schema.offsets[:-1], schema.offsets[1:], strict=True):
        table[begin:end] = np.log(filled[begin:end] / filled[begin:end].sum(axis=0))
    beforehand = np.log(shares)
    if schema.classes == 2:
        return Scores(table=(table[:, 1:] - table[:, :1]).T, intercepts=beforehand[1:] - beforehand[:1])
    return Scores(table=table.T, intercepts=beforehand)
