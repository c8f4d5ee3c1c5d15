"""Prepared tables in a schema of a PostgreSQL server.

Version     a digest of the policy's tables, their data version and the key, which is part of the tables'
            names; each table is written once, by one session at a time.
Locks       a session holds a shared advisory lock on the version that it uses, which the server releases when
            the session ends. A version that no session has locked is dropped by the next session.
Rights      of a new table are taken back from everyone: default privileges may grant it to some. A table that
            was granted to somebody since is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

from discreet.core.engine_faults import run_guarded
from discreet.core.policy import Policy
from discreet.core.postgres_address import OTHERS_OF_TABLE
from discreet.engines import policy_tables
from discreet.engines.dialects.statement_writer import SqlRelation
from discreet.engines.policy_tables import PolicyTables
from discreet.engines.postgres_connection import fetch_table
from discreet.engines.postgres_tables import (
    DIALECT,
    mark_qualified_name,
    require_own_table,
    require_store_privilege,
)

STORE_TABLE_NAME = re.compile(r"discreet_[0-9a-f]{16}_.+", re.DOTALL)


def prepare_store_tables(connection: Any, policy: Policy, tables: PolicyTables, key: bytes) -> PolicyTables:
    """Write the tables once to the schema that the policy names, and drop the stores that nobody uses."""
    schema = policy.store or ""
    version = policy_tables.compute_store_version(policy, tables, key)
    require_store_privilege(connection, schema, "USAGE")
    run_guarded(lambda: lock_store_tables(lambda text: fetch_table(connection, text), schema, version))
    found = {}
    for name, relation in tables.relations.items():
        (called,) = relation.tables
        text = tables.definitions[called].text
        place = (schema, DIALECT.shorten_identifier(f"discreet_{version}_{name}"))
        run_guarded(lambda place=place, text=text: _create_store_table(connection, place, text))  # type: ignore[misc]
        # the owner of the schema could have created a view of that name
        quoted = DIALECT.quote_literal(".".join(map(DIALECT.quote_identifier, place)))
        require_own_table(lambda sql: run_guarded(lambda: fetch_table(connection, sql)), name, quoted)
        found[name] = SqlRelation(
            text=mark_qualified_name(place),
            columns=relation.columns,
            tables=frozenset({".".join(place)}),
        )
    run_guarded(lambda: _drop_unused_stores(connection, schema, version))
    return PolicyTables(relations=found, definitions={})


def _create_store_table(connection: Any, place: tuple[str, str], text: str) -> None:
    name = ".".join(map(DIALECT.quote_identifier, place))
    with closing(connection.cursor()) as cursor:
        # another session may be preparing the same table: wait for it, however long
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(CAST(1684632423 AS bigint))")
        cursor.fetchall()
        cursor.execute(f"SELECT pg_catalog.to_regclass({DIALECT.quote_literal(name)}) IS NULL")
        ((missing,),) = cursor.fetchall()
        if missing:
            require_store_privilege(connection, place[0], "CREATE")
            cursor.execute(f"CREATE TABLE {name} AS {text}")
            _revoke_defaults(cursor, name)
            cursor.execute(f"ANALYZE {name}")
    connection.commit()


def _revoke_defaults(cursor: Any, name: str) -> None:
    """Take back what default privileges grant of a new table: these are people's rows."""
    cursor.execute(OTHERS_OF_TABLE.format(table=DIALECT.quote_literal(name)))
    for (role,) in cursor.fetchall():
        cursor.execute(f"REVOKE ALL ON TABLE {name} FROM {role}")


def _drop_unused_stores(connection: Any, schema: str, version: str) -> None:
    """Drop the stores of other versions that no session has locked."""
    text = (
        "SELECT tablename FROM pg_catalog.pg_tables WHERE tableowner = current_user "
        f"AND schemaname = {DIALECT.quote_literal(schema)} AND tablename LIKE "
        "'discreet\\_________________\\_%'"
    )
    stores: dict[str, list[str]] = {}
    for name in fetch_table(connection, text)["tablename"].to_pylist():
        if STORE_TABLE_NAME.fullmatch(name):
            stores.setdefault(name.split("_")[1], []).append(name)
    for other, names in stores.items():
        if other != version:
            _drop_store(connection, schema, other, names)


def _drop_store(connection: Any, schema: str, version: str, names: list[str]) -> None:
    """Drop all tables of a store in one transaction, in which it is locked exclusively."""
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(write_exclusive_lock_query(schema, version))
            ((free,),) = cursor.fetchall()
            for name in names if free else ():
                # another session may have dropped it since it was listed
                cursor.execute(
                    "DROP TABLE IF EXISTS "
                    f"{DIALECT.quote_identifier(schema)}.{DIALECT.quote_identifier(name)}"
                )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def lock_store_tables(fetch: Callable[[str], object], schema: str, version: str) -> None:
    """Take the session's shared lock on the store of a version; call it before looking for its tables."""
    fetch(f"SELECT pg_catalog.pg_advisory_lock_shared({_lock_number(schema, version)}) AS held")


def unlock_store_tables(fetch: Callable[[str], object]) -> None:
    """Release the session's lock now: a server notices only later that a session has ended."""
    fetch("SELECT pg_catalog.pg_advisory_unlock_all() AS released")


def write_exclusive_lock_query(schema: str, version: str) -> str:
    """Return the SELECT that tries to lock a version exclusively until its transaction ends."""
    return f"SELECT pg_catalog.pg_try_advisory_xact_lock({_lock_number(schema, version)}) AS free"


def _lock_number(schema: str, version: str) -> str:
    digest = hashlib.sha256(f"discreet store {schema}.{version}".encode()).digest()
    return f"CAST('{int.from_bytes(digest[:8], signed=True)}' AS bigint)"
