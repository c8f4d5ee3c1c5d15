"""Sample tables, generated from fixed seeds: `make_census` and `make_hospital`.

All people are made up, so the tables may be shown, published and attacked freely.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.errors import RequestError
from discreet.services.sample import census as _census
from discreet.services.sample import hospital as _hospital
from discreet.services.sample import sample_policy as _policy
from discreet.services.sample.table_schema import TableSchema

VERSION = b"1"
_STAMP = b"discreet.sample"

SAMPLES: dict[str, tuple[TableSchema, Callable[[], pa.Table]]] = {
    "census": (_census.SCHEMA, _census.make_census),
    "hospital": (_hospital.SCHEMA, _hospital.make_hospital),
}


def write_samples(folder: Path, progress: Callable[[str], None] | None = None) -> dict[str, Path]:
    """Write all sample tables to `folder` as Parquet, unless current ones exist; return their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {name: _write_sample(folder / f"{name}.parquet", name, progress) for name in SAMPLES}
    except OSError as problem:
        raise RequestError(
            f"sample: the folder {folder} cannot be written ({problem.strerror or 'unknown reason'}).",
            hint="Choose another folder.",
        ) from None


def write_policy(folder: Path) -> Path:
    """Write the policy of the sample tables to `folder`; return its path."""
    return _policy.write_policy_file(
        folder / "privacy.yaml", {name: schema for name, (schema, _) in SAMPLES.items()}
    )


def _write_sample(path: Path, name: str, progress: Callable[[str], None] | None) -> Path:
    stamp = _read_stamp(path)
    if stamp == VERSION:
        return path
    if stamp is None and path.exists():
        raise RequestError(
            f"sample: {path} exists already and is not a sample table of discreet.",
            hint="Choose another folder, or move the file away.",
        )
    schema, make = SAMPLES[name]
    if progress is not None:
        progress(f"making {name}: {schema.meaning}")
    table = make()
    # The final name appears only once the file is whole, so that an interrupted run leaves nothing to trust.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(table.replace_schema_metadata({_STAMP: VERSION}), draft, compression="zstd")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _read_stamp(path: Path) -> bytes | None:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return None
    stamp: bytes | None = metadata.get(_STAMP)
    return stamp
