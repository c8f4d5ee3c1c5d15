"""Randomization operators: a client randomizes its value; the server learns only the distribution.

Definition  N clients hold values x, coded 0 .. values - 1. Each sends y = R(x), Pr[R(x) = y] being row x and
            column y of the operator's matrix; the server knows the matrix and sees the reports y [EGS03].
Belief      gamma is the largest ratio between two entries of a column. A promise prior -> posterior whose
            gamma is no smaller is kept for every property of the value, whatever the prior distribution;
            epsilon = ln gamma. Participation itself is not hidden.
Protocols   Abstract methods are what an operator must implement; the others are derived from them and are
            inherited by subclassing the protocol.

    Operator                    randomizes values; bounds beliefs
    ├── FrequencyOracle         estimates the share of every value
    │   └── PureFrequencyOracle each report supports a set of values: the client's own with probability p,
    │                           any other with probability q, so estimates are closed forms [WBLJ17]
    └── MeanOperator            estimates the mean of numbers on a grid

Ranges      How far reports move the belief in a property, and which moves breach a promise.
Two-level   Report y is gamma times as likely from values in a set S(y) as from all others. With s the prior
            mass of S(y), b = 1 / gamma and Z = b + (1 - b) s, report y makes every value of S(y) 1 / Z times
            and every other value b / Z times as likely. So it reveals
            (s / Z) ln(1 / Z) + (b (1 - s) / Z) ln(b / Z) nats, which depends on the report through s
            alone: no matrix is needed, for any number of values. With gamma infinite, b = 0: the others are
            ruled out.

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from discreet.belief.breaches import Mask, compute_posteriors, require_distribution
from discreet.belief.information import worst_case_information, worst_case_information_for_epsilon
from discreet.belief.odds import highest_posterior, lowest_posterior
from discreet.belief.promise import Promise
from discreet.core.argument_types import refuse_wrong_types
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.guarantees import PureDP
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.report_formats import CodeFormat, ReportCounts, ReportFormat, Reports
from discreet.mechanisms.sampling import Floats, Integers

ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class PosteriorRange:
    """A property's prior, and its posteriors after the reports that raise and lower it most."""

    prior: float
    highest: float
    lowest: float

    def is_breach(self, promise: Promise) -> bool:
        """Return True for an upward or a downward breach, up to float rounding."""
        up, down = 1 + ROUNDING, 1 - ROUNDING
        upward = self.prior <= promise.prior * up and self.highest > promise.posterior * up
        downward = self.prior >= promise.posterior * down and self.lowest < promise.prior * down
        return upward or downward


@refuse_wrong_types
def find_breaches(ranges: Sequence[PosteriorRange], promise: Promise) -> tuple[PosteriorRange, ...]:
    """Return the ranges that breach the promise."""
    return tuple(each for each in ranges if each.is_breach(promise))


LARGEST_MATRIX = 1 << 22  # entries, 32 MB of doubles


class Operator(Protocol):
    """A randomizer from a value to a report, and its effect on beliefs; `values` is the domain size."""

    values: int

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The amplification of the sampled law; infinite if a report can rule a value out."""

    @property
    @abstractmethod
    def report_format(self) -> ReportFormat:
        """The format in which reports are stored and counted."""

    @property
    @abstractmethod
    def outputs(self) -> int | None:
        """The number of different reports; None if there are too many to enumerate."""

    @abstractmethod
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        """Return one report for each client, drawn from its value and fresh randomness."""

    @abstractmethod
    def likelihood(self, report: Reports) -> Floats:
        """Return Pr[R(x) = report] for every x, up to a common factor; takes a single report."""

    @abstractmethod
    def compute_matrix(self) -> Floats:
        """Return the matrix, without the size check of `matrix`."""

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report between any two values, ln gamma."""
        return math.log(self.gamma)

    @property
    def guarantee(self) -> PureDP:
        """The guarantee of one report, for neighbors that differ in one client's value."""
        if math.isinf(self.gamma):
            raise InvalidParameterError(
                f"{type(self).__name__} has no guarantee: some of its reports rule a value out.",
                hint="Mix it with a uniform report.",
            )
        return PureDP(epsilon=self.epsilon)

    @property
    def is_enumerable(self) -> bool:
        """True if the matrix is small enough to be written out."""
        return self.outputs is not None and self.values * self.outputs <= LARGEST_MATRIX

    def matrix(self) -> Floats:
        """Return the matrix with Pr[R(x) = y] in row x and column y."""
        if not self.is_enumerable:
            raise InvalidParameterError(
                f"{type(self).__name__} has too many different reports for a matrix.",
                hint="Use posterior, gamma and worst_case_information, which need none.",
            )
        return self.compute_matrix()

    @refuse_wrong_types
    def posterior(self, prior: ArrayLike, y: int | Reports) -> Floats:
        """Return the posterior over all values after a single report."""
        p = require_distribution("prior", prior, self.values)
        joint = p * self._require_likelihood(y)
        total = float(joint.sum())
        require_parameter(
            total > 0, self, "y", "a report that no value of positive prior sends", "a possible report"
        )
        return np.asarray(joint / total)

    def _require_likelihood(self, y: int | Reports) -> Floats:
        try:
            return self.likelihood(np.asarray(y))
        except InvalidParameterError:
            kind = type(self).__name__
            raise InvalidParameterError(f"{kind}.y must be one report of this operator.") from None

    @refuse_wrong_types
    def worst_case_information(self, prior: ArrayLike) -> float:
        """Return the most nats that one report reveals; a bound if reports are not enumerable."""
        p = require_distribution("prior", prior, self.values)
        return worst_case_information(self.matrix(), p) if self.is_enumerable else bound_information(self)

    @refuse_wrong_types
    def posterior_ranges(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[PosteriorRange, ...]:
        """Return each property's prior and extreme posteriors; bounds if reports are not enumerable."""
        p = require_distribution("prior", prior, self.values)
        return tuple(_compute_posterior_range(self, p, require_mask(self, holds)) for holds in properties)

    def count_reports(self, reports: Reports | ReportCounts) -> ReportCounts:
        """Return the counts of reports, which may already be counts; refuse an empty collection."""
        counts = reports if isinstance(reports, ReportCounts) else self.report_format.count(reports)
        require_parameter(counts.clients > 0, self, "reports", "none", "at least one report")
        return counts

    @refuse_wrong_types
    def find_breaches(
        self, prior: ArrayLike, properties: Sequence[Mask], promise: Promise
    ) -> tuple[PosteriorRange, ...]:
        """Return the properties for which some report moves the belief further than the promise allows."""
        return find_breaches(self.posterior_ranges(prior, properties), promise)


def require_mask(owner: Operator, holds: Mask) -> Mask:
    """Return a property as a boolean vector over the values; refuse any other shape."""
    mask, size = np.asarray(holds), owner.values
    fits = mask.shape == (size,) and mask.dtype == np.bool_
    require_parameter(
        fits, owner, "properties", "another shape", f"vectors of {size} booleans, one for each value"
    )
    return mask


def _compute_posterior_range(operator: Operator, prior: Floats, holds: Mask) -> PosteriorRange:
    before = float(prior[holds].sum())
    if operator.is_enumerable:
        after = compute_posteriors(operator.matrix(), prior, holds)
        return PosteriorRange(prior=before, highest=float(np.nanmax(after)), lowest=float(np.nanmin(after)))
    return bound_posterior_range(before, operator.gamma)


def bound_posterior_range(before: float, gamma: float) -> PosteriorRange:
    """Return the extreme posteriors that gamma alone allows."""
    if not 0 < before < 1:
        return PosteriorRange(prior=before, highest=before, lowest=before)
    loss = math.log(gamma)
    return PosteriorRange(
        prior=before, highest=highest_posterior(before, loss), lowest=lowest_posterior(before, loss)
    )


def bound_information(operator: Operator) -> float:
    """Return the bound that gamma alone gives; infinite if gamma is."""
    return math.inf if math.isinf(operator.gamma) else worst_case_information_for_epsilon(operator.epsilon)


class TwoLevelOperator(Operator, Protocol):
    """An operator whose reports are codes that each support a set of values, every value equally often."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of different reports."""

    @abstractmethod
    def support_mask(self, outputs: Integers, values: Integers) -> Mask:
        """Return the mask of which outputs support which values; the two are broadcast."""

    @abstractmethod
    def sum_supported_weights(self, weights: Floats) -> Floats:
        """Return for every output the summed weights of the values that it supports."""

    @property
    def report_format(self) -> CodeFormat:
        return CodeFormat(outputs=self.outputs)

    def find_supported_values(self, report: Reports) -> Mask:
        """Return the mask of the values that a single report supports."""
        return self.support_mask(
            self.report_format.to_matrix_columns(np.atleast_1d(report)), np.arange(self.values)
        )

    def likelihood(self, report: Reports) -> Floats:
        return np.where(self.find_supported_values(report), 1.0, 1 / self.gamma)

    def compute_matrix(self) -> Floats:
        held = self.support_mask(np.arange(self.outputs), np.arange(self.values)[:, None])
        size, low = int(held[0].sum()), 1 / self.gamma
        return np.where(held, 1.0, low) / (size + low * (self.outputs - size))

    @refuse_wrong_types
    def worst_case_information(self, prior: ArrayLike) -> float:
        mass, low = (
            self.sum_supported_weights(require_distribution("prior", prior, self.values)),
            1 / self.gamma,
        )
        mass = np.clip(mass, 0.0, 1.0)  # transforms round, so masses may leave [0, 1] slightly
        total = low + (1 - low) * mass
        mass, total = mass[total > 0], total[total > 0]
        return float((xlogy(mass, 1 / total) / total + (1 - mass) * xlogy(low, low / total) / total).max())

    @refuse_wrong_types
    def posterior_ranges(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[PosteriorRange, ...]:
        p, low = require_distribution("prior", prior, self.values), 1 / self.gamma
        masks = [require_mask(self, holds) for holds in properties]
        return tuple(
            _compute_two_level_range(self, np.where(mask, p, 0.0), np.where(mask, 0.0, p), low)
            for mask in masks
        )


def _compute_two_level_range(
    operator: TwoLevelOperator, having: Floats, lacking: Floats, low: float
) -> PosteriorRange:
    with_it, without = (
        low * part.sum() + (1 - low) * np.maximum(operator.sum_supported_weights(part), 0.0)
        for part in (having, lacking)
    )
    possible = with_it + without > 0
    after = with_it[possible] / (with_it + without)[possible]
    return PosteriorRange(prior=float(having.sum()), highest=float(after.max()), lowest=float(after.min()))
