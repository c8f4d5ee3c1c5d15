"""Released rows in the form that the ledger stores: the bytes of a Parquet file."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.services.answers import build_damaged_ledger_error


def table_to_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def table_from_bytes(content: bytes) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, ValueError, OSError):
        raise build_damaged_ledger_error() from None
