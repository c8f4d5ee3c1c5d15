"""Patterns of the texts that are read as numbers, the same on every engine.

Engines disagree: only DuckDB reads 0x1F and 1_000, only Spark reads 1d. Here a numeral is decimal digits with
at most one point, up to 255 digits on either side of it, with an optional sign and an optional exponent of up
to four digits; or inf, infinity or nan in any case. Blanks may surround it. Everything else is not a number.

The patterns mean the same in RE2, in Java and in PostgreSQL. No text can be split among their parts in two
ways, so an engine that backtracks, as Java does, matches in linear time. The limits on digits keep the value
within PostgreSQL's numeric, which holds 16,383 digits behind the point, and cheap to compute with.
"""

from __future__ import annotations

BLANKS = r"[ \t\n\x0B\f\r]*"
_DIGITS = "([0-9]{1,255}([.][0-9]{0,255})?|[.][0-9]{1,255})(e[+-]?[0-9]{1,4})?"
NUMBER = f"(?i)^{BLANKS}[+-]?{_DIGITS}{BLANKS}$"
SPECIAL = f"(?i)^{BLANKS}[+-]?(inf|infinity|nan){BLANKS}$"
NUMERAL = f"(?i)^{BLANKS}[+-]?({_DIGITS}|inf|infinity|nan){BLANKS}$"


def extract_numeral_sql(text_sql: str) -> str:
    """Return SQL for the numeral in a text expression, or for an empty text where it is not a numeral.

    Use it only inside a conversion: every engine except DuckDB has the pattern in its own conversions.
    """
    return f"regexp_extract({text_sql}, '{NUMERAL}')"
