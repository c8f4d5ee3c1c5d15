"""Linear estimation: the raw shares are a right inverse of the matrix, applied to the counts.

Every report y contributes a vector of shares A(y), unbiased: the sum over y of Pr[x -> y] A(y) is 1 at x and
0 elsewhere. Raw shares are the mean of A over the reports, and the variance of any sum of them is that of a
mean of independent terms, estimated from the counts; it is at least the variance under the estimated shares,
since a few reports may agree by chance. Intervals are normal: their coverage is approximate, and with a few
dozen reports or fewer they miss up to four times as often as stated.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from discreet.local.estimates import Intervals
from discreet.local.forms import Counts
from discreet.local.iterative_bayes import Channel, iterative_bayes
from discreet.local.maximum_likelihood import maximum_likelihood
from discreet.local.operator import Frequencies
from discreet.local.simplex import project
from discreet.mechanisms.sampling import Floats


class Linear(Frequencies, Protocol):
    """A frequency oracle given by a matrix and its right inverse A, both as linear maps."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The matrix as linear maps, for iterative Bayes."""

    @abstractmethod
    def unmix(self, seen: Floats) -> Floats:
        """Return the mean of A over reports with the shares `seen`."""

    @abstractmethod
    def unmix_squares(self, seen: Floats) -> Floats:
        """Return the mean of the squares of A over reports with the shares `seen`."""

    @abstractmethod
    def worth(self, weights: Floats) -> Floats:
        """Return for every report the weighted sum of its A."""

    def raw(self, counts: Counts) -> Floats:
        return self.unmix(counts.cells / counts.clients)

    def likeliest(self, counts: Counts) -> Floats:
        """Fit the likeliest shares; if the matrix is too large for that, those of iterative Bayes."""
        if self.listable:
            return maximum_likelihood(counts.cells, self.matrix()).shares
        return iterative_bayes(counts.cells, self.channel).shares

    def intervals(self, counts: Counts, confidence: float) -> Intervals:
        raw = self.raw(counts)
        spreads = [self.unmix_squares(law) - self.unmix(law) ** 2 for law in self._laws(counts)]
        error = np.sqrt(np.maximum(*spreads).clip(min=0) / counts.clients)
        reach = -float(ndtri((1 - confidence) / 2)) * error
        return Intervals(raw - reach, raw + reach)

    def spread(self, counts: Counts, weights: Floats) -> float:
        sums = self.worth(weights)
        return max(float(law @ (sums - law @ sums) ** 2) for law in self._laws(counts)) / counts.clients

    def _laws(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return the observed distribution of reports, and that under the estimated shares."""
        return counts.cells / counts.clients, self.channel.forward(project(self.raw(counts)))

    def variance(self, share: float, clients: int) -> float:
        """Return the variance averaged over the values, each in turn having the share."""
        k, forward = self.values, self.channel.forward
        others = (1 - share) / (k - 1)
        uniform = self.unmix_squares(forward(np.full(k, 1.0)))
        own = np.array([self.unmix_squares(forward(row))[v] for v, row in enumerate(np.eye(k))])
        return float((others * uniform + (share - others) * own - share).mean()) / clients
