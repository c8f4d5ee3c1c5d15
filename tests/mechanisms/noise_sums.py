"""Laws of weighted sums once more, by adding up every outcome: what the tables of the package are held to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.mechanisms.noise_laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw

mp.dps = 40

LAPLACE = DiscreteLaplaceLaw(rate=Fraction(1, 20))
"""Noise of epsilon .1 and sensitivity 2."""
TWICE = DiscreteLaplaceLaw(rate=Fraction(1, 10))

NARROW_LAWS = st.one_of(
    st.builds(DiscreteLaplaceLaw, rate=st.fractions(1, 4, max_denominator=20)),
    st.builds(DiscreteGaussianLaw, parameter=st.fractions(Fraction(1, 5), 6, max_denominator=20)),
)
LAWS = st.one_of(
    st.builds(
        DiscreteLaplaceLaw,
        rate=st.fractions(Fraction(1, 10**6), 5, max_denominator=10**6),
        unit=st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(7)]),
    ),
    st.builds(
        DiscreteGaussianLaw,
        parameter=st.fractions(Fraction(1, 5), 10**6, max_denominator=100),
        unit=st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(7)]),
    ),
)
BETAS = st.floats(1e-5, 0.6)

Masses = dict[Fraction, Fraction]


def list_masses(law: NoiseLaw, *, left_out: float = 1e-17) -> Masses:
    """Probabilities of every value whose tail is not below `left_out`, from forty digits."""
    reach = 1
    while law.bound_steps_tail(reach) > left_out:
        reach += 1
    if isinstance(law, DiscreteLaplaceLaw):
        rate = mpf(law.rate.numerator) / law.rate.denominator
        weights = [mp.tanh(rate / 2) * mp.exp(-rate * z) for z in range(reach + 1)]
    else:
        assert isinstance(law, DiscreteGaussianLaw)
        v = mpf(law.parameter.numerator) / law.parameter.denominator
        weights = [mp.exp(-(mpf(z) ** 2) / (2 * v)) for z in range(reach + 60)]
        total = weights[0] + 2 * sum(weights[1:])
        weights = [each / total for each in weights[: reach + 1]]
    scaled = [Fraction(int(mp.floor(each * 10**36)), 10**36) for each in weights]
    return {sign * z * law.unit: p for z, p in enumerate(scaled) for sign in (1, -1)}


def add_independent(terms: Iterable[tuple[Masses, Fraction]]) -> Masses:
    """The law of a weighted sum."""
    total: Masses = {Fraction(0): Fraction(1)}
    for masses, weight in terms:
        found: Masses = {}
        for x, p in total.items():
            for z, q in masses.items():
                found[x + weight * z] = found.get(x + weight * z, Fraction(0)) + p * q
        total = found
    return total


def add_in_doubles(terms: Sequence[tuple[Masses, Fraction]]) -> Masses:
    """The same law in doubles, which is faster: every outcome is a multiple of one step."""
    bottom = math.lcm(*((weight * x).denominator for masses, weight in terms for x in masses))
    total = np.ones(1)
    for masses, weight in terms:
        places = {int(weight * x * bottom): float(p) for x, p in masses.items()}
        column = np.zeros(2 * max(places) + 1)
        for place, p in places.items():
            column[place + max(places)] = p
        total = np.convolve(total, column)
    middle = total.size // 2
    return {Fraction(int(i) - middle, bottom): Fraction(total[i]) for i in np.flatnonzero(total)}


def sum_inside(masses: Masses, half_width: Fraction) -> float:
    return float(sum((p for x, p in masses.items() if abs(x) <= half_width), Fraction(0)))
