"""The publisher of a custodian's tables: the engine that holds them, or local DuckDB for files and frames.

The published table, the attacker's register and the population are counted in separate statements. So no
statement joins tables of two publishers, and each goes to the publisher that holds its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import sqlglot
from sqlglot import exp

from discreet.core.column_entry import ColumnType
from discreet.core.engine import Closeable, DataState, Publisher, SupportsWrites
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.release_target import ReleaseTarget
from discreet.core.table_entry import Table
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.engine_spec import EngineSpec
from discreet.engines.inventory import find_kind
from discreet.services.addresses import parse_engine_address

Columns = tuple[tuple[str, ColumnType | None], ...]


class RemotePublisher(Publisher, SupportsWrites, Protocol):
    """A publisher whose engine is not embedded."""


def open_publisher(
    address: str,
    tables: Mapping[str, Table],
    frames: Mapping[str, pa.Table] | None = None,
    *,
    store: str | None = None,
    list_columns: Collection[str] = (),
    defers_quotes: bool = False,
) -> Publisher:
    """Open a publisher over tables and frames, each under its name; `store` is where the engine may write.

    Columns whose lower-case names are in `list_columns` are read as lists; engines other than DuckDB read
    other list columns as text. `defers_quotes` is for a check (`DuckDBPublisher`).
    """
    engine = parse_engine_address(address)
    there = {name: table for name, table in tables.items() if engine.can_read(table.source)}
    if engine.is_embedded or not there:
        return DuckDBPublisher(tables, frames, defers_quotes=defers_quotes)
    here = {name: table for name, table in tables.items() if name not in there}
    if not here and not frames:
        return _open_remote_publisher(engine, there, store, list_columns)
    ours = DuckDBPublisher(here, frames)
    try:
        remote = _open_remote_publisher(engine, there, store, list_columns)
        return CombinedPublisher(local=ours, remote=remote, remote_names=frozenset(there))
    except BaseException:
        ours.close()
        raise


def describe_remote_table(address: str, source: str) -> Columns:
    """Return column names and types of a table in a remote engine."""
    table = Table(source=source, columns={})
    with _open_remote_publisher(parse_engine_address(address), {source: table}, None) as engine:
        return tuple((name, find_kind(kind)) for name, kind in engine.column_types(source).items())


def parse_release_target(policy: Policy, text: str | Path) -> ReleaseTarget:
    """Return where a release is written; a table without a schema goes into the policy's store."""
    engine = parse_engine_address(policy.engine)
    target = ReleaseTarget.parse(text, allows_engine_names=not engine.is_embedded)
    if target.engine_name and policy.store:
        name = engine.qualify_table_name(target.engine_name, policy.store)
        return ReleaseTarget.parse(name, allows_engine_names=True)
    return target


def _open_remote_publisher(
    engine: EngineSpec, tables: Mapping[str, Table], store: str | None, list_columns: Collection[str] = ()
) -> RemotePublisher:
    driver = engine.load_driver()
    publisher = driver.open_publisher(engine.text, tables, store=store, lists=list_columns)
    # every engine but the embedded one, which writes files, writes releases into its own system
    assert isinstance(publisher, SupportsWrites)
    return publisher


class CombinedPublisher(Closeable):
    """Two publishers as one: `local` for files and frames, `remote` for the tables `remote_names`."""

    def __init__(
        self, *, local: DuckDBPublisher, remote: RemotePublisher, remote_names: frozenset[str]
    ) -> None:
        self._local, self._remote, self._remote_names = local, remote, remote_names

    def count(self, sql: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        return self._find_publisher(sql).count(sql, lookup_tables)

    def write(self, sql: str, path: Path, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        self._find_publisher(sql).write(sql, path, lookup_tables)

    def require_new_table(self, name: str) -> None:
        self._remote.require_new_table(name)

    def write_table(self, sql: str, name: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        self._remote.write_table(sql, name, lookup_tables)

    def column_types(self, name: str) -> Mapping[str, str]:
        return (self._remote if name in self._remote_names else self._local).column_types(name)

    def is_source(self, file: Path, table: str = "") -> bool:
        return self._local.is_source(file, table) or self._remote.is_source(file, table)

    @property
    def data_state(self) -> DataState:
        return [*self._local.data_state, *self._remote.data_state]

    def close(self) -> None:
        self._local.close()
        self._remote.close()

    def _find_publisher(self, sql: str) -> Publisher:
        """Return the publisher that holds all tables of a statement; lent tables belong to neither."""
        read = {table.name for table in sqlglot.parse_one(sql, read="duckdb").find_all(exp.Table)}
        if not read & self._remote_names:
            return self._local
        if any(self._local.has_table(name) for name in read):
            raise RequestError(
                "attack: two releases are joined by their pseudonyms, and they are in different places.",
                hint="Put both into files, or both into the engine.",
            )
        return self._remote
