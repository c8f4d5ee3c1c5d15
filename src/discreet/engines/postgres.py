"""PostgreSQL: the engine for tables on a PostgreSQL server.

Sources     tables and views; a table of the policy names one, `visits` or `clinic.visits`.
Connection  read-only, in UTC, with limits of time and memory for each statement. Functions are looked up in
            the server's own catalog alone, from the driver's first statement on, so that no other schema can
            put one in its place.
Threads     take turns: a connection has one transaction at a time.
Statements  our own, written by `dialects.postgres_dialect` and verified (`dialects.statement_verification`).
Store       where the policy names a schema (`store: schema`), the tables of the policy are prepared there
            once for each version of policy and data; without one they are encoded, and people's rows ranked,
            in every statement, as late as possible (`deferred_encoding`). A session locks the store that it
            uses, and drops those that no session has locked (`postgres_store`).
Key         kept beside the ledger, or in it where servers share one; it is sent in the start-up message of
            the connection, as a setting of the session. Statements and bound values appear in the server's
            log if that is configured (log_statement, log_min_duration_statement, log_parameter_max_length);
            the start-up message does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from discreet.core.engine import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines import policy_tables, statement_timeout
from discreet.engines.deferred_encoding import build_deferring_translator
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.dialects.statement_writer import TranslatedStatement
from discreet.engines.policy_tables import PolicyTables
from discreet.engines.postgres_connection import (
    connect_postgres,
    fetch_table,
    is_open,
    lock_down,
    run_select,
)
from discreet.engines.postgres_inventory import PostgreSQLInventory
from discreet.engines.postgres_publisher import PostgreSQLPublisher
from discreet.engines.postgres_store import prepare_store_tables, unlock_store_tables
from discreet.engines.postgres_tables import (
    DIALECT,
    find_source_table,
)
from discreet.engines.prepared_store import load_or_create_key
from discreet.engines.row_ranking import PERSON

ENABLE_JIT = "SET LOCAL jit = on"


class PostgreSQL(Closeable):
    """An `Engine` over the tables of a policy."""

    def __init__(
        self,
        connection: Any,
        translate: Callable[[str], TranslatedStatement],
        definitions: Mapping[str, TranslatedStatement],
        reconnect: Callable[[], Any],
        *,
        holds_store: bool = False,
    ) -> None:
        self._connection, self._again, self._turn = connection, reconnect, threading.Lock()
        self._holds_store = holds_store
        self._statements, self._definitions = translate, definitions

    @classmethod
    def open(
        cls, policy: Policy, address: str, key: bytes, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> Self:
        """Connect, read the schema, prepare the store if the policy names one, and lock down."""
        policy_tables.require_no_csv_options(policy.tables, DIALECT)
        connection = connect_postgres(address, key=key)
        try:
            own = {
                name: find_source_table(connection, name, each.source) for name, each in policy.tables.items()
            }
            origins = {
                name: own[name].to_engine_table(each.source_names) for name, each in policy.tables.items()
            }
            in_place = policy_tables.build_policy_tables(policy, origins, DIALECT)
            tables = prepare_store_tables(connection, policy, in_place, key) if policy.store else in_place
            policies = any(each.has_row_security for each in own.values())
            run_guarded(lambda: lock_down(connection, seconds, has_row_policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = StatementTranslator(dialect=DIALECT, relations=tables.relations)
        definitions = dict(tables.definitions)
        late = build_deferring_translator(policy, own, statements, definitions)
        return cls(
            connection,
            statements if policy.store else late,
            definitions,
            lambda: _reconnect_engine(policy, address, in_place, key, seconds, has_row_policies=policies),
            holds_store=bool(policy.store),
        )

    @classmethod
    def open_tables(cls, sources: Mapping[str, str], address: str) -> Self:
        """Return an engine without a policy, for rows that may be counted as they are."""
        connection = connect_postgres(address)
        try:
            own = {name: find_source_table(connection, name, source) for name, source in sources.items()}
            origins = {name: each.to_engine_table() for name, each in own.items()}
            policies = any(each.has_row_security for each in own.values())
            run_guarded(lambda: lock_down(connection, has_row_policies=policies))
        except BaseException:
            connection.close()
            raise
        statements = StatementTranslator(
            dialect=DIALECT, relations=policy_tables.map_plain_tables(origins).relations
        )
        return cls(
            connection,
            statements,
            {},
            lambda: lock_down(connect_postgres(address), has_row_policies=policies),
        )

    def validate(self, sql: str) -> None:
        """Refuse a statement that cannot be translated for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        statement = self._statements(sql)
        text = _prepend_definitions(statement, self._definitions)
        settings = (ENABLE_JIT,) if _is_encoding_only(statement, self._definitions) else ()
        with self._turn:
            return run_guarded(lambda: Exact(self._run_select(text, statement, *settings)))

    def _run_select(self, text: str, statement: TranslatedStatement, *settings: str) -> pa.Table:
        """Return a statement's rows; retry once if the server had closed the connection."""
        try:
            return run_select(self._connection, text, statement, *settings)
        except Exception:
            if is_open(self._connection):
                raise
        with suppress(Exception):
            self._connection.close()
        self._connection = self._again()
        return run_select(self._connection, text, statement, *settings)

    def stop(self) -> None:
        """Stop the running statement."""
        with suppress(Exception):  # the statement may have ended meanwhile
            self._connection.adbc_cancel()

    def close(self) -> None:
        if self._holds_store:
            with suppress(Exception):  # a lost session holds no lock
                unlock_store_tables(lambda text: fetch_table(self._connection, text))
        self._connection.close()


def prepare_engine(
    policy: Policy,
    *,
    key: bytes | None,
    folder: Path | None,
    frames: Mapping[str, pa.Table] | None,
    progress: Callable[[str], None] | None,
) -> Callable[[], PostgreSQL]:
    """Return a function that opens engines over the policy's tables."""
    return lambda: PostgreSQL.open(policy, policy.engine, key or load_or_create_key(folder))


def open_tables(address: str, sources: Mapping[str, str]) -> PostgreSQL:
    """Return an engine without a policy, for rows that may be counted as they are."""
    return PostgreSQL.open_tables(sources, address)


def open_publisher(
    address: str, tables: Mapping[str, Table], *, store: str | None, lists: Collection[str]
) -> PostgreSQLPublisher:
    """Return a publisher of tables; it may write to the schema `store`."""
    return PostgreSQLPublisher(address, tables, store=store, lists=lists)


def open_inventory(address: str) -> PostgreSQLInventory:
    """Return the tables of the server."""
    return PostgreSQLInventory(address)


def _reconnect_engine(
    policy: Policy,
    address: str,
    in_place: PolicyTables,
    key: bytes,
    seconds: float,
    *,
    has_row_policies: bool,
) -> Any:
    """Return a new connection like the first; it locks the store anew, which may have been dropped."""
    connection = connect_postgres(address, key=key)
    try:
        if policy.store:
            prepare_store_tables(connection, policy, in_place, key)
        return lock_down(connection, seconds, has_row_policies=has_row_policies)
    except BaseException:
        connection.close()
        raise


def _prepend_definitions(
    statement: TranslatedStatement, definitions: Mapping[str, TranslatedStatement]
) -> str:
    """Return a statement with the definition of each policy table that it reads as a CTE before it.

    The fence keeps the planner from repeating an encoded value wherever a statement names it. Window
    functions, which rank or count people's rows, do that by themselves; a fence there would hide from the
    planner how few ranks the statement needs.
    """
    text, heads = statement.text, []
    for name in sorted(statement.tables & definitions.keys()):
        definition = definitions[name]
        fence = "" if PERSON in definition.columns else DIALECT.optimization_fence
        heads.append(f"{DIALECT.quote_identifier(name)} AS NOT MATERIALIZED ({definition.text}{fence})")
    if not heads:
        return text
    return f"WITH {', '.join(heads)}{', ' + text[5:] if text.startswith('WITH ') else ' ' + text}"


def _is_encoding_only(statement: TranslatedStatement, definitions: Mapping[str, TranslatedStatement]) -> bool:
    """Return whether a statement encodes rows and neither ranks nor weights any.

    Then it spends most of its time in expressions, which the server can compile (JIT) where it expects many
    rows; people's rows are sorted, which JIT does not make faster.
    """
    found = [definitions[name] for name in statement.tables & definitions.keys()]
    return bool(found) and all(PERSON not in each.columns for each in found)


# -- Prepared tables ----------------------------------------------------------------------------------------


# -- The driver ---------------------------------------------------------------------------------------------
