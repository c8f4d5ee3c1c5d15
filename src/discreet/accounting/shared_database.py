"""A PostgreSQL database that servers share, through SQLAlchemy: transactions, errors, liveness of processes.

Durable     Every writing transaction sets synchronous_commit on, whatever the server's default: committed
            data is on its disk, and on those of its synchronous standbys. A server with fsync off gives no
            durability.
Exclusive   A writer first locks the one row of a table (SELECT … FOR UPDATE), and reads after that: the data
            behind a decision cannot change before the decision is written, on any server.
Liveness    Every connection holds a shared advisory lock in the name of its process while it is open. All
            servers can therefore see whether the work of another may still be finished: a process that ends
            loses its connections, and so does, after a minute, one whose machine is gone. A live process that
            lost them counts as gone, too: its work may be repeated and charged again, never less.
Fork        Connections must not cross a fork: a child process opens the database itself.
Schema      the one that the address names, else public. Every connection checks it before it resolves names
            there; until then it resolves names only in the server's own catalog (`core.postgres_address`).
            It must belong to a trusted role, and nobody else may create objects in it: a function or
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

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.accounting.ledger_storage import (
    BUSY,
    DAMAGED,
    FOREIGN,
    FULL,
    PATIENCE,
    SqlResult,
    SqlTransaction,
    make_ledger_error,
    translate_errors,
)
from discreet.accounting.process_identity import get_process_identity, is_local_process, is_process_alive
from discreet.core.errors import RequestError
from discreet.core.postgres_address import (
    BECOME,
    OTHERS_OF_TABLE,
    TRUST,
    TRUSTED_ROLES,
    find_named_schema,
    find_trusted_roles,
    pin_search_path,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

Fetch = Callable[[str, Sequence[Any]], Sequence[Any]]

MARK = int.from_bytes(b"dscr")
CONNECTIONS = 8
UUID = "pg_catalog.uuid_send(pg_catalog.gen_random_uuid())"
DRAWN = f"pg_catalog.byteacat(pg_catalog.byteacat({UUID}, {UUID}), {UUID})"
"""48 bytes from the server's own source of randomness, of which 366 bits are random."""
VANISHED = 120.0
"""Seconds after which the lock of a vanished client is released."""
KEEPALIVE = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
DEFAULT_SCHEMA = "public"
LOCK = (
    "SELECT one, pg_catalog.set_config(CAST('synchronous_commit' AS text), CAST('on' AS text), true)"
    " FROM {} FOR UPDATE"
)
TABLES_HERE = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = pg_catalog.current_schema()"
ALONE = "SELECT pg_catalog.pg_advisory_xact_lock(CAST(:mark AS bigint))"
HERE = "SELECT pg_catalog.pg_advisory_lock_shared(CAST(%s AS bigint))"
PRESENT = (
    "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_locks"
    " WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND database = (SELECT oid FROM pg_catalog.pg_database"
    " WHERE datname = pg_catalog.current_database())"
    " AND (CAST(classid AS BIGINT) << 32 | CAST(objid AS BIGINT)) = CAST(:name AS BIGINT))"
)
UNWRITABLE = "cannot be written", "Let its role create and write tables in its schema, on a primary server."
UNREACHABLE = "cannot be reached", "Check its address and password, and that the server runs; then try again."
REASONS = {
    "55P03": BUSY,
    "57014": BUSY,
    "53100": FULL,
    "40": BUSY,
    "42501": UNWRITABLE,
    "3F": UNWRITABLE,
    "25006": UNWRITABLE,
    "22": DAMAGED,
    "23": DAMAGED,
    "42": DAMAGED,
    "P0": DAMAGED,
}
"""By SQLSTATE, or by its class."""
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


class SharedDatabase:
    """A pool of connections, shared by the threads of one process."""

    def __init__(self, address: str) -> None:
        self.place = _strip_credentials(address)
        self._process = os.getpid()
        named = find_named_schema(address)
        self._schema, self._is_named = named or DEFAULT_SCHEMA, named is not None
        self._trusted = find_trusted_roles(address)
        self._engine: Engine | None = _create_engine(address, self.place, self._schema)

    def create_tables(self, tables: Sequence[str], schema: Sequence[str]) -> None:
        """Create tables where there are none; concurrent processes wait for each other."""
        with self.translate_errors(), self._require_engine().begin() as connection:
            _DatabaseTransaction(connection).execute(ALONE, {"mark": MARK}).fetchall()
            fetch = _make_fetch(connection)
            there = require_own_tables(fetch, self.place, self._schema, tables, self._trusted)
            if {*tables} <= there:
                return
            if there:
                raise make_ledger_error(self.place, *FOREIGN)
            if not self._is_named:
                require_no_other_ledger(fetch, self.place, self._schema, tables)
            before = fetch(TABLES_HERE, ())
            for statement in schema:
                connection.exec_driver_sql(statement)
            made = [name for (name,) in {*fetch(TABLES_HERE, ())} - {*before}]
            revoke_defaults(fetch, connection.exec_driver_sql, made)
            # rights that come by no grant, as those of predefined roles do, are on new tables, too
            require_own_tables(fetch, self.place, self._schema, tables, self._trusted)

    def check_tables(self, tables: Sequence[str]) -> None:
        """Raise an error for tables that other roles may change."""
        with self.translate_errors(), self._require_engine().begin() as connection:
            require_own_tables(_make_fetch(connection), self.place, self._schema, tables, self._trusted)

    def has_tables(self, tables: Sequence[str]) -> bool:
        """Return whether any of these tables exists; nothing is created."""
        with self.read_transaction() as rows:
            found = rows.execute(TABLES_HERE)
            return any(name in tables for (name,) in found)

    @contextmanager
    def read_transaction(self) -> Iterator[SqlTransaction]:
        """Open a read-only transaction that sees one snapshot."""
        with self.translate_errors(), self._require_engine().connect() as connection:
            same = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield _DatabaseTransaction(same)

    @contextmanager
    def write_transaction(self, table: str) -> Iterator[SqlTransaction]:
        """Open a transaction that excludes other writers under the row of this table.

        Driver errors inside are not translated.
        """
        with self._require_engine().begin() as connection:
            rows = _DatabaseTransaction(connection)
            rows.execute(LOCK.format(table)).fetchall()
            yield rows

    def is_process_alive(self, rows: SqlTransaction, process: str) -> bool:
        """Return whether a process still runs: by this machine for its own, by the database for others."""
        if is_local_process(process):
            return is_process_alive(process)
        return bool(rows.execute(PRESENT, {"name": _compute_lock_key(process)}).fetchone()[0])

    def translate_errors(self, *, after_data: bool = False) -> AbstractContextManager[None]:
        """Every failure is one sentence; `after_data` it is a fault."""
        from sqlalchemy.exc import SQLAlchemyError

        return translate_errors(self.place, SQLAlchemyError, _explain, after_data=after_data)

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            # a child process leaves the parent's connections alone
            engine.dispose(close=self._process == os.getpid())

    def _require_engine(self) -> Engine:
        if self._engine is None:
            raise make_ledger_error(self.place, "was closed", "Open it again.")
        if self._process != os.getpid():
            raise make_ledger_error(self.place, "was opened before a fork", "Open it in each process.")
        return self._engine


def _explain(error: Any) -> tuple[str, str]:
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return REASONS.get(state) or REASONS.get(state[:2]) or UNREACHABLE


def _make_fetch(connection: Connection) -> Fetch:
    return lambda statement, values: connection.exec_driver_sql(statement, tuple(values)).fetchall()


class _DatabaseTransaction:
    """One transaction, as an `SqlTransaction`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Mapping[str, Any] | None = None, /) -> SqlResult:
        from sqlalchemy import text

        if any(isinstance(each, str) and "\0" in each for each in (values or {}).values()):
            raise RequestError("A stored text must not contain the character NUL.", hint="Leave it out.")
        return self._connection.execute(text(statement), dict(values or {}))


def _strip_credentials(address: str) -> str:
    """Return the address without user and password."""
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "postgresql://…"


def _compute_lock_key(process: str) -> int:
    """Return the number of the advisory lock of a process."""
    return int.from_bytes(hashlib.sha256(process.encode()).digest()[:8], signed=True)


def _create_engine(address: str, place: str, schema: str) -> Engine:
    try:
        from sqlalchemy import create_engine, event, make_url
        from sqlalchemy.exc import ArgumentError

        url = make_url(pin_search_path(address)).set(drivername="postgresql+psycopg")
        engine = create_engine(
            url,
            # under a stricter level, what is read after the lock would be as old as the wait for it
            isolation_level="READ COMMITTED",
            pool_size=CONNECTIONS,
            max_overflow=2 * CONNECTIONS,
            pool_timeout=PATIENCE,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError as missing:
        raise RequestError(
            f"A ledger in PostgreSQL needs {missing.name}, which is not installed.",
            hint='Install it with pip install "discreet[server,postgres]".',
        ) from None
    except (ArgumentError, ValueError):
        raise make_ledger_error(place, *UNREACHABLE) from None
    trusted = find_trusted_roles(address)
    event.listen(
        engine, "connect", lambda connection, _: _configure_connection(connection, place, schema, trusted)
    )
    return engine


def _configure_connection(connection: Any, place: str, schema: str, trusted: Sequence[str]) -> None:
    """Check the schema, set search path and timeouts, and take the lock that shows this process is alive."""
    try:
        with connection.cursor() as cursor:
            require_own_schema(lambda *query: cursor.execute(*query).fetchall(), place, schema, trusted)
            # the server's own catalog is searched first, as it always is where a path does not name it
            quoted = '"' + schema.replace('"', '""') + '"'
            cursor.execute(f"SET search_path = {quoted}, pg_temp")
            cursor.execute(f"SET lock_timeout = {round(1000 * PATIENCE)}")
            cursor.execute(f"SET idle_in_transaction_session_timeout = {round(1000 * VANISHED)}")
            for name, value in KEEPALIVE.items():
                cursor.execute(f"SET {name} = {value}")
            cursor.execute(HERE, (_compute_lock_key(get_process_identity()),))
        connection.commit()
    except BaseException:
        connection.close()
        raise


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
