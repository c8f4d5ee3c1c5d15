"""How many values of a column look like something: shares of the first rows, never a value.

What cannot be read is not counted: a draft is made without it.
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
    """For each column the share of its values, among the first rows, that a pattern matches as a whole."""
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
    """The same of a table that an engine has under a name."""
    return matching_by(engine.count, table, columns, patterns)


def matching_by(
    count: Callable[[str], Exact[pa.Table]], table: str, columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """The same of a table that whatever counts has under a name."""
    found = count(_counting(quoted(table), columns, patterns)).secret.to_pylist()[0]
    return _shares(list(found.values()), columns, patterns)


def _shares(
    row: Sequence[int], columns: Sequence[str], patterns: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """What the one row of `_counting` says."""
    counts = iter(row)
    found: dict[str, dict[str, float]] = {}
    for column in columns:
        present = max(next(counts), 1)
        found[column] = {name: next(counts) / present for name in patterns}
    return found


def _counting(relation: str, columns: Sequence[str], patterns: Mapping[str, str]) -> str:
    """How many values each column has among the first rows, and how many of them each pattern matches."""
    counts: list[str] = []
    for column in columns:
        text = f"trim(CAST({quoted(column)} AS VARCHAR))"
        counts.append(f"count({quoted(column)})")
        counts += [
            f"count(*) FILTER (WHERE regexp_full_match({text}, {literal(pattern)}))"
            for pattern in patterns.values()
        ]
    # by number, because columns may be called as one likes
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
