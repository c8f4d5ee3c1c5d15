"""Engine: what counts rows. It knows SQL and files; it knows no privacy.

An engine is opened over named sources and shut off from everything else: no file, network, extension or
setting can be reached through the text that it is asked to run. What it counts comes back as `Exact`.
A failure after opening is an `EngineFault` with a constant text; the details are the custodian's.
Threads may share an engine: it counts for one of them at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import pyarrow as pa

from discreet.core.values import Exact


class Engine(Protocol):
    """Counts inside the data's own system; a context manager that lets go of the data at its end."""

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT: grouped counts and integer sums."""

    def close(self) -> None:
        """Let go of the data."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Foreseeing(Protocol):
    """An engine that cannot run every statement, and says so before anything is charged."""

    def require(self, sql: str) -> None:
        """Refuse a statement that it cannot run; reads no data."""


@runtime_checkable
class Stoppable(Protocol):
    """An engine whose running statement can be stopped from another thread."""

    def stop(self) -> None:
        """Stop what runs, if anything does; it ends in a fault there."""


State = list[tuple[object, ...]]


class Publisher(Engine, Protocol):
    """Counts the rows of a custodian's tables as they are, and writes what is published of them.

    `lent` are small tables that a statement may join, such as what each value becomes.
    """

    def count(self, sql: str, lent: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        """The rows of one SELECT: grouped counts."""

    def write(self, sql: str, path: Path, lent: Mapping[str, pa.Table] | None = None) -> None:
        """The rows of one SELECT as a file, whole or not at all."""

    def types(self, name: str) -> Mapping[str, str]:
        """The columns of a table and their types, as DuckDB calls them."""

    def is_read(self, file: Path, table: str = "") -> bool:
        """Whether writing there would overwrite what is read here."""

    @property
    def state(self) -> State:
        """What changes when the data does."""


@runtime_checkable
class Keeping(Protocol):
    """A publisher whose engine can keep what is published, as a new table or folder of its own."""

    def require_new(self, name: str) -> None:
        """Refuse a name that is taken, or where nothing may be written; reads no row."""

    def keep(self, sql: str, name: str, lent: Mapping[str, pa.Table] | None = None) -> None:
        """The rows of one SELECT under a name, whole or not at all."""
