"""Comparison of synthetic with real rows, for the custodian alone.

Every figure here is computed from real data and is no part of what is promised, so none of it may be
published; the public certificate holds parameters and the expected error that follows from them.

Variation   of a set of columns: half of the sum of |real share - synthetic share| over its combinations; the
            largest difference in probability of any event that these columns decide.
Usefulness  a model is trained on synthetic rows and on real ones, and both are tested on real rows that were
            not synthesized: the share that each predicts right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.bin_counters import ArrayCounter, Counter
from discreet.mining.schema import Schema

Learner = Callable[[Integers, Integers], Any]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The total variation of every set of columns; printed for the custodian."""

    variations: Mapping[tuple[str, ...], float]

    def compute_mean(self, columns: int) -> float:
        """Return the mean variation over all sets of this many columns."""
        found = [value for names, value in self.variations.items() if len(names) == columns]
        return float(np.mean(found)) if found else 0.0

    def find_worst(self, columns: int) -> tuple[tuple[str, ...], float]:
        """Return the set of this many columns that differs most."""
        sets = [each for each in self.variations.items() if len(each[0]) == columns]
        return max(sets, key=lambda each: each[1])


def compare_marginals(schema: Schema, counter: Counter, codes: Integers, *, columns: int = 2) -> Comparison:
    """Compare real and synthetic marginals of every set of up to `columns` columns."""
    names = [each.name for each in schema.attributes]
    sets = [each for size in range(1, columns + 1) for each in combinations(names, size)]
    made = ArrayCounter(schema=schema, codes=codes.astype(np.int16), targets=np.zeros(len(codes), np.int64))
    pairs = zip(counter.count_marginals(sets).secret, made.count_marginals(sets).secret, strict=True)
    found = {names: _compute_total_variation(*each) for names, each in zip(sets, pairs, strict=True)}
    return Comparison(variations=found)


def measure_usefulness(
    learner: Learner, synthetic: Integers, real: Integers, unseen: Integers, *, target: int
) -> tuple[float, float]:
    """Return a learner's accuracy on unseen rows, trained on synthetic and on real rows.

    `learner` takes features and targets and gives what has `predict`, as `fit` of scikit-learn does.
    """
    features = [place for place in range(unseen.shape[1]) if place != target]

    def compute_accuracy(rows: Integers) -> float:
        model = learner(rows[:, features], rows[:, target])
        return float(np.mean(model.predict(unseen[:, features]) == unseen[:, target]))

    return compute_accuracy(synthetic), compute_accuracy(real)


def _compute_total_variation(real: Integers, synthetic: Integers) -> float:
    shares: list[Floats] = [each / max(1, each.sum()) for each in (real, synthetic)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
