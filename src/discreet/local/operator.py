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

[EGS03]     Evfimievski, Gehrke & Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining.
[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.belief.breaches import Mask, compute_posteriors, require_distribution
from discreet.belief.information import worst_case_information, worst_case_information_for_epsilon
from discreet.belief.odds import highest_posterior, lowest_posterior
from discreet.belief.promise import Promise
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.guarantees import PureDP
from discreet.core.randomness import SYSTEM, Randomness
from discreet.local.estimates import Estimate, Intervals, MeanEstimate
from discreet.local.forms import Counts, Form, Reports
from discreet.local.swings import Swing, breaking
from discreet.mechanisms.sampling import Floats, Integers

LARGEST_MATRIX = 1 << 22


class Operator(Protocol):
    """A randomizer from a value to a report, and its effect on beliefs; `values` is the domain size."""

    values: int

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The amplification of the sampled law; infinite if a report can rule a value out."""

    @property
    @abstractmethod
    def form(self) -> Form:
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
    def columns(self) -> Floats:
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
    def listable(self) -> bool:
        """True if the matrix is small enough to be written out."""
        return self.outputs is not None and self.values * self.outputs <= LARGEST_MATRIX

    def matrix(self) -> Floats:
        """Return the matrix with Pr[R(x) = y] in row x and column y."""
        if not self.listable:
            raise InvalidParameterError(
                f"{type(self).__name__} has too many different reports for a matrix.",
                hint="Use posterior, gamma and worst_case_information, which need none.",
            )
        return self.columns()

    def posterior(self, prior: ArrayLike, y: int | Reports) -> Floats:
        """Return the posterior over all values after a single report."""
        p = require_distribution("prior", prior, self.values)
        joint = p * self.likelihood(np.asarray(y))
        total = float(joint.sum())
        require_parameter(
            total > 0, self, "y", "a report that no value of positive prior sends", "a possible report"
        )
        return np.asarray(joint / total)

    def worst_case_information(self, prior: ArrayLike) -> float:
        """Return the most nats that one report reveals; a bound if reports are not enumerable."""
        p = require_distribution("prior", prior, self.values)
        return worst_case_information(self.matrix(), p) if self.listable else information_bound(self)

    def swings(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[Swing, ...]:
        """Return each property's prior and extreme posteriors; bounds if reports are not enumerable."""
        p = require_distribution("prior", prior, self.values)
        return tuple(_swing(self, p, require_mask(self, holds)) for holds in properties)

    def counted(self, reports: Reports | Counts) -> Counts:
        """Return the counts of reports, which may already be counts; refuse an empty collection."""
        counts = reports if isinstance(reports, Counts) else self.form.count(reports)
        require_parameter(counts.clients > 0, self, "reports", "none", "at least one report")
        return counts

    def breaches(self, prior: ArrayLike, properties: Sequence[Mask], promise: Promise) -> tuple[Swing, ...]:
        """Return the properties for which some report moves the belief further than the promise allows."""
        return breaking(self.swings(prior, properties), promise)


class Frequencies(Operator, Protocol):
    """An operator from whose reports the share of every value is estimated: a frequency oracle."""

    @abstractmethod
    def raw(self, counts: Counts) -> Floats:
        """Return the unbiased estimate of every share: linear in the counts, possibly negative."""

    @abstractmethod
    def likeliest(self, counts: Counts) -> Floats:
        """Return the most likely shares, or a projection close to them: at least 0, with sum 1."""

    @abstractmethod
    def intervals(self, counts: Counts, confidence: float) -> Intervals:
        """Return for every value an interval that covers its true share with this confidence.

        For pure operators coverage is at least the confidence, for linear ones it is approximate: see
        `estimates` and `linear_estimation`.
        """

    @abstractmethod
    def spread(self, counts: Counts, weights: Floats) -> float:
        """Return the estimated variance of a weighted sum of raw shares, for clients sampled at random."""

    @abstractmethod
    def variance(self, share: float, clients: int) -> float:
        """Return the variance of the raw share of a value with this true share, all others being equal."""

    def estimate(self, reports: Reports | Counts) -> Estimate:
        """Return the estimated distribution of the clients' values."""
        counts = self.counted(reports)
        return Estimate(
            operator=self,
            counts=counts,
            raw=self.raw(counts),
            shares=self.likeliest(counts),
        )


class Means(Operator, Protocol):
    """An operator whose values are numbers on a grid from `low` to `high`, and which estimates their mean."""

    low: float
    high: float

    @abstractmethod
    def encode(self, numbers: ArrayLike) -> Integers:
        """Return the codes of the grid points nearest to the numbers."""

    @abstractmethod
    def estimate(self, reports: Reports | Counts) -> MeanEstimate:
        """Return the estimated mean of the clients' numbers."""

    @abstractmethod
    def interval(self, counts: Counts, confidence: float) -> tuple[float, float]:
        """Return an interval that covers the mean of the clients' numbers with this confidence."""

    @abstractmethod
    def variance(self, code: int, clients: int) -> float:
        """Return the variance of the estimated mean if all clients have this value."""


def require_mask(owner: Operator, holds: Mask) -> Mask:
    """Return a property as a boolean vector over the values; refuse any other shape."""
    mask, size = np.asarray(holds), owner.values
    fits = mask.shape == (size,) and mask.dtype == np.bool_
    require_parameter(
        fits, owner, "properties", "another shape", f"vectors of {size} booleans, one for each value"
    )
    return mask


def _swing(operator: Operator, prior: Floats, holds: Mask) -> Swing:
    before = float(prior[holds].sum())
    if operator.listable:
        after = compute_posteriors(operator.matrix(), prior, holds)
        return Swing(prior=before, highest=float(np.nanmax(after)), lowest=float(np.nanmin(after)))
    return bounded_swing(before, operator.gamma)


def bounded_swing(before: float, gamma: float) -> Swing:
    """Return the extreme posteriors that gamma alone allows."""
    if not 0 < before < 1:
        return Swing(prior=before, highest=before, lowest=before)
    loss = math.log(gamma)
    return Swing(prior=before, highest=highest_posterior(before, loss), lowest=lowest_posterior(before, loss))


def information_bound(operator: Operator) -> float:
    """Return the bound that gamma alone gives; infinite if gamma is."""
    return math.inf if math.isinf(operator.gamma) else worst_case_information_for_epsilon(operator.epsilon)
