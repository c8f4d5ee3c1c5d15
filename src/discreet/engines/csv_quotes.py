"""Rows of a CSV file, inspected before any of them is read: what each line holds concerns that line alone.

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

Uneven      rows with fewer fields than the header, or with a further field that is not empty, are not read;
            their lines are listed for the custodian.
Remaining   A mark that opens by accident can still take in fewer lines than the limit, in a file that is not
            separated by tabs, if the next mark in the file happens to end a field. There are then fewer rows
            than lines, which the custodian is shown; lines that have as many separators as a row are counted
            as rows that are not read.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from discreet.core.errors import RequestError

MAX_QUOTED_LINES = 1000
MAX_ROW_BYTES = 2_000_000
"""Of a row; DuckDB leaves longer ones out, some of them without a word."""
MAX_LISTED_LINES = 1000
LEAST_FIELDS = 3
"""Fields of a row that a line of text is not taken for: a sentence has a comma as well."""
WINDOW = 1 << 20
LINE_FEED = ord("\n")
LINE_END = re.compile(rb"\r\n?|\n")
BLANKS = " \t\r\n\u00a0\ufeff"
"""What is left out around a value."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class RowInspection:
    """The lines of a file whose rows are not read, and those within quoted values.

    `uneven` has the numbers of the first lines with too few or too many fields, `uneven_count` how many there
    are; `quoted_lines` is how many lines are within a value that began in an earlier one, and `quoted_rows`
    how many of them look like rows.
    """

    uneven: tuple[int, ...] = ()
    uneven_count: int = 0
    quoted_lines: int = 0
    quoted_rows: int = 0


def inspect_rows(
    name: str,
    path: Path,
    shown: str,
    separator: str,
    quote: str,
    fields: int,
    *,
    only_quoted: bool = False,
    only_last: bool = False,
) -> RowInspection:
    """Inspect a file of rows with so many fields; refuse one in which a quoted value may hold other rows.

    Errors call the file `shown`. Rows of a single field are never uneven. With `only_quoted`, lines without a
    quote mark are passed over, several times as fast, and not all uneven rows are found. With `only_last`,
    the last line alone is inspected, of a file in which each line is known to be a row.
    """
    if path.stat().st_size == 0:
        return RowInspection()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        inspector = _Inspector(text, separator.encode(), quote.encode(), fields)
        if only_last:
            inspector.skip_to_last_line()
        fault = inspector.run_quoted() if only_quoted else inspector.run()
        if fault is None:
            return RowInspection(
                uneven=tuple(inspector.uneven),
                uneven_count=inspector.uneven_count,
                quoted_lines=inspector.quoted_lines,
                quoted_rows=inspector.quoted_rows,
            )
        line = inspector.find_line(inspector.place)
    raise RequestError(
        f"prepare: in {shown}, the source of table {name}, a value that begins with a quote mark in line "
        f"{line:,} {fault}.",
        hint='Write the file with such values quoted and their marks doubled, as in "a ""quoted"" word"; if '
        'its marks quote nothing, declare csv: {quote: ""} in the policy.',
    )


class _Inspector:
    """One pass over a file's rows."""

    def __init__(self, text: mmap.mmap, separator: bytes, quote: bytes, fields: int) -> None:
        self.text, self.separator, self.quote, self.fields = text, separator, quote, fields
        self.patterns = _compile_patterns(separator, quote, fields)
        self.place = len(BYTE_ORDER_MARK) if text[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
        self.uneven: list[int] = []
        self.uneven_count = self.quoted_lines = self.quoted_rows = 0
        self._counted, self._line = 0, 1

    def run(self) -> str | None:
        """Read to the end of the file, or return the error of the value at `place`."""
        while True:
            self.place = _skip(self.patterns.even_lines, self.text, self.place)
            if self.place == len(self.text):
                return None
            fault = self._inspect_row()
            if fault is not None:
                return fault

    def run_quoted(self) -> str | None:
        """Go to the last quote mark of the file, or return what is wrong with the value at `place`."""
        while self.quote and (mark := self.text.find(self.quote, self.place)) >= 0:
            # nothing before the mark is quoted, so that its line begins a row
            ends = (self.text.rfind(end, self.place, mark) for end in (b"\n", b"\r"))
            self.place = max(self.place, 1 + max(ends))
            whole = self.patterns.whole_lines.match(self.text, self.place, self.place + WINDOW)
            if whole is not None and whole.end() > self.place:
                self.place = whole.end()
                continue
            fault = self._inspect_row()
            if fault is not None:
                return fault
        return None

    def skip_to_last_line(self) -> None:
        """Go to where the last line begins."""
        end = len(self.text)
        while end > self.place and self.text[end - 1 : end] in (b"\n", b"\r"):
            end -= 1
        self.place = max(self.place, *(1 + self.text.rfind(mark, self.place, end) for mark in (b"\n", b"\r")))

    def find_line(self, place: int) -> int:
        """Return the number of the line at a place that is not before the last one that was asked for."""
        self._line += len(LINE_END.findall(self.text, self._counted, place))
        self._counted = place
        return self._line

    def _inspect_row(self) -> str | None:
        """Go over a row with other than even fields, or with a value of several lines."""
        start, count, surplus = self.place, 0, b""
        while True:
            found = self.patterns.field.match(self.text, self.place)
            if found is None:
                found = self.patterns.value.match(self.text, self.place)
                fault = self._find_fault(found)
                if fault is not None or found is None:
                    return fault
            count += 1
            surplus = found[0] if count == self.fields + 1 else surplus
            self.place = found.end()
            if self.text[self.place : self.place + len(self.separator)] != self.separator:
                break
            self.place += len(self.separator)
        self.place = _skip(self.patterns.line_ends, self.text, self.place)
        if self.fields > 1 and (count < self.fields or not self._is_empty(surplus)):
            self.uneven_count += 1
            if len(self.uneven) < MAX_LISTED_LINES:
                self.uneven.append(self.find_line(start))
        return None

    def _is_empty(self, field: bytes) -> bool:
        quoted = field.removeprefix(b" ")
        if self.quote and quoted.startswith(2 * self.quote):
            return not quoted.startswith(3 * self.quote)
        return not field.decode(errors="replace").strip(BLANKS)

    def _find_fault(self, found: re.Match[bytes] | None) -> str | None:
        if found is None:
            return "is never closed"
        lines = len(LINE_END.findall(found[0]))
        if lines > MAX_QUOTED_LINES:
            return f"spans {lines:,} lines"
        if lines and self.separator == b"\t" and self.separator in found[0]:
            return "spans several lines and columns"
        self.quoted_lines += lines
        if lines and self.fields >= LEAST_FIELDS:
            within = LINE_END.split(found[0])[1:]
            self.quoted_rows += sum(line.count(self.separator) == self.fields - 1 for line in within)
        return None


def count_lines(path: Path) -> int:
    """Return the number of lines of a file, of which each row takes at least one."""
    if path.stat().st_size == 0:
        return 0
    found, last = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(WINDOW):
            # much faster than bytes.count where there are many
            found += int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == LINE_FEED))
            if b"\r" in chunk:
                found += chunk.count(b"\r") - chunk.count(b"\r\n")
            found -= last == b"\r" and chunk.startswith(b"\n")
            last = chunk[-1:]
    return found + (last not in (b"\n", b"\r"))


def find_overlong_lines(path: Path) -> list[int]:
    """Return the numbers of the lines that are longer than a row may be."""
    if path.stat().st_size <= MAX_ROW_BYTES:
        return []
    found, place = [], 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        while len(text) - place > MAX_ROW_BYTES:
            last = max(text.rfind(end, place, place + MAX_ROW_BYTES + 1) for end in (b"\n", b"\r"))
            if last < 0:
                found.append(place)
                ends = [text.find(end, place + MAX_ROW_BYTES) for end in (b"\n", b"\r")]
                last = min((end for end in ends if end >= 0), default=len(text))
            place = last + 1
        return [1 + len(LINE_END.findall(text, 0, start)) for start in found]


def _skip(pattern: re.Pattern[bytes], text: mmap.mmap, place: int) -> int:
    """Return the end of what a pattern matches, which may be nothing."""
    matched = pattern.match(text, place)
    return place if matched is None else matched.end()


@dataclass(frozen=True, kw_only=True)
class _Patterns:
    """Lines with as many closed fields as the header, one closed field, a quoted value, ends of lines.

    `whole_lines` are such lines without the last one of the file, which no line ends.
    """

    even_lines: re.Pattern[bytes]
    whole_lines: re.Pattern[bytes]
    field: re.Pattern[bytes]
    value: re.Pattern[bytes]
    line_ends: re.Pattern[bytes]


@cache
def _compile_patterns(separator: bytes, quote: bytes, fields: int) -> _Patterns:
    """Return the patterns; all of them are possessive, so that none takes more than one pass over the file.

    Without a quote mark every field is closed.
    """
    end, mark = re.escape(separator), re.escape(quote)
    blank = b"" if separator.startswith(b" ") else b" ?+"
    # a class of bytes is much faster than looking ahead at each byte
    within = b"[^%b\r\n%b]*+" if len(separator) == 1 else b"(?:(?!%b)[^\r\n%b])*+"
    simple = within % (end, mark)
    field = value = within % (end, b"")
    if quote:
        after = simple  # text between a value and the next separator
        plain = b"(?!%b%b)%b" % (blank, mark, within % (end, b""))
        closed = b"(?:%b[^%b\r\n]*+%b%b)++" % (mark, mark, mark, after)
        field = b"(?:%b%b|%b)(?=%b|[\r\n]|\\Z)" % (blank, closed, plain, end)
        value = b"%b(?:%b[^%b]*+%b%b)++(?!%b)" % (blank, mark, mark, mark, after, mark)
    times = fields - 1
    line = b"%b(?:%b%b){%d}+" % (field, end, field, times)
    fast = b"%b(?:%b%b){%d}+" % (simple, end, simple, times)
    whole_lines = b"(?:%b[\r\n]++|%b[\r\n]++|[\r\n]++)*+" % (fast, line)
    return _Patterns(
        even_lines=re.compile(b"%b(?:%b\\Z)?+" % (whole_lines, line)),
        whole_lines=re.compile(whole_lines),
        field=re.compile(field),
        value=re.compile(value),
        line_ends=re.compile(b"[\r\n]*+"),
    )
