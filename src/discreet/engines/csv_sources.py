"""CSV sources: the SQL that reads a file of text as the policy's `csv:` section declares it.

Delimiter   the declared one, or the one that finds the declared columns in the header. If it were guessed
            from rows, a single row could change how the file is read.
Encoding    UTF-8 is read as it is; a file in another encoding is transcoded to a private temporary file, in
            a stream. A byte that the encoding does not have becomes U+FFFD.
Values      text throughout, so that types come from the policy. Blanks around a value are left out, declared
            null texts are NULL, numbers lose their thousands marks and get a decimal point, dates are read by
            the declared formats alone. What cannot be read is NULL, and `discreet check` counts it.
Rows        with too few or too many fields, and rows in invalid UTF-8, are left out and counted.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from discreet.core.csv_options import CsvOptions, write_format_pattern
from discreet.core.errors import RequestError
from discreet.core.policy import Column, ColumnType, Table
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.duckdb_connection import quote_path

MAX_HEADER_BYTES = 1 << 20
MAX_REJECTS = 100_000
TRANSCODED_BYTES = 1 << 20
BLANKS = " \t\r\n\u00a0\ufeff"
USUAL_DELIMITERS = ",;\t|"
ISO_DATE = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ].*)?"
"""The dates that are read without a declared format: DuckDB would read 05/06/25 as a day of the year 5."""


def write_csv_relation(
    name: str, table: Table, files: Sequence[Path], folder: Path | None = None
) -> tuple[str, dict[str, str]]:
    """Return the SQL that reads the declared columns of CSV files, and the type of each column.

    Files in other encodings than UTF-8 are transcoded into `folder`.
    """
    options = table.csv or CsvOptions()
    texts = " UNION ALL ".join(
        f"SELECT {', '.join(map(quote_identifier, table.columns))} "
        f"FROM {_write_reader(name, table, options, transcode(path, options, folder))}"
        for path in files
    )
    # each step is a subquery, so that no expression is written twice
    for write_step in (_write_trimmed, _write_nulled):
        texts = f"SELECT {_select(table, partial(write_step, options))} FROM ({texts})"
    values = {
        column: _write_value(entry, options, quote_identifier(column))
        for column, entry in table.columns.items()
    }
    selected = ", ".join(f"{sql} AS {quote_identifier(column)}" for column, (sql, _) in values.items())
    return f"(SELECT {selected} FROM ({texts}))", {column: kind for column, (_, kind) in values.items()}


def _select(table: Table, write: Callable[[str], str]) -> str:
    names = map(quote_identifier, table.columns)
    return ", ".join(f"{write(name)} AS {name}" for name in names)


def _write_trimmed(options: CsvOptions, text: str) -> str:
    return f"trim({text}, {quote_literal(BLANKS)})" if options.trim else text


def _write_nulled(options: CsvOptions, text: str) -> str:
    nulls = ", ".join(map(quote_literal, options.nulls))
    return f"CASE WHEN {text} NOT IN ({nulls}) THEN {text} END" if nulls else text


def _write_value(column: Column, options: CsvOptions, text: str) -> tuple[str, str]:
    """Return the SQL of a column's value, made from the SQL of its text, and its DuckDB type."""
    if column.type in (ColumnType.INTEGER, ColumnType.DECIMAL):
        return _write_number(options, text), "VARCHAR"
    if column.type is ColumnType.DATE:
        return _write_time(options, (*options.dates, *options.timestamps), text, "DATE")
    if column.type is ColumnType.TIMESTAMP:
        return _write_time(options, (*options.timestamps, *options.dates), text, "TIMESTAMP")
    return text, "VARCHAR"


def transcode(path: Path, options: CsvOptions, folder: Path | None) -> Path:
    """Return a file of the same text in UTF-8: the file itself, or a private copy in `folder`."""
    if options.encoding in ("utf-8", "ascii", "utf-8-sig"):
        return path
    decoder = codecs.getincrementaldecoder(options.encoding)(errors="replace")
    handle, made = tempfile.mkstemp(prefix=".transcoded", suffix=".csv", dir=folder)
    with path.open("rb") as source, open(handle, "w", encoding="utf-8", newline="") as target:
        while chunk := source.read(TRANSCODED_BYTES):
            target.write(decoder.decode(chunk))
        target.write(decoder.decode(b"", final=True))
    return Path(made)


def read_header(path: Path, options: CsvOptions, declared: Iterable[str]) -> tuple[str, list[str]]:
    """Return the delimiter and the names of a CSV file's columns."""
    wanted = {name.lower() for name in declared}
    with path.open("rb") as file:
        text = file.read(MAX_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    lines = text.splitlines(keepends=True)[options.skip :]
    if options.comment is not None:
        lines = [line for line in lines if not line.startswith(options.comment)]
    text = "".join(lines)
    delimiter = options.delimiter or _find_delimiter(text, options, wanted)
    names = _parse_header(text, delimiter.strip(" ") or " ", options.quote)
    # a blank after every delimiter is a part of it, so that ` "a, b"` is one value
    if options.delimiter is None and len(names) > 1 and all(name.startswith(" ") for name in names[1:]):
        delimiter += " "
    return delimiter, list(options.names) or [name.strip(BLANKS) for name in names]


def _find_delimiter(text: str, options: CsvOptions, wanted: set[str]) -> str:
    """Return the mark that finds the most declared columns in the header, or as many as have names."""
    first = text.partition("\n")[0]
    marks = [mark for mark in first if not mark.isalnum() and mark not in f"_\r\n{options.quote}"]
    candidates: list[str] = list(dict.fromkeys([*USUAL_DELIMITERS, *marks]))
    headers = {mark: _parse_header(text, mark, options.quote) for mark in candidates}
    if options.names:
        return min(candidates, key=lambda mark: abs(len(headers[mark]) - len(options.names)))
    return max(
        candidates, key=lambda mark: len(wanted & {name.strip(BLANKS).lower() for name in headers[mark]})
    )


def _parse_header(text: str, mark: str, quote: str) -> list[str]:
    lines = io.StringIO(text, newline="")
    try:
        if quote:
            return next(csv.reader(lines, delimiter=mark, quotechar=quote), [])
        return next(csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE), [])
    except csv.Error:
        return []


def _write_reader(name: str, table: Table, options: CsvOptions, path: Path) -> str:
    wanted = {column: entry.source_name or column for column, entry in table.columns.items()}
    delimiter, header = read_header(path, options, wanted.values())
    require_columns(name, wanted, header, path.name)
    own = {origin.lower(): column for column, origin in wanted.items()}
    # undeclared columns may share a name, so they are numbered
    names = [own.pop(each.lower(), f"_discreet_{number}") for number, each in enumerate(header)]
    struct = ", ".join(f"{quote_literal(each)}: 'VARCHAR'" for each in names)
    comment = f", comment = {quote_literal(options.comment)}" if options.comment else ""
    quote = quote_literal(options.quote)
    return (
        f"read_csv({quote_path(path)}, auto_detect = false, header = {str(options.header).lower()}, "
        f"skip = {options.skip}, delim = {quote_literal(delimiter)}, quote = {quote}, "
        f"escape = {quote}{comment}, columns = {{{struct}}}, strict_mode = false, "
        f"ignore_errors = true, store_rejects = true, rejects_limit = {MAX_REJECTS}, parallel = false)"
    )


def require_columns(name: str, wanted: dict[str, str], names: Iterable[str], place: str) -> None:
    """Raise RequestError if a declared column is not among a source's names; case is ignored."""
    found = {each.lower() for each in names}
    missing = [(column, origin) for column, origin in wanted.items() if origin.lower() not in found]
    if missing:
        column, origin = missing[0]
        called = column if column == origin else f"{column} from {origin}"
        raise RequestError(
            f"prepare: table {name} declares the column {called}; {place} does not have it.",
            hint="Correct its name in the policy, or remove it.",
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


def _write_time(options: CsvOptions, formats: Sequence[str], text: str, kind: str) -> tuple[str, str]:
    if not formats:
        return f"CASE WHEN regexp_full_match({text}, {quote_literal(ISO_DATE)}) THEN {text} END", "VARCHAR"
    cases = " ".join(
        f"WHEN regexp_full_match({text}, {quote_literal(write_format_pattern(form))}) "
        f"THEN {_write_parsed_time(options, form, text)}"
        for form in formats
    )
    return f"CAST(CASE {cases} END AS {kind})", kind


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
