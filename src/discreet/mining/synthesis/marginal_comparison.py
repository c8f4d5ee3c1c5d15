"""Comparison of synthetic with real rows, for the custodian alone.

Every figure here is computed from real data and is no part of what is promised, so none of it may be
published; the public certificate holds parameters and the expected error that follows from them.

Variation   of a set of columns: half of the sum of |real share - synthetic share| over its combinations; the
            largest difference in probability of any event that these columns decide.
Memory      Marginals are held a few at a time, at most `MAX_HELD_CELLS` cells of each side, 0.5 GB in all.
            A set of more combinations than that is not compared.
Usefulness  a model is trained on synthetic rows and on real ones, and both are tested on real rows that were
            not synthesized: the share that each predicts right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.belief.wording import format_count, format_percent
from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.bin_counters import MAX_SETS, ArrayCounter, Counter
from discreet.mining.schema import Schema

Learner = Callable[[Integers, Integers], Any]
MAX_HELD_CELLS = 1 << 25


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The total variation of every set of columns; printed for the custodian.

    `not_compared` is how many sets have too many combinations to be compared.
    """

    variations: Mapping[tuple[str, ...], float]
    not_compared: int = 0

    def compute_mean(self, columns: int) -> float:
        """Return the mean variation over all sets of this many columns."""
        found = [value for names, value in self.variations.items() if len(names) == columns]
        return float(np.mean(found)) if found else 0.0

    def has_sets(self, columns: int) -> bool:
        """Return whether any set of this many columns was compared."""
        return any(len(names) == columns for names in self.variations)

    def describe_mean(self, columns: int) -> str:
        """Return the mean variation of sets of this many columns in words, and how many are not in it."""
        shown = format_percent(self.compute_mean(columns))
        if columns == 1 or not self.not_compared:
            return shown
        left_out = f"{format_count(self.not_compared, 'set has', 'sets have')} too many combinations"
        return f"{shown if self.has_sets(columns) else 'unknown'} ({left_out} to be compared)"

    def find_worst(self, columns: int) -> tuple[tuple[str, ...], float]:
        """Return the set of this many columns that differs most."""
        sets = [each for each in self.variations.items() if len(each[0]) == columns]
        return max(sets, key=lambda each: each[1])


def compare_marginals(schema: Schema, counter: Counter, codes: Integers, *, columns: int = 2) -> Comparison:
    """Compare real and synthetic marginals of every set of up to `columns` columns."""
    bins = {each.name: each.bins for each in schema.attributes}
    sets = [each for size in range(1, columns + 1) for each in combinations(bins, size)]
    cells = {names: math.prod(bins[name] for name in names) for names in sets}
    compared = [names for names in sets if cells[names] <= MAX_HELD_CELLS]
    made = ArrayCounter(schema=schema, codes=codes.astype(np.int16), targets=np.zeros(len(codes), np.int64))
    found: dict[tuple[str, ...], float] = {}
    for batch in _batch_sets(compared, cells):
        pairs = zip(counter.count_marginals(batch).secret, made.count_marginals(batch).secret, strict=True)
        found |= {names: _compute_total_variation(*each) for names, each in zip(batch, pairs, strict=True)}
    return Comparison(variations=found, not_compared=len(sets) - len(compared))


def _batch_sets(
    sets: Sequence[tuple[str, ...]], cells: Mapping[tuple[str, ...], int]
) -> Iterator[list[tuple[str, ...]]]:
    """Divide sets, in order, among batches that one statement counts and of which all cells can be held."""
    batch: list[tuple[str, ...]] = []
    for names in sets:
        held = sum(cells[each] for each in batch)
        if batch and (len(batch) == MAX_SETS or held + cells[names] > MAX_HELD_CELLS):
            yield batch
            batch = []
        batch.append(names)
    if batch:
        yield batch


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
