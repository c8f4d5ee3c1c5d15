"""CSV sources: the SQL that reads a file of text as the policy's `csv:` section declares it.

Delimiter   the declared one, or the one that finds the declared columns in the header. If it were guessed
            from rows, a single row could change how the file is read.
            A file without a header has declared names, and commas unless another delimiter is declared.
Text        UTF-8, by a copy of the file if need be (`text_files`).
Values      text throughout, so that types come from the policy. Blanks around a value are left out, an empty
            value and declared null texts are NULL, numbers lose their thousands marks and get a decimal
            point, dates are read by the declared formats alone. What cannot be read is NULL, and `discreet
            check` counts it.
Rows        with too few or too many fields are not read, and are counted (`csv_quotes`); whether a row is one
            of them does not depend on the columns that a statement reads.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from discreet.core.column_entry import Column, ColumnType
from discreet.core.csv_options import (
    ISO_DATE,
    NO_DELIMITER,
    USUAL_DELIMITERS,
    CsvOptions,
    write_format_pattern,
)
from discreet.core.errors import RequestError
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.core.table_entry import Table
from discreet.engines.clamping import read_date, read_timestamp
from discreet.engines.csv_quotes import BLANKS
from discreet.engines.duckdb_connection import quote_path
from discreet.engines.text_files import TextFile, open_text

MAX_HEADER_CHARACTERS = 1 << 20
MAX_REJECTS = 100_000
NEXT_LINE = re.compile(r"[^\r\n]*(\r\n|\r|\n|\Z)")
UNREAD, SURPLUS = "_discreet_unread", "_discreet_surplus"
RAW, VALUE, TEXT_VIEW = "_discreet_raw", "_discreet_value", "_discreet_text"
NO_FIELD = "\x1c\x1d\x1e\x1d\x1c"


@dataclass(frozen=True, kw_only=True)
class CsvRelation:
    """CSV files as SQL: `texts` has the declared columns as text, and `UNREAD`, whether a row is not read.

    It also has each text as it is in the file, under a name that begins with `RAW`. `values` has the SQL of
    each column's value, made from its text, and the type of that value.
    """

    texts: str
    values: dict[str, tuple[str, str]]

    @property
    def relation(self) -> str:
        """The rows that are read, with their values."""
        selected = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, (sql, _) in self.values.items())
        # a table may declare no columns, and still have rows
        return f"(SELECT {selected or UNREAD} FROM {self.texts} WHERE NOT {UNREAD})"

    @property
    def types(self) -> dict[str, str]:
        """The DuckDB type of each value."""
        return {name: kind for name, (_, kind) in self.values.items()}


def write_csv_relation(name: str, table: Table, files: Sequence[TextFile]) -> CsvRelation:
    """Return the SQL that reads the declared columns of CSV files."""
    parts = []
    for file in files:
        columns = table.columns
        steps = (partial(_write_trimmed, file.options), partial(_write_nulled, file.options))
        text = _write_rows(name, table, file)
        raw = [quote_identifier(f"{RAW} {column}") for column in columns]
        kept = [f"{quote_identifier(column)} AS {name}" for column, name in zip(columns, raw, strict=True)]
        # each step is a subquery, so that no expression is written twice
        for write_step in steps:
            listed = [f"{write_step(each)} AS {each}" for each in map(quote_identifier, columns)]
            text = f"SELECT {', '.join([*listed, *kept, UNREAD])} FROM ({text})"
            kept = raw
        parts.append(text)
    values = {
        column: _write_value(entry, files[0].options, quote_identifier(column))
        for column, entry in table.columns.items()
    }
    return CsvRelation(texts=f"({' UNION ALL '.join(parts)})", values=values)


def _write_trimmed(options: CsvOptions, text: str) -> str:
    if not options.trim:
        return text
    # most texts begin and end with a visible ASCII character, which is found ten times as fast
    is_tight = f"{text} BETWEEN '!' AND '~' AND {text}[-1] BETWEEN '!' AND '~'"
    return f"CASE WHEN {is_tight} THEN {text} ELSE trim({text}, {quote_literal(BLANKS)}) END"


def _write_nulled(options: CsvOptions, text: str) -> str:
    nulls = ", ".join(map(quote_literal, dict.fromkeys(("", *options.nulls))))
    return f"CASE WHEN {text} NOT IN ({nulls}) THEN {text} END"


def _write_value(column: Column, options: CsvOptions, text: str) -> tuple[str, str]:
    """Return the SQL of a column's value, made from the SQL of its text, and its DuckDB type."""
    if column.type in (ColumnType.INTEGER, ColumnType.DECIMAL):
        return _write_number(options, text), "VARCHAR"
    if column.type is ColumnType.DATE:
        return _write_time(options, options.dates, options.timestamps, text, "DATE")
    if column.type is ColumnType.TIMESTAMP:
        return _write_time(options, options.timestamps, options.dates, text, "TIMESTAMP")
    return text, "VARCHAR"


def write_text_view(name: str, csv: CsvRelation) -> str:
    """Return the CREATE VIEW of a text source's rows: texts as in the file, texts to read, and values."""
    columns = [
        part
        for column, (value, _) in csv.values.items()
        for part in (
            quote_identifier(f"{RAW} {column}"),
            quote_identifier(column),
            f"{value} AS {quote_identifier(f'{VALUE} {column}')}",
        )
    ]
    selected = ", ".join(columns) or UNREAD
    return f"CREATE VIEW {name_text_view(name)} AS SELECT {selected} FROM {csv.texts} WHERE NOT {UNREAD}"


def name_text_view(name: str) -> str:
    """Return the name of the view of a text source's rows."""
    return quote_identifier(f"{TEXT_VIEW} {name}")


@dataclass(frozen=True, kw_only=True)
class Header:
    """The delimiter of a CSV file, the names of its columns, and how many the file's own header has."""

    delimiter: str
    names: tuple[str, ...]
    width: int | None = None


def read_header(path: Path, options: CsvOptions, declared: Iterable[str]) -> Header:
    """Return the delimiter and the column names of a file, from its first line or the options alone."""
    if not options.header:
        return Header(delimiter=options.delimiter or USUAL_DELIMITERS[0], names=options.names)
    with open_text(path, options) as file:
        text = file.read(MAX_HEADER_CHARACTERS)
    if options.comment is not None:
        while text.startswith(options.comment):
            text = NEXT_LINE.sub("", text, count=1)
    return parse_header(text, options, declared)


def parse_header(text: str, options: CsvOptions, declared: Iterable[str]) -> Header:
    """Return the delimiter and the column names of a text that begins with its header."""
    wanted = {name.lower() for name in declared}
    delimiter = options.delimiter or _find_delimiter(text, options, wanted)
    names = _parse_line(text, delimiter.strip(" ") or " ", options.quote)
    if options.delimiter is None and len(names) == 1:
        delimiter = NO_DELIMITER
    # a blank after every delimiter is a part of it, so that ` "a, b"` is one value
    if options.delimiter is None and len(names) > 1 and all(name.startswith(" ") for name in names[1:]):
        delimiter += " "
    own = tuple(name.strip(BLANKS) for name in names)
    return Header(delimiter=delimiter, names=options.names or own, width=len(own))


def _find_delimiter(text: str, options: CsvOptions, wanted: set[str]) -> str:
    """Return the mark that finds the most declared columns in the header, or else the most columns."""
    first = text.partition("\n")[0]
    marks = [mark for mark in first if not mark.isalnum() and mark not in f"_\r\n{options.quote}"]
    candidates: list[str] = list(dict.fromkeys([*USUAL_DELIMITERS, *marks]))
    headers = {mark: _parse_line(text, mark, options.quote) for mark in candidates}
    if options.names:
        return min(candidates, key=lambda mark: abs(len(headers[mark]) - len(options.names)))
    if not wanted:
        return max(USUAL_DELIMITERS, key=lambda mark: len(headers[mark]))
    return max(
        candidates, key=lambda mark: len(wanted & {name.strip(BLANKS).lower() for name in headers[mark]})
    )


def _parse_line(text: str, mark: str, quote: str) -> list[str]:
    if len(mark) > 1:  # which the csv module does not know
        return [
            name.replace(NO_DELIMITER, mark)
            for name in _parse_line(text.replace(mark, NO_DELIMITER), NO_DELIMITER, quote)
        ]
    lines = io.StringIO(text, newline="")
    try:
        if quote:
            return next(csv.reader(lines, delimiter=mark, quotechar=quote), [])
        return next(csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE), [])
    except csv.Error:
        return []


def _write_rows(name: str, table: Table, file: TextFile) -> str:
    """Return the SELECT of a file's declared columns, as they are, and whether each row is left out."""
    options = file.options
    wanted = table.source_names
    header = read_header(file.path, options, wanted.values())
    require_names(name, header, file)
    named = " Its names are those under csv, names." if options.names else ""
    require_columns(name, wanted, header.names, file.original.name, named)
    places: dict[str, int] = {}
    for number, each in enumerate(header.names):
        places.setdefault(each.lower(), number)  # of columns that share a name, the first
    names = [f"_discreet_{number}" for number in range(len(header.names))]
    unread = "false"
    is_padded = len(names) > 1
    if is_padded:
        # a row with too few fields is padded with NULL, which no field is by itself
        surplus = f"trim(coalesce({SURPLUS}, ''), {quote_literal(BLANKS)})"
        unread = f"{names[-1]} IS NULL OR {surplus} <> ''"
        names.append(SURPLUS)
    selected = [
        f"_discreet_{places[origin.lower()]} AS {quote_identifier(column)}"
        for column, origin in wanted.items()
    ]
    return (
        f"SELECT {', '.join([*selected, f'({unread}) AS {UNREAD}'])} "
        f"FROM {_write_reader(file, header.delimiter, names, is_padded=is_padded)}"
    )


def _write_reader(file: TextFile, delimiter: str, names: Sequence[str], *, is_padded: bool) -> str:
    options = file.options
    struct = ", ".join(f"{quote_literal(each)}: 'VARCHAR'" for each in names)
    padding = f", null_padding = true, nullstr = {quote_literal(NO_FIELD)}" if is_padded else ""
    quote = quote_literal(options.quote)
    # Where values may be quoted, read by one thread: several would begin in the middle of the file, and guess
    # whether they are within a quoted value. In strict mode one row could make the whole read fail.
    parallel = "false" if options.quote else "true"
    # Told that lines end with \n, the reader takes each of \n, \r\n and \r for an end. By itself it looks at
    # the first line alone, and after a header that ends with \r\n a line that ends with \r takes the next
    # one's first character.
    return (
        f"read_csv({quote_path(file.path)}, auto_detect = false, header = {str(options.header).lower()}, "
        f"delim = {quote_literal(delimiter)}, quote = {quote}, "
        f"escape = {quote}{padding}, columns = {{{struct}}}, strict_mode = false, new_line = '\\n', "
        f"ignore_errors = true, store_rejects = true, rejects_limit = {MAX_REJECTS}, parallel = {parallel})"
    )


def require_names(name: str, header: Header, file: TextFile) -> None:
    """Raise RequestError if there are more or fewer declared names than columns in the header."""
    if header.width is not None and header.width != len(header.names):
        raise RequestError(
            f"prepare: csv of table {name} names {len(header.names):,} columns, and the header of "
            f"{file.original.name} has {header.width:,}.",
            hint="Correct names in the policy, or its delimiter.",
        )


def require_columns(
    name: str, wanted: dict[str, str], names: Iterable[str], place: str, further_hint: str = ""
) -> None:
    """Raise RequestError if a declared column is not among a source's names; case is ignored."""
    found = {each.lower() for each in names}
    missing = [(column, origin) for column, origin in wanted.items() if origin.lower() not in found]
    if missing:
        column, origin = missing[0]
        called = column if column == origin else f"{column} from {origin}"
        raise RequestError(
            f"prepare: table {name} declares the column {called}; {place} does not have it.",
            hint=f"Correct its name in the policy, or remove it.{further_hint}",
        )


def _write_number(options: CsvOptions, text: str) -> str:
    if options.decimal == "." and options.thousands is None:
        return text
    decimal = f"[{options.decimal}]"
    whole = "[0-9]+"
    if options.thousands is not None:
        whole = f"([0-9]{{1,3}}([{options.thousands}][0-9]{{3}})+|[0-9]+)"
    pattern = quote_literal(f"[+-]?{whole}({decimal}[0-9]*)?([eE][+-]?[0-9]+)?")
    plain = text if options.thousands is None else f"replace({text}, {quote_literal(options.thousands)}, '')"
    if options.decimal != ".":
        plain = f"replace({plain}, {quote_literal(options.decimal)}, '.')"
    return f"CASE WHEN regexp_full_match({text}, {pattern}) THEN {plain} END"


def _write_time(
    options: CsvOptions, own: Sequence[str], others: Sequence[str], text: str, kind: str
) -> tuple[str, str]:
    """Return the SQL of a time by the formats of its own kind, or else ISO's, and by those of the other."""
    iso = f"regexp_full_match({text}, {quote_literal(ISO_DATE)})"
    if not own and not others:
        return f"CASE WHEN {iso} THEN {text} END", "VARCHAR"
    cases = [
        f"WHEN regexp_full_match({text}, {quote_literal(write_format_pattern(form))}) "
        f"THEN CAST({_write_parsed_time(options, form, text)} AS {kind})"
        for form in (*own, *others)
    ]
    if not own:
        read = read_date(text) if kind == "DATE" else read_timestamp(text, "VARCHAR")
        cases.append(f"WHEN {iso} THEN {read}")
    return f"CASE {' '.join(cases)} END", kind


def _write_parsed_time(options: CsvOptions, form: str, text: str) -> str:
    parsed = f"try_strptime({text}, {quote_literal(form)})"
    if "%z" in form:
        parsed = f"({parsed} AT TIME ZONE 'UTC')"
    if "%y" not in form:
        return parsed
    pivot = options.two_digit_years or 0
    # DuckDB reads two digits as one of the years 1969 to 2068; 29 February of 1900 is no day
    year = f"({pivot} + ((year({parsed}) % 100 - {pivot} % 100 + 100) % 100))"
    moved = f"{parsed} + to_years(CAST({year} - year({parsed}) AS INTEGER))"
    return f"CASE WHEN day({moved}) = day({parsed}) THEN {moved} END"
