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

from discreet.core.simplex import project_to_simplex
from discreet.local.distribution_fitting import (
    Channel,
    fit_iterative_bayes,
    fit_maximum_likelihood,
)
from discreet.local.estimates import Intervals
from discreet.local.operator import FrequencyOracle
from discreet.local.report_formats import ReportCounts
from discreet.mechanisms.sampling import Floats


class LinearOperator(FrequencyOracle, Protocol):
    """A frequency oracle given by a matrix and its right inverse A, both as linear maps."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The matrix as linear maps, for iterative Bayes."""

    @abstractmethod
    def apply_inverse(self, seen: Floats) -> Floats:
        """Return the mean of A over reports with the shares `seen`."""

    @abstractmethod
    def apply_squared_inverse(self, seen: Floats) -> Floats:
        """Return the mean of the squares of A over reports with the shares `seen`."""

    @abstractmethod
    def compute_report_values(self, weights: Floats) -> Floats:
        """Return for every report the weighted sum of its A."""

    def estimate_raw_shares(self, counts: ReportCounts) -> Floats:
        return self.apply_inverse(counts.cells / counts.clients)

    def fit_shares(self, counts: ReportCounts) -> Floats:
        """Fit the likeliest shares; if the matrix is too large for that, those of iterative Bayes."""
        if self.is_enumerable:
            return fit_maximum_likelihood(counts.cells, self.matrix()).shares
        return fit_iterative_bayes(counts.cells, self.channel).shares

    def intervals(self, counts: ReportCounts, confidence: float) -> Intervals:
        raw = self.estimate_raw_shares(counts)
        spreads = [
            self.apply_squared_inverse(law) - self.apply_inverse(law) ** 2
            for law in self._report_distributions(counts)
        ]
        error = np.sqrt(np.maximum(*spreads).clip(min=0) / counts.clients)
        reach = -float(ndtri((1 - confidence) / 2)) * error
        return Intervals(raw - reach, raw + reach)

    def estimate_sum_variance(self, counts: ReportCounts, weights: Floats) -> float:
        sums = self.compute_report_values(weights)
        return (
            max(float(law @ (sums - law @ sums) ** 2) for law in self._report_distributions(counts))
            / counts.clients
        )

    def _report_distributions(self, counts: ReportCounts) -> tuple[Floats, Floats]:
        """Return the observed distribution of reports, and that under the estimated shares."""
        return counts.cells / counts.clients, self.channel.forward(
            project_to_simplex(self.estimate_raw_shares(counts))
        )

    def variance(self, share: float, clients: int) -> float:
        """Return the variance averaged over the values, each in turn having the share."""
        k, forward = self.values, self.channel.forward
        others = (1 - share) / (k - 1)
        uniform = self.apply_squared_inverse(forward(np.full(k, 1.0)))
        own = np.array([self.apply_squared_inverse(forward(row))[v] for v, row in enumerate(np.eye(k))])
        return float((others * uniform + (share - others) * own - share).mean()) / clients
