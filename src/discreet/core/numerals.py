"""Numerals: which texts are read as numbers, the same on every engine.

Engines disagree: DuckDB alone reads 0x1F and 1_000, Spark alone 1d. Here a numeral is decimal digits with at
most one point, with a sign and an exponent of up to four digits if there are any, or inf, infinity or nan in
any case; blanks may stand around it. Everything else is no number. The patterns mean the same in RE2, in Java
and in PostgreSQL, and hold no braces, so that they can stand in templates.
"""

from __future__ import annotations

BLANKS = r"[ \t\n\x0B\f\r]*"
_DIGITS = "([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9][0-9]?[0-9]?[0-9]?)?"
NUMBER = f"(?i)^{BLANKS}[+-]?{_DIGITS}{BLANKS}$"
SPECIAL = f"(?i)^{BLANKS}[+-]?(inf|infinity|nan){BLANKS}$"
NUMERAL = f"(?i)^{BLANKS}[+-]?({_DIGITS}|inf|infinity|nan){BLANKS}$"


def numeral(text: str) -> str:
    """The SQL of a text that is to be read as a number, from that of any text: empty if it is no numeral.

    It stands within a conversion alone, and every engine but DuckDB has the pattern in its conversions.
    """
    return f"regexp_extract({text}, '{NUMERAL}')"
