"""Trusted owners: refuse a PostgreSQL source that would run another role's code with our rights.

A view is read with its owner's rights, but the functions that it calls run with the reader's, and so do the
policies of a table with row security. So the owner of such a source could make our role read any table that
it may read, and pass the rows on. Views and tables with row security are therefore read only if they belong
to a trusted role (`core.postgres_address`), including all views that a view is built on. Plain tables and
materialized views run nothing.

Row security that is enabled on a table later raises an error (row_security = off) and runs no code. The owner
of a source can still replace it by a view while we are connected; the threat model says so.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from discreet.core.errors import RequestError
from discreet.core.postgres_address import TRUSTED_ROLES

SOURCES = f"""WITH RECURSIVE reached AS (
  SELECT c.oid FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass({{table}})
  UNION
  SELECT d.refobjid FROM reached e JOIN pg_catalog.pg_class v ON v.oid = e.oid AND v.relkind = 'v'
  JOIN pg_catalog.pg_rewrite w ON w.ev_class = e.oid
  JOIN pg_catalog.pg_depend d ON d.objid = w.oid
    AND d.classid = CAST('pg_catalog.pg_rewrite' AS regclass)
    AND d.refclassid = CAST('pg_catalog.pg_class' AS regclass)
) SELECT CAST(n.nspname AS text) AS schema, CAST(c.relname AS text) AS name, c.relkind = 'v' AS view,
  CAST(pg_catalog.pg_get_userbyid(c.relowner) AS text) AS owner, c.relowner IN ({TRUSTED_ROLES}) AS trusted
FROM reached e JOIN pg_catalog.pg_class c ON c.oid = e.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v' OR c.relrowsecurity ORDER BY 1, 2"""


def require_trusted_owners(fetch: Callable[[str], pa.Table], name: str, table: str) -> bool:
    """Refuse a source that runs an untrusted role's code; return whether row security applies to it.

    `table` is the source's name as an SQL literal.
    """
    found = fetch(SOURCES.format(table=table)).to_pylist()
    for row in found:
        if not row["trusted"]:
            what = f"{'view' if row['view'] else 'table'} {row['schema']}.{row['name']}"
            secured = "" if row["view"] else " with row security"
            raise RequestError(
                f"PostgreSQL: table {name} is read from the {what}{secured}, which belongs to the role "
                f"{row['owner']}, whose functions would run with the rights of the address's role.",
                hint="Name a plain table or a materialized view, or have the database's owner or the "
                "address's role own it.",
            )
    return any(not row["view"] for row in found)
