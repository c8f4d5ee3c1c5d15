"""Conversion of a release's rows to another file format, stored beside the published file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.http.responses import ResponseFormat


def convert_release_file(file: Path, response_format: ResponseFormat) -> Path:
    """Return the path of the rows in a format; convert the Parquet file on the first request."""
    wanted = file.with_suffix(f".{response_format.value}")
    if wanted.is_file():
        return wanted
    if file.suffix == ".csv":
        raise RequestError("This release is a CSV file.", hint="Ask for it with format=csv.")
    # concurrent requests write separate drafts; the last replace wins with the same content
    draft = file.with_name(f".{Randomness().draw_bits(64):016x}{wanted.suffix}")
    try:
        _write_rows(file, response_format, draft)
        draft.replace(wanted)
    finally:
        draft.unlink(missing_ok=True)
    return wanted


def _write_rows(file: Path, response_format: ResponseFormat, draft: Path) -> None:
    if response_format is ResponseFormat.CSV:
        with DuckDBPublisher({}, {"rows": pq.read_table(file)}) as engine:
            engine.write('SELECT * FROM "rows"', draft)
        return
    with (
        pq.ParquetFile(file) as rows,
        pa.OSFile(str(draft), "wb") as sink,
        pa.ipc.new_stream(sink, rows.schema_arrow) as writer,
    ):
        for batch in rows.iter_batches():
            writer.write_batch(batch)
