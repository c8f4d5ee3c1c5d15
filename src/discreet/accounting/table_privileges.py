"""Privileges in a ledger's PostgreSQL schema: nobody but trusted roles may change what is in it.

Schema      must belong to a trusted role, and nobody else may create objects in it: a function or
            operator of another role there could be a better match for our calls than the built-in one. For
            the same reason it holds no function or operator of anybody else.
Trusted     our own role, superusers and whoever may become one, the owner of the database, and a role that
            owns the schema and that our role belongs to. They can change a ledger in any case. The address
            names others whom the custodian trusts, such as the role of a backup: trusted_roles=backup.
Tables      ours belong to a trusted role, nobody else may do more than read them, and no trigger on them runs
            another role's function. Those that hold keys, hashes of passwords and tokens nobody else may
            read. What default privileges grant of a new table is taken back.
Ways        to a privilege all count: a grant to a role or to PUBLIC, of a table or of a column, membership in
            a group that has it, predefined roles (pg_read_all_data, pg_write_all_data), which stand in no
            grant, and a role that a session can become by SET ROLE, our own among them. The server says who
            has a privilege in the end; predefined roles themselves, which nobody can log in as, do not count.
            What is granted while a ledger is open is found when it is opened again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.accounting.ledger_storage import make_ledger_error
from discreet.core.postgres_address import BECOME, OTHERS_OF_TABLE, TRUST, TRUSTED_ROLES

Fetch = Callable[[str, Sequence[Any]], Sequence[Any]]

FIRST_OWN_ROLE = 16384
"""The least oid of a role that the server did not bring along."""
CHANGES, COLUMN_CHANGES = (
    "INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER",
    "INSERT, UPDATE, REFERENCES",
)
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
), known AS (
  SELECT oid FROM trusted UNION ALL SELECT nspowner FROM schema WHERE ours UNION ALL
  SELECT r.oid FROM pg_catalog.pg_roles r WHERE CAST(r.rolname AS text) = ANY (CAST(%s AS text[]))
), other AS MATERIALIZED (
  SELECT r.oid, pg_catalog.quote_ident(CAST(r.rolname AS text)) AS name FROM pg_catalog.pg_roles r
  WHERE CAST(r.oid AS bigint) >= CAST({FIRST_OWN_ROLE} AS bigint) AND r.oid NOT IN (SELECT oid FROM known)
    AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles u
      WHERE u.rolsuper AND pg_catalog.pg_has_role(r.oid, u.oid, {BECOME}))
)
"""
HOLDER = f"""SELECT o.name, (SELECT min(pg_catalog.quote_ident(CAST(g.rolname AS text)))
    FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
    WHERE m.member = o.oid AND m.roleid IN (SELECT oid FROM holder)) AS group_name
  FROM other o WHERE EXISTS (
    SELECT 1 FROM holder h WHERE h.oid = o.oid OR pg_catalog.pg_has_role(o.oid, h.oid, {BECOME})
  ) ORDER BY 1 LIMIT 1"""
"""The first role beside the trusted ones that has what each `holder` has, and the group that it has it by."""
CREATORS = f"""{TRUSTED}, holder AS MATERIALIZED (
  SELECT r.oid FROM pg_catalog.pg_roles r CROSS JOIN schema s
  WHERE NOT r.rolsuper AND pg_catalog.has_schema_privilege(r.oid, s.oid, CAST('CREATE' AS text))
) {HOLDER}"""
USERS = f"""{TRUSTED}, holder AS MATERIALIZED (
  SELECT r.oid FROM pg_catalog.pg_roles r CROSS JOIN pg_catalog.pg_class c
  JOIN schema s ON s.oid = c.relnamespace
  WHERE NOT r.rolsuper AND CAST(c.relname AS text) = CAST(%s AS text) AND (
    pg_catalog.has_table_privilege(r.oid, c.oid, CAST(%s AS text))
    OR pg_catalog.has_any_column_privilege(r.oid, c.oid, CAST(%s AS text)))
) {HOLDER}"""
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


def require_own_schema(fetch: Fetch, place: str, schema: str, trusted: Sequence[str] = ()) -> None:
    """Raise an error for a schema that does not exist, or that other roles may change."""
    found = fetch(SCHEMA, [schema, list(trusted)])
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
    for role, group in fetch(CREATORS, [schema, list(trusted)]):
        raise _make_privilege_error(
            place,
            f"others may create objects in its schema {schema}",
            f"CREATE ON SCHEMA {schema}",
            role,
            group,
        )
    if others_functions:
        raise _make_untrusted_error(place, f"its schema {schema} holds functions of another role")


def require_own_tables(
    fetch: Fetch, place: str, schema: str, tables: Sequence[str], trusted: Sequence[str] = ()
) -> frozenset[str]:
    """Return those of our tables that exist; raise an error where other roles may change them."""
    found = fetch(TABLES, [schema, list(trusted), list(tables)])
    for table, ours, others_write in found:
        if not ours:
            raise _make_untrusted_error(place, f"its table {table} belongs to another role")
        does, reads = ("read or write", "SELECT, ") if table in KEY_TABLES else ("write", "")
        wanted = [table, reads + CHANGES, reads + COLUMN_CHANGES]
        for role, group in fetch(USERS, [schema, list(trusted), *wanted]):
            raise _make_privilege_error(
                place, f"others may {does} its table {table}", f'ALL ON {schema}."{table}"', role, group
            )
        if others_write:
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


def _make_privilege_error(place: str, what: str, right: str, role: str, group: str | None) -> Exception:
    through, revoked = (f", as a member of {group}", group) if group else ("", right)
    return make_ledger_error(
        place,
        f"cannot be trusted: {what}: the role {role} may{through}",
        f"Run REVOKE {revoked} FROM {role}, and look at what PUBLIC may do. If you trust that role with "
        f"the keys and the charges, as you may that of a backup, name it in the address: {TRUST}={role}.",
    )


def _make_untrusted_error(place: str, what: str) -> Exception:
    return make_ledger_error(
        place,
        f"cannot be trusted: {what}",
        f"Keep it in a schema that its role owns and in which nobody else has rights: {OWN}. "
        "Revoke what was granted to others, such as by REVOKE CREATE ON SCHEMA public FROM PUBLIC.",
    )
