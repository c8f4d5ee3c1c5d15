"""A PostgreSQL connection that can be hardened: read-only, in UTC, with limits and without foreign functions.

Names       functions and operators are looked up in the server's own catalog alone, from the driver's first
            statement on (`core.postgres_address`), and check constraints and JIT are not run.
Key         part of the start-up message, which no statement log contains; the settings of the session that it
            becomes are checked by their length.
Encoding    UTF-8 on both sides: in another one, whether a constant or a row is a fault would depend on it.
Errors      never contain the address, which may hold a password, nor the driver's message.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from discreet.core.engine_faults import run_guarded
from discreet.core.errors import RequestError
from discreet.core.postgres_address import pin_search_path
from discreet.engines import statement_timeout
from discreet.engines.dialects.sql_types import TypeFamily
from discreet.engines.dialects.statement_writer import TranslatedStatement
from discreet.engines.reachability import format_hosts, is_reachable

DEFAULT_PORT = 5432
WORK_MEMORY = "256MB"
SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET standard_conforming_strings = on",
    "SET transform_null_equals = off",
    "SET extra_float_digits = 1",
    "SET search_path = pg_catalog, pg_temp",
    "SET row_security = off",
    # or the planner computes check constraints, with whatever functions they call
    "SET constraint_exclusion = off",
    "SET jit = off",
    f"SET statement_timeout = {1000 * statement_timeout.DEFAULT_SECONDS:.0f}",
    f"SET work_mem = '{WORK_MEMORY}'",
    # encoding and sorting rows costs far more than passing them between parallel workers
    "SET parallel_tuple_cost = 0.01",
    "SET parallel_setup_cost = 100",
)
ENABLE_ROW_SECURITY = "SET row_security = on"
KEY_SETTINGS = ("discreet.before", "discreet.after")
SET_READ_ONLY = "SET default_transaction_read_only = on"


def connect_postgres(address: str, *, autocommit: bool = False, key: bytes = b"") -> Any:
    """Return a connection in UTC with limits; an error message never contains the password.

    A `key`, if given, becomes settings of the session, from which statements that hash people read it.
    """
    from adbc_driver_postgresql import dbapi

    connection = None
    with suppress(dbapi.Error):
        connection = dbapi.connect(pin_search_path(address, _make_key_settings(key)), autocommit=autocommit)
    if connection is None:
        raise _make_connection_error(address)
    for setting in SETTINGS:
        run_guarded(lambda setting=setting: execute_statement(connection, setting))  # type: ignore[misc]
    _require_encoding(connection)
    if key:
        _require_key(connection, key)
    return connection


def _make_connection_error(address: str) -> RequestError:
    """Return the error for a failed connection: the host is unreachable, or it refuses this user."""
    place = urlsplit(address).netloc.rpartition("@")[2]
    told = f"PostgreSQL: no connection to {format_hosts(place)}"
    if is_reachable(place, DEFAULT_PORT):
        return RequestError(
            f"{told}: the server refuses it.",
            hint="Check user and database, and that PGPASSWORD or ~/.pgpass has the password.",
        )
    return RequestError(f"{told}.", hint="Check the address, and that the server accepts connections.")


def _make_key_settings(key: bytes) -> dict[str, str]:
    """Return the session settings that hold the two halves of the key."""
    halves = {KEY_SETTINGS[0]: key[: len(key) // 2], KEY_SETTINGS[1]: key[len(key) // 2 :]}
    return {name: half.hex() for name, half in halves.items() if key}


def _require_encoding(connection: Any) -> None:
    """Refuse a database that cannot hold every text, or that holds bytes which are no text.

    In one of them a constant of a question would be a fault, in the other one a row would.
    """
    ((encoding,),) = run_guarded(
        lambda: fetch_rows(connection, "SELECT pg_catalog.current_setting('server_encoding')")
    )
    connection.rollback()
    if encoding != "UTF8":
        connection.close()
        raise RequestError(
            f"PostgreSQL: the encoding of its database is {encoding}, and has to be UTF8.",
            hint="Copy the tables into a database that was made by CREATE DATABASE … ENCODING 'UTF8'.",
        )


def _require_key(connection: Any, key: bytes) -> None:
    """Refuse a connection that lost its start-up options; the check reads only the key's length."""
    lengths = ", ".join(
        f"pg_catalog.length(pg_catalog.current_setting('{name}', true))" for name in KEY_SETTINGS
    )
    found = run_guarded(lambda: fetch_rows(connection, f"SELECT {lengths}"))
    connection.rollback()
    if found != [(len(key), len(key))]:
        connection.close()
        raise RequestError(
            "PostgreSQL: the server did not accept the options of the connection.",
            hint="Connect to the server itself, not through a pooler that drops options.",
        )


def lock_down(
    connection: Any, seconds: float = statement_timeout.DEFAULT_SECONDS, *, has_row_policies: bool = False
) -> Any:
    """Make a connection read-only and set its statement timeout; return it."""
    if has_row_policies:
        execute_statement(connection, ENABLE_ROW_SECURITY)
    execute_statement(connection, f"SET statement_timeout = {1000 * seconds:.0f}")
    execute_statement(connection, SET_READ_ONLY)
    return connection


def is_open(connection: Any) -> bool:
    with suppress(Exception):  # the driver may raise anything for a lost connection
        return bool(fetch_table(connection, "SELECT 1 AS here").num_rows)
    return False


def execute_statement(connection: Any, text: str) -> None:
    """Run a statement without a result, and commit."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
    connection.commit()


def fetch_rows(connection: Any, text: str) -> list[tuple[Any, ...]]:
    """Return a statement's rows, within the open transaction."""
    with closing(connection.cursor()) as cursor:
        cursor.execute(text)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def fetch_table(connection: Any, text: str, *settings: str) -> pa.Table:
    """Return a statement's rows, run under settings; its transaction always ends."""
    try:
        with closing(connection.cursor()) as cursor:
            for each in (*settings, text):
                cursor.execute(each)
            return cursor.fetch_arrow_table()
    finally:
        connection.rollback()


def run_select(connection: Any, text: str, statement: TranslatedStatement, *settings: str) -> pa.Table:
    """Return the rows of a translated statement, with wide integers as decimals."""
    table = fetch_table(connection, text, *settings)
    for place, (name, kind) in enumerate(statement.columns.items()):
        if kind.family is TypeFamily.WIDE:
            table = table.set_column(place, name, _parse_integers(table.column(place)))
    return table


def _parse_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return integers for a column of exact numbers, which the driver returns as text."""
    values = [None if value is None else int(str(value)) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.decimal128(38, 0))])
