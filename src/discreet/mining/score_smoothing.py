"""Score smoothing: from noisy sums to a score for every bin of one attribute.

What is known of a bin (or a run of bins) is a sum z = h s + error for the score s that is looked for, and a
noisy weight h. The error has the variance of the noise, which is known, and that of sampling, about h.

Ordered     a regression tree over the bins: divided where the two sides' z / h differ by most standard
            errors, as long as that is sqrt(`CLEAR`) or more, and each side's weight stands out of its own
            noise. The difference d, of variance v, counts as d (1 - v / d**2), which is what is left of it
            on average once the noise is taken off [JS61].
Categories  each z / h is drawn to 0 as under a normal prior of variance 1; where the weight does not stand
            out of its noise, the score is 0.

All of it reads released sums alone.

Neighboring bins are merged as far as the noise requires. Counts are exact at the declared bins; which of them
are added up before noise is drawn follows from the plan. Fewer bins make the noise of sums over many of them
smaller, and see less.

[JS61]      James & Stein, Estimation with Quadratic Loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.sampling import Floats, Integers
from discreet.mining.schema import Schema

CLEAR = 3.0
STANDS_OUT = 2.0
LIGHTEST = 0.5
LARGEST = 6.0


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySums:
    """Sums and weights by bin, and the variance of their noise."""

    sums: Floats
    weights: Floats
    sum_noise: float
    weight_noise: float

    def take_range(self, begin: int, end: int) -> NoisySums:
        return NoisySums(
            sums=self.sums[begin:end],
            weights=self.weights[begin:end],
            sum_noise=self.sum_noise,
            weight_noise=self.weight_noise,
        )


def smooth_ordered(noisy_sums: NoisySums) -> Floats:
    """Return a score for every bin, equal over runs of bins that noise does not distinguish."""
    bins = len(noisy_sums.sums)
    z, h = (np.concatenate([[0.0], np.cumsum(each)]) for each in (noisy_sums.sums, noisy_sums.weights))
    found = np.zeros(bins)

    def divide(begin: int, end: int, level: float) -> None:
        found[begin:end] = level
        at = np.arange(begin + 1, end)
        heavy = _exceeds_noise(noisy_sums, h[at] - h[begin], at - begin) & _exceeds_noise(
            noisy_sums, h[end] - h[at], end - at
        )
        if not heavy.any():
            return
        at = at[heavy]
        left, right = h[at] - h[begin], h[end] - h[at]
        apart = (z[end] - z[at]) / right - (z[at] - z[begin]) / left
        doubt = _compute_variance(noisy_sums, left, at - begin) + _compute_variance(
            noisy_sums, right, end - at
        )
        clear = apart**2 / doubt
        best = int(np.argmax(clear))
        if clear[best] < CLEAR:
            return
        kept = apart[best] * (1 - 1 / clear[best])
        share = left[best] / (left[best] + right[best])
        divide(begin, int(at[best]), level - kept * (1 - share))
        divide(int(at[best]), end, level + kept * share)

    whole = bool(_exceeds_noise(noisy_sums, h[-1:], np.array([bins]))[0])
    divide(0, bins, z[-1] / h[-1] if whole else 0.0)
    return np.clip(found, -LARGEST, LARGEST)


def smooth_categories(noisy_sums: NoisySums) -> Floats:
    """Return a score for every bin on its own."""
    heavy = _exceeds_noise(noisy_sums, noisy_sums.weights, np.ones(len(noisy_sums.sums)))
    weights = np.where(heavy, noisy_sums.weights, 1.0)
    doubt = _compute_variance(noisy_sums, weights, np.ones(len(weights)))
    return np.clip(np.where(heavy, noisy_sums.sums / weights / (1 + doubt), 0.0), -LARGEST, LARGEST)


def _exceeds_noise(noisy_sums: NoisySums, weights: Floats, bins: NDArray[Any]) -> NDArray[np.bool_]:
    noise = np.sqrt(noisy_sums.weight_noise * bins.astype(np.float64))
    return np.asarray(weights > STANDS_OUT * noise + LIGHTEST)


def _compute_variance(noisy_sums: NoisySums, weights: Floats, bins: NDArray[Any]) -> Floats:
    """Return the variance of z / h over this many bins, from noise and sampling."""
    return np.asarray((noisy_sums.sum_noise * bins + weights) / weights**2)


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

    def smooth_scores(self, noisy_sums: NoisySums) -> Floats:
        """Return the scores of all attributes, each with a weighted mean of 0."""
        found = np.zeros(len(self.starts))
        for j, attribute in enumerate(self.schema.attributes):
            begin, end = int(self.ends[j - 1]) if j else 0, int(self.ends[j])
            part = noisy_sums.take_range(begin, end)
            last = end - begin - attribute.has_missing_bin
            if attribute.is_ordered:
                shaped = smooth_ordered(part.take_range(0, last))
                scores = np.concatenate([shaped, smooth_categories(part.take_range(last, end - begin))])
            else:
                scores = smooth_categories(part)
            weights = np.maximum(part.weights, 0)
            found[begin:end] = scores - (scores @ weights) / max(weights.sum(), 1.0)
        return found
