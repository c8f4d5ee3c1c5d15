"""Spark as a publisher: a custodian's tables in a cluster, counted there and written anew.

Lent        tables that statements join are views of the session, over what is sent to it.
Written     as a folder of Parquet files (a name with / in it) or as a table of the catalogue, by Spark: which
            file a row is in follows from its values, and in it rows stand in the order of values. Spark puts
            a file _SUCCESS beside them once they are whole. Or as a file here, for what fits in memory.
One state   Spark has no transactions: the rows are summed before and after they are written, and what is
            written of rows that have changed is told.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from discreet.core.closing import Closing
from discreet.core.engine import State
from discreet.core.errors import DataError, RequestError
from discreet.core.policy import Table
from discreet.core.values import Exact
from discreet.engines import relations, spark
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.faults import guarded
from discreet.engines.identities import require_identities
from discreet.engines.publishing import DuckDBPublisher
from discreet.engines.relations import Origin, in_order, plain_texts
from discreet.engines.spark import DIALECT

PARTS = "spark.sql.shuffle.partitions"


class SparkPublisher(Closing):
    """A `Publisher` over policy tables."""

    def __init__(self, address: str, tables: Mapping[str, Table], *, lists: Collection[str] = ()) -> None:
        self._session, self._numbers = spark.started(address), count()
        self._origins = {
            name: spark.origin(self._session, name, table.source, list(table.columns) or None, lists)
            for name, table in tables.items()
        }
        found = {name: origin.identities for name, origin in self._origins.items()}
        require_identities(DIALECT.name, tables, found)
        self._relations = relations.published(self._origins, DIALECT)

    def types(self, name: str) -> Mapping[str, str]:
        return self._origins[name].types

    def count(self, sql: str, lent: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        with self._lending(lent or {}) as known:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            return guarded(lambda: Exact(spark.selected(self._session, statement.text)))

    def write(self, sql: str, path: Path, lent: Mapping[str, pa.Table] | None = None) -> None:
        with self._lending(lent or {}) as known, DuckDBPublisher({}) as writer:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            ordered = in_order(statement)
            rows = guarded(lambda: spark.selected(self._session, ordered))
            self._require_unchanged()
            writer.receive(rows.to_reader(), path)

    def require_new(self, name: str) -> None:
        """Refuse a folder or a table that there is."""
        taken = (
            guarded(lambda: _is_there(self._session, name))
            if "/" in name
            else guarded(lambda: bool(self._session.catalog.tableExists(name)))
        )
        if taken:
            what = "something at" if "/" in name else "a table"
            raise RequestError(f"Spark: there is {what} {name} already.", hint="Remove it, or name another.")

    def keep(self, sql: str, name: str, lent: Mapping[str, pa.Table] | None = None) -> None:
        with self._lending(lent or {}) as known:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            guarded(lambda: self._kept(statement, name))
        self._require_unchanged()

    def _kept(self, statement: Written, name: str) -> None:
        """Parts by a hash of all values: their number and what is in each follow from what is published."""
        names = [DIALECT.quoted(name) for name in statement.columns]
        parts = int(self._session.conf.get(PARTS))
        frame = self._session.sql(statement.text).repartition(parts, *names).sortWithinPartitions(*names)
        if "/" in name:
            frame.write.mode("error").parquet(name)
        else:
            frame.write.mode("error").format("parquet").saveAsTable(name)

    def is_read(self, file: Path, table: str = "") -> bool:
        """Whether a file is one that is read, or in a folder that is."""
        place = file.resolve()
        return any(read == place or read in place.parents for read in self._read)

    @cached_property
    def _read(self) -> list[Path]:
        """The files that are read, as far as they are here, and the folders that they are in."""
        found: list[Path] = []
        for origin in self._origins.values():
            for each in self._session.table(DIALECT.quoted(origin.table)).inputFiles():
                path = Path(unquote(urlsplit(each).path))
                found += [path, path.parent] if path.name.startswith("part-") else [path]
        return found

    @cached_property
    def state(self) -> State:
        """How many rows there are, and the sum of their hashes."""
        return self._summed()

    def close(self) -> None:
        """Forget the tables; the application stays, as others may use it."""
        spark.drop_views(self._session, (origin.table for origin in self._origins.values()))

    def _summed(self) -> State:
        return [
            (name, *guarded(lambda each=each: self._sum(each)))  # type: ignore[misc]
            for name, each in self._origins.items()
        ]

    def _sum(self, origin: Origin) -> tuple[object, ...]:
        text = relations.summed(origin, DIALECT, "DECIMAL(20, 0)")
        row = spark.selected(self._session, text).to_pylist()[0]
        return row["n"], row["h"]

    def _require_unchanged(self) -> None:
        if self._summed() != self.state:
            raise DataError(
                "Spark: the rows have changed while they were published.",
                hint="Remove what was written, and start again when nothing writes to them.",
            )

    @contextmanager
    def _lending(self, lent: Mapping[str, pa.Table]) -> Iterator[Mapping[str, Relation]]:
        made = {name: self._lent(table) for name, table in lent.items()}
        try:
            yield {**self._relations, **{name: origin.relation for name, origin in made.items()}}
        finally:
            for origin in made.values():
                self._session.catalog.dropTempView(origin.table)

    def _lent(self, table: pa.Table) -> Origin:
        """A view, under a name that no other has."""
        frame = guarded(lambda: self._session.createDataFrame(plain_texts(table)))
        return spark.viewed(self._session, f"lent {next(self._numbers)}", frame)


def _is_there(session: Any, place: str) -> bool:
    """Whether there is something under a path, wherever Spark keeps it."""
    if "://" not in place:
        return os.path.lexists(place)
    from pyspark.errors import PySparkException

    try:
        session.read.format("binaryFile").load(place).limit(1).count()
    except PySparkException:
        return False
    return True
