"""Columns as they are published: equal values have one text, and people are told apart as in questions."""

from __future__ import annotations

from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.engines.clamping import encode_person

FLOAT_TYPES = ("FLOAT", "DOUBLE")


def select_published_column(table: Table, column: str, kind: str) -> str:
    """Return the SQL of a policy's column as it is published; people are told apart as in questions.

    Text that names a person by a whole number, 7 in one file and 7.0 in the next, names one person.
    """
    if column == table.person_column and kind == "VARCHAR":
        return f"{encode_person(table.columns[column], column, kind)} AS {quote_identifier(column)}"
    return select_canonical_value(column, kind)


def select_canonical_value(column: str, kind: str) -> str:
    """Return the SQL of a column, with one form for values that are equal but differ as text.

    These are -0.0 and 0.0, NaN and -NaN; an interval becomes text, as 1 month and 30 days are equal, too.
    """
    name = quote_identifier(column)
    if kind in FLOAT_TYPES:
        return f"CASE WHEN {name} = 0 THEN 0 WHEN isnan({name}) THEN abs({name}) ELSE {name} END AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}" if kind == "INTERVAL" else name
