"""The samples' policy: what their schemas declare, as a custodian would write it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from discreet.app.sample.hospital import GROUPS
from discreet.app.sample.schema import Column, TableSchema

HEAD = """\
# Who gave a claim about one person 1% before may, after all answers, give it at most 5%.
promise: {prior: 1%, posterior: 5%, secret: value}
epsilon: 0.1          # what a question costs if it does not say
tables:
"""


def text(schemas: dict[str, TableSchema]) -> str:
    """The whole policy as YAML; sources stand beside it."""
    return HEAD + "".join(_table(name, schema) for name, schema in schemas.items()) + _hierarchies()


def _table(name: str, schema: TableSchema) -> str:
    lines = [
        f"  {name}:              # {schema.meaning}",
        f"    source: {name}.parquet",
        f"    person: {schema.person}",
        *([] if schema.person == "row" else [f"    rows_per_person: {schema.rows_per_person}"]),
        "    columns:",
        *(f"      {column.name}: {_column(column)}" for column in schema.columns),
    ]
    return "\n".join(lines) + "\n"


def _hierarchies() -> str:
    """How columns are made coarser when a table is published; others by what is declared of them."""
    groups = [f"      {name}: {json.dumps(list(diseases))}" for name, diseases in GROUPS.items()]
    return "\n".join(
        [
            "hierarchies:              # for `discreet anonymize`; others are drafted from what is declared",
            "  age: {widths: [5, 10, 20, 40]}",
            "  zipcode: {mask: right}",
            "  disease:",
            "    tree:",
            *groups,
            "",
        ]
    )


def _column(column: Column) -> str:
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


def write(path: Path, schemas: dict[str, TableSchema]) -> Path:
    """The policy's file, replaced as a whole if it says something else."""
    wanted = text(schemas)
    if not path.exists() or path.read_text() != wanted:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(wanted)
        os.replace(draft, path)
    return path
