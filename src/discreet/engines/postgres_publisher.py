"""PostgreSQL publisher: counts a custodian's tables on a server and writes releases of them.

One state   everything from opening to closing is one transaction, which sees one state of the data: the rows
            that are written are those that were checked.
Lookups     tables that a statement joins are temporary tables of the session, dropped after the statement.
Written     as a table of the schema that the policy's `store` names, atomically with the transaction; or as a
            file, to which rows are streamed in batches. Rows are sorted by their values, so that the order of
            the source's rows is not visible.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.engine import Closeable, DataState
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.table_entry import Table
from discreet.engines import policy_tables
from discreet.engines.dialects.sql_types import TypeFamily
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.identifier_types import require_exact_identifiers
from discreet.engines.policy_tables import EngineTable, decode_dictionaries, order_by_all_columns
from discreet.engines.postgres_connection import connect_postgres, execute_statement, fetch_table, run_select
from discreet.engines.postgres_tables import DIALECT, find_engine_table, require_store_privilege

TABLE_NAME = re.compile(r"(?!discreet_)[A-Za-z_][A-Za-z0-9_]{0,62}")
BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ"
# lookup tables are joined by text, which takes several times as long to sort as to hash
DISABLE_MERGE_JOIN = "SET LOCAL enable_mergejoin = off"
NUMERIC = pa.decimal128(38, 9)


class PostgreSQLPublisher(Closeable):
    """A `Publisher` over policy tables; `store` is the schema that may be written to."""

    def __init__(
        self,
        address: str,
        tables: Mapping[str, Table],
        *,
        store: str | None = None,
        lists: Collection[str] = (),
    ) -> None:
        policy_tables.require_no_csv_options(tables, DIALECT)
        self._store, self._numbers = store, count()
        self._connection = connect_postgres(address, autocommit=True)
        try:
            for each in (BEGIN, DISABLE_MERGE_JOIN):
                run_guarded(lambda each=each: execute_statement(self._connection, each))  # type: ignore[misc]
            self._origins = {
                name: find_engine_table(
                    self._connection, name, table.source, table.source_names or None, lists
                )
                for name, table in tables.items()
            }
            found = {name: origin.identifier_types for name, origin in self._origins.items()}
            require_exact_identifiers(DIALECT.name, tables, found)
            self._relations = policy_tables.build_published_relations(tables, self._origins, DIALECT)
        except BaseException:
            self.close()
            raise

    def column_types(self, name: str) -> Mapping[str, str]:
        return self._origins[name].types

    def count(self, sql: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        with self._register_lookup_tables(lookup_tables or {}) as known:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            return run_guarded(lambda: Exact(run_select(self._connection, statement.text, statement)))

    def write(self, sql: str, path: Path, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        with self._register_lookup_tables(lookup_tables or {}) as known, DuckDBPublisher({}) as writer:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            with closing(self._connection.cursor()) as cursor:
                run_guarded(lambda: cursor.execute(order_by_all_columns(statement)))
                reader = run_guarded(cursor.fetch_record_batch)
                writer.write_batches(run_guarded(lambda: _cast_exact_numbers(reader, statement)), path)

    def require_new_table(self, name: str) -> None:
        """Refuse a table that exists, or one outside of the schema that may be written to."""
        place = DIALECT.quote_literal(self._resolve_output_table(name))
        for privilege in ("USAGE", "CREATE"):
            require_store_privilege(self._connection, str(self._store), privilege)
        text = f"SELECT pg_catalog.to_regclass({place}) IS NULL AS free"
        if not run_guarded(lambda: fetch_table(self._connection, text))["free"][0].as_py():
            raise RequestError(f"PostgreSQL: table {name} already exists.", hint="Drop it, or name another.")

    def write_table(self, sql: str, name: str, lookup_tables: Mapping[str, pa.Table] | None = None) -> None:
        with self._register_lookup_tables(lookup_tables or {}) as known:
            statement = StatementTranslator(dialect=DIALECT, relations=known)(sql)
            ordered = order_by_all_columns(statement)
            place = self._resolve_output_table(name)
            for each in ("SET LOCAL statement_timeout = 0", f"CREATE TABLE {place} AS {ordered}"):
                run_guarded(lambda each=each: execute_statement(self._connection, each))  # type: ignore[misc]
        run_guarded(lambda: execute_statement(self._connection, "COMMIT"))

    def is_source(self, file: Path, table: str = "") -> bool:
        """Return False: no file is a source here."""
        return False

    @cached_property
    def data_state(self) -> DataState:
        """The number of rows and the sum of their hashes, for each table."""
        return [
            (name, *run_guarded(lambda each=each: self._compute_checksum(each)))  # type: ignore[misc]
            for name, each in self._origins.items()
        ]

    def close(self) -> None:
        self._connection.close()

    def _compute_checksum(self, origin: EngineTable) -> tuple[object, ...]:
        text = policy_tables.write_row_checksum(origin, DIALECT, "numeric")
        row = fetch_table(self._connection, text).to_pylist()[0]
        return row["n"], row["h"]

    def _resolve_output_table(self, name: str) -> str:
        """Return the quoted table of that name in the schema of the policy's store."""
        schema, _, table = name.rpartition(".")
        if self._store is None:
            raise RequestError(
                "PostgreSQL: the policy names no schema that may be written to.",
                hint="Add store: SCHEMA to it, or name a file that ends in .parquet or .csv.",
            )
        if schema not in ("", self._store) or not TABLE_NAME.fullmatch(table):
            raise RequestError(
                f"PostgreSQL: table {name} may not be written.",
                hint=f"Use a name of letters, digits and underscores in the schema {self._store}.",
            )
        return f"{DIALECT.quote_identifier(self._store)}.{DIALECT.quote_identifier(table)}"

    @contextmanager
    def _register_lookup_tables(
        self, lookup_tables: Mapping[str, pa.Table]
    ) -> Iterator[Mapping[str, SqlRelation]]:
        made = {name: self._create_temporary_table(name, table) for name, table in lookup_tables.items()}
        yield {**self._relations, **{name: origin.relation for name, (_, origin) in made.items()}}
        for place, _ in made.values():
            drop = f"DROP TABLE pg_temp.{place}"
            run_guarded(lambda drop=drop: execute_statement(self._connection, drop))  # type: ignore[misc]

    def _create_temporary_table(self, name: str, table: pa.Table) -> tuple[str, EngineTable]:
        """Create a temporary table under a unique name; return its name and its relation."""
        place = f"discreet_lent_{next(self._numbers)}"
        run_guarded(lambda: _ingest_table(self._connection, place, decode_dictionaries(table)))
        return place, find_engine_table(self._connection, name, f"pg_temp.{place}")


def _ingest_table(connection: Any, place: str, table: pa.Table) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.adbc_ingest(place, table, mode="create", temporary=True)
        cursor.execute(f"ANALYZE pg_temp.{place}")


def _cast_exact_numbers(reader: Any, statement: TranslatedStatement) -> pa.RecordBatchReader:
    """Return the reader's batches with exact numbers, which the driver returns as text, as decimals."""
    exact = {
        place
        for place, kind in enumerate(statement.columns.values())
        if kind.family in (TypeFamily.DECIMAL, TypeFamily.WIDE)
    }
    fields = [
        pa.field(field.name, NUMERIC if place in exact else field.type)
        for place, field in enumerate(reader.schema)
    ]
    schema = pa.schema(fields)

    def cast_batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = [
                column.cast(pa.string()).cast(NUMERIC) if place in exact else column
                for place, column in enumerate(batch.columns)
            ]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, cast_batches())
