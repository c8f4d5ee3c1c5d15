"""Trust in the schema of a ledger: its owner, and the roles that may change it.

Trusted     our own role, superusers, the owner of the database, and a role that owns the schema and that our
            role belongs to. They can change a ledger in any case.
Schema      must belong to one of them, and nobody else may create objects in it: a function or operator of
            another role there could be a better match for our calls than the built-in one. For the same
            reason it holds no function or operator of anybody else.
Tables      ours belong to one of them, nobody else may do more than read them, and no trigger on them runs
            another role's function. Those that hold keys, hashes of passwords and tokens nobody else may
            read. What default privileges grant of a new table is taken back.

The queries are run while the search path is still that of `core.postgres_address`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.accounting.ledger_storage import make_ledger_error
from discreet.core.postgres_address import OTHERS_OF_TABLE, TRUSTED_ROLES

Fetch = Callable[[str, Sequence[Any]], Sequence[Any]]
KEY_TABLES = ("secret", "store_key", "token", "user")
"""Tables with which a reader could sign sessions, tell people of a store apart, or guess passwords."""
HARMLESS = f"""a.privilege_type = 'SELECT' AND c.relname NOT IN ({", ".join(map(repr, KEY_TABLES))})"""
TRUSTED = f"""WITH trusted AS (
  {TRUSTED_ROLES}
), schema AS (
  SELECT n.oid, n.nspowner, n.nspacl, n.nspowner IN (SELECT oid FROM trusted) OR (
    NOT (SELECT m.rolsuper FROM pg_catalog.pg_roles m WHERE m.rolname = current_user)
    AND pg_catalog.pg_has_role(n.nspowner, 'USAGE')
  ) AS ours
  FROM pg_catalog.pg_namespace n WHERE n.nspname = CAST(%s AS name)
), known AS (SELECT oid FROM trusted UNION ALL SELECT nspowner FROM schema WHERE ours)
"""
SCHEMA = f"""{TRUSTED} SELECT s.ours, EXISTS (
    SELECT 1 FROM pg_catalog.aclexplode(coalesce(s.nspacl, pg_catalog.acldefault('n', s.nspowner))) a
    WHERE a.privilege_type = 'CREATE' AND a.grantee NOT IN (SELECT oid FROM known)
  ), EXISTS (
    SELECT 1 FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = s.oid AND p.proowner NOT IN (SELECT oid FROM known)
  ) OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_operator o
    WHERE o.oprnamespace = s.oid AND o.oprowner NOT IN (SELECT oid FROM known)
  ) FROM schema s"""
TABLES = f"""{TRUSTED} SELECT CAST(c.relname AS text), c.relowner IN (SELECT oid FROM known), EXISTS (
    SELECT 1 FROM pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))) a
    WHERE NOT ({HARMLESS}) AND a.grantee NOT IN (SELECT oid FROM known)
  ) OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_attribute f CROSS JOIN LATERAL pg_catalog.aclexplode(f.attacl) a
    WHERE f.attrelid = c.oid AND NOT ({HARMLESS}) AND a.grantee NOT IN (SELECT oid FROM known)
  ) OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
    WHERE t.tgrelid = c.oid AND p.proowner NOT IN (SELECT oid FROM known)
  ) FROM pg_catalog.pg_class c JOIN schema s ON s.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND CAST(c.relname AS text) = ANY (CAST(%s AS text[]))
  ORDER BY 1"""
ELSEWHERE = """SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_roles r ON r.oid = c.relowner AND r.rolname = current_user
  WHERE c.relkind IN ('r', 'p') AND n.nspname <> CAST(%s AS name)
    AND CAST(c.relname AS text) = ANY (CAST(%s AS text[]))
  GROUP BY 1 HAVING count(*) = CAST(%s AS bigint) ORDER BY 1 LIMIT 1"""
OWN = "?options=-csearch_path%3DNAME"
"""The part of an address that names the schema of a ledger."""


def require_own_schema(fetch: Fetch, place: str, schema: str) -> None:
    """Raise an error for a schema that does not exist, or that other roles may change."""
    found = fetch(SCHEMA, [schema])
    if not found:
        raise make_ledger_error(
            place,
            f"names the schema {schema}, which does not exist",
            f"Run CREATE SCHEMA {schema} as the ledger's role, or correct {OWN}.",
        )
    ((ours, others_create, others_functions),) = found
    if not ours:
        raise _make_untrusted_error(place, f"its schema {schema} belongs to another role")
    if others_create:
        raise _make_untrusted_error(place, f"others may create objects in its schema {schema}")
    if others_functions:
        raise _make_untrusted_error(place, f"its schema {schema} holds functions of another role")


def require_own_tables(fetch: Fetch, place: str, schema: str, tables: Sequence[str]) -> frozenset[str]:
    """Return those of our tables that exist; raise an error where other roles may change them."""
    found = fetch(TABLES, [schema, list(tables)])
    for table, ours, others_write in found:
        if not ours:
            raise _make_untrusted_error(place, f"its table {table} belongs to another role")
        if others_write:
            does = "read or write" if table in KEY_TABLES else "write"
            raise _make_untrusted_error(
                place, f"others may {does} its table {table}, or have set a trigger on it"
            )
    return frozenset(table for table, _, _ in found)


def revoke_defaults(fetch: Fetch, run: Callable[[str], object], tables: Sequence[str]) -> None:
    """Take back what default privileges grant of tables that were just made in the current schema."""
    for table in tables:
        # the name is looked up in the schema of the ledger, which is the first of the path
        for (role,) in fetch(OTHERS_OF_TABLE.format(table="CAST(%s AS text)"), [f'"{table}"']):
            run(f'REVOKE ALL ON TABLE "{table}" FROM {role}'.replace("%", "%%"))


def require_no_other_ledger(fetch: Fetch, place: str, schema: str, tables: Sequence[str]) -> None:
    """Raise an error for a new ledger in the default schema if our role has one in another schema."""
    found = fetch(ELSEWHERE, [schema, list(tables), len(tables)])
    if found:
        name = found[0][0]
        raise make_ledger_error(
            place,
            f"names no schema, and the schema {name} has a ledger",
            f"Name it in the address: {OWN.replace('NAME', name)}; a new one in {schema} takes "
            f"{OWN.replace('NAME', schema)}.",
        )


def _make_untrusted_error(place: str, what: str) -> Exception:
    return make_ledger_error(
        place,
        f"cannot be trusted: {what}",
        f"Keep it in a schema that its role owns and in which nobody else has rights: {OWN}. "
        "Revoke what was granted to others, such as by REVOKE CREATE ON SCHEMA public FROM PUBLIC.",
    )
