"""PostgreSQL tables: their qualified names and trusted owners, and the SQL that reads their columns.

Types without a counterpart in DuckDB are read as text. A type that is not built in is written by its output
function: its owner may have created a cast to text, which would run with our rights. Whether a column has few
distinct values is taken from the planner's statistics: only the time of an answer depends on it.

A source that would run another role's code with our rights is refused. A view is read with its owner's
rights, but the functions that it calls run with the reader's, and so do the policies of a table with row
security. So the owner of such a source could make our role read any table that it may read, and pass the
rows on.

Relations   views and tables with row security are read only where they belong to a trusted role
            (`core.postgres_address`), through all views that a view is made of and all tables that inherit
            from one.
Functions   of another role are refused wherever they are part of what is read: in a view or a policy, and in
            an expression of an index, of extended statistics or of a partition key. The planner computes
            such an expression in advance if its arguments are constants, in the reader's session. It does so
            for check constraints too, unless constraint_exclusion is off, as it is in our sessions. Operators
            and the checks of domains are functions in this sense.

Materialized views are read like tables. Row security that is enabled on a table later raises an error
(row_security = off) and runs no code. The owner of a source can still replace it by a view, or add an index,
while we are connected; the threat model says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.postgres_address import GRANTED, TRUSTED_ROLES
from discreet.engines import policy_tables
from discreet.engines.dialects import sql_marks
from discreet.engines.dialects.postgres_dialect import PostgresDialect
from discreet.engines.identifier_types import IdentifierType
from discreet.engines.policy_tables import EngineTable
from discreet.engines.postgres_connection import (
    ENABLE_ROW_SECURITY,
    execute_statement,
    fetch_rows,
    fetch_table,
)

DIALECT = PostgresDialect()
TYPES = {
    "boolean": ("{0}", "BOOLEAN"),
    "smallint": ("CAST({0} AS bigint)", "BIGINT"),
    "integer": ("CAST({0} AS bigint)", "BIGINT"),
    "bigint": ("{0}", "BIGINT"),
    "numeric": ("trim_scale({0})", "DECIMAL(38,9)"),  # 1.5 and 1.50 are one number
    "real": ("CAST({0} AS double precision)", "DOUBLE"),
    "double precision": ("{0}", "DOUBLE"),
    "date": ("{0}", "DATE"),
    "timestamp without time zone": ("{0}", "TIMESTAMP"),
    "timestamp with time zone": ("{0}", "TIMESTAMP WITH TIME ZONE"),
}
DECLARED_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
MAX_FEW_VALUES = 100_000
TEXT_FORM = ('(CAST({0} AS text) COLLATE "C")', "VARCHAR")
OUTPUT = '(CASE WHEN num_nulls({0}) = 0 THEN concat({0}) END COLLATE "C")'
"""The text of a value as its output function writes it; concat calls no cast, and makes no text of NULL."""
EXACT_TYPES = frozenset(
    {
        *TYPES,
        "text",
        "character varying",
        "character",
        '"char"',
        "name",
        "time without time zone",
        "time with time zone",
        "uuid",
        "bytea",
        "oid",
        "inet",
        "cidr",
        "macaddr",
        "macaddr8",
        "bit",
        "bit varying",
    }
)
"""Types in which equal values have equal text, if their collation is deterministic; enums are exact too."""
COLUMNS = """SELECT CAST(a.attname AS text) AS name,
  pg_catalog.format_type(b.oid, NULL) AS type, pg_catalog.format_type(b.oid, b.typmod) AS declared,
  b.typtype = 'e' AS enum, b.typnamespace = CAST('pg_catalog' AS regnamespace) AS builtin,
  coalesce((SELECT NOT o.collisdeterministic FROM pg_catalog.pg_collation o
    WHERE o.oid = a.attcollation), false) AS folds,
  coalesce((SELECT bool_and(s.n_distinct > 0 AND s.n_distinct <= {few}) FROM pg_catalog.pg_stats s
    WHERE s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname), false) AS few
FROM pg_catalog.pg_attribute a
CROSS JOIN LATERAL (
  WITH RECURSIVE base AS (
    SELECT t.oid, t.typtype, t.typnamespace, t.typbasetype, t.typtypmod, a.atttypmod AS typmod
    FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
    UNION ALL
    SELECT t.oid, t.typtype, t.typnamespace, t.typbasetype, t.typtypmod, d.typtypmod
    FROM base d JOIN pg_catalog.pg_type t ON d.typtype = 'd' AND t.oid = d.typbasetype
  ) SELECT * FROM base WHERE typtype <> 'd'
) AS b
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attrelid = pg_catalog.to_regclass({table}) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""
REACHED = """WITH RECURSIVE reached AS (
  SELECT c.oid FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass({table})
  UNION
  SELECT o.oid FROM reached e CROSS JOIN LATERAL (
    SELECT d.refobjid AS oid FROM pg_catalog.pg_class v
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = v.oid
    JOIN pg_catalog.pg_depend d ON d.objid = w.oid
      AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
      AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
    WHERE v.oid = e.oid AND v.relkind = 'v'
    UNION ALL
    SELECT h.inhrelid FROM pg_catalog.pg_inherits h WHERE h.inhparent = e.oid
  ) AS o
)"""
RELATIONS = f"""{REACHED} SELECT CAST(n.nspname AS text) AS schema, CAST(c.relname AS text) AS name,
  c.relkind = 'v' AS view, c.relkind = 'v' OR c.relrowsecurity AS runs, c.relrowsecurity AS secured,
  CAST(pg_catalog.pg_get_userbyid(c.relowner) AS text) AS owner, c.relowner IN ({TRUSTED_ROLES}) AS trusted
FROM reached e JOIN pg_catalog.pg_class c ON c.oid = e.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY 1, 2"""
# of a materialized view the rule is run by who refreshes it, and a column's domain by who writes
FUNCTIONS = f"""{REACHED}, part AS (
  SELECT e.oid AS relation, CAST('pg_catalog.pg_class' AS regclass) AS class, e.oid AS object,
    false AS computed FROM reached e
  UNION ALL SELECT e.oid, CAST('pg_catalog.pg_class' AS regclass), i.indexrelid, true
    FROM reached e JOIN pg_catalog.pg_index i ON i.indrelid = e.oid
  UNION ALL SELECT e.oid, CAST('pg_catalog.pg_statistic_ext' AS regclass), s.oid, true
    FROM reached e JOIN pg_catalog.pg_statistic_ext s ON s.stxrelid = e.oid
  UNION ALL SELECT e.oid, CAST('pg_catalog.pg_policy' AS regclass), p.oid, true
    FROM reached e JOIN pg_catalog.pg_policy p ON p.polrelid = e.oid
  UNION ALL SELECT e.oid, CAST('pg_catalog.pg_rewrite' AS regclass), w.oid, true
    FROM reached e JOIN pg_catalog.pg_class c ON c.oid = e.oid AND c.relkind = 'v'
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = e.oid
), used AS (
  SELECT p.relation, p.computed, d.refclassid, d.refobjid FROM part p
  JOIN pg_catalog.pg_depend d ON d.classid = p.class AND d.objid = p.object
), called AS (
  SELECT u.relation, f.proname AS name, f.proowner AS owner FROM used u
    JOIN pg_catalog.pg_proc f ON u.refclassid = CAST('pg_catalog.pg_proc' AS regclass) AND f.oid = u.refobjid
  UNION ALL SELECT u.relation, f.proname, f.proowner FROM used u
    JOIN pg_catalog.pg_operator o
      ON u.refclassid = CAST('pg_catalog.pg_operator' AS regclass) AND o.oid = u.refobjid
    JOIN pg_catalog.pg_proc f ON f.oid = o.oprcode
  UNION ALL SELECT u.relation, t.typname, t.typowner FROM used u
    JOIN pg_catalog.pg_type t ON u.refclassid = CAST('pg_catalog.pg_type' AS regclass) AND t.oid = u.refobjid
    WHERE u.computed AND t.typtype = 'd'
) SELECT CAST(n.nspname AS text) AS schema, CAST(c.relname AS text) AS name,
  CAST(x.name AS text) AS function, CAST(pg_catalog.pg_get_userbyid(x.owner) AS text) AS owner
FROM called x JOIN pg_catalog.pg_class c ON c.oid = x.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE x.owner NOT IN ({TRUSTED_ROLES}) ORDER BY 1, 2, 3 LIMIT 1"""
HINT = "Name a plain table or a materialized view, or have the database's owner or the address's role own it."


@dataclass(frozen=True, kw_only=True)
class PostgresTable:
    """A table or view; `column_types` holds each column's type without and with its modifiers.

    `has_row_security` is set if policies of trusted roles decide which rows are visible.
    `low_cardinality_columns` have few distinct values according to the planner; in `exact_columns` equal
    values have equal text, `builtin` those of the server's own types.
    """

    name: str
    source: str
    qualified_name: tuple[str, ...]
    column_types: Mapping[str, tuple[str, str]]
    low_cardinality_columns: frozenset[str] = frozenset()
    exact_columns: frozenset[str] = frozenset()
    builtin: frozenset[str] = frozenset()
    has_row_security: bool = False

    def has_few_values(self, column: str) -> bool:
        """Return whether a column has few distinct values, so that there are few groups of it."""
        return self._find_own_column(column) in self.low_cardinality_columns

    def to_engine_table(
        self,
        declared: Mapping[str, str] | None = None,
        deferred: frozenset[str] = frozenset(),
        lists: Collection[str] = (),
    ) -> EngineTable:
        """Return the SQL that reads the declared columns, or all; NaN remains in the deferred ones.

        Arrays are read as text, except for the columns whose lower-case names are in `lists`.
        """
        kept = {self._find_own_column((declared or {}).get(column, column)) for column in deferred}
        forms = {
            column: _make_list_form(kind[0], builtin=column in self.builtin)
            if column.lower() in lists and kind[0].endswith(policy_tables.LIST)
            else _make_read_form(*kind, is_deferred=column in kept)
            if column in self.builtin
            else (OUTPUT, "VARCHAR")
            for column, kind in self.column_types.items()
        }
        identities = {
            column: IdentifierType(type=declared_type, is_exact=column in self.exact_columns)
            for column, (_, declared_type) in self.column_types.items()
        }
        read = policy_tables.select_declared_columns(
            self.name, self.source, forms, declared, DIALECT, identities
        )
        text = f"(SELECT {read.text} FROM {mark_qualified_name(self.qualified_name)})"
        return EngineTable(
            text=text,
            table=".".join(self.qualified_name),
            types=read.types,
            identifier_types=read.identifier_types,
        )

    def _find_own_column(self, column: str) -> str | None:
        """Return the table's own spelling of a declared column, or None."""
        lower = {own.lower(): own for own in self.column_types}
        return column if column in self.column_types else lower.get(column.lower())


def find_postgres_table(fetch: Callable[[str], pa.Table], name: str, source: str) -> PostgresTable:
    """Return the source of a policy's table, as described in the server's catalog."""
    parts = tuple(source.split("."))
    places = [parts, tuple(part.lower() for part in parts)]
    if len(parts) == 1:
        places = [("public", *place) for place in places]
    for place in dict.fromkeys(places):
        table = DIALECT.quote_literal(".".join(map(DIALECT.quote_identifier, place)))
        rows = fetch(COLUMNS.format(table=table, few=MAX_FEW_VALUES)).to_pylist()
        if rows:
            types = {row["name"]: (row["type"], row["declared"]) for row in rows}
            few = frozenset(row["name"] for row in rows if row["few"])
            exact = frozenset(
                row["name"]
                for row in rows
                if (row["type"] in EXACT_TYPES or row["enum"]) and not row["folds"]
            )
            builtin = frozenset(row["name"] for row in rows if row["builtin"])
            return PostgresTable(
                name=name,
                source=source,
                qualified_name=place,
                column_types=types,
                low_cardinality_columns=few,
                exact_columns=exact,
                builtin=builtin,
                has_row_security=require_trusted_owners(fetch, name, table),
            )
    raise RequestError(
        f"PostgreSQL: the source of table {name} is {source}, and there is no such table.",
        hint="Name a table or view, with its schema where that is not public.",
    )


def mark_qualified_name(qualified_name: tuple[str, ...]) -> str:
    """Return a qualified table name with marks (`dialects.sql_marks`)."""
    return ".".join(sql_marks.mark_name(part, DIALECT) for part in qualified_name)


def _make_list_form(kind: str, *, builtin: bool) -> tuple[str, str]:
    """Return the read form of a list; numeric items become text, as 1.0 and 1.00 are equal but differ."""
    if not builtin:  # what an array's output function writes, texts' own input function reads
        return f"CAST({OUTPUT} AS text[])", f"VARCHAR{policy_tables.LIST}"
    element = kind.removesuffix(policy_tables.LIST)
    form = TEXT_FORM if element == "numeric" else _make_read_form(element, element, is_deferred=False)
    return policy_tables.make_list_form(form, DIALECT)


def _make_read_form(kind: str, declared: str, *, is_deferred: bool) -> tuple[str, str]:
    """Return a column's read form; NaN, the only non-finite value of a declared precision, becomes NULL."""
    narrow = DECLARED_NUMERIC.fullmatch(declared)
    if narrow is None:
        return TYPES.get(kind, TEXT_FORM)
    form = "{0}" if is_deferred else "nullif({0}, CAST('NaN' AS numeric))"
    return form, f"DECIMAL({narrow[1]},{narrow[2]})"


def find_engine_table(
    connection: Any,
    name: str,
    source: str,
    declared: Mapping[str, str] | None = None,
    lists: Collection[str] = (),
) -> EngineTable:
    """Return a table or view with the SQL that reads its declared columns, or all if none are declared.

    `declared` has the name of each column in the table. Arrays are read as text, except for those in `lists`.
    """
    return find_source_table(connection, name, source).to_engine_table(declared, lists=lists)


def find_source_table(connection: Any, name: str, source: str) -> PostgresTable:
    found = find_postgres_table(lambda text: run_guarded(lambda: fetch_table(connection, text)), name, source)
    if found.has_row_security:
        run_guarded(lambda: execute_statement(connection, ENABLE_ROW_SECURITY))
    return found


def require_trusted_owners(fetch: Callable[[str], pa.Table], name: str, table: str) -> bool:
    """Refuse a source that runs an untrusted role's code; return whether row security applies to it.

    `table` is the source's name as an SQL literal.
    """
    relations = fetch(RELATIONS.format(table=table)).to_pylist()
    for row in relations:
        if row["runs"] and not row["trusted"]:
            what = f"{'view' if row['view'] else 'table'} {row['schema']}.{row['name']}"
            secured = "" if row["view"] else " with row security"
            raise RequestError(
                f"PostgreSQL: table {name} is read from the {what}{secured}, which belongs to the role "
                f"{row['owner']}, whose functions would run with the rights of the address's role.",
                hint=HINT,
            )
    for row in fetch(FUNCTIONS.format(table=table)).to_pylist():
        raise RequestError(
            f"PostgreSQL: table {name} is read from {row['schema']}.{row['name']}, of which "
            f"{row['function']} is a part, a function, operator or domain of the role {row['owner']}, which "
            "would run with the rights of the address's role.",
            hint=HINT,
        )
    return any(row["secured"] for row in relations)


def require_own_table(fetch: Callable[[str], pa.Table], name: str, table: str) -> None:
    """Refuse a prepared table that belongs to an untrusted role: its rows would be whatever that role likes.

    One that was granted to such a role, or a column of it, is refused as well. Members of the address's own
    role, and of pg_read_all_data and pg_write_all_data, have the same rights on the sources in the same
    database, which the store copies: it gives them nothing that they do not have.

    `table` is the prepared table's name as an SQL literal.
    """
    require_trusted_owners(fetch, name, table)
    for row in fetch(RELATIONS.format(table=table)).to_pylist():
        if not row["trusted"]:
            raise RequestError(
                f"PostgreSQL: the prepared copy of table {name} belongs to the role {row['owner']}.",
                hint="Drop it, and let the address's role alone create tables in the store's schema.",
            )
    for row in fetch(GRANTED.format(table=table)).to_pylist():
        raise RequestError(
            f"PostgreSQL: the prepared copy of table {name} may be used by the role {row['role']}.",
            hint=f"Run REVOKE ALL ON TABLE … FROM {row['role']} on the tables of the store's schema.",
        )


def require_store_privilege(connection: Any, schema: str, privilege: str) -> None:
    """Refuse a schema that does not exist, or in which the connected user lacks the privilege."""
    text = (
        f"SELECT pg_catalog.has_schema_privilege(oid, CAST('{privilege}' AS text)) AS may "
        f"FROM pg_catalog.pg_namespace WHERE nspname = {DIALECT.quote_literal(schema)}"
    )
    may = run_guarded(lambda: fetch_rows(connection, text))
    if may == [(True,)]:
        return
    wrong = "may not be written by the address's user" if may else "is not a schema of the database"
    raise RequestError(
        f"PostgreSQL: {schema}, which the policy names as its store, {wrong}.",
        hint=f"Have its owner {'grant USAGE and CREATE on it' if may else 'create it'}, or remove store.",
    )
