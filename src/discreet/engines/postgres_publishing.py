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

from discreet.core.closing import Closing
from discreet.core.engine import State
from discreet.core.errors import RequestError
from discreet.core.policy import Table
from discreet.core.values import Exact
from discreet.engines import postgres, relations
from discreet.engines.dialects.checking import Statements
from discreet.engines.dialects.kinds import Family
from discreet.engines.dialects.statements import Relation, Written
from discreet.engines.faults import guarded
from discreet.engines.identities import require_identities
from discreet.engines.postgres_tables import DIALECT
from discreet.engines.publishing import DuckDBPublisher
from discreet.engines.relations import Origin, in_order, plain_texts

NAME = re.compile(r"(?!discreet_)[A-Za-z_][A-Za-z0-9_]{0,62}")
BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ"
# lookup tables are joined by text, which takes several times as long to sort as to hash
HASHED = "SET LOCAL enable_mergejoin = off"
NUMERIC = pa.decimal128(38, 9)


class PostgreSQLPublisher(Closing):
    """A `Publisher` over policy tables; `store` is the schema that may be written to."""

    def __init__(
        self,
        address: str,
        tables: Mapping[str, Table],
        *,
        store: str | None = None,
        lists: Collection[str] = (),
    ) -> None:
        self._store, self._numbers = store, count()
        self._connection = postgres.connected(address, autocommit=True)
        try:
            for each in (BEGIN, HASHED):
                guarded(lambda each=each: postgres.run(self._connection, each))  # type: ignore[misc]
            self._origins = {
                name: postgres.origin(
                    self._connection, name, table.source, list(table.columns) or None, lists
                )
                for name, table in tables.items()
            }
            found = {name: origin.identities for name, origin in self._origins.items()}
            require_identities(DIALECT.name, tables, found)
            self._relations = relations.published(self._origins, DIALECT)
        except BaseException:
            self.close()
            raise

    def types(self, name: str) -> Mapping[str, str]:
        return self._origins[name].types

    def count(self, sql: str, lent: Mapping[str, pa.Table] | None = None) -> Exact[pa.Table]:
        with self._lending(lent or {}) as known:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            return guarded(lambda: Exact(postgres.selected(self._connection, statement.text, statement)))

    def write(self, sql: str, path: Path, lent: Mapping[str, pa.Table] | None = None) -> None:
        with self._lending(lent or {}) as known, DuckDBPublisher({}) as writer:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            with closing(self._connection.cursor()) as cursor:
                guarded(lambda: cursor.execute(in_order(statement)))
                reader = guarded(cursor.fetch_record_batch)
                writer.receive(guarded(lambda: _numbered(reader, statement)), path)

    def require_new(self, name: str) -> None:
        """Refuse a table that exists, or one outside of the schema that may be written to."""
        place = DIALECT.literal(self._place(name))
        for privilege in ("USAGE", "CREATE"):
            postgres.require_store(self._connection, str(self._store), privilege)
        text = f"SELECT pg_catalog.to_regclass({place}) IS NULL AS free"
        if not guarded(lambda: postgres.fetched(self._connection, text))["free"][0].as_py():
            raise RequestError(f"PostgreSQL: table {name} already exists.", hint="Drop it, or name another.")

    def keep(self, sql: str, name: str, lent: Mapping[str, pa.Table] | None = None) -> None:
        with self._lending(lent or {}) as known:
            statement = Statements(dialect=DIALECT, relations=known)(sql)
            ordered = in_order(statement)
            place = self._place(name)
            for each in ("SET LOCAL statement_timeout = 0", f"CREATE TABLE {place} AS {ordered}"):
                guarded(lambda each=each: postgres.run(self._connection, each))  # type: ignore[misc]
        guarded(lambda: postgres.run(self._connection, "COMMIT"))

    def is_read(self, file: Path, table: str = "") -> bool:
        """Return False: no file is a source here."""
        return False

    @cached_property
    def state(self) -> State:
        """The number of rows and the sum of their hashes, for each table."""
        return [
            (name, *guarded(lambda each=each: self._sum(each)))  # type: ignore[misc]
            for name, each in self._origins.items()
        ]

    def close(self) -> None:
        self._connection.close()

    def _sum(self, origin: Origin) -> tuple[object, ...]:
        text = relations.summed(origin, DIALECT, "numeric")
        row = postgres.fetched(self._connection, text).to_pylist()[0]
        return row["n"], row["h"]

    def _place(self, name: str) -> str:
        """Return the quoted table of that name in the schema of the policy's store."""
        schema, _, table = name.rpartition(".")
        if self._store is None:
            raise RequestError(
                "PostgreSQL: the policy names no schema that may be written to.",
                hint="Add store: SCHEMA to it, or name a file that ends in .parquet or .csv.",
            )
        if schema not in ("", self._store) or not NAME.fullmatch(table):
            raise RequestError(
                f"PostgreSQL: table {name} may not be written.",
                hint=f"Use a name of letters, digits and underscores in the schema {self._store}.",
            )
        return f"{DIALECT.quoted(self._store)}.{DIALECT.quoted(table)}"

    @contextmanager
    def _lending(self, lent: Mapping[str, pa.Table]) -> Iterator[Mapping[str, Relation]]:
        made = {name: self._lent(name, table) for name, table in lent.items()}
        yield {**self._relations, **{name: origin.relation for name, (_, origin) in made.items()}}
        for place, _ in made.values():
            drop = f"DROP TABLE pg_temp.{place}"
            guarded(lambda drop=drop: postgres.run(self._connection, drop))  # type: ignore[misc]

    def _lent(self, name: str, table: pa.Table) -> tuple[str, Origin]:
        """Create a temporary table under a unique name; return its name and its relation."""
        place = f"discreet_lent_{next(self._numbers)}"
        guarded(lambda: _ingested(self._connection, place, plain_texts(table)))
        return place, postgres.origin(self._connection, name, f"pg_temp.{place}")


def _ingested(connection: Any, place: str, table: pa.Table) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.adbc_ingest(place, table, mode="create", temporary=True)
        cursor.execute(f"ANALYZE pg_temp.{place}")


def _numbered(reader: Any, statement: Written) -> pa.RecordBatchReader:
    """Return the reader's batches with exact numbers, which the driver returns as text, as decimals."""
    exact = {
        place
        for place, kind in enumerate(statement.columns.values())
        if kind.family in (Family.DECIMAL, Family.WIDE)
    }
    fields = [
        pa.field(field.name, NUMERIC if place in exact else field.type)
        for place, field in enumerate(reader.schema)
    ]
    schema = pa.schema(fields)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = [
                column.cast(pa.string()).cast(NUMERIC) if place in exact else column
                for place, column in enumerate(batch.columns)
            ]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())
