"""Small tables for the tests of synthesis and tabulation, and an engine that remembers what it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from discreet.core.exact_values import Exact
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.schema import Schema

COLUMNS: dict[str, Any] = {
    "name": {"type": "text", "role": "identifier"},
    "age": {"type": "integer", "low": 0, "high": 99, "nulls": False},
    "born": {"type": "date", "low": "1920-01-01", "high": "2019-12-31"},
    "sex": {"type": "category", "values": ["f", "m"], "nulls": False},
    "kin": {"type": "category", "values": ["wife", "husband", "child", "other"]},
    "pay": {"type": "decimal", "low": 0, "high": 100, "resolution": "0.5", "nulls": False},
    "ill": {"type": "boolean"},
}
IMPOSSIBLE = [
    {"kin": "wife", "sex": "m"},
    {"kin": "husband", "sex": "f"},
    {"age": {"high": 14}, "kin": ["wife", "husband"]},
]


def policy_of(source: Path | str = "people.csv", **table: Any) -> Policy:
    entry = {"source": str(source), "person": "row", "columns": COLUMNS, **table}
    return Policy.model_validate({"tables": {"people": entry}})


def people(number: int, seed: int = 1) -> pa.Table:
    """Rows that keep to what is declared: kin goes with sex and age, and pay with illness."""
    dice = np.random.default_rng(seed)
    age, sex = dice.integers(0, 100, number), dice.integers(0, 2, number)
    kin = np.where(age < 18, "child", np.where(sex == 0, "wife", "husband"))
    kin = np.where(dice.random(number) < 0.3, "other", kin)
    ill = dice.random(number) < 0.2
    pay = np.round(np.where(ill, 20, 60) + dice.integers(-20, 20, number) / 2, 1)
    born = np.datetime64("2019-01-01") - age * np.timedelta64(365, "D")
    return pa.table(
        {
            "name": [f"p{each}" for each in range(number)],
            "age": age,
            "born": pa.array(born.astype("datetime64[D]")),
            "sex": np.array(["f", "m"])[sex],
            "kin": kin,
            "pay": pay,
            "ill": ill,
        }
    )


class Remembering:
    """An engine that counts as another does, and keeps every statement."""

    def __init__(self, engine: DuckDB) -> None:
        self._engine, self.asked = engine, list[str]()

    def count(self, sql: str) -> Exact[pa.Table]:
        self.asked.append(sql)
        return self._engine.count(sql)

    def close(self) -> None:
        self._engine.close()

    def __enter__(self) -> Remembering:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def opened(folder: Path, data: pa.Table, **table: Any) -> Iterator[tuple[Policy, Remembering]]:
    """A store of the data, and its policy."""
    source = folder / "people.csv"
    pa.csv.write_csv(data, source)
    policy = policy_of(source, **table)
    with Remembering(DuckDB.open(prepare_store(policy, None))) as engine:
        yield policy, engine


def counter_of(schema: Schema, codes: NDArray[np.integer] | Sequence[Sequence[int]]) -> ArrayCounter:
    rows = np.asarray(codes, np.int16).reshape(-1, len(schema.attributes))
    return ArrayCounter(schema=schema, codes=rows, targets=np.zeros(len(rows), np.int64))
