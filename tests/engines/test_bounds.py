"""Bins of bounds where the rows are: every engine puts every value into the bin that holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.column_entry import Column
from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.schema import Schema
from discreet.services.bounds.value_scale import ValueScale
from tests.engines.servers import Server, spark_by_night
from tests.engines.support import shows
from tests.engines.test_asking import address
from tests.services.test_promise import discreet

ORIGIN = date(2000, 1, 1)
EDGES = [0, *(sign * (2**k + d) for k in range(62) for d in (-1, 0, 1) for sign in (-1, 1))]
WHOLE = [*EDGES, 2**63 - 1, -(2**63), 2**62, 2**62 + 1, -(2**62), None]
STEPS = [*(number for number in EDGES if abs(number) < 2**50), None]
DAYS = [
    *(ORIGIN + timedelta(days=number) for number in EDGES if abs(number) < 700_000),
    date.max,
    date.min,
    None,
]


def count(server: Server, column: Column, values: pa.Array) -> tuple[ValueScale, list[int]]:
    source = server.put({"rows": pa.table({"x": values})})["rows"]
    table = Table(source=source, columns={"x": column})
    scale = ValueScale.from_column(column, ORIGIN)
    schema = Schema(attributes=(scale.make_attribute("x"),))
    with server.open(Policy(tables={"rows": table})) as engine:
        (counts,) = EngineCounter(engine=engine, schema=schema, table="rows").count_marginals([("x",)]).secret
    return scale, counts.tolist()


class Files:
    """The embedded engine, over Parquet files."""

    name = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, tables: Mapping[str, pa.Table]) -> dict[str, str]:
        for name, table in tables.items():
            pq.write_table(table, self.folder / f"{name}.parquet")
        return {name: str(self.folder / f"{name}.parquet") for name in tables}

    def open(self, policy: Policy) -> Engine:
        return DuckDB.open(prepare_store(policy, None))


@pytest.mark.parametrize(
    ("facts", "values", "steps"),
    [
        ({"type": "integer"}, pa.array(WHOLE, pa.int64()), WHOLE),
        (
            {"type": "decimal", "resolution": "0.01"},
            pa.array([None if each is None else each / 100 for each in STEPS], pa.float64()),
            STEPS,
        ),
        (
            {"type": "date"},
            pa.array(DAYS, pa.date32()),
            [None if day is None else (day - ORIGIN).days for day in DAYS],
        ),
    ],
    ids=["integer", "decimal", "date"],
)
def test_the_embedded_engine_counts_every_value_in_the_bin_that_holds_it(
    tmp_path: Path, facts: dict[str, str], values: pa.Array, steps: list[int | None]
) -> None:
    scale, counts = count(Files(tmp_path), Column.model_validate(facts), values)
    assert counts == expect(scale, [each for each in steps if each is not None], 1)


def expect(scale: ValueScale, steps: list[int], missing: int) -> list[int]:
    return [*scale.bins.count(steps).tolist(), missing]


@shows("bins of powers of two that `bounds` learns from")
@spark_by_night
def test_whole_numbers_are_counted_in_the_bins_that_hold_them(server: Server) -> None:
    scale, counts = count(server, Column.model_validate({"type": "integer"}), pa.array(WHOLE, pa.int64()))
    assert counts == expect(scale, [value for value in WHOLE if value is not None], 1)


@spark_by_night
@pytest.mark.parametrize("step", ["0.01", "1", "250"])
def test_decimals_are_counted_by_steps_of_their_resolution(server: Server, step: str) -> None:
    column = Column.model_validate({"type": "decimal", "resolution": step})
    numbers = [None if each is None else float(each * Decimal(step)) for each in STEPS]
    numbers += [math.nan, math.inf, -math.inf]
    scale, counts = count(server, column, pa.array(numbers, pa.float64(), from_pandas=False))
    assert counts == expect(scale, [value for value in STEPS if value is not None], 4)


@spark_by_night
def test_days_are_counted_from_the_origin(server: Server) -> None:
    scale, counts = count(server, Column.model_validate({"type": "date"}), pa.array(DAYS, pa.date32()))
    assert counts == expect(scale, [(day - ORIGIN).days for day in DAYS if day is not None], 1)


@spark_by_night
def test_times_are_counted_by_their_days(server: Server) -> None:
    days = [ORIGIN + timedelta(days=number) for number in EDGES if abs(number) < 30_000]
    moments = [datetime(day.year, day.month, day.day, hour, 59) for day in days for hour in (0, 23)]
    values = pa.array([*moments, None], pa.timestamp("us"))
    scale, counts = count(server, Column.model_validate({"type": "timestamp"}), values)
    assert counts == expect(scale, [(moment.date() - ORIGIN).days for moment in moments], 1)


def test_the_command_learns_where_the_rows_are(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = pa.table(
        {
            "who": pa.array([f"p{place // 2}" for place in range(8_000)]),
            "age": pa.array(np.resize(np.arange(20, 80), 8_000)),
            "job": pa.array(np.resize(["baker", "cook"], 8_000)),
        }
    )
    source = server.put({"people": people})["people"]
    policy = tmp_path / "privacy.yaml"
    policy.write_text(
        "promise: {prior: 1%, posterior: 50%, tail: 1e-6}\n"
        f"tables:\n  people:\n    source: {json.dumps(source)}\n    person: who\n    rows_per_person: 2\n"
        "    columns:\n      who: {role: identifier}\n      age: {type: integer, low: ?, high: ?}\n"
        "      job: {type: category, values: ?}\n"
    )
    found: list[dict[str, Any]] = []
    for words in (("age",), ("job", "--values")):
        more = ("--policy", str(policy), "--engine", address(server), "--epsilon", "0.5", "--write", "--json")
        assert discreet("bounds", "people", *words, *more) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert (found[0]["low"], found[0]["high"]) == ("17", "128")
    assert found[1]["values"] == ["baker", "cook"]
