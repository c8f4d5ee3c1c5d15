"""Worker process of `schema_database`: answers queries about a schema, and nothing else.

It receives tables and macros, and then one query after the other; see `worker_process`.
"""

from __future__ import annotations

import json
import socket
import sys

import duckdb
import pyarrow as pa

from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_connection import connect_duckdb, lock_down_connection
from discreet.engines.worker_process import (
    limit_memory,
    limit_processor_time,
    open_channel,
    receive_message,
    send_message,
    table_from_bytes,
)

MAX_MEMORY = 512 << 20
MAX_ROWS = 100_000
MAX_BYTES = 16 << 20
INCOMING_TABLE = "_discreet_arriving"
NOTHING = pa.py_buffer(b"[[], []]")


def main(seconds: float) -> None:
    """Receive the schema, then answer queries until the input ends; each has a limit of CPU seconds."""
    channel = open_channel()
    database = _receive_database(channel)
    limit_memory(MAX_MEMORY)
    send_message(channel, b"")
    while (sql := receive_message(channel)) is not None:
        limit_processor_time(seconds)
        answer = _answer_query(database, sql.to_pybytes().decode())
        limit_processor_time(0)
        send_message(channel, answer)


def _receive_database(channel: socket.socket) -> duckdb.DuckDBPyConnection:
    """Return a database of the tables and macros in the first messages."""
    names, macros = json.loads((receive_message(channel) or NOTHING).to_pybytes())
    connection = connect_duckdb()
    for name in names:
        connection.register(INCOMING_TABLE, table_from_bytes(receive_message(channel) or b""))
        connection.execute(f"CREATE TABLE {quote_identifier(name)} AS FROM {INCOMING_TABLE}")
        connection.unregister(INCOMING_TABLE)
    for macro in macros:
        connection.execute(f"CREATE MACRO {macro}")
    connection.execute("SET threads = 1")
    lock_down_connection(connection)
    return connection


def _answer_query(database: duckdb.DuckDBPyConnection, sql: str) -> bytes | pa.Table:
    """Return the rows of one SELECT; empty bytes refuse the query."""
    try:
        (select,) = duckdb.extract_statements(sql)
        if select.type != duckdb.StatementType.SELECT:
            return b""
        with database.cursor() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.sql(select).limit(MAX_ROWS).to_arrow_table()
        return found if found.nbytes <= MAX_BYTES else b""
    except (duckdb.Error, pa.ArrowException, MemoryError, ValueError):
        return b""


if __name__ == "__main__":
    main(float(sys.argv[1]))
