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

from discreet.core.closing import Closing
from discreet.core.policy import Kind
from discreet.core.values import Exact
from discreet.engines import postgres
from discreet.engines.dialects.checking import Statements
from discreet.engines.faults import guarded
from discreet.engines.inventory import LOOKED_AT, SECONDS, Held, meant
from discreet.engines.patterns import matching_by
from discreet.engines.postgres_tables import DIALECT
from discreet.engines.schema import kind_of

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


class PostgreSQLInventory(Closing):
    """An `Inventory` of a server."""

    engine = "PostgreSQL"

    def __init__(self, address: str) -> None:
        self._connection = postgres.connected(address)
        try:
            for setting in (postgres.READ_ONLY, f"SET statement_timeout = {1000 * SECONDS:.0f}"):
                guarded(lambda setting=setting: postgres.run(self._connection, setting))  # type: ignore[misc]
            rows = self._fetched(TABLES)
        except BaseException:
            self.close()
            raise
        self._parts = {_name(row["schema"], row["name"]): bool(row["part"]) for row in rows}

    def names(self) -> list[str]:
        return [name for name, part in self._parts.items() if not part]

    def held(self, word: str) -> Held | None:
        name = meant(word.removeprefix(f"{PUBLIC}."), self._parts)
        if name is None:
            return None
        schema, _, table = name.rpartition(".")
        place = DIALECT.literal(f"{DIALECT.quoted(schema or PUBLIC)}.{DIALECT.quoted(table)}")
        rows = self._fetched(COLUMNS.format(table=place))
        read = postgres.origin(self._connection, name, name, [row["name"] for row in rows]).types
        columns = tuple((row["name"], _kind(read[row["name"]], row["family"], row["type"])) for row in rows)
        return Held(source=name, columns=columns)

    def matching(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        origin = postgres.origin(self._connection, source, source, list(columns))
        statements = Statements(dialect=DIALECT, relations={LOOKED_AT: origin.relation})

        def count(sql: str) -> Exact[pa.Table]:
            statement = statements(sql)
            return guarded(lambda: Exact(postgres.selected(self._connection, statement.text, statement)))

        return matching_by(count, LOOKED_AT, columns, patterns)

    def close(self) -> None:
        self._connection.close()

    def _fetched(self, text: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = guarded(lambda: postgres.fetched(self._connection, text)).to_pylist()
        return rows


def _name(schema: str, table: str) -> str:
    return table if schema == PUBLIC else f"{schema}.{table}"


def _kind(read: str, family: str, own: str) -> Kind | None:
    """Return a column's kind, from the type that it is read as, its type category and its own type.

    >>> _kind("BIGINT", "N", "integer"), _kind("VARCHAR", "U", "jsonb"), _kind("VARCHAR", "E", "mood")
    (<Kind.INTEGER: 'integer'>, None, <Kind.CATEGORY: 'category'>)
    """
    if read != "VARCHAR":
        return kind_of(read)
    if family == ENUMS:
        return Kind.CATEGORY
    return Kind.TEXT if family in TEXTS or own in TEXTS_OF_NO_FAMILY else None
