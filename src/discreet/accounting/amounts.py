"""Amounts of a budget: the grid on which they are charged, and their text.

Amounts     A `Cost` is epsilon where the promise has no tail, else rho and delta. Charges lie on a grid of
            1 / GRID: all doubles, decimals of 18 places and fractions of denominators up to 1,000 are on
            it, so their sums are exact. Anything else is charged at most 2**-256 too much, so that sums stay
            short however many charges there are.
Text        Six digits. A cost, and the total spent, is rounded up: the text never understates it. A limit,
            and the remaining budget, is rounded down: the printed amount can be spent. A value that differs
            from a short decimal only by the rounding of doubles is printed as that decimal.
"""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal
from fractions import Fraction

from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.number_checks import Real

Cost = PureDP | ZeroConcentratedDP

GRID = math.lcm(*range(1, 1001)) * 10**18 * 2**1074
FINEST = 2**256
DIGITS = 6
ROUNDING = Fraction(1, 10**12)
LONGEST = 8192
"""Bits of a number that can be stored."""


def is_exhausted(left: Cost) -> bool:
    """Return whether no answer can be paid from the remaining budget: a delta alone buys none."""
    return (left.epsilon if isinstance(left, PureDP) else left.rho) == 0


def round_charge(cost: Cost) -> Cost:
    """Return the cost as a ledger charges it: on the grid."""
    if isinstance(cost, PureDP):
        return PureDP(epsilon=round_up_to_grid(cost.epsilon), relation=cost.relation)
    return ZeroConcentratedDP(
        rho=round_up_to_grid(cost.rho), delta=round_up_to_grid(cost.delta), relation=cost.relation
    )


def round_up_to_grid(value: Real) -> Fraction:
    """Return a value unchanged if it is on the grid of charges, else rounded up.

    >>> round_up_to_grid(Fraction(1, 997)) == Fraction(1, 997)
    True
    >>> round_up_to_grid(Fraction(1, 1009)) > Fraction(1, 1009)
    True
    """
    exact = Fraction(value)
    if GRID % exact.denominator == 0:
        return exact
    return Fraction(-(-exact.numerator * FINEST // exact.denominator), FINEST)


def format_amount(cost: Cost, *, up: bool = False) -> str:
    """Return an amount as text, rounded down, or `up`.

    >>> format_amount(PureDP(epsilon=Fraction(2, 3))), format_amount(PureDP(epsilon=Fraction(2, 3)), up=True)
    ('epsilon 0.666666', 'epsilon 0.666667')
    """
    delta = (
        "" if isinstance(cost, PureDP) or cost.delta == 0 else f" and delta {_format_digits(cost.delta, up)}"
    )
    return f"{name_unit(cost)} {format_figure(cost, up=up)}{delta}"


def name_unit(cost: Cost) -> str:
    """Return the unit of an amount, beside a delta."""
    return "epsilon" if isinstance(cost, PureDP) else "rho"


def get_amount(cost: Cost) -> float:
    """Return an amount in its unit, for JSON and charts."""
    return float(cost.epsilon if isinstance(cost, PureDP) else cost.rho)


def format_figure(cost: Cost, *, up: bool = False) -> str:
    """Return the number of units in an amount, rounded as `format_amount` does.

    >>> format_figure(PureDP(epsilon=Fraction(2, 3)), up=True)
    '0.666667'
    """
    return _format_digits(cost.epsilon if isinstance(cost, PureDP) else cost.rho, up)


def format_remaining(left: Cost) -> str:
    """Return the remaining budget as text, or "nothing".

    >>> format_remaining(PureDP(epsilon=Fraction(1, 2))), format_remaining(PureDP(epsilon=0))
    ('epsilon 0.5', 'nothing')
    """
    return "nothing" if is_exhausted(left) else format_amount(left)


def format_fraction(value: Real) -> str:
    """Return an exact number as text; raise an error for one longer than any mechanism needs."""
    exact = Fraction(value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LONGEST:
        raise RequestError(
            f"A guarantee's numbers must be fractions of at most {LONGEST} bits.",
            hint="Round it to a number with fewer digits.",
        )
    return str(exact)


def _format_digits(value: Real, up: bool) -> str:
    exact = Fraction(value)
    top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
    nearest = Context(prec=DIGITS).divide(top, bottom)
    # the double nearest to 0.3 is below 3/10, and is still printed as 0.3
    fits = exact * (1 - ROUNDING) <= Fraction(nearest) if up else Fraction(float(nearest)) <= exact
    rounding = ROUND_UP if up else ROUND_DOWN
    shown = nearest if fits else Context(prec=DIGITS, rounding=rounding).divide(top, bottom)
    plain = shown.normalize()
    return f"{plain:f}" if plain >= 1 else f"{plain:g}"
