"""A noise budget: an amount of privacy that is spent in parts, on noise and on selections.

Pure        the amount is an epsilon; noise is discrete Laplace. For promises with tail 0.
Else        the amount is a rho; noise is discrete Gaussian, and a choice by the exponential mechanism of
            epsilon costs epsilon**2 / 8.
Sums        amounts add up, and do so whoever chooses the next part after seeing what was released: epsilons
            by their caps, rhos as a filter. So a budget of which no more than all was spent keeps the
            guarantee of the whole, however its parts were chosen.
Sensitivity counts over bins, with at most `rows_per_person` rows a person, as `mechanisms.sensitivity` says
for the
            relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.profile_inversion import find_largest_rho
from discreet.core.errors import RequestError, require_parameter
from discreet.core.guarantees import Guarantee, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import (
    Real,
    coerce_positive_fraction,
    require_count,
    require_positive,
    require_probability,
)
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noise_laws import IntegerNoise
from discreet.mechanisms.sensitivity import ContributionBounds, Sensitivity

PLACES = 1 << 40
"""More integers than are ever released together: their guarantee is the one of a vector."""

ROOT = 1 << 64


@dataclass(frozen=True, kw_only=True)
class NoiseBudget:
    """An epsilon if `is_pure`, else a rho, for people with at most `rows_per_person` rows.

    >>> NoiseBudget.from_epsilon(epsilon=1, delta=1e-9).guarantee
    ZeroConcentratedDP(rho=Fraction(...), delta=0, relation=<Relation.PRESENCE: 'presence'>)
    """

    amount: Fraction
    is_pure: bool
    rows_per_person: int = 1
    relation: Relation = Relation.PRESENCE

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "amount")
        require_count(self, "rows", self.rows_per_person)
        coerce_relation(self)

    @classmethod
    def from_guarantee(cls, guarantee: Guarantee, *, rows_per_person: int = 1) -> NoiseBudget:
        """Return the whole budget of a guarantee."""
        if isinstance(guarantee, PureDP):
            amount = Fraction(guarantee.epsilon)
            return cls(
                amount=amount, is_pure=True, rows_per_person=rows_per_person, relation=guarantee.relation
            )
        if isinstance(guarantee, ZeroConcentratedDP) and guarantee.delta == 0:
            return cls(
                amount=Fraction(guarantee.rho),
                is_pure=False,
                rows_per_person=rows_per_person,
                relation=guarantee.relation,
            )
        raise RequestError(
            f"A budget cannot be spent in parts under {type(guarantee).__name__}.",
            hint="State it as PureDP or as ZeroConcentratedDP without a delta.",
        )

    @classmethod
    def from_epsilon(
        cls,
        *,
        epsilon: Real,
        delta: Real = 0,
        rows_per_person: int = 1,
        relation: Relation = Relation.PRESENCE,
    ) -> NoiseBudget:
        """Return the largest budget that is (epsilon, delta)-DP; a pure one for delta 0."""
        require_positive("", "epsilon", epsilon)
        if delta == 0:
            return cls(
                amount=Fraction(epsilon), is_pure=True, rows_per_person=rows_per_person, relation=relation
            )
        require_probability("", "delta", delta)
        held = find_largest_rho(lambda held: held.profile(float(epsilon)) <= float(delta), relation)
        return cls.from_guarantee(held, rows_per_person=rows_per_person)

    @property
    def guarantee(self) -> PureDP | ZeroConcentratedDP:
        if self.is_pure:
            return PureDP(epsilon=self.amount, relation=self.relation)
        return ZeroConcentratedDP(rho=self.amount, relation=self.relation)

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of a table of counts to one person."""
        return ContributionBounds(rows=self.rows_per_person, relation=self.relation).count_sensitivity()

    def require_bounded(self, rows: int) -> None:
        """Refuse counts in which a person may have more rows than the budget allows."""
        require_parameter(
            rows <= self.rows_per_person,
            self,
            "rows",
            self.rows_per_person,
            f"at least the {rows} that a person may have",
        )

    def take_share(self, share: Real) -> NoiseBudget:
        """Return a share of the budget."""
        return replace(self, amount=self.amount * Fraction(share))

    def make_noise(self, sensitivity: Sensitivity | None = None) -> IntegerNoise:
        """Return the least noise on counts that costs the whole amount."""
        far = sensitivity or self.sensitivity
        if self.is_pure:
            return DiscreteLaplace(epsilon=self.amount, sensitivity=far.l1, relation=self.relation)
        return DiscreteGaussian.from_rho(
            self.amount, squared_sensitivity=far.squared_l2, places=PLACES, relation=self.relation
        )

    def make_selection(self, sensitivity: int) -> Exponential:
        """Return the most accurate selection that costs no more than the whole amount."""
        epsilon = self.amount if self.is_pure else _compute_root(8 * self.amount)
        return Exponential(epsilon=epsilon, sensitivity=sensitivity, relation=self.relation)

    @property
    def pure_epsilon(self) -> Fraction:
        """The largest pure epsilon that costs no more than the amount: epsilon**2 / 2 as a rho."""
        return self.amount if self.is_pure else _compute_root(2 * self.amount)

    def sharpen(self, times: Real) -> NoiseBudget:
        """Return the cost of noise that is `times` narrower, or of a selection that much sharper."""
        return self.take_share(times if self.is_pure else Fraction(times) ** 2)


def compute_deviation(noise: IntegerNoise) -> float:
    """Return the standard deviation; for a Gaussian, that of its parameter."""
    return math.sqrt(noise.variance)


def compute_mean_magnitude(noise: IntegerNoise) -> float:
    """Return the mean magnitude of the noise; for a Gaussian, as if it were continuous."""
    if isinstance(noise, DiscreteLaplace):
        return 1 / math.sinh(noise.rate) if noise.rate < 700 else 0.0
    return math.sqrt(2 / math.pi) * compute_deviation(noise)


def _compute_root(square: Fraction) -> Fraction:
    """Return a square root, rounded down."""
    return Fraction(math.isqrt(math.floor(square * ROOT * ROOT)), ROOT)
