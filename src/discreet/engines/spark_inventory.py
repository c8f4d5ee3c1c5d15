"""Inventory of Spark's catalog, and of any Parquet and CSV paths that it can read.

Names       `visits` in the current database, `clinic.visits` elsewhere, as in a policy's source; paths are
            not listed.
Columns     with the types that `spark` reads them as; lists, maps, structures and bytes have no kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.column_entry import ColumnType
from discreet.core.engine import Closeable
from discreet.core.engine_faults import run_guarded
from discreet.core.exact_values import Exact
from discreet.engines.dialects.statement_verification import StatementTranslator
from discreet.engines.inventory import (
    INSPECTED_TABLE,
    INSPECTION_SECONDS,
    InventoryTable,
    compute_pattern_shares,
    find_kind,
    match_name,
)
from discreet.engines.spark_session import (
    DIALECT,
    TYPES,
    find_engine_table,
    find_frame,
    find_reader,
    run_select,
    start_session,
)

TEXT = re.compile(r"string.*|(var)?char\(\d+\)")


class SparkInventory(Closeable):
    """An `Inventory` of a session of its own."""

    def __init__(self, address: str) -> None:
        self._session = start_session(address)

    def list_names(self) -> list[str]:
        return run_guarded(lambda: sorted(_list_tables(self._session)))

    def find_table(self, word: str) -> InventoryTable | None:
        reader = find_reader(word)
        # Spark ignores case in names; a policy draft uses the catalog's own spelling
        name = word if reader else match_name(word, self.list_names()) or word
        frame = run_guarded(lambda: find_frame(self._session, name, name))
        if frame is None:
            return None
        columns = tuple((column, _find_kind(kind)) for column, kind in run_guarded(lambda: frame.dtypes))
        return InventoryTable(source=name, columns=columns, is_guessed=reader == "csv")

    def compute_pattern_shares(
        self, source: str, columns: Sequence[str], patterns: Mapping[str, str]
    ) -> Mapping[str, Mapping[str, float]]:
        origin = find_engine_table(self._session, INSPECTED_TABLE, source)
        statements = StatementTranslator(dialect=DIALECT, relations={INSPECTED_TABLE: origin.relation})

        def count(sql: str) -> Exact[pa.Table]:
            text = statements(sql).text
            return run_guarded(lambda: Exact(run_select(self._session, text, INSPECTION_SECONDS)))

        return compute_pattern_shares(count, INSPECTED_TABLE, columns, patterns)

    def close(self) -> None:
        """Do nothing: the application stays, as others may use it."""


def _list_tables(session: Any) -> Iterator[str]:
    current = session.catalog.currentDatabase()
    for (database,) in session.sql("SHOW DATABASES").collect():
        for row in session.sql(f"SHOW TABLES IN {DIALECT.quote_identifier(database)}").collect():
            if not row["isTemporary"]:
                yield row["tableName"] if database == current else f"{database}.{row['tableName']}"


def _find_kind(own: str) -> ColumnType | None:
    """Return the policy's kind for a Spark type, or None.

    >>> _find_kind("smallint"), _find_kind("decimal(9,2)"), _find_kind("array<int>")
    (<ColumnType.INTEGER: 'integer'>, <ColumnType.DECIMAL: 'decimal'>, None)
    """
    if TEXT.fullmatch(own):
        return ColumnType.TEXT
    if own in TYPES:
        return find_kind(TYPES[own][1])
    return find_kind(own.upper()) if own.startswith("decimal") else None
