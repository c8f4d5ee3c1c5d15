"""Operators: how a client randomizes a value, so that the server learns the distribution and nobody's value.

Definition  N clients hold values x, coded 0 .. values - 1. Each sends y = R(x), Pr[R(x) = y] being row x and
            column y of the operator's matrix; the server knows the matrix and sees the reports y [EGS03].
Belief      gamma is the largest ratio between two entries of a column. A promise prior -> posterior whose
            gamma is no smaller is kept for every property of the value, whatever the prior distribution;
            epsilon = ln gamma. That a client took part at all is not hidden.
Protocols   What an operator must bring stands without a body; what follows from that has one, and is had by
            deriving from the protocol.

    Operator            randomizes; beliefs
    ├── Frequencies     estimates the share of every value
    │   └── Pure        each report supports a set of values, with one probability if the client's value is
    │                   among them or not: all that follows is closed form [WBLJ17]
    └── Means           estimates the mean of numbers on a grid

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
    """From a value to a report, and what a report does to beliefs; `values` is how many values there are."""

    values: int

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The amplification of the law that is sampled; infinite if a report can rule a value out."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """How reports are kept and counted."""

    @property
    @abstractmethod
    def outputs(self) -> int | None:
        """How many different reports there are; None if they are too many to be numbered."""

    @abstractmethod
    def randomize(self, x: Integers, random: Randomness = SYSTEM) -> Reports:
        """One report for each client, from the client's value and coins of its own."""

    @abstractmethod
    def likelihood(self, report: Reports) -> Floats:
        """Pr[R(x) = report] for every x, or a multiple of it: only ratios matter. A single report."""

    @abstractmethod
    def columns(self) -> Floats:
        """The matrix, of which `matrix` has checked that it is small."""

    @property
    def epsilon(self) -> float:
        """ln gamma: the loss of one report between any two values."""
        return math.log(self.gamma)

    @property
    def guarantee(self) -> PureDP:
        """What one report costs, for the neighbours that differ in a client's value."""
        if math.isinf(self.gamma):
            raise InvalidParameterError(
                f"{type(self).__name__} has no guarantee: some of its reports rule a value out.",
                hint="Mix it with a uniform report.",
            )
        return PureDP(epsilon=self.epsilon)

    @property
    def listable(self) -> bool:
        """Whether the matrix is small enough to be written out."""
        return self.outputs is not None and self.values * self.outputs <= LARGEST_MATRIX

    def matrix(self) -> Floats:
        """Pr[R(x) = y] in row x and column y."""
        if not self.listable:
            raise InvalidParameterError(
                f"{type(self).__name__} has too many different reports for a matrix.",
                hint="Use posterior, gamma and worst_case_information, which need none.",
            )
        return self.columns()

    def posterior(self, prior: ArrayLike, y: int | Reports) -> Floats:
        """The belief in every value after a single report."""
        p = require_distribution("prior", prior, self.values)
        joint = p * self.likelihood(np.asarray(y))
        total = float(joint.sum())
        require_parameter(
            total > 0, self, "y", "a report that no value of positive prior sends", "a possible report"
        )
        return np.asarray(joint / total)

    def worst_case_information(self, prior: ArrayLike) -> float:
        """The most nats that a report says about a value; where reports cannot be listed, a bound on it."""
        p = require_distribution("prior", prior, self.values)
        return worst_case_information(self.matrix(), p) if self.listable else information_bound(self)

    def swings(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[Swing, ...]:
        """How far reports move the belief in each property, up and down; bounds where none can be listed."""
        p = require_distribution("prior", prior, self.values)
        return tuple(_swing(self, p, require_mask(self, holds)) for holds in properties)

    def counted(self, reports: Reports | Counts) -> Counts:
        """Reports counted, if they are not yet; there must be some."""
        counts = reports if isinstance(reports, Counts) else self.form.count(reports)
        require_parameter(counts.clients > 0, self, "reports", "none", "at least one report")
        return counts

    def breaches(self, prior: ArrayLike, properties: Sequence[Mask], promise: Promise) -> tuple[Swing, ...]:
        """The properties whose belief some report moves further than the promise allows."""
        return breaking(self.swings(prior, properties), promise)


class Frequencies(Operator, Protocol):
    """An operator from whose reports the share of every value is estimated."""

    @abstractmethod
    def raw(self, counts: Counts) -> Floats:
        """The unbiased estimate of every share: linear in the counts, and kept where it is negative."""

    @abstractmethod
    def likeliest(self, counts: Counts) -> Floats:
        """The shares that make the counts most likely, among those that are at least 0 and sum to 1."""

    @abstractmethod
    def intervals(self, counts: Counts, confidence: float) -> Intervals:
        """For every value an interval that holds its true share with this confidence.

        Of pure operators at least, of linear ones about: see `estimates` and `linear`.
        """

    @abstractmethod
    def spread(self, counts: Counts, weights: Floats) -> float:
        """The variance of the weighted sum of `raw`, as estimated; of the clients as a sample of many."""

    @abstractmethod
    def variance(self, share: float, clients: int) -> float:
        """The variance of `raw` at a value that this share of the clients has, the others being alike."""

    def estimate(self, reports: Reports | Counts) -> Estimate:
        """The distribution of the clients' values."""
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
        """The codes of the points that are nearest to the numbers."""

    @abstractmethod
    def estimate(self, reports: Reports | Counts) -> MeanEstimate:
        """The mean of the clients' numbers."""

    @abstractmethod
    def interval(self, counts: Counts, confidence: float) -> tuple[float, float]:
        """An interval that holds the mean of the clients' numbers with this confidence."""

    @abstractmethod
    def variance(self, code: int, clients: int) -> float:
        """The variance of the estimated mean, if all clients have this value."""


def require_mask(owner: Operator, holds: Mask) -> Mask:
    """A property as booleans, one for each value, or one clear sentence."""
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
    """What gamma alone says."""
    if not 0 < before < 1:
        return Swing(prior=before, highest=before, lowest=before)
    loss = math.log(gamma)
    return Swing(prior=before, highest=highest_posterior(before, loss), lowest=lowest_posterior(before, loss))


def information_bound(operator: Operator) -> float:
    """What gamma alone says; infinite if it is."""
    return math.inf if math.isinf(operator.gamma) else worst_case_information_for_epsilon(operator.epsilon)
