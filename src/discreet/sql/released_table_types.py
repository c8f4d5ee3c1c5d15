"""Released tables as post-processing sees them: the columns and types of each core, and of public tables.

Keys that are decimals are DECIMAL with the places of their grid, as in the tables that the user compares
with: 0.1 * 3 = 0.3 holds for them. Whole numbers are BIGINT, and other numbers DOUBLE.
"""

from __future__ import annotations

import pyarrow as pa

from discreet.sql.expression_types import Family, Type
from discreet.sql.query import Query

DIGITS = 18
KINDS = {
    Family.TEXT: pa.string(),
    Family.BOOLEAN: pa.bool_(),
    Family.DATE: pa.date32(),
    Family.TIMESTAMP: pa.timestamp("us"),
    Family.NULL: pa.string(),
}
SQL_NAMES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
}


def find_released_type(kind: Type, *, is_key: bool) -> pa.DataType:
    """Return the type of a column in a released table."""
    if kind.family is not Family.NUMBER:
        return KINDS[kind.family]
    if kind.shows_integer:
        return pa.int64()
    is_short = kind.is_exact and kind.max_magnitude is not None and kind.max_steps < 10**DIGITS
    if is_key and is_short and 0 < kind.scale < DIGITS:
        return pa.decimal128(DIGITS, kind.scale)
    return pa.float64()


def find_sql_type(kind: Type, *, is_key: bool) -> str:
    """Return DuckDB's name of the type of a column in a released table.

    >>> from discreet.sql.expression_types import TEXT
    >>> find_sql_type(TEXT, is_key=True)
    'VARCHAR'
    """
    found = find_released_type(kind, is_key=is_key)
    return f"DECIMAL({DIGITS}, {kind.scale})" if pa.types.is_decimal(found) else SQL_NAMES[found]


def build_released_schema(core: Query) -> pa.Schema:
    """Return the schema of the released table of a core: its keys, then its measures."""
    keys = [(column.name, find_released_type(column.type, is_key=True)) for column, _ in core.keys]
    measures = [(column.name, find_released_type(column.type, is_key=False)) for column, _ in core.measures]
    return pa.schema([*keys, *measures])


def fit_released_table(table: pa.Table, core: Query) -> pa.Table:
    """Return the columns of a released table with the types of its schema."""
    schema = build_released_schema(core)
    return table.select(schema.names).cast(schema, safe=False)
