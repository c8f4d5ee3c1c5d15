"""Spark publisher: counts a custodian's tables in a cluster and writes releases of them.

Lookups     tables that a statement joins are views of the session, over data that is sent to it.
Written     as a folder of Parquet files (a name with / in it) or as a table of the catalog, by Spark: the
            file of a row follows from its values, and each file is sorted by values. Spark adds a file
            _SUCCESS once all are complete. Or as a local file, if the rows fit in memory.
One state   Spark has no transactions: a checksum of the rows is taken before and after writing, and a release
            of rows that changed meanwhile is reported as an error.
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

from discreet.core.engine import Closeable, DataState
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import DataError, RequestError
from discreet.core.exact_values import Exact
from discreet.core.table_entry import Table
from discreet.engines import policy_tables
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.identifier_types import require_exact_identifiers
from discreet.engines.policy_tables import EngineTable, decode_dictionaries, order_by_all_columns
from discreet.engines.spark_csv import find_original_files
from discreet.engines.spark_session import (
    DIALECT,
    drop_views,
    find_engine_table,
    register_view,
    run_select,
    start_session,
)

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


class SparkPublisher(Closeable):
    """A `Publisher` over policy tables."""

    def __init__(self, address: str, tables: Mapping[str, Table], *, lists: Collection[str] = ()) -> None:
        self._session, self._numbers = start_session(address), count()
        self._origins = {
            name: find_engine_table(
                self._session, name, table.source, table if table.columns else None, lists
            )
            for name, table in tables.items()
        }
        found = {name: origin.identifier_types for name, origin in self._origins.items()}
        require_exact_identifiers(DIALECT.name, tables, found)
        self._relations = policy_tables.build_published_relations(tables, self._origins, DIALECT)

    def column_types(self, name: str) -> Mapping[str, str]:
        return self._origins[name].types

    def count(self, sql: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        with self._register_lookup_tables(lookup_tables or {}) as known:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            return run_guarded(lambda: Exact(run_select(self._session, statement.text)))

    def write(self, sql: str, path: Path, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        with self._register_lookup_tables(lookup_tables or {}) as known, DuckDBPublisher({}) as writer:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            ordered = order_by_all_columns(statement)
            rows = run_guarded(lambda: run_select(self._session, ordered))
            self._require_unchanged()
            writer.write_batches(rows.to_reader(), path)

    def require_new_table(self, name: str) -> None:
        """Refuse a folder or a table that exists."""
        taken = (
            run_guarded(lambda: _path_exists(self._session, name))
            if "/" in name
            else run_guarded(lambda: bool(self._session.catalog.tableExists(name)))
        )
        if taken:
            what = "path" if "/" in name else "table"
            raise RequestError(f"Spark: {what} {name} already exists.", hint="Remove it, or name another.")

    def write_table(self, sql: str, name: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        with self._register_lookup_tables(lookup_tables or {}) as known:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            run_guarded(lambda: self._write_sorted_parts(statement, name))
        self._require_unchanged()

    def _write_sorted_parts(self, statement: TranslatedStatement, name: str) -> None:
        """Partition by a hash of all values, so that the parts depend on the published rows alone."""
        names = [DIALECT.quote_identifier(name) for name in statement.columns]
        parts = int(self._session.conf.get(SHUFFLE_PARTITIONS))
        frame = self._session.sql(statement.text).repartition(parts, *names).sortWithinPartitions(*names)
        if "/" in name:
            frame.write.mode("error").parquet(name)
        else:
            frame.write.mode("error").format("parquet").saveAsTable(name)

    def is_source(self, file: Path, table: str = "") -> bool:
        """Return whether a file is a source, or in a source folder."""
        place = file.resolve()
        return any(read == place or read in place.parents for read in self._input_paths)

    @cached_property
    def _input_paths(self) -> list[Path]:
        """The local source files, and the folders of part files."""
        found: list[Path] = []
        for origin in self._origins.values():
            for each in self._session.table(DIALECT.quote_identifier(origin.table)).inputFiles():
                for path in find_original_files(Path(unquote(urlsplit(each).path))):
                    found += [path, path.parent] if path.name.startswith("part-") else [path]
        return found

    @cached_property
    def data_state(self) -> DataState:
        """The number of rows and the sum of their hashes, for each table."""
        return self._compute_state()

    def close(self) -> None:
        """Drop the session's views; the application stays, as others may use it."""
        drop_views(self._session, (origin.table for origin in self._origins.values()))

    def _compute_state(self) -> DataState:
        return [
            (name, *run_guarded(lambda each=each: self._compute_checksum(each)))  # type: ignore[misc]
            for name, each in self._origins.items()
        ]

    def _compute_checksum(self, origin: EngineTable) -> tuple[object, ...]:
        text = policy_tables.write_row_checksum(origin, DIALECT, "DECIMAL(20, 0)")
        row = run_select(self._session, text).to_pylist()[0]
        return row["n"], row["h"]

    def _require_unchanged(self) -> None:
        if self._compute_state() != self.data_state:
            raise DataError(
                "Spark: the rows changed while they were published.",
                hint="Remove the release, and publish again when nothing writes to the sources.",
            )

    @contextmanager
    def _register_lookup_tables(
        self, lookup_tables: Mapping[str, pa.Table]
    ) -> Iterator[Mapping[str, SqlRelation]]:
        made = {name: self._create_view(table) for name, table in lookup_tables.items()}
        try:
            yield {**self._relations, **{name: origin.relation for name, origin in made.items()}}
        finally:
            for origin in made.values():
                self._session.catalog.dropTempView(origin.table)

    def _create_view(self, table: pa.Table) -> EngineTable:
        """Create a view under a unique name."""
        frame = run_guarded(lambda: self._session.createDataFrame(decode_dictionaries(table)))
        return register_view(self._session, f"lent {next(self._numbers)}", frame)


def _path_exists(session: Any, place: str) -> bool:
    """Return whether a path exists, on this machine or in Spark's file systems."""
    if "://" not in place:
        return os.path.lexists(place)
    from pyspark.errors import PySparkException

    try:
        session.read.format("binaryFile").load(place).limit(1).count()
    except PySparkException:
        return False
    return True
