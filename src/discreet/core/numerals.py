"""Numerals: which texts are read as numbers, the same on every engine.

Engines disagree: DuckDB alone reads 0x1F and 1_000, Spark alone 1d. Here a numeral is decimal digits with at
most one point, up to 255 on either side of it, with a sign and an exponent of up to four digits if there are
any, or inf, infinity or nan in any case; blanks may stand around it. Everything else is no number.

The patterns mean the same in RE2, in Java and in PostgreSQL. No text can be split among their parts in two
ways, so that an engine that backtracks, as Java does, matches in linear time. The limits on digits keep what
is read within PostgreSQL's numeric, which holds 16,383 digits behind the point, and short to compute with.
"""

from __future__ import annotations

BLANKS = r"[ \t\n\x0B\f\r]*"
_DIGITS = "([0-9]{1,255}([.][0-9]{0,255})?|[.][0-9]{1,255})(e[+-]?[0-9]{1,4})?"
NUMBER = f"(?i)^{BLANKS}[+-]?{_DIGITS}{BLANKS}$"
SPECIAL = f"(?i)^{BLANKS}[+-]?(inf|infinity|nan){BLANKS}$"
NUMERAL = f"(?i)^{BLANKS}[+-]?({_DIGITS}|inf|infinity|nan){BLANKS}$"


def numeral(text: str) -> str:
    """The SQL of a text that is to be read as a number, from that of any text: empty if it is no numeral.

    It stands within a conversion alone, and every engine but DuckDB has the pattern in its conversions.
    """
    return f"regexp_extract({text}, '{NUMERAL}')"
