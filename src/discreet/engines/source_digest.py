"""Digests of the contents of sources, to detect data that changed.

Files       Parquet and CSV by the SHA-256 of their bytes.
Tables      of a DuckDB file by the sum of their rows' hashes, which depends neither on the file's other
            tables nor on the order of rows. Another version of DuckDB may hash differently, so the digest
            names the version, and two digests of different versions are not compared.
"""

from __future__ import annotations

import hashlib

import duckdb

from discreet.core.engine_faults import run_guarded
from discreet.core.release_target import DATABASE_SUFFIXES
from discreet.core.sql_quoting import quote_identifier, quote_literal
from discreet.engines.duckdb_connection import connect_duckdb
from discreet.engines.sources import Source

TABLE_DIGEST_PREFIX = "duckdb-"


def digest_contents(source: Source) -> str:
    """Return a digest of the rows of a source's files."""
    if source.files[0].suffix.lower() in DATABASE_SUFFIXES:
        return run_guarded(lambda: _digest_table(source))
    whole = hashlib.sha256()
    for path in source.files:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def have_changed(before: str, now: str) -> bool:
    """Return whether two digests are certainly of different contents.

    >>> have_changed("duckdb-2.0:[(3, 5)]", "duckdb-2.0:[(3, 6)]")
    True
    >>> have_changed("duckdb-2.0:[(3, 5)]", "duckdb-2.1:[(3, 6)]")
    False
    """
    versions = {each.partition(":")[0] for each in (before, now) if each.startswith(TABLE_DIGEST_PREFIX)}
    return before != now and len(versions) < 2


def _digest_table(source: Source) -> str:
    *schema, name = source.inner_table.split(".")
    place = f"source.{quote_identifier('.'.join(schema) or 'main')}.{quote_identifier(name)}"
    with connect_duckdb() as connection:
        connection.execute(f"ATTACH {quote_literal(str(source.files[0]))} AS source (READ_ONLY)")
        rows = f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {place} AS t"
        found = connection.execute(rows).fetchall()
    return f"{TABLE_DIGEST_PREFIX}{duckdb.__version__}:{found}"
