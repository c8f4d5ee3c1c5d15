"""Parameters of models as users give them: checked on input and stored as exact fractions."""

from __future__ import annotations

import re
from fractions import Fraction

from discreet.belief.wording import format_number
from discreet.core.errors import InvalidParameterError, require_parameter
from discreet.core.number_checks import is_real

LONGEST = 40


def to_fraction(value: object) -> Fraction | None:
    """Return the fraction that a number denotes; a float denotes the decimal that it prints as.

    >>> to_fraction(0.2), to_fraction(3)
    (Fraction(1, 5), Fraction(3, 1))
    """
    if isinstance(value, Fraction):
        return value
    if not is_real(value):
        return None
    return Fraction(str(value))


def coerce_share(owner: object, name: str, *, least: bool = True) -> None:
    """Store a field of a frozen dataclass as a fraction of [0, 1]; of ]0, 1] if not `least`."""
    value = getattr(owner, name)
    share = to_fraction(value)
    holds = share is not None and 0 <= share <= 1 and (least or share > 0)
    require_parameter(
        holds, owner, name, value, "a number from 0 to 1" if least else "a number above 0, at most 1"
    )
    object.__setattr__(owner, name, share)


def coerce_above(owner: object, name: str, bound: int, *, included: bool = False) -> None:
    """Store a field as a fraction above a bound, or of at least the bound."""
    value = getattr(owner, name)
    number = to_fraction(value)
    holds = number is not None and (number > bound or (included and number == bound))
    wanted = f"a number of at least {bound}" if included else f"a number above {bound}"
    require_parameter(holds, owner, name, value, wanted)
    object.__setattr__(owner, name, number)


def parse_fraction(name: str, text: str) -> Fraction:
    """Parse a number exactly: 0.2, 20% or 1/5.

    >>> parse_fraction("t", "0.2"), parse_fraction("`suppress=`", "2%")
    (Fraction(1, 5), Fraction(1, 50))
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(?:(%)|/(\d+))?", text.strip())
    if match is None or len(text) > LONGEST or (match[3] and int(match[3]) == 0):
        raise InvalidParameterError(f"{name} must be a number such as 0.2, 20% or 1/5; got {text[:LONGEST]}.")
    return Fraction(match[1]) / (100 if match[2] else int(match[3] or 1))


def parse_share(name: str, text: str) -> Fraction:
    """Parse a number from 0 to 1."""
    share = parse_fraction(name, text)
    if share > 1:
        raise InvalidParameterError(f"{name} must be a number from 0 to 1; got {text}.")
    return share


def parse_at_least_one(name: str, text: str) -> Fraction:
    """Parse a number of at least 1."""
    number = parse_fraction(name, text)
    if number < 1:
        raise InvalidParameterError(f"{name} must be at least 1; got {text}.")
    return number


def parse_whole_number(name: str, text: str, *, least: int) -> int:
    """Parse a whole number of at least `least`."""
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < least:
        raise InvalidParameterError(f"{name} must be a whole number of at least {least}; got {text}.")
    return int(text)


def format_fraction(value: Fraction) -> str:
    """Return a fraction as text: its decimal if that is exact, otherwise four digits.

    >>> format_fraction(Fraction(1, 5)), format_fraction(Fraction(3)), format_fraction(Fraction(20, 3))
    ('0.2', '3', '6.667')
    """
    decimal = f"{float(value):.12g}"
    exactly = "e" not in decimal and Fraction(decimal) == value
    return decimal if exactly else format_number(float(value), 4)
