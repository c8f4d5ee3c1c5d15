"""Schema database: answers clients' queries about tables and columns; it contains no data.

Contents    names, types and declared bounds, as given. It is separate from the database that counts, runs in
            processes of its own, and is locked down in the same way.
Limits      one SELECT at a time, in a read-only transaction, in little memory, for a few seconds of CPU time;
            a result that is larger than any schema is refused. A process that reaches a limit ends, and the
            next query starts another one.
Faults      are refusals here, with a constant message: queries about a schema touch nobody's data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.engines import schema_database_worker
from discreet.engines.worker_process import WorkerPool, table_from_bytes

SECONDS = 5.0


class SchemaDatabase:
    """Catalog tables and macros over them; any number of threads may query it."""

    def __init__(self, tables: Mapping[str, pa.Table], macros: Sequence[str]) -> None:
        told = json.dumps([list(tables), list(macros)]).encode()
        self._workers = WorkerPool(schema_database_worker.__name__, [str(SECONDS)], [told, *tables.values()])

    def run(self, sql: str) -> pa.Table:
        """Return the rows of one SELECT."""
        answer = self._workers.exchange(sql.encode())
        if answer is None or not answer.size:
            raise RequestError(
                "The catalog cannot answer this.",
                hint="Serve with --catalog and an empty database to support every catalog query.",
            )
        return table_from_bytes(answer)

    def close(self) -> None:
        self._workers.close()
