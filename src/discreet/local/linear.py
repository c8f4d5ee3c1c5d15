"""Linear estimates: the raw shares are a right inverse of the matrix, applied to the counts.

Every report y is worth a vector of shares A(y), unbiased: the sum over y of Pr[x -> y] A(y) is 1 at x and 0
elsewhere. Raw shares are the mean of A over the reports, and the variance of any sum of them is that of a
mean of independent terms, seen in the counts themselves; it is no less than that of the law of the estimated
shares, as a few reports that are alike leave doubt. Intervals are normal: they hold with about the confidence
that is asked for, and with a few dozen reports or fewer they miss up to four times as often.
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
    """A matrix, its right inverse A, and both as what they do."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The matrix as what it does, for iterative Bayes."""

    @abstractmethod
    def unmix(self, seen: Floats) -> Floats:
        """The mean of A over reports whose shares are `seen`."""

    @abstractmethod
    def unmix_squares(self, seen: Floats) -> Floats:
        """The mean of the squares of A."""

    @abstractmethod
    def worth(self, weights: Floats) -> Floats:
        """For every report the weighted sum of its A."""

    def raw(self, counts: Counts) -> Floats:
        return self.unmix(counts.cells / counts.clients)

    def likeliest(self, counts: Counts) -> Floats:
        """Of a matrix that is too large for that, what iterative Bayes comes to."""
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
        """The law of reports as it was seen, and as the estimated shares have it."""
        return counts.cells / counts.clients, self.channel.forward(project(self.raw(counts)))

    def variance(self, share: float, clients: int) -> float:
        """The mean over the values, each in turn having the share; it is linear in the shares."""
        k, forward = self.values, self.channel.forward
        others = (1 - share) / (k - 1)
        uniform = self.unmix_squares(forward(np.full(k, 1.0)))
        own = np.array([self.unmix_squares(forward(row))[v] for v, row in enumerate(np.eye(k))])
        return float((others * uniform + (share - others) * own - share).mean()) / clients
