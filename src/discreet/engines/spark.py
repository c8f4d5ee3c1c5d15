"""Spark: the engine for tables that are too large for one machine.

Sources     tables of the catalog and Parquet paths; in a local session also CSV files, which DuckDB reads
            (`spark_csv`). What Spark's readers take from one row or file to read others by is switched off
            (`spark_session`).
Session     one of its own, in UTC, without ANSI mode: `spark:local`, a cluster (`spark://…`), or Spark
            Connect (`sc://…`). Each table of the policy is a view of that session, whose rows are encoded and
            ranked in the cluster.
Statements  our own, written by `dialects.spark_dialect` and verified; only SELECTs, so nothing is written.
            One that takes too long is interrupted.
Store       where the policy names a path (`store: path`), the tables are prepared there once for each version
            of policy and data, as Parquet. Servers may prepare the same version at once: each writes to its
            own path, and one of the complete ones is read. Older versions are left to the custodian.
Key         kept beside the ledger, or in it where servers share one, and passed as the one row of a view,
            never in a statement: texts and parameters of statements, and the plans made of them, appear in
            Spark's event log and web UI.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa

from discreet.core.engine import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines import policy_tables, statement_timeout
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.policy_tables import PolicyTables
from discreet.engines.prepared_store import load_or_create_key
from discreet.engines.row_ranking import KEYS
from discreet.engines.spark_inventory import SparkInventory
from discreet.engines.spark_publisher import SparkPublisher
from discreet.engines.spark_session import (
    DIALECT,
    drop_views,
    find_engine_table,
    run_select,
    start_session,
)

GLOB_CHARACTERS = re.compile(r"([\\*?\[\]{}])")
"""Glob characters in a path; a backslash escapes them."""
WHOLE = ".whole"
READING = 2
"""Counts up when sources are read differently, so that stores of rows that were read before are not used."""
KEY_VIEW = "_discreet_key"
QUOTED_OR_KEY_PARAMETER = re.compile(
    rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|:(?P<half>{"|".join(KEYS)})\b""", re.S
)
"""Matches quoted text, which is left unchanged, or a parameter for one half of the key."""


class Spark(Closeable):
    """An `Engine` over the tables of a policy."""

    def __init__(
        self, session: Any, tables: PolicyTables, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> None:
        self._session, self._tables, self._seconds = session, tables, seconds
        self._turn = threading.Lock()
        self._statements = StatementTranslator(dialect=DIALECT, relations=tables.relations)
        self._running: set[Callable[[], object]] = set()

    @classmethod
    def open(
        cls, policy: Policy, address: str, key: bytes, *, seconds: float = statement_timeout.DEFAULT_SECONDS
    ) -> Self:
        """Start a session with a view for each table of the policy, and return the engine over it."""
        session = start_session(address)
        origins = {
            name: find_engine_table(session, name, table.source, table)
            for name, table in policy.tables.items()
        }
        tables = policy_tables.build_policy_tables(policy, origins, DIALECT)
        run_guarded(lambda: _create_views(session, policy, tables, key))
        return cls(session, tables, seconds=seconds)

    @classmethod
    def open_tables(cls, sources: Mapping[str, str], address: str) -> Self:
        """Return an engine without a policy, for rows that may be counted as they are."""
        session = start_session(address)
        return cls(
            session,
            policy_tables.map_plain_tables(
                {name: find_engine_table(session, name, source) for name, source in sources.items()}
            ),
        )

    def validate(self, sql: str) -> None:
        """Refuse a statement that cannot be translated for this engine."""
        self._statements(sql)

    def count(self, sql: str) -> Exact[pa.Table]:
        """Return the rows of one SELECT."""
        text = self._statements(sql).text
        with self._turn:
            return run_guarded(lambda: Exact(run_select(self._session, text, self._seconds, self._running)))

    def stop(self) -> None:
        """Stop the running statement."""
        for each in tuple(self._running):
            with suppress(Exception):  # the statement may have ended meanwhile
                each()

    def close(self) -> None:
        """Drop the session's views; the application stays, as others may use it."""
        drop_views(self._session, (*self._tables.definitions, KEY_VIEW))


def prepare_engine(
    policy: Policy,
    *,
    key: bytes | None,
    folder: Path | None,
    frames: Mapping[str, pa.Table] | None,
    progress: Callable[[str], None] | None,
) -> Callable[[], Spark]:
    """Return a function that opens engines over the policy's tables."""
    return lambda: Spark.open(policy, policy.engine, key or load_or_create_key(folder))


def open_tables(address: str, sources: Mapping[str, str]) -> Spark:
    """Return an engine without a policy, for rows that may be counted as they are."""
    return Spark.open_tables(sources, address)


def open_publisher(
    address: str, tables: Mapping[str, Table], *, store: str | None, lists: Collection[str]
) -> SparkPublisher:
    """Return a publisher of tables; it writes folders and tables of the catalog."""
    return SparkPublisher(address, tables, lists=lists)


def open_inventory(address: str) -> SparkInventory:
    """Return the tables of the catalog."""
    return SparkInventory(address)


def _create_views(session: Any, policy: Policy, tables: PolicyTables, key: bytes) -> None:
    """Create a view for each table, over its rows in place or over the prepared ones."""
    version = policy_tables.compute_store_version(policy, tables, key, reading=READING)
    halves = (key[: len(key) // 2].hex(), key[len(key) // 2 :].hex())
    columns = ", ".join(f"{name} STRING" for name in KEYS)
    session.createDataFrame([halves], columns).createOrReplaceTempView(KEY_VIEW)
    for name, statement in tables.definitions.items():
        frame = session.sql(_substitute_key(statement.text))
        if policy.store:
            called = name.removeprefix(policy_tables.TABLE).strip()
            place = os.path.join(policy.store, f"discreet-{version}-{called}")
            frame = _prepare_table(session, frame, place)
        frame.createOrReplaceTempView(DIALECT.quote_identifier(name))


def _substitute_key(text: str) -> str:
    """Replace each key parameter of a statement by a subquery on the view that holds the key.

    A literal in its place would be part of the plan, and of everything that shows plans.
    """
    return QUOTED_OR_KEY_PARAMETER.sub(
        lambda found: f"(SELECT {found['half']} FROM {KEY_VIEW})" if found["half"] else found[0], text
    )


def _prepare_table(session: Any, frame: Any, place: str) -> Any:
    """Return the prepared table at a path; write it first if there is none.

    Spark moves its files one by one, so a run that is killed may leave some of them, and two that write to
    one path remove each other's. So every run writes to a path of its own, and then a marker that names it:
    a run with a marker is complete. Of several, everyone reads the first by name.
    """
    from pyspark.errors import PySparkException

    literal = GLOB_CHARACTERS.sub(r"\\\1", place)

    def find_whole() -> list[str]:
        with suppress(PySparkException):  # there is no marker yet
            return sorted(row["run"] for row in session.read.parquet(f"{literal}{WHOLE}-*").collect())
        return []

    whole = find_whole()
    if not whole:
        run = uuid4().hex
        frame.write.parquet(f"{place}-{run}")
        mark = session.sql("SELECT CAST(:run AS STRING) AS run", args={"run": run})
        mark.coalesce(1).write.parquet(f"{place}{WHOLE}-{run}")
        whole = find_whole() or [run]
    return session.read.parquet(f"{literal}-{whole[0]}")
