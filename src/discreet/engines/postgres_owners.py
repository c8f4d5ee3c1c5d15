"""Trusted owners: refuse a PostgreSQL source that would run another role's code with our rights.

A view is read with its owner's rights, but the functions that it calls run with the reader's, and so do the
policies of a table with row security. So the owner of such a source could make our role read any table that
it may read, and pass the rows on.

Relations   views and tables with row security are read only where they belong to a trusted role
            (`core.postgres_address`), through all views that a view is made of and all tables that inherit
            from one.
Functions   of another role are refused wherever they are part of what is read: in a view or a policy, and in
            an expression of an index, of extended statistics or of a partition key. The planner computes
            such an expression in advance if its arguments are constants, in the reader's session. It does so
            for check constraints too, unless constraint_exclusion is off, as it is in our sessions. Operators
            and the checks of domains are functions in this sense.
Casts       of a type to text are not called: see `postgres_tables`.

Materialized views are read like tables. Row security that is enabled on a table later raises an error
(row_security = off) and runs no code. The owner of a source can still replace it by a view, or add an index,
while we are connected; the threat model says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.postgres_address import TRUSTED_ROLES

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

    `table` is the prepared table's name as an SQL literal.
    """
    require_trusted_owners(fetch, name, table)
    for row in fetch(RELATIONS.format(table=table)).to_pylist():
        if not row["trusted"]:
            raise RequestError(
                f"PostgreSQL: what was prepared of table {name} belongs to the role {row['owner']}.",
                hint="Drop it, and let the address's role alone create tables in the store's schema.",
            )
