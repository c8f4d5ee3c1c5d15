"""Pure protocols: a report supports the client's own value with probability p, any other one with q.

Definition  Report y supports the values of a set S(y): it is gamma times as likely from a client whose value
            is in S(y) as from one whose value is not. The client's own value is supported with probability p,
            each other value with probability q, whichever it is [WBLJ17].
Estimate    the raw share of v is (c_v / n - q) / (p - q), c_v the number of reports that support v. It is
            unbiased; with true share f its variance is (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2).

[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, Self

import numpy as np

from discreet.belief.breaches import Mask
from discreet.core.binomial import clopper_pearson
from discreet.core.number_checks import Real, require_count
from discreet.local.bits import unpacked
from discreet.local.estimates import Intervals
from discreet.local.forms import Bits, Counts, Reports
from discreet.local.operator import Frequencies
from discreet.local.simplex import project
from discreet.local.two_level import TwoLevel
from discreet.mechanisms.sampling import Floats, Integers

ENUMERABLE = 16
"""The most bits of a report with which all reports are enumerated."""


class Pure(Frequencies, Protocol):
    """A frequency oracle that supports values with probability p or q."""

    @classmethod
    @abstractmethod
    def under(cls, epsilon: Real, values: int) -> Self:
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
    def supports(self, counts: Counts) -> Integers:
        """Return the number of reports that support each value."""

    @abstractmethod
    def supported(self, report: Reports) -> Mask:
        """Return the mask of the values that a single report supports."""

    @abstractmethod
    def scatter(self, counts: Counts, weights: Floats) -> float:
        """Return the variance of the summed weights of one report's supported values."""

    def likelihood(self, report: Reports) -> Floats:
        return np.where(self.supported(report), 1.0, 1 / self.gamma)

    def raw(self, counts: Counts) -> Floats:
        return np.asarray((self.supports(counts) / counts.clients - self.q) / (self.p - self.q))

    def likeliest(self, counts: Counts) -> Floats:
        return project(self.raw(counts))

    def intervals(self, counts: Counts, confidence: float) -> Intervals:
        low, high = clopper_pearson(self.supports(counts), counts.clients, alpha=1 - confidence)
        return Intervals((low - self.q) / (self.p - self.q), (high - self.q) / (self.p - self.q))

    def spread(self, counts: Counts, weights: Floats) -> float:
        return self.scatter(counts, weights) / (counts.clients * (self.p - self.q) ** 2)

    def variance(self, share: float, clients: int) -> float:
        require_count(self, "clients", clients)
        p, q = self.p, self.q
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (clients * (p - q) ** 2)


class Bitwise(Pure, Protocol):
    """Pure oracles whose reports have a bit for each value: a set bit supports its value."""

    @property
    @abstractmethod
    def form(self) -> Bits:
        """The bit format, one bit per value in a single cohort."""

    @property
    def outputs(self) -> int | None:
        return 1 << self.values if self.values <= ENUMERABLE else None

    @property
    def every(self) -> Mask:
        """The mask over (value, report) of the values that each report supports."""
        return unpacked(np.arange(1 << self.values, dtype=np.uint64)[:, None], self.values).T

    def supported(self, report: Reports) -> Mask:
        return np.asarray(unpacked(self.form.parts(np.atleast_2d(report))[1], self.values)[0])

    def supports(self, counts: Counts) -> Integers:
        return counts.cells[0, 1:]


class Listed(TwoLevel, Pure, Protocol):
    """Pure oracles whose reports are codes: their counts determine the variance of any weighted sum.

    The variance is at least that under the estimated shares, since a few reports may agree by chance.
    """

    def scatter(self, counts: Counts, weights: Floats) -> float:
        sums, low = self.weigh(weights), 1 / self.gamma
        told = low + (1 - low) * np.maximum(self.weigh(project(self.raw(counts))), 0.0)
        laws = counts.cells / counts.clients, told / told.sum()
        return max(float(law @ (sums - law @ sums) ** 2) for law in laws)
