"""Released rows in the form that the ledger stores: the bytes of a Parquet file."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.app.answers import refuse_stored


def packed(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def unpacked(content: bytes) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, ValueError, OSError):
        raise refuse_stored() from None
