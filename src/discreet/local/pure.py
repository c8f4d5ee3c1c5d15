"""Pure operators: whether a report supports a value depends on one thing, if it is the client's own.

Definition  Report y supports the values of a set S(y): it is gamma times as likely from a client whose value
            is in S(y) as from one whose value is not. The client's own value is supported with probability p,
            each other value with probability q, whichever it is [WBLJ17].
Estimate    raw share of v: (c_v / n - q) / (p - q), c_v the number of reports that support v. Unbiased; with
            true share f its variance is (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2).

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
"""Bits of a report, at most, if all reports are to be listed."""


class Pure(Frequencies, Protocol):
    """Values are supported with probability p or q."""

    @classmethod
    @abstractmethod
    def under(cls, epsilon: Real, values: int) -> Self:
        """The operator with the least error among those of its kind whose gamma is at most exp(epsilon)."""

    @property
    @abstractmethod
    def p(self) -> float:
        """Pr[a report supports the client's own value]."""

    @property
    @abstractmethod
    def q(self) -> float:
        """Pr[a report supports any one other value]."""

    @abstractmethod
    def supports(self, counts: Counts) -> Integers:
        """How many reports support each value."""

    @abstractmethod
    def supported(self, report: Reports) -> Mask:
        """Which values a single report supports."""

    @abstractmethod
    def scatter(self, counts: Counts, weights: Floats) -> float:
        """The variance, over clients and their coins, of the summed weights of what one report supports."""

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
    """Pure operators whose reports have a bit for each value: those that are set are supported."""

    @property
    @abstractmethod
    def form(self) -> Bits:
        """So many bits, in one cohort."""

    @property
    def outputs(self) -> int | None:
        return 1 << self.values if self.values <= ENUMERABLE else None

    @property
    def every(self) -> Mask:
        """Of each value, whether each report supports it."""
        return unpacked(np.arange(1 << self.values, dtype=np.uint64)[:, None], self.values).T

    def supported(self, report: Reports) -> Mask:
        return np.asarray(unpacked(self.form.parts(np.atleast_2d(report))[1], self.values)[0])

    def supports(self, counts: Counts) -> Integers:
        return counts.cells[0, 1:]


class Listed(TwoLevel, Pure, Protocol):
    """Pure operators whose reports are codes: their counts tell the variance of any weighted sum.

    It is no less than that of the law of the estimated shares: a few reports that are alike leave doubt.
    """

    def scatter(self, counts: Counts, weights: Floats) -> float:
        sums, low = self.weigh(weights), 1 / self.gamma
        told = low + (1 - low) * np.maximum(self.weigh(project(self.raw(counts))), 0.0)
        laws = counts.cells / counts.clients, told / told.sum()
        return max(float(law @ (sums - law @ sums) ** 2) for law in laws)
