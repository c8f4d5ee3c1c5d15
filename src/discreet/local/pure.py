"""Pure operators: a report supports a set of values, and all that follows is closed form.

Definition  Report y supports the values of a set S(y): it is gamma times as likely from a client whose value
            is in S(y) as from one whose value is not. The client's own value is supported with probability p,
            each other value with probability q, whichever it is [WBLJ17].
Estimate    raw share of v: (c_v / n - q) / (p - q), c_v the number of reports that support v. Unbiased; with
            true share f its variance is (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)**2).
Belief      With s the prior mass of S(y), report y multiplies the odds of being in S(y) by gamma, and says
            (gamma s / Z) ln(gamma / Z) + ((1 - s) / Z) ln(1 / Z) nats, Z = 1 + (gamma - 1) s.

[WBLJ17]    Wang, Blocki, Li & Jha, Locally Differentially Private Protocols for Frequency Estimation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.belief.breaches import Mask, require_distribution
from discreet.core.numbers import require_count
from discreet.local.estimates import Intervals, clopper_pearson
from discreet.local.forms import Codes, Counts, Reports
from discreet.local.operator import Frequencies, require_mask
from discreet.local.simplex import project
from discreet.local.swings import Swing
from discreet.mechanisms.sampling import Floats, Integers


class Pure(Frequencies, Protocol):
    """Values are supported with probability p or q."""

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
        return np.where(self.supported(report), self.gamma, 1.0)

    def raw(self, counts: Counts) -> Floats:
        return np.asarray((self.supports(counts) / counts.clients - self.q) / (self.p - self.q))

    def likeliest(self, counts: Counts) -> Floats:
        return project(self.raw(counts))

    def intervals(self, counts: Counts, confidence: float) -> Intervals:
        low, high = clopper_pearson(self.supports(counts), counts.clients, confidence)
        return Intervals((low - self.q) / (self.p - self.q), (high - self.q) / (self.p - self.q))

    def spread(self, counts: Counts, weights: Floats) -> float:
        return self.scatter(counts, weights) / (counts.clients * (self.p - self.q) ** 2)

    def variance(self, share: float, clients: int) -> float:
        require_count(self, "clients", clients)
        p, q = self.p, self.q
        return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (clients * (p - q) ** 2)


class Listed(Pure, Protocol):
    """Pure operators whose reports are codes, each as likely as any other from within S, and from without."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many different reports there are."""

    @abstractmethod
    def contains(self, outputs: Integers, values: Integers) -> Mask:
        """Whether each output supports each value; the two are broadcast against each other."""

    @abstractmethod
    def weigh(self, weights: Floats) -> Floats:
        """For every output the summed weights of the values that it supports."""

    @property
    def form(self) -> Codes:
        return Codes(outputs=self.outputs)

    def supported(self, report: Reports) -> Mask:
        return self.contains(self.form.index(np.atleast_1d(report)), np.arange(self.values))

    def scatter(self, counts: Counts, weights: Floats) -> float:
        sums, seen = self.weigh(weights), counts.cells / counts.clients
        return float(seen @ (sums - seen @ sums) ** 2)

    def columns(self) -> Floats:
        held = self.contains(np.arange(self.outputs), np.arange(self.values)[:, None])
        # a row has high on the outputs that support it, whose share of all outputs is the same in every row
        size = int(held[0].sum())
        low = 1 / (self.gamma * size + self.outputs - size)
        return np.where(held, self.gamma * low, low)

    def worst_case_information(self, prior: ArrayLike) -> float:
        mass = self.weigh(require_distribution("prior", prior, self.values))
        gamma = self.gamma
        total = 1 + (gamma - 1) * mass
        nats = gamma * mass / total * np.log(gamma / total) - (1 - mass) / total * np.log(total)
        return float(nats.max())

    def swings(self, prior: ArrayLike, properties: Sequence[Mask]) -> tuple[Swing, ...]:
        p = require_distribution("prior", prior, self.values)
        total = 1 + (self.gamma - 1) * self.weigh(p)
        found = []
        for holds in properties:
            part = np.where(require_mask(self, holds), p, 0.0)
            after = (part.sum() + (self.gamma - 1) * self.weigh(part)) / total
            found.append(
                Swing(prior=float(part.sum()), highest=float(after.max()), lowest=float(after.min()))
            )
        return tuple(found)
