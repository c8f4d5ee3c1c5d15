"""Engine protocols: the systems that count rows. They know SQL and files, and nothing about privacy.

An engine is opened over named sources and isolated from everything else: the SQL that it runs can reach no
file, network, extension or setting. Its counts are returned as `Exact`. A failure after opening is an
`EngineFault` with a constant text; only the custodian sees the details. Threads may share an engine, which
runs one statement at a time.

Resources that are held open for a while: a connection, a store, a ledger.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import pyarrow as pa

from discreet.core.exact_values import Exact


class Closeable(ABC):
    """A context manager that calls `close` when it exits.

    An error of the block is not replaced by one of `close`: an engine that is gone can often not be closed,
    and the fault that it caused is what has to be reported.
    """

    @abstractmethod
    def close(self) -> None:
        """Release the resource."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(Exception):
            self.close()


class Engine(Protocol):
    """An engine that counts inside the data's own system; a context manager that closes it on exit."""

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT: grouped counts and integer sums."""

    def close(self) -> None:
        """Release the data."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class ValidatesStatements(Protocol):
    """An engine that cannot run every statement, and refuses those before anything is charged."""

    def validate(self, sql: str) -> None:
        """Raise an error for a statement that the engine cannot run, without reading data."""


@runtime_checkable
class Stoppable(Protocol):
    """An engine whose running statement another thread can cancel."""

    def stop(self) -> None:
        """Cancel the running statement, if any; it fails with an `EngineFault` in its own thread."""


DataState = list[tuple[object, ...]]


class Publisher(Engine, Protocol):
    """An engine that counts the custodian's own rows and writes published tables.

    `lookup_tables` are small tables that a statement may join, such as the generalized form of each value.
    """

    def count(self, sql: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        """Return the rows of one SELECT: grouped counts."""

    def write(self, sql: str, path: Path, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        """Write the rows of one SELECT to a file, completely or not at all."""

    def column_types(self, name: str) -> Mapping[str, str]:
        """Return the columns of a table and their DuckDB types."""

    def is_source(self, file: Path, table: str = "") -> bool:
        """Return whether writing to this file or table would overwrite a source of this engine."""

    @property
    def data_state(self) -> DataState:
        """A fingerprint that changes when the data changes."""


@runtime_checkable
class SupportsWrites(Protocol):
    """A publisher that can also write a release into its own system, as a new table or folder."""

    def require_new_table(self, name: str) -> None:
        """Raise an error for a name that exists or cannot be written, without reading rows."""

    def write_table(self, sql: str, name: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        """Write the rows of one SELECT to a new table, completely or not at all."""
