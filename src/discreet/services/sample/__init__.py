"""Sample tables, generated from fixed seeds, and their policy: `make_census` and `make_hospital`.

All people are made up, so the tables may be shown, published and attacked freely.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.belief_sentences import describe_policy_belief
from discreet.core.errors import RequestError
from discreet.core.output_files import replace_output, write_output
from discreet.services.progress import ignore_progress
from discreet.services.sample import census as _census
from discreet.services.sample import hospital as _hospital
from discreet.services.sample.table_schema import SampleColumn, TableSchema

VERSION = b"1"
_STAMP = b"discreet.sample"

SAMPLES: dict[str, tuple[TableSchema, Callable[[], pa.Table]]] = {
    "census": (_census.SCHEMA, _census.make_census),
    "hospital": (_hospital.SCHEMA, _hospital.make_hospital),
}

POLICY_HEAD = f"""\
# {describe_policy_belief("1%", "5%")}
promise: {{prior: 1%, posterior: 5%, secret: value}}
epsilon: 0.1          # the cost of a question, unless it gives another
tables:
"""


QUESTIONS = """-- discreet plan -p sample/privacy.yaml --epsilon 0.2 sample/dashboard.sql
SELECT sex, COUNT(*) AS n FROM census GROUP BY sex;
SELECT sex, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM census) AS percent FROM census GROUP BY sex;
SELECT COUNT(*) AS n FROM census WHERE age > (SELECT AVG(age) FROM census);
"""
"""Statements that are planned together, `dashboard.sql`."""


def write_samples(folder: Path, progress: Callable[[str], None] = ignore_progress) -> dict[str, Path]:
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
    """Write the policy of the sample tables, and some questions, to `folder`; return the policy's path."""
    path = folder / "privacy.yaml"
    for place, text in ((path, _format_policy()), (folder / "dashboard.sql", QUESTIONS)):
        if not place.exists() or place.read_text() != text:
            write_output(place, text)
    return path


def _write_sample(path: Path, name: str, progress: Callable[[str], None]) -> Path:
    stamp = _read_stamp(path)
    if stamp == VERSION:
        return path
    if stamp is None and path.exists():
        raise RequestError(
            f"sample: {path} exists already and is not a sample table of discreet.",
            hint="Choose another folder, or move the file away.",
        )
    schema, make = SAMPLES[name]
    progress(f"making {name}: {schema.meaning}")
    table = make().replace_schema_metadata({_STAMP: VERSION})
    with replace_output(path) as draft:
        pq.write_table(table, draft, compression="zstd")
    return path


def _read_stamp(path: Path) -> bytes | None:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowInvalid):
        return None
    stamp: bytes | None = metadata.get(_STAMP)
    return stamp


def _format_policy() -> str:
    """Return the policy as YAML; its sources are in the same folder."""
    tables = (_format_table(name, schema) for name, (schema, _) in SAMPLES.items())
    return POLICY_HEAD + "".join(tables) + _format_hierarchies()


def _format_table(name: str, schema: TableSchema) -> str:
    lines = [
        f"  {name}:              # {schema.meaning}",
        f"    source: {name}.parquet",
        f"    person: {schema.person}",
        *([] if schema.person == "row" else [f"    rows_per_person: {schema.rows_per_person}"]),
        "    columns:",
        *(f"      {column.name}: {_format_column(column)}" for column in schema.columns),
    ]
    return "\n".join(lines) + "\n"


def _format_hierarchies() -> str:
    """Return the hierarchies of columns; those of other columns follow from their declarations."""
    groups = [f"      {name}: {json.dumps(list(diseases))}" for name, diseases in _hospital.GROUPS.items()]
    return "\n".join(
        [
            "hierarchies:              # for `discreet anonymize`; others follow from the declared values",
            "  age: {widths: [5, 10, 20, 40]}",
            "  zipcode: {mask: right}",
            "  disease:",
            "    tree:",
            *groups,
            "",
        ]
    )


def _format_column(column: SampleColumn) -> str:
    if column.role == "identifier":
        return "{role: identifier}"
    parts = [f"type: {column.kind}", f"role: {column.role}"]
    if column.low is not None:
        parts += [f"low: {column.low}", f"high: {column.high}"]
    if column.days is not None:
        parts += [f"low: {column.days[0]}", f"high: {column.days[1]}"]
    if column.values:
        parts.append(f"values: {json.dumps(list(column.values))}")
    return "{" + ", ".join([*parts, "nulls: false"]) + "}"
