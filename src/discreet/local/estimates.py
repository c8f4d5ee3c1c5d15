"""Estimates of frequencies and means: unbiased raw shares, the likeliest distribution, and intervals.

raw         Linear in the counts and unbiased, so it may be negative; sums over values are computed from it.
shares      The maximum-likelihood distribution (or a projection of `raw`), the one to display: nonnegative,
            with sum 1, and with far smaller squared error where there are many values.
intervals   Conservative for pure operators: the number of reports that support a value is a sum of
            independent coins, whose tails are below those of the binomial of the same mean [Hoeffding56]. So
            the Clopper-Pearson interval holds for the shares among these clients; for the population that
            they are sampled from, it is exact. Other operators, and sums over values, have normal intervals.

[Hoeffding56] On the Distribution of the Number of Successes in Independent Trials.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from discreet.core.argument_types import refuse_wrong_types, require_floats
from discreet.core.errors import require_parameter
from discreet.core.html_summary import MAX_ROWS, build_facts, build_summary, build_table
from discreet.core.number_checks import DEFAULT_CONFIDENCE, require_probability
from discreet.local.operator import Operator
from discreet.local.report_formats import ReportCounts, Reports
from discreet.mechanisms.sampling import Floats, Integers

ROUNDING = 1e-6
FLAG_CONFIDENCE = 1 - 1e-6
"""The confidence of the interval that flags an estimate as impossible: one false flag in a million."""


class Intervals(NamedTuple):
    """The lower and upper ends of an interval for every value."""

    low: Floats
    high: Floats


@dataclass(frozen=True, kw_only=True)
class NormalEstimate:
    """One estimated number with its standard error and a normal interval."""

    value: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FrequencyEstimate:
    """The estimated distribution of the clients' values; `raw` is unbiased, `shares` is a distribution."""

    operator: FrequencyOracle
    counts: ReportCounts
    raw: Floats
    shares: Floats

    def __repr__(self) -> str:
        kind = type(self.operator).__name__
        return f"<FrequencyEstimate of {self.raw.size:,} values by {kind}: {self.clients:,} clients>"

    def _repr_html_(self) -> str:
        low, high = (ends[:MAX_ROWS].tolist() for ends in self.intervals())
        rows = [
            [str(code), f"{share:.2%}", f"{least:.2%} to {most:.2%}"]
            for code, (share, least, most) in enumerate(zip(self.shares[:MAX_ROWS], low, high, strict=True))
        ]
        columns = ["value", "share", f"{DEFAULT_CONFIDENCE:.0%} interval"]
        caption = f"Shares by {type(self.operator).__name__}"
        table = build_table(columns, rows, caption=caption, right=columns, row_count=self.raw.size)
        return build_summary(table, build_facts([("clients", f"{self.clients:,}")]))

    @property
    def clients(self) -> int:
        return self.counts.clients

    def intervals(self, confidence: float = DEFAULT_CONFIDENCE) -> Intervals:
        """Return for every value an interval of its share, clipped to [0, 1]."""
        require_probability("intervals", "confidence", confidence)
        low, high = self.operator.intervals(self.counts, confidence)
        return Intervals(np.clip(low, 0, 1), np.clip(high, 0, 1))

    @property
    def impossible_codes(self) -> tuple[int, ...]:
        """The values whose share is below 0 or above 1 beyond what chance explains."""
        low, high = self.operator.intervals(self.counts, FLAG_CONFIDENCE)
        return tuple(int(code) for code in np.flatnonzero((high < 0) | (low > 1)))

    @property
    def is_sum_impossible(self) -> bool:
        """True if the sum of the shares differs from 1 beyond what chance explains."""
        total = self.estimate_mean(np.ones(self.raw.size), FLAG_CONFIDENCE)
        return not total.low - ROUNDING <= 1 <= total.high + ROUNDING

    def estimate_share(
        self, holds: Sequence[bool] | ArrayLike, confidence: float = DEFAULT_CONFIDENCE
    ) -> NormalEstimate:
        """Return the estimated share of clients whose value is in the mask `holds`."""
        mask = np.asarray(holds)
        fits = mask.shape == self.raw.shape and mask.dtype == np.bool_
        require_parameter(fits, "estimate_share", "holds", f"shape {mask.shape}", f"{self.raw.size} booleans")
        return self.estimate_mean(mask.astype(np.float64), confidence)

    @refuse_wrong_types
    def estimate_range_share(
        self, low: int, high: int, confidence: float = DEFAULT_CONFIDENCE
    ) -> NormalEstimate:
        """Return the estimated share of clients whose value is from `low` to `high`, both included."""
        fits = 0 <= low <= high < self.raw.size
        require_parameter(
            fits,
            "estimate_range_share",
            "low",
            f"{low} to {high}",
            f"with high a range within 0 to {self.raw.size - 1}",
        )
        codes = np.arange(self.raw.size)
        return self.estimate_share((codes >= low) & (codes <= high), confidence)

    def estimate_mean(self, numbers: ArrayLike, confidence: float = DEFAULT_CONFIDENCE) -> NormalEstimate:
        """Return the estimated mean over the clients of a number assigned to each value."""
        require_probability("estimate_mean", "confidence", confidence)
        weights = require_floats("numbers", numbers)
        fits = weights.shape == self.raw.shape
        require_parameter(
            fits, "estimate_mean", "numbers", f"shape {weights.shape}", f"{self.raw.size} numbers"
        )
        return make_normal_estimate(
            float(self.raw @ weights),
            math.sqrt(self.operator.estimate_sum_variance(self.counts, weights)),
            confidence,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MeanEstimate:
    """The mean of the clients' numbers, unbiased, with its standard error."""

    operator: MeanOperator
    counts: ReportCounts
    mean: float
    error: float

    def __repr__(self) -> str:
        kind = type(self.operator).__name__
        return f"<MeanEstimate {self.mean:.4g} by {kind}: {self.clients:,} clients>"

    def _repr_html_(self) -> str:
        low, high = self.interval()
        facts = [
            ("mean", f"{self.mean:.4g}"),
            (f"{DEFAULT_CONFIDENCE:.0%} interval", f"{low:.4g} to {high:.4g}"),
            ("standard error", f"{self.error:.4g}"),
            ("clients", f"{self.clients:,}"),
        ]
        return build_summary(build_facts(facts, caption=f"Mean by {type(self.operator).__name__}"))

    @property
    def clients(self) -> int:
        return self.counts.clients

    @property
    def is_impossible(self) -> bool:
        """True if the mean is outside the range of the numbers beyond what chance explains."""
        low, high = self.operator.interval(self.counts, FLAG_CONFIDENCE)
        return high < self.operator.low or low > self.operator.high

    def interval(self, confidence: float = DEFAULT_CONFIDENCE) -> tuple[float, float]:
        """Return an interval of the mean, clipped to the range of the numbers."""
        require_probability("interval", "confidence", confidence)
        ends = self.operator.interval(self.counts, confidence)
        low, high = (min(max(end, self.operator.low), self.operator.high) for end in ends)
        return low, high


class FrequencyOracle(Operator, Protocol):
    """An operator from whose reports the share of every value is estimated: a frequency oracle."""

    @abstractmethod
    def estimate_raw_shares(self, counts: ReportCounts) -> Floats:
        """Return the unbiased estimate of every share: linear in the counts, possibly negative."""

    @abstractmethod
    def fit_shares(self, counts: ReportCounts) -> Floats:
        """Return the most likely shares, or a projection close to them: at least 0, with sum 1."""

    @abstractmethod
    def intervals(self, counts: ReportCounts, confidence: float) -> Intervals:
        """Return for every value an interval that covers its true share with this confidence.

        For pure operators coverage is at least the confidence, for linear ones it is approximate: see
        `estimates` and `frequency_oracles`.
        """

    @abstractmethod
    def estimate_sum_variance(self, counts: ReportCounts, weights: Floats) -> float:
        """Return the estimated variance of a weighted sum of raw shares, for clients sampled at random."""

    @abstractmethod
    def variance(self, share: float, clients: int) -> float:
        """Return the variance of the raw share of a value with this true share, all others being equal."""

    def estimate(self, reports: Reports | ReportCounts) -> FrequencyEstimate:
        """Return the estimated distribution of the clients' values."""
        counts = self.count_reports(reports)
        return FrequencyEstimate(
            operator=self,
            counts=counts,
            raw=self.estimate_raw_shares(counts),
            shares=self.fit_shares(counts),
        )


class MeanOperator(Operator, Protocol):
    """An operator whose values are numbers on a grid from `low` to `high`, and which estimates their mean."""

    low: float
    high: float

    @abstractmethod
    def encode(self, numbers: ArrayLike) -> Integers:
        """Return the codes of the grid points nearest to the numbers."""

    @abstractmethod
    def estimate(self, reports: Reports | ReportCounts) -> MeanEstimate:
        """Return the estimated mean of the clients' numbers."""

    @abstractmethod
    def interval(self, counts: ReportCounts, confidence: float) -> tuple[float, float]:
        """Return an interval that covers the mean of the clients' numbers with this confidence."""

    @abstractmethod
    def variance(self, code: int, clients: int) -> float:
        """Return the variance of the estimated mean if all clients have this value."""


def make_normal_estimate(value: float, error: float, confidence: float) -> NormalEstimate:
    """Return an estimate with its normal interval."""
    reach = -float(ndtri((1 - confidence) / 2)) * error
    return NormalEstimate(value=value, error=error, low=value - reach, high=value + reach)
