"""CSV detection: the reading options that a file seems to need, from its first rows, for a custodian's draft.

They are a proposal for a person to check, written into the draft as `csv:`; no file is ever read by options
that were detected while it is read. What is returned are marks, formats and usual null texts, never a value.

Encoding    by a byte order mark; UTF-8 if the whole file is; else UTF-16 if it has zero bytes, else cp1252.
Delimiter   and quote mark: those by which the most lines are in rows of one width.
Header      the first row, unless one of its cells is a number or a date like those below it.
Types       of which at least MIN_SHARE of a column's values are. Dates that two formats read as different
            days throughout the file are left open, as are years of two digits: a person must decide.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.core.csv_options import CsvOptions, find_ambiguous_text, parse_time, write_format_pattern
from discreet.core.policy import ColumnType
from discreet.engines.csv_quotes import BLANKS
from discreet.engines.csv_sources import ISO_DATE, USUAL_DELIMITERS
from discreet.engines.file_formats import FileFormat, find_file_format
from discreet.engines.text_files import open_bytes, open_text, read_sheet, write_cell

MAX_ROWS = 10_000
MAX_SAMPLE_CHARACTERS = 16 << 20
MAX_VALUES = 2_000
"""Values of a column by which its type is found: testing formats takes longer than reading rows."""
MIN_SHARE = 0.95
MIN_FORMAT_SHARE = 0.01
ISO = "ISO"
"""Times in ISO form, with an offset for example, which are read without a declared format."""
NULL_TEXTS = ("?", "NULL", "null", "N/A", "n/a", "#N/A")
"""Texts that mean a missing value in any column."""
TYPED_NULL_TEXTS = (
    *("NA", "na", "NaN", "nan", "None", "none", "-", "--", ".", "k.A.", "k. A.", "unknown", "Unknown"),
)
"""Texts that do so in a column of numbers or dates; elsewhere they may be a value, as NA is Namibia."""
DAYS = (
    *("%d.%m.%Y", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y"),
)
CLOCKS = (
    *(" %H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f", "T%H:%M:%S.%f"),
    *(" %I:%M %p", " %I:%M:%S %p", ", %H:%M"),
)
PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?")
COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
SPACE_GROUPS = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f])\d{3}((\1)\d{3})*([.,]\d+)?")
NUMBERS = (PLAIN_NUMBER, COMMA_NUMBER, POINT_GROUPS, COMMA_GROUPS, SPACE_GROUPS)
CODE = re.compile(r"0\d+")
UNDEFINED_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True, kw_only=True)
class CsvDetection:
    """The options that a file seems to need, the name and type of each column, and the rows that were seen.

    `open_dates` has the formats between which a person must decide, and `has_short_years` is whether years
    have two digits, so that `two_digit_years` is to be declared.
    """

    options: CsvOptions
    columns: tuple[tuple[str, ColumnType], ...]
    open_dates: tuple[str, ...] = ()
    has_short_years: bool = False
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
    if find_file_format(path) is FileFormat.SPREADSHEET:
        sheet = islice(read_sheet(path), MAX_ROWS)
        rows = [[write_cell(cell, CsvOptions()) for cell in row] for row in sheet]
    else:
        encoding = _detect_encoding(path)
        if encoding != "utf-8":
            found["encoding"] = encoding
        with open_text(path, CsvOptions(encoding=encoding)) as file:
            text = file.read(MAX_SAMPLE_CHARACTERS)
        if len(text) == MAX_SAMPLE_CHARACTERS:
            text = text[: max(text.rfind("\n"), 1)]
        if (comment := _detect_comment(text)) is not None:
            found["comment"] = comment
            text = "".join(line for line in _split_lines(text) if not line.startswith(comment))
        delimiter, quote = _detect_marks(text)
        if delimiter != USUAL_DELIMITERS[0]:
            found["delimiter"] = delimiter
        if quote != '"':
            found["quote"] = quote
        rows = list(islice(_parse_rows(text, delimiter, quote), MAX_ROWS))
    return _detect_columns(found, rows)


def _detect_columns(found: dict[str, Any], rows: list[list[str]]) -> CsvDetection:
    rows = [[cell.strip(BLANKS) for cell in row] for row in rows]
    first, below = (rows[0], rows[1:]) if rows else ([], [])
    width = len(first)
    samples = [_Sample.collect(row[place] for row in below if len(row) == width) for place in range(width)]
    if not _is_header(first, samples):
        found |= {"header": False, "names": tuple(f"column{place}" for place in range(width))}
        samples = [_Sample.collect(row[place] for row in rows if len(row) == width) for place in range(width)]
    elif len({name.lower() for name in first if name}) < width:
        found["names"] = make_distinct_names(first)
    names = found.get("names", tuple(first))
    found |= _detect_number_marks(samples, found.get("delimiter", ","))
    numbers = CsvOptions(**{key: found[key] for key in ("decimal", "thousands") if key in found})
    days = _choose_formats([sample for sample in samples if sample.is_time])
    kinds = [sample.find_kind(numbers, days) for sample in samples]
    typed = [sample for sample, kind in zip(samples, kinds, strict=True) if kind is not ColumnType.TEXT]
    nulls = [text for text in NULL_TEXTS if any(text in sample.nulls for sample in samples)]
    nulls += [text for text in TYPED_NULL_TEXTS if any(text in sample.nulls for sample in typed)]
    if nulls:
        found["nulls"] = ("", *nulls)
    has_short_years = any("%y" in form for form in days.open)
    for key, formats in (("dates", days.dates), ("timestamps", days.timestamps)):
        # without a declaration ISO dates are read, and no others
        is_open = any(_has_clock(form) == (key == "timestamps") for form in days.open)
        if is_open or not all(form == ISO or form.startswith("%Y-%m-%d") for form in formats):
            has_short_years |= any("%y" in form for form in formats)
            found[key] = tuple(form for form in formats if form != ISO)
    if has_short_years:
        found["two_digit_years"] = 1930  # left open in a draft
    return CsvDetection(
        options=CsvOptions(**found),
        columns=tuple(zip(names, kinds, strict=True)),
        open_dates=tuple(dict.fromkeys(days.open)),
        has_short_years=has_short_years,
        rows=tuple(tuple(row) for row in (below if "header" not in found else rows) if len(row) == width),
    )


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
    """Return the delimiter and the quote mark by which the most lines are in rows of one width."""
    lines = [line for line in islice(io.StringIO(text, newline=""), MAX_ROWS) if line.strip()]
    sample = "".join(lines)
    candidates = [
        (delimiter, quote)
        for quote in ('"', "'", "")
        for delimiter in USUAL_DELIMITERS
        if delimiter in sample and (not quote or quote in sample or quote == '"')
    ]
    if not candidates:
        return USUAL_DELIMITERS[0], '"'
    scores = {marks: _score_marks(sample, len(lines), *marks) for marks in candidates}
    return max(candidates, key=lambda marks: scores[marks])


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
    if not quote:
        return csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(text, delimiter=delimiter, quotechar=quote, skipinitialspace=True)


def _parse_rows(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    reader = _make_reader(io.StringIO(text, newline=""), delimiter, quote)
    try:
        yield from (row for row in reader if row)
    except csv.Error:
        return


# -- Columns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """The first values of a column, without null texts, and the null texts among them."""

    values: tuple[str, ...]
    nulls: frozenset[str]

    @classmethod
    def collect(cls, cells: Iterable[str]) -> _Sample:
        present = Counter(cell for cell in cells if cell)
        null = {text for text in (*NULL_TEXTS, *TYPED_NULL_TEXTS) if text in present}
        values = [value for value in present.elements() if value not in null]
        step = max(len(values) // MAX_VALUES, 1)
        return cls(values=tuple(values[::step]), nulls=frozenset(null))

    @property
    def is_time(self) -> bool:
        """True if most values look like a date: digits, or the name of a month, between marks."""
        looks = sum(map(_looks_like_time, self.values))
        return bool(self.values) and looks >= MIN_SHARE * len(self.values)

    def count(self, pattern: re.Pattern[str]) -> int:
        return sum(1 for value in self.values if pattern.fullmatch(value))

    def find_kind(self, numbers: CsvOptions, days: _Days) -> ColumnType:
        """Return the type that nearly all values have, or else text."""
        if not self.values:
            return ColumnType.TEXT
        enough = MIN_SHARE * len(self.values)
        plain = [_write_plainly(value, numbers) for value in self.values]
        if sum(each is not None for each in plain) >= enough:
            if any(CODE.fullmatch(value) for value in self.values):
                return ColumnType.TEXT  # 01234 is a code, not a number
            whole = all(each is None or re.fullmatch(r"[+-]?\d+", each) for each in plain)
            return ColumnType.INTEGER if whole else ColumnType.DECIMAL
        if {value.lower() for value in self.values} <= {"true", "false"}:
            return ColumnType.BOOLEAN
        if self.is_time:
            times = sum(1 for value in self.values if ":" in value)
            formats = (*days.dates, *days.timestamps, *days.open)
            if sum(_is_time(value, formats) for value in self.values) >= enough:
                return ColumnType.TIMESTAMP if times * 2 > len(self.values) else ColumnType.DATE
        return ColumnType.TEXT


def _is_header(first: Sequence[str], samples: Sequence[_Sample]) -> bool:
    """Return whether the first row is names: none of its cells is a number or date like those below it."""
    for cell, sample in zip(first, samples, strict=True):
        for is_alike in (_is_number, _looks_like_time):
            alike = sum(map(is_alike, sample.values))
            if is_alike(cell) and (not sample.values or alike >= MIN_SHARE * len(sample.values)):
                return False
    return any(first)


def _is_number(text: str) -> bool:
    return any(each.fullmatch(text) for each in NUMBERS)


LIKE_TIME = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ,].*)?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?"
    r"|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)


def _looks_like_time(text: str) -> bool:
    return LIKE_TIME.fullmatch(text) is not None


def _detect_number_marks(samples: Sequence[_Sample], delimiter: str) -> dict[str, str]:
    """Return the decimal mark and the thousands mark of the columns that are numbers by them."""
    commas = points = grouped_points = grouped_commas = 0
    spaces: Counter[str] = Counter()
    for sample in samples:
        if not sample.values or sum(map(_is_number, sample.values)) < MIN_SHARE * len(sample.values):
            continue
        for value in sample.values:
            has_groups = POINT_GROUPS.fullmatch(value) is not None
            commas += COMMA_NUMBER.fullmatch(value) is not None and COMMA_GROUPS.fullmatch(value) is None
            points += "." in value and PLAIN_NUMBER.fullmatch(value) is not None and not has_groups
            grouped_points += has_groups and ("," in value or value.count(".") > 1)
            grouped_commas += COMMA_GROUPS.fullmatch(value) is not None
            if (match := SPACE_GROUPS.fullmatch(value)) is not None:
                spaces[match[1]] += 1
                commas += "," in value
    found: dict[str, str] = {}
    # 1,234 alone is 1234 where the comma also separates columns, and a fraction elsewhere
    if commas or grouped_points or (grouped_commas and not points and delimiter not in (",", "\t")):
        found["decimal"] = ","
        if grouped_points:
            found["thousands"] = "."
    elif grouped_commas:
        found["thousands"] = ","
    if spaces:
        found["thousands"] = max(spaces, key=lambda mark: spaces[mark])
    return found


def _write_plainly(text: str, numbers: CsvOptions) -> str | None:
    """Return a number with a decimal point and no other mark, or None if it is none by the options."""
    whole = r"\d+" if numbers.thousands is None else rf"(\d{{1,3}}([{numbers.thousands}]\d{{3}})+|\d+)"
    pattern = rf"[+-]?({whole}([{numbers.decimal}]\d*)?|[{numbers.decimal}]\d+)([eE][+-]?\d+)?"
    if not re.fullmatch(pattern, text):
        return None
    plain = text if numbers.thousands is None else text.replace(numbers.thousands, "")
    return plain.replace(numbers.decimal, ".")


@dataclass(frozen=True, kw_only=True)
class _Days:
    """The formats of dates and times in a file; `open` are formats between which nothing decides."""

    dates: tuple[str, ...] = ()
    timestamps: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def _choose_formats(times: Sequence[_Sample]) -> _Days:
    """Return the formats by which the columns of times are read, each the only one for its values."""
    values = [value for sample in times for value in sample.values]
    chosen = _Days()
    rest = values
    while rest:
        counts = Counter(form for value in rest for form in _list_formats(value))
        if not counts:
            break
        most = max(counts.values())
        best = [form for form in counts if counts[form] == most]
        if most < MIN_FORMAT_SHARE * len(values):
            break
        form = best[0]
        rivals = [other for other in best[1:] if _are_ambiguous(form, other)]
        if rivals:
            chosen = replace(chosen, open=(*chosen.open, form, *rivals))
        elif _has_clock(form) or form == ISO:
            chosen = replace(chosen, timestamps=(*chosen.timestamps, form))
        else:
            chosen = replace(chosen, dates=(*chosen.dates, form))
        rest = [value for value in rest if not {form, *rivals} & set(_list_formats(value))]
    for formats in (chosen.dates, chosen.timestamps):
        for place, one in enumerate(formats):
            for other in formats[place + 1 :]:
                if _are_ambiguous(one, other):
                    chosen = replace(chosen, open=(*chosen.open, one, other))
    return replace(
        chosen,
        dates=tuple(form for form in chosen.dates if form not in chosen.open),
        timestamps=tuple(form for form in chosen.timestamps if form not in chosen.open),
    )


def _are_ambiguous(one: str, other: str) -> bool:
    return ISO not in (one, other) and find_ambiguous_text(one, other) is not None


def _has_clock(form: str) -> bool:
    return "%H" in form or "%I" in form


@cache
def _list_formats(value: str) -> tuple[str, ...]:
    """Return the formats that read a text."""
    forms = DAYS if ":" not in value else tuple(f"{day}{clock}" for day in DAYS for clock in CLOCKS)
    found = tuple(form for form in forms if _is_time(value, (form,)))
    return found or ((ISO,) if re.fullmatch(ISO_DATE, value) else ())


def _is_time(value: str, formats: Sequence[str]) -> bool:
    return any(
        re.fullmatch(ISO_DATE, value) is not None
        if form == ISO
        else _compile(form).fullmatch(value) is not None and parse_time(value, form) is not None
        for form in formats
    )


@cache
def _compile(form: str) -> re.Pattern[str]:
    return re.compile(write_format_pattern(form))
