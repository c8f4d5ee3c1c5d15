"""The policy of the sample tables, derived from their schemas."""

from __future__ import annotations

import json
import os
from pathlib import Path

from discreet.accounting.belief_sentences import describe_policy_belief
from discreet.services.sample.hospital import GROUPS
from discreet.services.sample.table_schema import SampleColumn, TableSchema

HEAD = f"""\
# {describe_policy_belief("1%", "5%")}
promise: {{prior: 1%, posterior: 5%, secret: value}}
epsilon: 0.1          # the cost of a question, unless it gives another
tables:
"""


def format_policy(schemas: dict[str, TableSchema]) -> str:
    """Return the policy as YAML; its sources are in the same folder."""
    return (
        HEAD
        + "".join(_format_table(name, schema) for name, schema in schemas.items())
        + _format_hierarchies()
    )


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
    groups = [f"      {name}: {json.dumps(list(diseases))}" for name, diseases in GROUPS.items()]
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


def write_policy_file(path: Path, schemas: dict[str, TableSchema]) -> Path:
    """Write the policy to `path`, atomically, unless it has the same text already; return the path."""
    wanted = format_policy(schemas)
    if not path.exists() or path.read_text() != wanted:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(wanted)
        os.replace(draft, path)
    return path
