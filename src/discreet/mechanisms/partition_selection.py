"""Partition selection: the keys of a GROUP BY that may be shown, and a noisy number of people for each.

Release     For every group with n >= 1 people, the key and n + Z if n + Z > k, else nothing. Z is discrete
            Laplace noise cut to [-k, k]: Pr[Z = z] = c a**|z|, a = exp(-e),
            c = (1 - a) / (1 + a - 2 a**(k+1)), e = epsilon / t, d = delta / t, and k is the least integer
            with Pr[Z = k] <= d: ceil(ln((exp(e) + 2 d - 1) / ((exp(e) + 1) d)) / e).
            t is the number of groups that one person can change: C under presence, 2 C under value.
Requires    n counts *distinct people*; a person is in at most C groups (`groups_per_person`). The groups come
            in an order that depends on their keys alone (as by ORDER BY), since positions can be seen.
Guarantee   (epsilon, delta)-DP. One group, n against n + 1: for every output in both ranges Pr changes by a
            factor of at most exp(e); outside the common range lies one output, at the end, of probability
            c a**k <= d. So n + Z is (e, d)-DP, and everything computed from it is too. A group without people
            would get at most 0 + k, which is not above k: leaving it out without a draw changes nothing. The
            t groups that one person changes compose to (t e, t d) = (epsilon, delta).
Utility     2 k + 1 people or more are always shown, k + 1 more often than not. The chance of being shown is
            the largest that any (e, d)-DP rule allows where the formula for k needs no rounding up [DVGM22].
Why exact   Z is drawn by rejection from an exact sampler, k is found with proven bounds on exp.

[DVGM22]    Desfontaines, Voss, Gipson & Mandayam, Differentially Private Partition Selection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import require_parameter
from discreet.core.exact_values import Exact, Released
from discreet.core.guarantees import ApproximateDP
from discreet.core.neighbor_relations import Relation, coerce_relation
from discreet.core.number_checks import coerce_positive_fraction, require_count, require_probability
from discreet.core.randomness import Randomness
from discreet.mechanisms.additive_noise import find_least_integer
from discreet.mechanisms.sampling import (
    Integers,
    bound_exp,
    sample_bernoulli_exps,
    sample_discrete_laplace,
    sample_uniform_below,
)

DIGITS = 60


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Keys, and the (distinct or noisy) number of people at each."""

    keys: NDArray[Any] = field(repr=False)
    people: Integers = field(repr=False)

    def __post_init__(self) -> None:
        fits = isinstance(self.people, np.ndarray) and self.people.ndim == 1 and self.people.dtype == np.int64
        require_parameter(fits, self, "people", type(self.people).__name__, "a one-dimensional int64 array")
        same = isinstance(self.keys, np.ndarray) and self.keys.shape == self.people.shape
        require_parameter(
            same, self, "keys", "another shape", "an array with one key for each number of people"
        )


def _copy_keys(keys: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of the keys without a trace of the others.

    An array of text is as wide as its widest item ever was, which would reveal a key that was not selected.
    """
    return np.array(keys.tolist(), dtype=keys.dtype.kind) if keys.dtype.kind in "US" else keys.copy()


@dataclass(frozen=True, kw_only=True)
class GroupSelection:
    """Partition selection: a key is shown only if its noisy number of people is above `threshold`.

    >>> GroupSelection(epsilon=1, delta=1e-6, relation=Relation.PRESENCE).threshold
    14
    """

    epsilon: Fraction
    delta: Fraction
    groups_per_person: int = 1
    relation: Relation = Relation.VALUE

    def __post_init__(self) -> None:
        coerce_positive_fraction(self, "epsilon")
        require_probability(self, "delta", self.delta)
        coerce_positive_fraction(self, "delta")
        require_count(self, "groups_per_person", self.groups_per_person)
        coerce_relation(self)

    @property
    def groups_changed_per_person(self) -> int:
        """The number of groups that one person can change."""
        return self.groups_per_person * (1 if self.relation is Relation.PRESENCE else 2)

    @property
    def rate(self) -> Fraction:
        """Epsilon for one group, which is also the decay of the noise per person."""
        return self.epsilon / self.groups_changed_per_person

    @property
    def guarantee(self) -> ApproximateDP:
        return ApproximateDP(epsilon=self.epsilon, delta=self.delta, relation=self.relation)

    @cached_property
    def threshold(self) -> int:
        """k: the largest noise, which a noisy number of people must exceed."""
        e, d = float(self.rate), self.delta / self.groups_changed_per_person
        # the formula above is ln(1 + tanh(e / 2) (1 - d) / d) / e, which loses no digits for small e
        odds = math.log((1 - d).numerator) - math.log(d.numerator)
        around = float(np.logaddexp(0, math.log(math.tanh(e / 2)) + odds)) / e
        return find_least_integer(self._is_end_mass_small, estimate=math.ceil(around))

    def _is_end_mass_small(self, k: int) -> bool:
        """Return whether Pr[Z = k] <= d, surely: a**k (1 - a + 2 d a) <= d (1 + a)."""
        d = self.delta / self.groups_changed_per_person
        (a_least, a_most), (_, end) = bound_exp(self.rate, DIGITS), bound_exp(self.rate * k, DIGITS)
        return end * (1 - a_least + 2 * d * a_most) <= d * (1 + a_least)

    def mass(self, z: int) -> float:
        """Return Pr[Z = z]."""
        e = float(self.rate)
        return -math.expm1(-e) * math.exp(-e * abs(z)) / self._norm if abs(z) <= self.threshold else 0.0

    @property
    def _norm(self) -> float:
        """1 + a - 2 a**(k+1)."""
        e = float(self.rate)
        return -math.expm1(-e) - 2 * math.exp(-e) * math.expm1(-e * self.threshold)

    def selection_probability(self, people: int) -> float:
        """Return the probability that a group of this many people is shown."""
        require_count(self, "people", people, minimum=0)
        e, k = float(self.rate), self.threshold

        def compute_outer_mass(count: int) -> float:
            """Return the probability of the last `count` outcomes on one side, count <= k + 1."""
            return math.exp(-e * (k + 1 - count)) * -math.expm1(-e * count) / self._norm

        return (
            compute_outer_mass(people)
            if people <= k + 1
            else 1 - compute_outer_mass(max(0, 2 * k + 1 - people))
        )

    def release(self, groups: Exact[GroupCounts], random: Randomness) -> Released[GroupCounts]:
        held = groups.secret.people > 0
        people, keys = groups.secret.people[held], groups.secret.keys[held]
        noisy = people + self._draw_noise(people.size, random)
        shown = noisy > self.threshold
        return Released(GroupCounts(_copy_keys(keys[shown]), noisy[shown]), self.guarantee)

    def _draw_noise(self, count: int, random: Randomness) -> Integers:
        """Draw discrete Laplace noise given that |Z| <= k."""
        k, rate = self.threshold, self.rate
        drawn = np.empty(count, np.int64)
        open_places = np.arange(count)
        while open_places.size:
            if k * rate > 1:
                z = sample_discrete_laplace(rate, open_places.size, random)
                kept = np.abs(z) <= k
            else:
                # k is small relative to the scale, so most draws from Laplace would be rejected
                z = sample_uniform_below(2 * k + 1, open_places.size, random) - k
                kept = sample_bernoulli_exps(np.abs(z), rate, random)
            drawn[open_places[kept]] = z[kept].astype(np.int64)
            open_places = open_places[~kept]
        return drawn
