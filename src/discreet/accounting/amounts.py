"""Amounts: what a release costs under a promise, what was spent of it, what is left; as numbers and in words.

Kind        epsilon where the promise has no tail, else rho and delta: what an `Accountant` sums.
Grid        Charges stand on a grid of 1 / GRID. All doubles, decimals of 18 places and fractions of
            denominators up to 1,000 are on it, so their sums are exact. Anything else is charged at most
            2**-256 too much, so that sums stay short however many they are of.
In words    Six digits. A cost, and what was spent, is rounded up: it is not said to be less. A limit, and
            what is left, is rounded down: what is printed can be spent. What differs from a short decimal by
            no more than the roundings of doubles is that decimal.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from fractions import Fraction

from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.numbers import Real

Cost = PureDP | ZeroConcentratedDP

GRID = math.lcm(*range(1, 1001)) * 10**18 * 2**1074
FINEST = 2**256
DIGITS = 6
ROUNDING = Fraction(1, 10**12)


def is_nothing(left: Cost) -> bool:
    """Whether no answer can be paid from it: a delta alone buys none."""
    return (left.epsilon if isinstance(left, PureDP) else left.rho) == 0


def charged(cost: Cost) -> Cost:
    """The cost as a ledger charges it: on the grid."""
    if isinstance(cost, PureDP):
        return PureDP(epsilon=on_grid(cost.epsilon), relation=cost.relation)
    return ZeroConcentratedDP(rho=on_grid(cost.rho), delta=on_grid(cost.delta), relation=cost.relation)


def on_grid(value: Real) -> Fraction:
    """The same, if it is on the grid of charges; else rounded up.

    >>> on_grid(Fraction(1, 997)) == Fraction(1, 997), on_grid(Fraction(1, 1009)) > Fraction(1, 1009)
    (True, True)
    """
    exact = Fraction(value)
    if GRID % exact.denominator == 0:
        return exact
    return Fraction(-(-exact.numerator * FINEST // exact.denominator), FINEST)


def amount(cost: Cost, *, up: bool = False) -> str:
    """An amount in words, rounded down, or `up`.

    >>> amount(PureDP(epsilon=Fraction(2, 3))), amount(PureDP(epsilon=Fraction(2, 3)), up=True)
    ('epsilon 0.666666', 'epsilon 0.666667')
    """
    delta = "" if isinstance(cost, PureDP) or cost.delta == 0 else f" and delta {_digits(cost.delta, up)}"
    return f"{unit(cost)} {figure(cost, up=up)}{delta}"


def unit(cost: Cost) -> str:
    """What an amount is counted in, beside a delta."""
    return "epsilon" if isinstance(cost, PureDP) else "rho"


def figure(cost: Cost, *, up: bool = False) -> str:
    """How many units of it an amount is, as `amount` rounds.

    >>> figure(PureDP(epsilon=Fraction(2, 3)), up=True)
    '0.666667'
    """
    return _digits(cost.epsilon if isinstance(cost, PureDP) else cost.rho, up)


def remaining(left: Cost) -> str:
    """What is left, as `amount` has it, or that nothing is.

    >>> remaining(PureDP(epsilon=Fraction(1, 2))), remaining(PureDP(epsilon=0))
    ('epsilon 0.5', 'nothing')
    """
    return "nothing" if is_nothing(left) else amount(left)


def _digits(value: Real, up: bool) -> str:
    exact = Fraction(value)
    top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
    nearest = Context(prec=DIGITS).divide(top, bottom)
    # the double that is read from 0.3 is not above itself, though it is below 3/10
    fits = exact * (1 - ROUNDING) <= Fraction(nearest) if up else Fraction(float(nearest)) <= exact
    rounding = ROUND_UP if up else ROUND_DOWN
    shown = nearest if fits else Context(prec=DIGITS, rounding=rounding).divide(top, bottom)
    plain = shown.normalize()
    return f"{plain:f}" if plain >= 1 else f"{plain:g}"
