"""Pattern shares: the share of a column's first values that match a pattern; no value is returned.

Columns that cannot be read are left out: a policy draft is written without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import duckdb
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.release_target import DATABASE_SUFFIXES
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.duckdb_connection import connect_duckdb, quote_path
from discreet.engines.file_schema import Schema
from discreet.engines.sources import PARQUET_SUFFIXES, write_parquet_reader

MAX_INSPECTED_ROWS = 10_000


def compute_file_pattern_shares(
    schema: Schema, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return, for each column of a file, the share of its first values that each pattern matches in full."""
    if not columns:
        return {}
    with closing(connect_duckdb()) as connection:
        try:
            relation = _write_file_relation(connection, schema)
            row = connection.execute(_write_count_query(relation, columns, patterns)).fetchone()
        except (duckdb.Error, OSError, UnicodeError):
            return {}
    assert row is not None
    return _parse_counts(row, columns, patterns)


def compute_engine_pattern_shares(
    engine: Engine, table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of an engine's table."""
    return compute_pattern_shares(engine.count, table, columns, patterns)


def compute_pattern_shares(
    count: Callable[[str], Exact[pa.Table]], table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of a table, counted by the function `count`."""
    found = count(_write_count_query(quote_identifier(table), columns, patterns)).secret.to_pylist()[0]
    return _parse_counts(list(found.values()), columns, patterns)


def _parse_counts(
    row: Sequence[int], columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the shares from the single row that `_write_count_query` selects."""
    counts = iter(row)
    found: dict[str, dict[str, float]] = {}
    for column in columns:
        present = max(next(counts), 1)
        found[column] = {name: next(counts) / present for name in patterns}
    return found


def _write_count_query(relation: str, columns: Sequence[str], patterns: Mapping[str, str]) -> str:
    """Return the SELECT that counts each column's first values, and those that each pattern matches."""
    counts: list[str] = []
    for column in columns:
        text = f"trim(CAST({quote_identifier(column)} AS VARCHAR))"
        counts.append(f"count({quote_identifier(column)})")
        counts += [
            f"count(*) FILTER (WHERE regexp_full_match({text}, {quote_literal(pattern)}))"
            for pattern in patterns.values()
        ]
    # outputs are numbered, because columns may have any name
    named = ", ".join(f"{count} AS n{place}" for place, count in enumerate(counts))
    return f"SELECT {named} FROM (SELECT * FROM {relation} LIMIT {MAX_INSPECTED_ROWS})"


def _write_file_relation(connection: duckdb.DuckDBPyConnection, schema: Schema) -> str:
    suffix = schema.path.suffix.lower()
    if suffix in PARQUET_SUFFIXES:
        return write_parquet_reader((schema.path, *schema.other_files))
    if suffix in DATABASE_SUFFIXES:
        connection.execute(f"ATTACH {quote_literal(str(schema.path.absolute()))} AS described (READ_ONLY)")
        place, _, name = (schema.table or "").rpartition(".")
        return f"described.{quote_identifier(place or 'main')}.{quote_identifier(name)}"
    header = f"header = {str(schema.has_header).lower()}"
    return f"read_csv({quote_path(schema.path)}, {header}, all_varchar = true, ignore_errors = true)"
