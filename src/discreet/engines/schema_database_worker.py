"""Worker process of `schema_database`: answers queries about a schema, and nothing else.

It receives tables and macros, and then one query after the other, over its standard input and output;
messages are bytes after their length. The operating system bounds the cost of a query: one that takes too
much time or memory ends the process, which holds nothing but the schema. A database within the server could
do neither: text functions are not interrupted, and their memory counts against no limit.
"""

from __future__ import annotations

import json
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import IO

import duckdb
import pyarrow as pa

from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb_connection import connect_duckdb, lock_down_connection

MAX_MEMORY = 512 << 20
MAX_ROWS = 100_000
MAX_BYTES = 16 << 20
INCOMING_TABLE = "_discreet_arriving"
LENGTH = struct.Struct(">q")


def send_message(pipe: IO[bytes], content: bytes) -> None:
    """Send one message: its length, then its bytes."""
    pipe.write(LENGTH.pack(len(content)) + content)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or None if the other side has closed the pipe."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    content = pipe.read(size)
    return content if len(content) == size else None


def table_to_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_from_bytes(content: bytes) -> pa.Table:
    """Return the table of an Arrow IPC stream."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def main(seconds: float) -> None:
    """Receive the schema, then answer queries until the input ends, each within so many CPU seconds."""
    take, give = sys.stdin.buffer, sys.stdout.buffer
    database = _receive_database(take)
    _limit_memory()
    send_message(give, b"")
    while (sql := receive_message(take)) is not None:
        # CPU time, so that a busy machine does not use it up; nothing handles the signal, so that it ends the
        # process whatever runs
        signal.setitimer(signal.ITIMER_PROF, seconds)
        answer = _answer_query(database, sql.decode())
        signal.setitimer(signal.ITIMER_PROF, 0)
        send_message(give, answer)


def _receive_database(take: IO[bytes]) -> duckdb.DuckDBPyConnection:
    """Return a database of the tables and macros in the first messages."""
    names, macros = json.loads(receive_message(take) or b"[[], []]")
    connection = connect_duckdb()
    for name in names:
        connection.register(INCOMING_TABLE, table_from_bytes(receive_message(take) or b""))
        connection.execute(f"CREATE TABLE {quote_identifier(name)} AS FROM {INCOMING_TABLE}")
        connection.unregister(INCOMING_TABLE)
    for macro in macros:
        connection.execute(f"CREATE MACRO {macro}")
    connection.execute("SET threads = 1")
    lock_down_connection(connection)
    return connection


def _limit_memory() -> None:
    """Limit memory relative to the present use; without /proc, only time is limited."""
    taken = Path("/proc/self/statm")
    if taken.exists():
        most = int(taken.read_text().split()[0]) * resource.getpagesize() + MAX_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer_query(database: duckdb.DuckDBPyConnection, sql: str) -> bytes:
    """Return the rows of one SELECT as bytes; empty bytes refuse the query."""
    try:
        (select,) = duckdb.extract_statements(sql)
        if select.type != duckdb.StatementType.SELECT:
            return b""
        with database.cursor() as cursor:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.sql(select).limit(MAX_ROWS).to_arrow_table()
        return table_to_bytes(found) if found.nbytes <= MAX_BYTES else b""
    except (duckdb.Error, pa.ArrowException, MemoryError, ValueError):
        return b""


if __name__ == "__main__":
    main(float(sys.argv[1]))
