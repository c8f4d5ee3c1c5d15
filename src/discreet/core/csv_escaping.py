"""CSV injection: escaping of cells that a spreadsheet would evaluate as a formula.

A spreadsheet evaluates a text cell that begins with `=`, `+`, `-` or `@`, also behind a tab or a line break,
and in their full-width forms. A value such as `=HYPERLINK(…)` in somebody's row would then run on the machine
of whoever opens a release. Every CSV file that is written therefore has a single quote before such texts, as
OWASP advises; numbers such as -5 stay as they are. Texts that begin with quotes and one of these characters
get one more quote, so that the escape can be removed without loss (`unescape_cell`).

Parquet, Arrow and DuckDB files hold every value unchanged.
"""

from __future__ import annotations

import re

MARK = "'"
FORMULA = r"^'*[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""The texts to escape, as an RE2 pattern, the dialect that engines use."""
NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(NUMBER)


def escape_cell(text: str) -> str:
    """Return a text as a CSV file holds it, escaped where a spreadsheet would evaluate it.

    >>> [escape_cell(each) for each in ("=1+1", "-5", "-5 to 0", "plain", "'=1", "+49 30 1234", "'tis")]
    ["'=1+1", '-5', "'-5 to 0", 'plain', "''=1", "'+49 30 1234", "'tis"]
    """
    return MARK + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape_cell(text: str) -> str:
    """Return the text that `escape_cell` was given.

    >>> [unescape_cell(escape_cell(each)) for each in ("=1+1", "-5", "'=1", "'tis")]
    ['=1+1', '-5', "'=1", "'tis"]
    """
    return text[1:] if text.startswith(MARK) and _FORMULA.match(text) else text


def escape_cell_sql(column: str) -> str:
    """Return DuckDB SQL that escapes a text column as `escape_cell` does."""
    quoted = FORMULA.replace("'", "''")
    is_number = f"regexp_full_match({column}, '{NUMBER}')"
    return (
        f"CASE WHEN regexp_matches({column}, '{quoted}') AND NOT {is_number} THEN '''' || {column} "
        f"ELSE {column} END"
    )


def unescape_cell_sql(column: str) -> str:
    """Return DuckDB SQL that unescapes a text column as `unescape_cell` does."""
    quoted = FORMULA.replace("'", "''")
    is_marked = f"starts_with({column}, '''') AND regexp_matches({column}, '{quoted}')"
    return f"CASE WHEN {is_marked} THEN {column}[2:] ELSE {column} END"
