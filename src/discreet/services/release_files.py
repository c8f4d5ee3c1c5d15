"""Files of published releases: which releases of the ledger have one here, and rows in other formats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.entries import NonPrivateRelease
from discreet.accounting.ledger import Ledger
from discreet.core.errors import RequestError
from discreet.core.output_files import get_draft_path, remove_leftovers
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.engines.duckdb_publisher import DuckDBPublisher


def list_release_targets(ledger: Ledger) -> Iterator[tuple[NonPrivateRelease, ReleaseTarget]]:
    """Yield the published releases that the ledger records with a file, oldest first."""
    for release in ledger.list_releases():
        target = ReleaseTarget.from_ledger_entry(release.certificate)
        if target is not None:
            yield release, target


def find_release_target(ledger: Ledger, number: int) -> ReleaseTarget | None:
    """Return the target of a release by its number in the ledger, or None if its file is not here."""
    for release, target in list_release_targets(ledger):
        if release.id == number and target.file.is_file():
            return target
    return None


def convert_release_file(file: Path, suffix: str) -> Path:
    """Return the path of the rows as `.csv`, `.arrow` or `.parquet`; convert them on the first request."""
    wanted = file.with_suffix(suffix)
    if wanted.is_file():
        return wanted
    if file.suffix == ".csv":
        raise RequestError("This release is a CSV file.", hint="Ask for it with format=csv.")
    remove_leftovers(file.parent)
    # concurrent requests write separate drafts; the last replace wins with the same content
    draft = get_draft_path(file, f".{Randomness().draw_bits(64):016x}{wanted.suffix}")
    try:
        _write_rows(file, draft)
        draft.replace(wanted)
    finally:
        draft.unlink(missing_ok=True)
    return wanted


def _write_rows(file: Path, draft: Path) -> None:
    if draft.suffix == ".csv":
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
