"""Worker process of `released_queries`: runs one SELECT over released tables, and can reach nothing else.

A request is a JSON object and the tables that it names; see `worker_process`. The answer is the rows, or a
status byte and the message of the database. Memory that DuckDB does not count ends the process.
"""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.duckdb_connection import connect_duckdb, lock_down_connection
from discreet.engines.worker_process import (
    limit_memory,
    limit_processor_time,
    open_channel,
    receive_message,
    send_message,
    table_from_bytes,
)

MAX_MEMORY = 2 << 30
DATABASE_MEMORY = "1GiB"
MAX_CELLS = 50_000_000
REFUSED, TOO_LARGE = b"x", b"l"
MOST_INTEGER = 2**63 - 1
SESSION_FUNCTIONS = {
    *("current_catalog", "current_date", "current_localtime", "current_localtimestamp", "current_role"),
    *("current_schema", "current_time", "current_timestamp", "current_user", "localtime", "localtimestamp"),
    *("session_user", "user"),
}
SHOWN_TYPES = (
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_boolean, pa.bool_()),
    (pa.types.is_string, pa.string()),
    (pa.types.is_dictionary, pa.string()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_date32, pa.date32()),
    (pa.types.is_timestamp, pa.timestamp("us")),
)


def main() -> None:
    """Answer requests until the input ends."""
    channel = open_channel()
    database = _open_database()
    limit_memory(MAX_MEMORY)
    while (head := receive_message(channel)) is not None:
        request = json.loads(head.to_pybytes())
        tables = {name: table_from_bytes(receive_message(channel) or b"") for name in request["tables"]}
        limit_processor_time(request["seconds"])
        answer = _answer_query(database, request["sql"], tables)
        limit_processor_time(0)
        send_message(channel, answer)


def _open_database() -> duckdb.DuckDBPyConnection:
    connection = connect_duckdb()
    # Sums of floating-point numbers depend on the order of their parts: with one thread they repeat.
    connection.execute("SET threads = 1")
    connection.execute(f"SET memory_limit = '{DATABASE_MEMORY}'")
    connection.execute("SET GLOBAL error_on_division_by_zero = false")
    _shadow_functions(connection)
    lock_down_connection(connection)
    return connection


def _shadow_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every function of chance, time or state fail.

    The planner refuses them by name. But DuckDB reads a name that is no column, even a quoted one, as a
    function without parentheses if there is one, such as "current_timestamp".
    """
    found = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') AND function_name <> 'error'"
    )
    for name in sorted({name for (name,) in found.fetchall()} | SESSION_FUNCTIONS):
        message = quote_literal(f"the answer has no column {name}")
        connection.execute(f"CREATE MACRO {quote_identifier(name)}() AS error({message})")


def _answer_query(
    database: duckdb.DuckDBPyConnection, sql: str, tables: dict[str, pa.Table]
) -> bytes | pa.Table:
    """Return the rows of one SELECT, or a status and the message why there are none."""
    try:
        (select,) = duckdb.extract_statements(sql)
        if select.type != duckdb.StatementType.SELECT:
            return REFUSED + b"it is not one SELECT"
        with database.cursor() as cursor:
            for name, table in tables.items():
                cursor.register(name, table)  # a view that belongs to the cursor
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.sql(select).to_arrow_table()
            cursor.execute("ROLLBACK")
        if found.num_rows * max(1, found.num_columns) > MAX_CELLS:
            return TOO_LARGE
        return _normalize_types(found)
    except (duckdb.OutOfMemoryException, pa.ArrowMemoryError, MemoryError):
        return TOO_LARGE
    except (duckdb.Error, pa.ArrowException, ValueError) as error:
        return REFUSED + str(error).encode(errors="replace")


# -- Types of answers ---------------------------------------------------------------------------------------


def _normalize_types(table: pa.Table) -> pa.Table:
    """Return a table whose columns have the types of answers, under names that differ.

    Whole numbers are BIGINT, and NULL beyond 64 bits; other numbers are DOUBLE, and NULL where they are not
    finite.
    """
    columns: list[pa.ChunkedArray] = []
    names: list[str] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        columns.append(_normalize_column(field.name, column))
        names.append(_make_unique_name(field.name, names))
    return pa.table(columns, names=names)


def _normalize_column(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_uint64(kind):
        column, kind = column.cast(pa.decimal128(38, 0)), pa.decimal128(38, 0)
    if pa.types.is_decimal(kind) and kind.scale == 0:
        magnitude = pc.abs(column.cast(pa.decimal128(38, 0)))
        fits = pc.less_equal(magnitude, pa.scalar(MOST_INTEGER, pa.decimal128(38, 0)))
        return pc.if_else(fits, column, pa.scalar(None, kind)).cast(pa.int64())
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        numbers = column.cast(pa.float64())
        return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
    wanted = next((shown for is_kind, shown in SHOWN_TYPES if is_kind(kind)), None)
    if wanted is None:
        raise ValueError(f"the column {name} is of a type that answers do not show; cast it to VARCHAR")
    return column.cast(wanted)


def _make_unique_name(name: str, before: list[str]) -> str:
    taken = {each.casefold() for each in before}
    place, found = 2, name
    while found.casefold() in taken:
        found, place = f"{name}_{place}", place + 1
    return found


if __name__ == "__main__":
    main()
