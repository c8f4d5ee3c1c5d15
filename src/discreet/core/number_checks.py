"""Checks and parsers for numbers that users give, each with one clear error."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from discreet.core.errors import InvalidParameterError, require_parameter, shorten_value

Real = int | float | Fraction

DEFAULT_CONFIDENCE = 0.95
"""The confidence of intervals where a request names none."""


def is_real(value: object) -> bool:
    """Return whether `value` is a finite number that a float can hold (a bool is not one)."""
    if not isinstance(value, int | float | Fraction) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def require_probability(owner: object, name: str, value: object) -> None:
    """Raise an error unless 0 < value < 1."""
    require_parameter(is_real(value) and 0 < value < 1, owner, name, value, "a probability between 0 and 1")  # type: ignore[operator]


def require_positive(owner: object, name: str, value: object) -> None:
    """Raise an error unless the value is a finite number above 0."""
    require_parameter(is_real(value) and value > 0, owner, name, value, "a finite number above 0")  # type: ignore[operator]


def require_nonnegative(owner: object, name: str, value: object) -> None:
    """Raise an error unless the value is a finite number of at least 0."""
    require_parameter(is_real(value) and value >= 0, owner, name, value, "a finite number of at least 0")  # type: ignore[operator]


def require_count(owner: object, name: str, value: object, *, minimum: int = 1) -> None:
    """Raise an error unless the value is an integer of at least `minimum`."""
    holds = isinstance(value, int) and is_real(value) and value >= minimum
    require_parameter(holds, owner, name, value, f"an integer of at least {minimum}")


def coerce_positive_fraction(owner: object, name: str) -> None:
    """Check that a field of a frozen dataclass is above 0, and replace it by its exact fraction."""
    value = getattr(owner, name)
    require_positive(owner, name, value)
    object.__setattr__(owner, name, Fraction(value))


def parse_number(name: str, text: str) -> float:
    """Return a finite number as typed on a command line.

    >>> parse_number("--epsilon", "0.5")
    0.5
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidParameterError(f"{name} must be a finite number such as 0.5; got {shorten_value(text)}.")
    return number


def parse_probability(name: str, text: str) -> float:
    """Return a probability as typed: 5%, 0.05 or 1/20.

    >>> parse_probability("--prior", "5%"), parse_probability("--prior", "1/20")
    (0.05, 0.05)
    """
    match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*(%|/\s*([0-9.eE+-]+))?\s*", text)
    wanted = "a probability such as 5%, 0.05 or 1/20"
    try:
        if match is None:
            raise ValueError
        top, suffix, bottom = match.groups()
        # decimals, because a fraction would write out the zeros of 1e999999999
        share = Decimal(top) / Decimal({None: "1", "%": "100"}.get(suffix, bottom))
        value = float(share) if 0 <= share <= 1 else math.nan
    except (ValueError, ArithmeticError):
        raise InvalidParameterError(f"{name} must be {wanted}; got {shorten_value(text)}.") from None
    if not 0 <= value <= 1:
        raise InvalidParameterError(f"{name} must be {wanted}; got {shorten_value(text)}.")
    return value
