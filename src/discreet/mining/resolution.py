"""Bin resolution: neighboring bins merged as far as the noise requires.

Counts are exact at the declared bins; which of them are added up before noise is drawn follows from the plan.
Fewer bins make the noise of sums over many of them smaller, and see less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining import shapes
from discreet.mining.schema import Schema


@dataclass(frozen=True, kw_only=True, eq=False)
class Resolution:
    """`starts`: the first cell of each coarse cell; `ends`: the end of each attribute's coarse cells."""

    schema: Schema
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, schema: Schema, bins: int) -> Resolution:
        """Return at most `bins` bins per ordered attribute, besides that of missing values."""
        starts, ends = [], []
        for j, attribute in enumerate(schema.attributes):
            first = int(schema.offsets[j])
            starts += [first + k for k in attribute.coarser(bins)]
            starts += [first + attribute.regular] * attribute.missing
            ends.append(len(starts))
        return cls(schema=schema, starts=np.array(starts, np.int64), ends=np.array(ends, np.int64))

    def coarse(self, cells: Integers) -> Integers:
        """Return sums over (coarse cell, …) of an array over (cell, …)."""
        return np.asarray(np.add.reduceat(cells, self.starts, axis=0))

    def fine(self, table: Floats) -> Floats:
        """Return an array over (…, coarse cell) repeated for every cell."""
        return np.repeat(table, np.diff([*self.starts, self.schema.cells]), axis=-1)

    def totals(self, cells: Floats) -> Floats:
        """Return the mean over attributes of the sum of cells; all attributes have the same total."""
        return np.asarray(cells.sum(axis=0) / len(self.ends))

    def smoothed(self, known: shapes.Sums) -> Floats:
        """Return the scores of all attributes, each with a weighted mean of 0."""
        found = np.zeros(len(self.starts))
        for j, attribute in enumerate(self.schema.attributes):
            begin, end = int(self.ends[j - 1]) if j else 0, int(self.ends[j])
            part = known.part(begin, end)
            last = end - begin - attribute.missing
            if attribute.ordered:
                shaped = shapes.ordered(part.part(0, last))
                scores = np.concatenate([shaped, shapes.categories(part.part(last, end - begin))])
            else:
                scores = shapes.categories(part)
            weights = np.maximum(part.weights, 0)
            found[begin:end] = scores - (scores @ weights) / max(weights.sum(), 1.0)
        return found
