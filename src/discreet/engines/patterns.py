"""Pattern shares: the share of a column's first values that match a pattern; no value is returned.

Columns that cannot be read are left out: a policy draft is written without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import duckdb
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.values import Exact
from discreet.engines.connection import connect, literal, path_literal, quoted
from discreet.engines.schema import Schema
from discreet.engines.sources import DATABASE, PARQUET, parquet_reader

ROWS = 10_000


def matching(
    schema: Schema, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return, for each column of a file, the share of its first values that each pattern matches in full."""
    if not columns:
        return {}
    with closing(connect()) as connection:
        try:
            relation = _relation(connection, schema)
            row = connection.execute(_counting(relation, columns, patterns)).fetchone()
        except (duckdb.Error, OSError, UnicodeError):
            return {}
    assert row is not None
    return _shares(row, columns, patterns)


def matching_in(
    engine: Engine, table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of an engine's table."""
    return matching_by(engine.count, table, columns, patterns)


def matching_by(
    count: Callable[[str], Exact[pa.Table]], table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the pattern shares of a table, counted by the function `count`."""
    found = count(_counting(quoted(table), columns, patterns)).secret.to_pylist()[0]
    return _shares(list(found.values()), columns, patterns)


def _shares(
    row: Sequence[int], columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Return the shares from the single row that `_write_count_query` selects."""
    counts = iter(row)
    found: dict[str, dict[str, float]] = {}
    for column in columns:
        present = max(next(counts), 1)
        found[column] = {name: next(counts) / present for name in patterns}
    return found


def _counting(relation: str, columns: Sequence[str], patterns: Mapping[str, str]) -> str:
    """Return the SELECT that counts each column's first values, and those that each pattern matches."""
    counts: list[str] = []
    for column in columns:
        text = f"trim(CAST({quoted(column)} AS VARCHAR))"
        counts.append(f"count({quoted(column)})")
        counts += [
            f"count(*) FILTER (WHERE regexp_full_match({text}, {literal(pattern)}))"
            for pattern in patterns.values()
        ]
    # outputs are numbered, because columns may have any name
    named = ", ".join(f"{count} AS n{place}" for place, count in enumerate(counts))
    return f"SELECT {named} FROM (SELECT * FROM {relation} LIMIT {ROWS})"


def _relation(connection: duckdb.DuckDBPyConnection, schema: Schema) -> str:
    suffix = schema.path.suffix.lower()
    if suffix in PARQUET:
        return parquet_reader((schema.path, *schema.others))
    if suffix in DATABASE:
        connection.execute(f"ATTACH {literal(str(schema.path.absolute()))} AS described (READ_ONLY)")
        place, _, name = (schema.table or "").rpartition(".")
        return f"described.{quoted(place or 'main')}.{quoted(name)}"
    header = f"header = {str(schema.header).lower()}"
    return f"read_csv({path_literal(schema.path)}, {header}, all_varchar = true, ignore_errors = true)"
