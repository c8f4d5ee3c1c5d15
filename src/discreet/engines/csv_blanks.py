"""Blanks around the values of a text file: whether there are any, so that values need no trimming.

Trimming every value takes as long as reading the file, and most files have nothing to trim. Here the bytes
of the whole file are searched, much faster: a blank counts if it may be next to a delimiter, a quote mark, an
end of a line or an end of the file. Where that cannot be told by the bytes alone, values are trimmed: the
blank is the delimiter too, or a quoted value may begin or end with an end of a line. How values are read is
the same either way.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from discreet.engines.csv_quotes import BLANKS, BYTE_ORDER_MARK

LINE_ENDS = "\r\n"


def may_need_trimming(path: Path, delimiter: str, quote: str) -> bool:
    """Return whether a value of a UTF-8 file may have a blank before or after it."""
    if path.stat().st_size == 0:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        if quote and _has_quoted_line_end(text, quote.encode()):
            return True
        return any(_is_at_edge(text, blank, delimiter, quote) for blank in BLANKS if blank not in LINE_ENDS)


def _has_quoted_line_end(text: mmap.mmap, quote: bytes) -> bool:
    """Return whether an end of a line is next to a quote mark: it may be the end of a value as well."""
    mark = re.escape(quote)
    # a search that begins with one byte passes to it by a fast loop
    return re.search(rb"%b(?:[\r\n]|(?<=[\r\n]%b))" % (mark, mark), text) is not None


def _is_at_edge(text: mmap.mmap, blank: str, delimiter: str, quote: str) -> bool:
    raw = blank.encode()
    # one byte of a blank is found much faster than all of it, and most files have none of the rare ones
    if text.find(raw[-1:]) < 0 or text.find(raw) < 0:
        return False
    if blank in delimiter and not quote and delimiter == blank:
        return False  # nothing but the delimiter itself
    if blank in delimiter:
        return True
    edges = b"[%b]" % b"".join(b"\\x%02x" % byte for byte in (delimiter + quote + LINE_ENDS).encode())
    start = len(BYTE_ORDER_MARK) if text[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0
    if text[start : start + len(raw)] == raw:
        return True
    mark = re.escape(raw)
    return re.search(rb"%b(?:%b|\Z|(?<=%b%b))" % (mark, edges, edges, mark), text, re.S) is not None
