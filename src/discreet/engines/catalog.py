"""A database that holds a schema and no data: what clients ask of tables and columns is computed in it.

Holds       what it is given, which is names, types and declared bounds. It is another database than the one
            that counts, and shut off like it.
Limits      one SELECT at a time, in a read-only transaction, in little memory, for a few seconds; an answer
            that is larger than any schema is not given.
Faults      are refusals here, in a constant text: nothing that is asked of a schema touches anybody's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.engines.connection import connect, quoted, shut_off
from discreet.engines.limits import limited

MEMORY = "256MiB"
SECONDS = 5.0
ROWS = 100_000
BYTES = 16 << 20
ARRIVING = "_discreet_arriving"


class SchemaDatabase:
    """Tables of a catalog, and macros over them; any number of threads may ask."""

    def __init__(self, tables: Mapping[str, pa.Table], macros: Sequence[str]) -> None:
        self._connection = connect()
        for name, table in tables.items():
            self._connection.register(ARRIVING, table)
            self._connection.execute(f"CREATE TABLE {quoted(name)} AS FROM {ARRIVING}")
            self._connection.unregister(ARRIVING)
        for macro in macros:
            self._connection.execute(f"CREATE MACRO {macro}")
        self._connection.execute(f"SET memory_limit = '{MEMORY}'")
        self._connection.execute("SET threads = 1")
        shut_off(self._connection)

    def run(self, sql: str) -> pa.Table:
        """The rows of one SELECT."""
        try:
            return self._run(sql)
        except duckdb.Error:
            pass
        # raised outside of the handler: a driver's error does not ride along
        raise RequestError(
            "The catalog cannot answer this.",
            hint="Serve with --catalog, an empty database, for whatever is asked.",
        )

    def _run(self, sql: str) -> pa.Table:
        (select,) = duckdb.extract_statements(sql)
        if select.type != duckdb.StatementType.SELECT:
            raise duckdb.InvalidInputException
        with self._connection.cursor() as cursor, limited(cursor.interrupt, SECONDS):
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.sql(select).limit(ROWS).to_arrow_table()
        if found.nbytes > BYTES:
            raise duckdb.OutOfMemoryException
        return found

    def close(self) -> None:
        self._connection.close()
