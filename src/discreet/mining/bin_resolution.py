"""Bin resolution: neighboring bins merged as far as the noise requires.

Counts are exact at the declared bins; which of them are added up before noise is drawn follows from the plan.
Fewer bins make the noise of sums over many of them smaller, and see less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining import score_smoothing
from discreet.mining.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False)
class BinResolution:
    """`starts`: the first cell of each coarse cell; `ends`: the end of each attribute's coarse cells."""

    schema: Schema
    starts: Integers
    ends: Integers

    @classmethod
    def from_schema(cls, schema: Schema, bins: int) -> BinResolution:
        """Return at most `bins` bins per ordered attribute, besides that of missing values."""
        starts, ends = [], []
        for j, attribute in enumerate(schema.attributes):
            first = int(schema.offsets[j])
            starts += [first + k for k in attribute.merge_bins(bins)]
            starts += [first + attribute.regular_bins] * attribute.has_missing_bin
            ends.append(len(starts))
        return cls(schema=schema, starts=np.array(starts, np.int64), ends=np.array(ends, np.int64))

    def coarsen(self, cells: Integers) -> Integers:
        """Return sums over (coarse cell, …) of an array over (cell, …)."""
        return np.asarray(np.add.reduceat(cells, self.starts, axis=0))

    def refine(self, table: Floats) -> Floats:
        """Return an array over (…, coarse cell) repeated for every cell."""
        return np.repeat(table, np.diff([*self.starts, self.schema.cells]), axis=-1)

    def compute_totals(self, cells: Floats) -> Floats:
        """Return the mean over attributes of the sum of cells; all attributes have the same total."""
        return np.asarray(cells.sum(axis=0) / len(self.ends))

    def smooth_scores(self, noisy_sums: score_smoothing.NoisySums) -> Floats:
        """Return the scores of all attributes, each with a weighted mean of 0."""
        found = np.zeros(len(self.starts))
        for j, attribute in enumerate(self.schema.attributes):
            begin, end = int(self.ends[j - 1]) if j else 0, int(self.ends[j])
            part = noisy_sums.take_range(begin, end)
            last = end - begin - attribute.has_missing_bin
            if attribute.is_ordered:
                shaped = score_smoothing.smooth_ordered(part.take_range(0, last))
                scores = np.concatenate(
                    [shaped, score_smoothing.smooth_categories(part.take_range(last, end - begin))]
                )
            else:
                scores = score_smoothing.smooth_categories(part)
            weights = np.maximum(part.weights, 0)
            found[begin:end] = scores - (scores @ weights) / max(weights.sum(), 1.0)
        return found
