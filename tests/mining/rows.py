"""Rows that tests learn from, at hand and in a prepared store, under one policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.engine import Closeable, Engine
from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.schema import Schema
from tests.conftest import seeded

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "integer", "low": 17, "high": 90},
    "pay": {"type": "decimal", "low": 0, "high": 1000, "resolution": 0.01},
    "work": {"type": "category", "values": ["farm", "mine", "sea"]},
    "owner": {"type": "boolean"},
    "since": {"type": "date", "low": "2000-01-01", "high": "2009-12-31"},
    "ill": {"type": "category", "values": ["no", "yes"]},
}


def policy(folder: Path, *, person: str = "row", rows_per_person: int = 1, **more: Any) -> Policy:
    named = {} if person == "row" else {person: {"type": "text", "role": "identifier"}}
    table: dict[str, Any] = {
        "source": str(folder / "people.parquet"),
        "person": person,
        "columns": {**named, **COLUMNS},
    }
    if person != "row":
        table["rows_per_person"] = rows_per_person
    return Policy.model_validate({"tables": {"people": {**table, **more}}})


def drawn(number: int, seed: int = 0) -> dict[str, Any]:
    """People of whom age and work tell whether they are ill; some values are missing or undeclared."""
    generator = np.random.Generator(np.random.Philox(seed))
    age = generator.integers(10, 100, number)
    work = generator.choice(
        np.array(["farm", "mine", "sea", "moon", None], object), number, p=[0.3, 0.3, 0.2, 0.1, 0.1]
    )
    risk = 0.1 + 0.5 * (age > 53) + 0.3 * (work == "mine")
    ill = np.where(generator.random(number) < risk, "yes", "no")
    return {
        "age": age,
        "pay": np.round(generator.gamma(2, 100, number), 3),
        "work": work,
        "owner": generator.choice(np.array([True, False, None], object), number),
        "since": np.datetime64("1999-06-01") + generator.integers(0, 4200, number),
        "ill": np.where(generator.random(number) < 0.02, "?", ill),
    }


def written(folder: Path, columns: Mapping[str, Any]) -> None:
    arrays = {name: pa.array(np.asarray(values).tolist()) for name, values in columns.items()}
    pq.write_table(pa.table(arrays), folder / "people.parquet")


def engine(folder: Path, terms: Policy) -> DuckDB:
    return DuckDB(prepare_store(terms, None, random=seeded(7)))


def at_hand(schema: Schema, columns: Mapping[str, Any], *, rows_per_person: int = 1) -> ArrayCounter:
    assert schema.target is not None
    codes = schema.encode([columns[each.name] for each in schema.attributes])
    targets = schema.target.encode(columns[schema.target.name]).astype(np.int64)
    return ArrayCounter(schema=schema, codes=codes, targets=targets, rows_per_person=rows_per_person)


class Watched(Closeable):
    """An engine that writes down what it is asked."""

    def __init__(self, over: Engine) -> None:
        self.over, self.asked = over, list[str]()

    def count(self, sql: str) -> Exact[pa.Table]:
        self.asked.append(sql)
        return self.over.count(sql)

    def close(self) -> None:
        self.over.close()


def binary(number: int, classes: Sequence[str] = ("no", "yes")) -> Schema:
    """Attributes of two values each, and a target."""
    attributes = [Attribute.category(f"x{j}", ["0", "1"], has_missing_bin=False) for j in range(number)]
    return Schema(attributes=tuple(attributes), target=Attribute.category("y", classes))
