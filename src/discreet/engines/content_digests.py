"""Digests of the contents of sources, to detect data that changed.

Files       Parquet and CSV by the SHA-256 of their bytes.
Tables      of a DuckDB file by the sum of their rows' hashes, which depends neither on the file's other
            tables nor on the order of rows. Another version of DuckDB may hash differently, so the digest
            names the version, and two digests of different versions are not compared.
"""

from __future__ import annotations

import hashlib

import duckdb
import pyarrow as pa

from discreet.core.engine_faults import run_guarded
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.coarse_times import convert_frame
from discreet.engines.duckdb_connection import attach_database, connect_duckdb
from discreet.engines.file_formats import FileFormat
from discreet.engines.sources import Source

DIGESTED_FRAME = "_discreet_digested"
TABLE_DIGEST_PREFIX = "duckdb-"


def digest_contents(source: Source) -> str:
    """Return a digest of the rows of a source's files."""
    if source.format is FileFormat.DATABASE:
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


def digest_frame(frame: pa.Table) -> str:
    """Return a digest of a frame's rows, which does not depend on their order."""

    def digest() -> str:
        with connect_duckdb() as connection:
            connection.register(DIGESTED_FRAME, convert_frame(frame))
            return _digest_rows(DIGESTED_FRAME, connection)

    return run_guarded(digest)


def _digest_rows(relation: str, connection: duckdb.DuckDBPyConnection) -> str:
    found = connection.execute(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM {relation} AS t").fetchall()
    return f"{TABLE_DIGEST_PREFIX}{duckdb.__version__}:{found}"


def _digest_table(source: Source) -> str:
    *schema, name = source.inner_table.split(".")
    place = f"source.{quote_identifier('.'.join(schema) or 'main')}.{quote_identifier(name)}"
    with connect_duckdb() as connection:
        attach_database(connection, source.files[0], "source")
        return _digest_rows(place, connection)
