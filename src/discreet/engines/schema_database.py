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
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.engines import schema_database_worker
from discreet.engines.schema_database_worker import (
    receive_message,
    send_message,
    table_from_bytes,
    table_to_bytes,
)

MAX_WORKERS = 4
SECONDS = 5.0


class SchemaDatabase:
    """Catalog tables and macros over them; any number of threads may query it."""

    def __init__(self, tables: Mapping[str, pa.Table], macros: Sequence[str]) -> None:
        told = json.dumps([list(tables), list(macros)]).encode()
        self._told = [told, *(table_to_bytes(table) for table in tables.values())]
        self._places = threading.BoundedSemaphore(MAX_WORKERS)
        self._idle: list[_SchemaWorker] = []

    def run(self, sql: str) -> pa.Table:
        """Return the rows of one SELECT."""
        with self._places:
            process = self._take_idle_worker() or _SchemaWorker(self._told)
            answer = process.run(sql.encode())
            if answer is None:
                process.terminate()
            else:
                self._idle.append(process)
        if not answer:
            raise RequestError(
                "The catalog cannot answer this.",
                hint="Serve with --catalog and an empty database to support every catalog query.",
            )
        return table_from_bytes(answer)

    def close(self) -> None:
        while (process := self._take_idle_worker()) is not None:
            process.terminate()

    def _take_idle_worker(self) -> _SchemaWorker | None:
        """Return an idle worker, or None."""
        with suppress(IndexError):
            return self._idle.pop()
        return None


class _SchemaWorker:
    """A process that holds the schema and answers one query at a time."""

    def __init__(self, setup_messages: Sequence[bytes]) -> None:
        command = [sys.executable, "-P", "-m", schema_database_worker.__name__, str(SECONDS)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._exchange(*setup_messages)

    def run(self, sql: bytes) -> bytes | None:
        """Return the worker's answer, or None if the process ended instead."""
        return self._exchange(sql)

    def terminate(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _exchange(self, *messages: bytes) -> bytes | None:
        try:
            for each in messages:
                send_message(_require_pipe(self._process.stdin), each)
            return receive_message(_require_pipe(self._process.stdout))
        except OSError:
            return None


def _require_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
