"""Frequency oracles: pure protocols, and linear operators, by how shares are estimated from their reports.

Pure        Report y supports the values of a set S(y): it is gamma times as likely from a client whose value
            is in S(y) as from one whose value is not. The client's own value is supported with probability p,
            each other value with probability q, whichever it is [WBLJ17]. The raw share of v is
            (c_v / n - q) / (p - q), c_v the number of reports that support v. It is unbiased; with true share
            f its variance is (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2).
Linear      The raw shares are a right inverse A of the matrix, applied to the counts. Every report y
            contributes a vector of shares A(y), unbiased: the sum over y of Pr[x -> y] A(y) is 1 at x and 0
            elsewhere. Raw shares are the mean of A over the reports, and the variance of any sum of them is
            that of a mean of independent terms, estimated from the counts; it is at least the variance under
            the estimated shares, since a few reports may agree by chance. Intervals are normal: their
            coverage is approximate, and with a few dozen reports or fewer they miss up to four times as
            often as stated.

[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, Self

import numpy as np
from scipy.special import ndtri

from discreet.belief.breaches import Mask
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.binomial import clopper_pearson
from discreet.core.number_checks import Real, require_count
from discreet.core.simplex import project_to_simplex
from discreet.local.bit_sampling import unpack_bits
from discreet.local.distribution_fitting import (
    Channel,
    fit_iterative_bayes,
    fit_maximum_likelihood,
)
from discreet.local.estimates import FrequencyOracle, Intervals
from discreet.local.operator import TwoLevelOperator
from discreet.local.report_formats import BitFormat, ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers

MAX_ENUMERABLE_BITS = 16
"""The most bits of a report with which all reports are enumerated."""


class PureFrequencyOracle(FrequencyOracle, Protocol):
    """A frequency oracle that supports values with probability p or q."""

    @classmethod
    @abstractmethod
    def for_epsilon(cls, epsilon: Real, values: int) -> Self:
        """Return the operator of this kind with the least error whose gamma is at most exp(epsilon)."""

    @property
    @abstractmethod
    def p(self) -> float:
        """The probability that a report supports the client's own value."""

    @property
    @abstractmethod
    def q(self) -> float:
        """The probability that a report supports any one other value."""

    @abstractmethod
    def count_supports(self, counts: ReportCounts) -> Integers:
        """Return the number of reports that support each value."""

    @abstractmethod
    def find_supported_values(self, report: Reports) -> Mask:
        """Return the mask of the values that a single report supports."""

    @abstractmethod
    def estimate_support_variance(self, counts: ReportCounts, weights: Floats) -> float:
        """Return the variance of the summed weights of one report's supported values."""

    def likelihood(self, report: Reports) -> Floats:
        return np.where(self.find_supported_values(report), 1.0, 1 / self.gamma)

    def estimate_raw_shares(self, counts: ReportCounts) -> Floats:
        return np.asarray((self.count_supports(counts) / counts.clients - self.q) / (self.p - self.q))

    def fit_shares(self, counts: ReportCounts) -> Floats:
        return project_to_simplex(self.estimate_raw_shares(counts))

    def intervals(self, counts: ReportCounts, confidence: float) -> Intervals:
        low, high = clopper_pearson(self.count_supports(counts), counts.clients, alpha=1 - confidence)
        return Intervals((low - self.q) / (self.p - self.q), (high - self.q) / (self.p - self.q))

    def estimate_sum_variance(self, counts: ReportCounts, weights: Floats) -> float:
        return self.estimate_support_variance(counts, weights) / (counts.clients * (self.p - self.q) ** 2)

    @refuse_wrong_types
    def variance(self, share: float, clients: int) -> float:
        require_count(self, "clients", clients)
        p, q = self.p, self.q
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (clients * (p - q) ** 2)


class BitFrequencyOracle(PureFrequencyOracle, Protocol):
    """Pure oracles whose reports have a bit for each value: a set bit supports its value."""

    @property
    @abstractmethod
    def report_format(self) -> BitFormat:
        """The bit format, one bit per value in a single cohort."""

    @property
    def outputs(self) -> int | None:
        return 1 << self.values if self.values <= MAX_ENUMERABLE_BITS else None

    @property
    def support_matrix(self) -> Mask:
        """The mask over (value, report) of the values that each report supports."""
        return unpack_bits(np.arange(1 << self.values, dtype=np.uint64)[:, None], self.values).T

    def find_supported_values(self, report: Reports) -> Mask:
        return np.asarray(
            unpack_bits(self.report_format.split_reports(np.atleast_2d(report))[1], self.values)[0]
        )

    def count_supports(self, counts: ReportCounts) -> Integers:
        return counts.cells[0, 1:]


class CodeFrequencyOracle(TwoLevelOperator, PureFrequencyOracle, Protocol):
    """Pure oracles whose reports are codes: their counts determine the variance of any weighted sum.

    The variance is at least that under the estimated shares, since a few reports may agree by chance.
    """

    def estimate_support_variance(self, counts: ReportCounts, weights: Floats) -> float:
        sums, low = self.sum_supported_weights(weights), 1 / self.gamma
        told = low + (1 - low) * np.maximum(
            self.sum_supported_weights(project_to_simplex(self.estimate_raw_shares(counts))), 0.0
        )
        laws = counts.cells / counts.clients, told / told.sum()
        return max(float(law @ (sums - law @ sums) ** 2) for law in laws)


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

    @refuse_wrong_types
    def variance(self, share: float, clients: int) -> float:
        """Return the variance averaged over the values, each in turn having the share."""
        k, forward = self.values, self.channel.forward
        others = (1 - share) / (k - 1)
        uniform = self.apply_squared_inverse(forward(np.full(k, 1.0)))
        own = np.array([self.apply_squared_inverse(forward(row))[v] for v, row in enumerate(np.eye(k))])
        return float((others * uniform + (share - others) * own - share).mean()) / clients
