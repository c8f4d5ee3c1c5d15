"""Column readings: for each declared column, the value in the source and the value as its declared type.

They are what `discreet check` compares, in one aggregate SELECT for each table and on every engine:

    with DuckDBPublisher({name: table}) as publisher:      # a text source, on every engine
        readings = list_column_readings(name, table, publisher.column_types(name), is_text=True)
        lines = publisher.unread_rows(name)                # rows that cannot be read, with their lines
    with open_publisher(address, {name: table}) as publisher:      # any other source, or a frame
        readings = list_column_readings(name, table, publisher.column_types(name), is_text=False)
    SELECT count(*) FILTER (WHERE NOT unread),
           count(*) FILTER (WHERE NOT unread AND raw IS NOT NULL AND typed IS NULL) …   -- unreadable
    FROM relation

Raw         of a text source: the text without blanks around it, NULL where it is a null text. Of any other
            source: the value that it holds.
Typed       the value as read by the declared type and formats, neither rounded nor clamped: DOUBLE for
            numbers, DATE or TIMESTAMP, BOOLEAN, or VARCHAR. NULL where raw cannot be read. NaN counts as
            unreadable, infinities are numbers.
Unread      whether a line of a text source is no row of the table: it has too few or too many fields. Its
            values are not to be counted.

CSV and spreadsheets are read by DuckDB on every engine (`spark_csv`), so they are checked by it as well;
`file_formats.is_text_source` tells them from other sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.policy import Table
from discreet.core.sql_quoting import quote_identifier
from discreet.engines import clamping
from discreet.engines.csv_sources import UNREAD

TEXT_VIEW, VALUE = "_discreet_text", "_discreet_value"


@dataclass(frozen=True, kw_only=True)
class ColumnReading:
    """A declared column, the SQL of its value in the source, and the SQL of that value as its type."""

    name: str
    raw: str
    typed: str


@dataclass(frozen=True, kw_only=True)
class TableReadings:
    """The relation to select from, the SQL of whether a line is no row, and the columns' readings."""

    relation: str
    unread: str
    columns: tuple[ColumnReading, ...]


def list_column_readings(
    name: str, table: Table, types: Mapping[str, str], *, is_text: bool
) -> TableReadings:
    """Return the readings of a table's declared columns, in SQL that a publisher counts by.

    `types` are the publisher's column types; `is_text` is whether it reads a text source.
    """
    prefix = f"{VALUE} " if is_text else ""
    return TableReadings(
        relation=name_text_view(name) if is_text else quote_identifier(name),
        unread=UNREAD if is_text else "false",
        columns=tuple(
            ColumnReading(
                name=column,
                raw=quote_identifier(column),
                typed=clamping.read_column(entry, f"{prefix}{column}", types[column]),
            )
            for column, entry in table.columns.items()
        ),
    )


def name_text_view(name: str) -> str:
    """Return the name of the view of a text source's lines."""
    return quote_identifier(f"{TEXT_VIEW} {name}")
