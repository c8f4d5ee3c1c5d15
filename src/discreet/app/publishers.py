"""The publisher of a custodian's tables: the engine that has them, and for files and frames DuckDB here.

No statement joins a table of the one with a table of the other: what is published, who is known and who else
there is are counted one by one. So each statement goes to where its tables are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import sqlglot
from sqlglot import exp

from discreet.app.addresses import engine_of
from discreet.core.closing import Closing
from discreet.core.engine import Keeping, Publisher, State
from discreet.core.errors import RequestError
from discreet.core.policy import Kind, Policy, Table
from discreet.core.values import Exact
from discreet.engines.publishing import DuckDBPublisher, Target
from discreet.engines.schema import kind_of

Columns = tuple[tuple[str, Kind | None], ...]


class Elsewhere(Publisher, Keeping, Protocol):
    """A publisher whose engine is not DuckDB."""


def publisher(
    address: str,
    tables: Mapping[str, Table],
    frames: Mapping[str, pa.Table] | None = None,
    *,
    store: str | None = None,
    lists: Collection[str] = (),
) -> Publisher:
    """Over tables and frames, each under its name; `store` is where the engine may write.

    Columns whose names are in `lists`, in lower case, are read as lists where they are; an engine elsewhere
    than in DuckDB reads others as text.
    """
    there = {name: table for name, table in tables.items() if engine_of(address).reads(table.source)}
    if engine_of(address).scheme == "duckdb" or not there:
        return DuckDBPublisher(tables, frames)
    here = {name: table for name, table in tables.items() if name not in there}
    if not here and not frames:
        return _elsewhere(address, there, store, lists)
    ours = DuckDBPublisher(here, frames)
    try:
        engine = _elsewhere(address, there, store, lists)
        return TwoPublishers(here=ours, there=engine, names=frozenset(there))
    except BaseException:
        ours.close()
        raise


def described(address: str, source: str) -> Columns:
    """Names and types of the columns of a table that an engine elsewhere has."""
    with _elsewhere(address, {source: Table(source=source, columns={})}, None) as engine:
        return tuple((name, kind_of(kind)) for name, kind in engine.types(source).items())


def target_of(policy: Policy, text: str | Path) -> Target:
    """Where a release of a policy's table goes; a table without a schema is one of the policy's store."""
    scheme = engine_of(policy.engine).scheme
    target = Target.of(text, elsewhere=scheme != "duckdb")
    if scheme == "postgresql" and target.kept and "." not in target.kept and policy.store:
        return Target.of(f"{policy.store}.{target.kept}", elsewhere=True)
    return target


def _elsewhere(
    address: str, tables: Mapping[str, Table], store: str | None, lists: Collection[str] = ()
) -> Elsewhere:
    if engine_of(address).scheme == "postgresql":
        from discreet.engines.postgres_publishing import PostgreSQLPublisher  # only who uses it waits for it

        return PostgreSQLPublisher(address, tables, store=store, lists=lists)
    from discreet.engines.spark_publishing import SparkPublisher

    return SparkPublisher(address, tables, lists=lists)


class TwoPublishers(Closing):
    """One of files and frames `here`, one of the tables `names` of an engine `there`."""

    def __init__(self, *, here: DuckDBPublisher, there: Elsewhere, names: frozenset[str]) -> None:
        self._here, self._there, self._names = here, there, names

    def count(self, sql: str, lent: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        return self._of(sql).count(sql, lent)

    def write(self, sql: str, path: Path, lent: Mapping[str, pa.Table] | None = None) -> None:
        self._of(sql).write(sql, path, lent)

    def require_new(self, name: str) -> None:
        self._there.require_new(name)

    def keep(self, sql: str, name: str, lent: Mapping[str, pa.Table] | None = None) -> None:
        self._there.keep(sql, name, lent)

    def types(self, name: str) -> Mapping[str, str]:
        return (self._there if name in self._names else self._here).types(name)

    def is_read(self, file: Path, table: str = "") -> bool:
        return self._here.is_read(file, table) or self._there.is_read(file, table)

    @property
    def state(self) -> State:
        return [*self._here.state, *self._there.state]

    def close(self) -> None:
        self._here.close()
        self._there.close()

    def _of(self, sql: str) -> Publisher:
        """The one that has all tables of a statement; what is lent to it is no table of either."""
        read = {table.name for table in sqlglot.parse_one(sql, read="duckdb").find_all(exp.Table)}
        if not read & self._names:
            return self._here
        if any(self._here.has(name) for name in read):
            raise RequestError(
                "attack: two releases are joined by their pseudonyms, and they are in different places.",
                hint="Put both into files, or both into the engine.",
            )
        return self._there
