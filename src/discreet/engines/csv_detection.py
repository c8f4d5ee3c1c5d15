"""CSV detection: the reading options that a file seems to need, from its first rows, for a custodian's draft.

They are a proposal for a person to check, written into the draft as `csv:`; no file is ever read by options
that were detected while it is read. What is returned are marks, formats and usual null texts, never a value.

Encoding    by a byte order mark; UTF-8 if the whole file is; else UTF-16 if it has zero bytes, else cp1252.
Delimiter   and quote mark: those by which the most lines are in rows of one width.
Leading     lines before the header, such as a title: rows of a single value, and rows narrower than the rest.
Header      the first row, unless one of its cells is a value like those below it. A header with one name less
            than the rows have values, as R writes it, names none of them: which name is missing is not known.
Columns     types, number marks and date formats: `csv_column_detection`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.core.column_entry import ColumnType
from discreet.core.csv_options import NO_DELIMITER, USUAL_DELIMITERS, CsvOptions
from discreet.core.errors import RequestError
from discreet.engines.csv_column_detection import (
    ISO,
    MIN_SHARE,
    NULL_TEXTS,
    TYPED_NULL_TEXTS,
    Sample,
    choose_time_formats,
    detect_number_marks,
    has_clock,
    is_header,
)
from discreet.engines.csv_quotes import BLANKS
from discreet.engines.file_formats import FileFormat, find_file_format
from discreet.engines.spreadsheets import list_sheets, read_sheet, write_cell
from discreet.engines.text_files import open_bytes, open_text, require_text

MAX_ROWS = 10_000
MAX_SAMPLE_CHARACTERS = 16 << 20
MAX_LEADING_LINES = 20
OTHER_DELIMITERS = ("::", "||", "^", "~", "\x01", ":", " ")
"""Delimiters that are looked for where none of the usual ones makes columns."""
TEXT_DELIMITERS = (":", " ")
"""Those that texts and times have as well, so that two columns are too few to tell."""
SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")
"""The first line by which Excel is told the delimiter."""
CONTROLS = re.compile(r"[\x00\x02-\x08\x0b\x0e-\x1b]")
"""Control characters that no text has, neither as a mark nor by accident."""
NOISE_SAMPLE, MAX_CONTROLS = 4000, 0.05
UNDEFINED_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True, kw_only=True)
class CsvDetection:
    """The options that a file seems to need, the name and type of each column, and the rows that were seen.

    `open_dates` has the formats between which a person must decide, `open_number` a number such as 1.234 if
    it may be a thousand as well, and `has_short_years` is whether years have two digits, so that
    `two_digit_years` is to be declared. `has_offsets` if times name an offset from UTC. `other_sheets` are
    those of an Excel file that are not read.
    """

    options: CsvOptions
    columns: tuple[tuple[str, ColumnType], ...]
    open_dates: tuple[str, ...] = ()
    open_number: str | None = None
    has_short_years: bool = False
    has_offsets: bool = False
    has_short_header: bool = False
    other_sheets: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    @property
    def certain_options(self) -> CsvOptions:
        """The options for a file that nobody declares: no text is missing, and no date is guessed."""
        changed: dict[str, Any] = {"nulls": ("",)}
        if self.open_dates or self.has_short_years:
            changed |= {"dates": (), "timestamps": (), "two_digit_years": None}
        return self.options.model_copy(update=changed)


def detect_csv(path: Path) -> CsvDetection:
    """Return the reading options that a CSV file or a sheet seems to need, and its columns."""
    found: dict[str, Any] = {}
    others: list[str] = []
    if find_file_format(path) is FileFormat.SPREADSHEET:
        sheets = {name: _read_sheet_rows(path, name) for name in list_sheets(path)}
        fullest = max(sheets, key=lambda name: sum(map(len, sheets[name])))
        numbered = list(enumerate(sheets[fullest]))
        others = [name for name in sheets if name != fullest]
        if others:
            found["sheet"] = fullest
    else:
        require_text(path)
        encoding = _detect_encoding(path)
        if encoding != "utf-8":
            found["encoding"] = encoding
        with open_text(path, CsvOptions(encoding=encoding)) as file:
            text = file.read(MAX_SAMPLE_CHARACTERS)
        if len(CONTROLS.findall(text[:NOISE_SAMPLE])) > MAX_CONTROLS * len(text[:NOISE_SAMPLE]):
            raise RequestError(f"{path.name} is not text.", hint="Export its table as text, such as CSV.")
        if len(text) == MAX_SAMPLE_CHARACTERS:
            text = text[: max(text.rfind("\n"), 1)]
        numbered = list(islice(_read_rows(text, found), MAX_ROWS))
    if not any(any(row) for _, row in numbered):
        raise RequestError(f"{path} is empty.", hint="Name a file with columns.")
    detected = _detect_columns(found, numbered)
    return replace(detected, other_sheets=tuple(others))


def _read_sheet_rows(path: Path, name: str) -> list[list[str]]:
    rows = islice(read_sheet(path, name), MAX_ROWS)
    return [_strip_cells([write_cell(cell, CsvOptions()) for cell in row]) for row in rows]


def _read_rows(text: str, found: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Return each row with its line, and add comment, delimiter and quote mark to what was found."""
    if (separator := SEPARATOR_LINE.match(text)) is not None:
        found["delimiter"], found["skip"] = separator[1], 1
        text = text[separator.end() :]
        quote = '"'
    else:
        if (comment := _detect_comment(text)) is not None:
            found["comment"] = comment
            text = "".join(line for line in _split_lines(text) if not line.startswith(comment))
        delimiter, quote = _detect_marks(text)
        if delimiter not in (USUAL_DELIMITERS[0], NO_DELIMITER):
            found["delimiter"] = delimiter
        if quote != '"':
            found["quote"] = quote
        return _parse_rows(text, delimiter, quote)
    return _parse_rows(text, found["delimiter"], quote)


def _detect_columns(found: dict[str, Any], numbered: list[tuple[int, list[str]]]) -> CsvDetection:
    width = Counter(len(row) for _, row in numbered).most_common(1)[0][0]
    leading, is_short = _count_leading_rows(numbered, width)
    if leading and "comment" not in found:
        # a blank line is no row, so that lines are counted and not rows
        found["skip"] = found.get("skip", 0) + numbered[leading][0]
    rows = [row for _, row in numbered[leading:]]
    if rows and _has_trailing_delimiters(rows):
        rows = [row[: len(rows[0])] for row in rows]
    first, below = (rows[0], rows[1:]) if rows else ([], [])
    width = len(first)
    samples = [Sample.collect(row[place] for row in below if len(row) == width) for place in range(width)]
    if is_short or not is_header(first, samples):
        found |= {"header": False, "names": tuple(f"column{place}" for place in range(width))}
        samples = [Sample.collect(row[place] for row in rows if len(row) == width) for place in range(width)]
    elif len({name.lower() for name in first if name}) < width:
        found["names"] = make_distinct_names(first)
    names = found.get("names", tuple(first))
    marks = detect_number_marks(samples)
    found |= marks.entries
    mark = {} if marks.open is None else {"decimal": marks.open[1]}
    numbers = CsvOptions.model_validate(marks.entries | mark)
    days = choose_time_formats([sample for sample in samples if sample.is_time])
    kinds = [sample.find_kind(numbers, days) for sample in samples]
    typed = [sample for sample, kind in zip(samples, kinds, strict=True) if kind is not ColumnType.TEXT]
    nulls = [text for text in NULL_TEXTS if any(text in sample.nulls for sample in samples)]
    nulls += [text for text in TYPED_NULL_TEXTS if any(text in sample.nulls for sample in typed)]
    if nulls:
        found["nulls"] = ("", *nulls)
    has_short_years = any("%y" in form for form in days.open)
    for key, formats in (("dates", days.dates), ("timestamps", days.timestamps)):
        # without a declaration ISO dates are read, and no others
        is_open = any(has_clock(form) == (key == "timestamps") for form in days.open)
        if is_open or not all(form == ISO or form.startswith("%Y-%m-%d") for form in formats):
            has_short_years |= any("%y" in form for form in formats)
            found[key] = tuple(form for form in formats if form != ISO)
    if has_short_years:
        found["two_digit_years"] = 1930  # left open in a draft
    has_header = "header" not in found
    # what follows a last delimiter has neither a name nor values
    held = [
        place
        for place, sample in enumerate(samples)
        if not has_header or first[place] or sample.values or sample.nulls
    ]
    return CsvDetection(
        options=CsvOptions(**found),
        columns=tuple((names[place], kinds[place]) for place in held),
        open_dates=tuple(dict.fromkeys(days.open)),
        open_number=marks.open,
        has_short_years=has_short_years,
        has_offsets=any(sample.has_offsets for sample in samples),
        has_short_header=is_short,
        rows=tuple(
            tuple(row[place] for place in held)
            for row in (below if has_header else rows)
            if len(row) == width
        ),
    )


def _count_leading_rows(numbered: Sequence[tuple[int, list[str]]], width: int) -> tuple[int, bool]:
    """Return how many rows come before the header, and whether a header with one name less is among them."""
    leading = 0
    for _, row in numbered[: MAX_LEADING_LINES + 1]:
        filled = sum(map(bool, row))
        if len(row) >= width and (filled > 1 or width <= 2):
            break
        if len(row) == width - 1 and filled == len(row) > 1:
            is_trailed = all(len(other) < width or not other[-1] for _, other in numbered)
            return (leading, False) if is_trailed else (leading + 1, True)
        leading += 1
    return (leading, False) if leading <= MAX_LEADING_LINES and leading < len(numbered) else (0, False)


def _has_trailing_delimiters(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row but the header ends with a delimiter, after which there is nothing."""
    width = len(rows[0])
    return len(rows) > 1 and all(len(row) == width + 1 and not row[-1] for row in rows[1:])


def make_distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return different names, in place of empty and repeated ones.

    >>> make_distinct_names(["a", "", "A", "a"])
    ('a', 'column1', 'A_2', 'a_3')
    """
    taken: set[str] = {name.lower() for name in names if name}
    seen: set[str] = set()
    found = []
    for place, name in enumerate(names):
        made, number = name or f"column{place}", 2
        while made.lower() in seen or (made != name and made.lower() in taken):
            made, number = f"{name or f'column{place}'}_{number}", number + 1
        seen.add(made.lower())
        found.append(made)
    return tuple(found)


# -- Text ---------------------------------------------------------------------------------------------------


def _detect_encoding(path: Path) -> str:
    with open_bytes(path) as file:
        head = file.read(1 << 16)
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:4000].count(0) * 5 > len(head[:4000]):
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    decoder, is_utf_8, is_cp1252 = codecs.getincrementaldecoder("utf-8")(), True, True
    with open_bytes(path) as file:
        while chunk := file.read(1 << 20):
            if is_utf_8:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    is_utf_8 = False
            is_cp1252 = is_cp1252 and UNDEFINED_IN_CP1252.search(chunk) is None
    return "utf-8" if is_utf_8 else "cp1252" if is_cp1252 else "latin-1"


def _split_lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _detect_comment(text: str) -> str | None:
    """Return the mark of comment lines before the header, or None."""
    lines = [line for line in islice(io.StringIO(text, newline=""), 200) if line.strip()]
    leading = next((place for place, line in enumerate(lines) if not line.startswith("#")), 0)
    if not leading or leading == len(lines):
        return None
    marks = Counter(mark for mark in lines[leading] if mark in USUAL_DELIMITERS)
    usual = max(marks, key=lambda mark: marks[mark], default=None)
    # a header may begin with the mark too, such as #id,name
    return None if usual is not None and lines[leading - 1].count(usual) == marks[usual] else "#"


def _detect_marks(text: str) -> tuple[str, str]:
    """Return the delimiter and the quote mark by which the most lines are in rows of one width.

    A file of one column has no delimiter: NO_DELIMITER.
    """
    lines = [line for line in islice(io.StringIO(text, newline=""), MAX_ROWS) if line.strip()]
    sample = "".join(lines)
    candidates = [
        (delimiter, quote)
        for quote in ('"', "'", "")
        for delimiter in USUAL_DELIMITERS
        if delimiter in sample and (not quote or quote in sample or quote == '"')
    ]
    scores = {marks: _score_lines(lines, *marks) for marks in candidates}
    best = max(candidates, key=lambda marks: scores[marks], default=(NO_DELIMITER, '"'))
    if best in scores and scores[best][0] >= MIN_SHARE and not _is_single_column(lines, best, scores[best]):
        return best
    for delimiter in OTHER_DELIMITERS:
        score = _score_lines(lines, delimiter, '"')
        least = 3 if delimiter in TEXT_DELIMITERS else 2
        if score[0] >= MIN_SHARE and score[1] and score[2] >= least:
            return delimiter, '"'
    has_delimiter = any(mark in line for mark in USUAL_DELIMITERS for line in lines[:1])
    return best if has_delimiter and best in scores else (NO_DELIMITER, '"')


def _is_single_column(lines: Sequence[str], marks: tuple[str, str], score: tuple[float, ...]) -> bool:
    """Return whether a name stands above values that each have one comma: 1,5 or Moe, Jane."""
    return marks[0] == "," and score[2] == 2 and "," not in lines[0]


def _score_lines(lines: Sequence[str], delimiter: str, quote: str) -> tuple[float, ...]:
    """Return how well rows are of one width from the first line that has the delimiter, a title aside."""
    having = (place for place, line in enumerate(lines[: MAX_LEADING_LINES + 1]) if delimiter in line)
    leading = next(having, 0)
    counted = lines[leading:]
    share, *rest = _score_marks("".join(counted), len(counted), delimiter, quote)
    return (share, not leading and rest[0], *rest[1:]) if rest else (share,)


def _score_marks(sample: str, lines: int, delimiter: str, quote: str) -> tuple[float, ...]:
    """Return how well rows are of one width.

    First the share of lines in such rows, then whether the first line is one, how many columns they have, how
    many lines are rows of their own, and how usual the quote mark is.
    """
    reader = _make_reader(io.StringIO(sample, newline=""), delimiter, quote)
    rows: Counter[int] = Counter()
    spans: Counter[int] = Counter()
    first = at = 0
    try:
        for row in reader:
            first = first or len(row)
            rows[len(row)] += 1
            spans[len(row)] += reader.line_num - at
            at = reader.line_num
    except csv.Error:
        return (0.0,)
    width = max(spans, key=lambda each: (spans[each], each), default=0)
    if width < 2:
        return (0.0,)
    # values of several lines are rare: where each line is a row as well, the marks quote nothing
    share, own = (round(each[width] / max(lines, 1), 2) for each in (spans, rows))
    usual = {'"': 2, "": 1, "'": 3 if f"'{delimiter}'" in sample else 0}[quote]
    return share, first == width, width, own, usual


def _make_reader(text: Iterable[str], delimiter: str, quote: str) -> Any:
    csv.field_size_limit(MAX_SAMPLE_CHARACTERS)
    if len(delimiter) > 1:  # which the csv module does not know
        text, delimiter = [line.replace(delimiter, NO_DELIMITER) for line in text], NO_DELIMITER
    if not quote:
        return csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(text, delimiter=delimiter, quotechar=quote, skipinitialspace=delimiter != " ")


def _parse_rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    reader, line = _make_reader(io.StringIO(text, newline=""), delimiter, quote), 0
    try:
        for row in reader:
            if row:
                yield line, _strip_cells(row)
            line = reader.line_num
    except csv.Error:
        return


def _strip_cells(row: Sequence[str]) -> list[str]:
    return [cell.strip(BLANKS) for cell in row]
