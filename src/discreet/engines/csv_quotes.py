"""Quoted values of CSV files, checked before any row is read: none may take in other people's rows.

A value that begins with a quote mark goes on to the next one, over the ends of lines. In a file that was
written without quotes, such as one that COPY of PostgreSQL wrote, a text that merely begins with the mark
would take in every row up to the next mark anywhere, or all rows to the end. So a file is refused, with the
number of the line, if a quoted value

    is never closed,
    spans more than MAX_QUOTED_LINES lines, or
    spans several lines and contains the tab that separates columns.

Anything else that a line holds concerns that line alone. Values are found as DuckDB finds them: a quote mark
opens one where a field begins, after one blank or none; from then on, each further mark closes it or opens it
again (two of them within a value are one), and a separator or the end of a line ends a field that is closed.
Most lines are matched by one regular expression, so that a file is checked about as fast as it is read.

Remaining   A mark that opens by accident can still take in fewer lines than the limit, in a file that is not
            separated by tabs, if the next mark in the file happens to end a field.
"""

from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path

from discreet.core.errors import RequestError

MAX_QUOTED_LINES = 1000
LINE_END = re.compile(rb"\r\n?|\n")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def require_closed_quotes(name: str, path: Path, separator: str) -> None:
    """Refuse a file in which a quoted value may have taken in other rows."""
    if path.stat().st_size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        found = _find_open_quote(text, separator.encode())
        if found is None:
            return
        place, fault = found
        line = 1 + len(LINE_END.findall(text, 0, place))
    raise RequestError(
        f"prepare: in {path.name}, the source of table {name}, a value that begins with a quote mark in line "
        f"{line:,} {fault}.",
        hint='Write the file with such values quoted and their marks doubled, as in "a ""quoted"" word".',
    )


def _find_open_quote(text: mmap.mmap, separator: bytes) -> tuple[int, str] | None:
    """Return where the first value begins that may hold other rows, and what is wrong with it."""
    closed_lines, closed_fields, value, end = _compile_patterns(separator)
    place = len(BYTE_ORDER_MARK) if text[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
    while True:
        place = _skip(closed_lines, text, place)
        if place == len(text):
            return None
        # what is left of the line has a field that is not closed in it
        place = _skip(closed_fields, text, place)
        found = value.match(text, place)
        if found is None:
            return place, "is never closed"
        lines = len(LINE_END.findall(found[0]))
        if lines > MAX_QUOTED_LINES:
            return place, f"spans {lines:,} lines"
        if lines and separator == b"\t" and separator in found[0]:
            return place, "spans several lines and columns"
        place = _skip(end, text, found.end())


def _skip(pattern: re.Pattern[bytes], text: mmap.mmap, place: int) -> int:
    """Return the end of what a pattern matches, which may be nothing."""
    matched = pattern.match(text, place)
    return place if matched is None else matched.end()


@cache
def _compile_patterns(separator: bytes) -> tuple[re.Pattern[bytes], ...]:
    """Return the patterns of closed lines, closed fields of a line, a quoted value, and what ends a field.

    All of them are possessive, so that none takes more than one pass over the file.
    """
    end = re.escape(separator)
    blank = b"" if separator.startswith(b" ") else b" ?+"
    # a class of bytes is much faster than looking ahead at each byte
    within = b"[^%b\r\n%b]*+" if len(separator) == 1 else b"(?:(?!%b)[^\r\n%b])*+"
    after = within % (end, b'"')  # text between a value and the next separator
    plain = b'(?!%b")%b' % (blank, within % (end, b""))
    field = b'(?:%b(?:"[^"\r\n]*+"%b)++|%b)' % (blank, after, plain)
    line = b"%b(?:%b%b)*+" % (field, end, field)
    closed_lines = b'(?:[^"\r\n]*+[\r\n]++|%b[\r\n]++)*+(?:%b\\Z)?+' % (line, line)
    closed_fields = b"(?:%b%b)*+%b" % (field, end, blank)
    value = b'(?:"[^"]*+"%b)++(?!")' % after
    patterns = closed_lines, closed_fields, value, b"%b|[\r\n]++" % end
    return tuple(re.compile(each) for each in patterns)
