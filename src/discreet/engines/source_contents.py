"""The contents of a source as one digest: whether two readings were of the same data.

Files       the SHA-256 of each, in the order of their names.
Tables      of a DuckDB file: the number of rows and the sum of their hashes, in whatever order they stand, so
            that another table of the same file may change.
"""

from __future__ import annotations

import hashlib

import duckdb

from discreet.engines.connection import connect, literal, quoted
from discreet.engines.faults import guarded
from discreet.engines.sources import DATABASE, Source


def digest_source(source: Source) -> str:
    """Return a digest of all that a source holds."""
    if source.files[0].suffix.lower() in DATABASE:
        return guarded(lambda: _digest_table(source))
    whole = hashlib.sha256()
    for path in source.files:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _digest_table(source: Source) -> str:
    """A digest of a table's rows in whatever order; another version of DuckDB may hash in another way."""
    *schema, name = source.inner.split(".")
    place = f"source.{quoted('.'.join(schema) or 'main')}.{quoted(name)}"
    with connect() as connection:
        connection.execute(f"ATTACH {literal(str(source.files[0]))} AS source (READ_ONLY)")
        rows = f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {place} AS t"
        found = connection.execute(rows).fetchall()
    return f"duckdb-{duckdb.__version__}:{found}"
