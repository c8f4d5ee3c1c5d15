"""Inventory of a PostgreSQL server: the tables and views that the connected user may read.

Names       `visits` in the schema public, `clinic.visits` elsewhere, as in a policy's source. Tables with a
            full stop in their name are left out. Partitions can be found by name but are not listed; tables
            of prepared stores are neither.
Columns     those that the user may read, with the types that `postgres` reads them as. A type that is read as
            text, for want of a counterpart, has a kind only if it is textual by nature; lists, documents and
            bytes have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.column_entry import ColumnType
from discreet.core.engine import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.exact_values import Exact
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.inventory import (
    INSPECTED_TABLE,
    INSPECTION_SECONDS,
    InventoryTable,
    compute_pattern_shares,
    find_kind,
    match_name,
)
from discreet.engines.postgres_connection import (
    SET_READ_ONLY,
    connect_postgres,
    execute_statement,
    fetch_table,
    run_select,
)
from discreet.engines.postgres_tables import DIALECT, find_engine_table

PUBLIC = "public"
TABLES = """SELECT n.nspname AS schema, c.relname AS name, c.relispartition AS part
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND pg_catalog.strpos(n.nspname || c.relname, '.') = 0
  AND c.relname NOT LIKE 'discreet\\_________________\\_%'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
ORDER BY 1, 2"""
COLUMNS = """SELECT a.attname AS name, CAST(t.typcategory AS text) AS family,
  pg_catalog.format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS type
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = pg_catalog.to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
  AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
ORDER BY a.attnum"""
# the server's type categories: strings, times of day, intervals, network addresses, bit strings
TEXTS = ("S", "D", "T", "I", "V")
ENUMS = "E"
TEXTS_OF_NO_FAMILY = ("uuid", "macaddr", "macaddr8")


class PostgreSQLInventory(Closeable):
    """An `Inventory` of a server."""

    def __init__(self, address: str) -> None:
        self._connection = connect_postgres(address)
        try:
            for setting in (
                SET_READ_ONLY,
                f"SET statement_timeout = {1000 * INSPECTION_SECONDS:.0f}",
            ):
                run_guarded(lambda setting=setting: execute_statement(self._connection, setting))  # type: ignore[misc]
            rows = self._fetch_rows(TABLES)
        except BaseException:
            self.close()
            raise
        self._parts = {_format_table_name(row["schema"], row["name"]): bool(row["part"]) for row in rows}

    def list_names(self) -> list[str]:
        return [name for name, part in self._parts.items() if not part]

    def find_table(self, word: str) -> InventoryTable | None:
        name = match_name(word.removeprefix(f"{PUBLIC}."), self._parts)
        if name is None:
            return None
        schema, _, table = name.rpartition(".")
        place = DIALECT.quote_literal(
            f"{DIALECT.quote_identifier(schema or PUBLIC)}.{DIALECT.quote_identifier(table)}"
        )
        rows = self._fetch_rows(COLUMNS.format(table=place))
        read = find_engine_table(
            self._connection, name, name, {row["name"]: row["name"] for row in rows}
        ).types
        columns = tuple(
            (row["name"], _find_kind(read[row["name"]], row["family"], row["type"])) for row in rows
        )
        return InventoryTable(source=name, columns=columns)

    def compute_pattern_shares(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        origin = find_engine_table(self._connection, source, source, {column: column for column in columns})
        statements = StatementTranslator(dialect=DIALECT, relations={INSPECTED_TABLE: origin.relation})

        def count(sql: str) -> Exact[pa.Table]:
            statement = statements(sql)
            return run_guarded(lambda: Exact(run_select(self._connection, statement.text, statement)))

        return compute_pattern_shares(count, INSPECTED_TABLE, columns, patterns)

    def close(self) -> None:
        self._connection.close()

    def _fetch_rows(self, text: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = run_guarded(lambda: fetch_table(self._connection, text)).to_pylist()
        return rows


def _format_table_name(schema: str, table: str) -> str:
    return table if schema == PUBLIC else f"{schema}.{table}"


def _find_kind(read: str, family: str, own: str) -> ColumnType | None:
    """Return a column's kind, from the type that it is read as, its type category and its own type.

    >>> _find_kind("BIGINT", "N", "integer"), _find_kind("VARCHAR", "U", "jsonb")
    (<ColumnType.INTEGER: 'integer'>, None)
    >>> _find_kind("VARCHAR", "E", "mood")
    <ColumnType.CATEGORY: 'category'>
    """
    if read != "VARCHAR":
        return find_kind(read)
    if family == ENUMS:
        return ColumnType.CATEGORY
    return ColumnType.TEXT if family in TEXTS or own in TEXTS_OF_NO_FAMILY else None
