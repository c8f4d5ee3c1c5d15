"""Frames are read by what is declared: one person's value never changes how others' are read.

Neighbours are frames of the same people in which one value differs; libraries choose other types for them.
The engine must hold the same value for everybody else, in whichever library the rows are.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from discreet.core.column_entry import Column, ColumnType
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.services.frames import is_frame, read_frame

DECLARED: dict[str, Column] = {
    "integer": Column(type=ColumnType.INTEGER),
    "bounded integer": Column(type=ColumnType.INTEGER, low=0, high=100),
    "decimal": Column(type=ColumnType.DECIMAL),
    "bounded decimal": Column(type=ColumnType.DECIMAL, low=0, high=100, resolution=Decimal("0.1")),
    "category": Column(
        type=ColumnType.CATEGORY, values=("1", "2", "2.5", "true", "false", "x", "2024-01-31")
    ),
    "text": Column(type=ColumnType.TEXT),
    "date": Column(type=ColumnType.DATE),
    "bounded timestamp": Column(
        type=ColumnType.TIMESTAMP, low=datetime(2000, 1, 1), high=datetime(2030, 1, 1)
    ),
    "boolean": Column(type=ColumnType.BOOLEAN),
}
COLUMNS: dict[str, list[Any]] = {
    "integers": [1, 2, 0, 99, 12],
    "large integers": [2**53 - 1, -(2**53) + 1, 7, 1, 2],
    "fractions": [1.0, 2.5, 0.5, 3.5, -0.0],
    "far fractions": [1e300, 1.5e-7, 123456789.25, 1e17, 2.0],
    "booleans": [True, False, True, True, False],
    "texts": ["1", "2.5", "x", "", "2024-01-31"],
    "decimals": [Decimal("1.5"), Decimal("2"), Decimal("0.05"), Decimal("99.95"), Decimal(0)],
    "dates": [date(2024, 1, 31), date(1999, 12, 31), date(2024, 2, 29), date(2020, 1, 1), date(2021, 1, 1)],
    "times": [datetime(2024, 1, 31, 23, 30), datetime(2024, 1, 1), *[datetime(2024, 5, 5, 5, 5, 5, 500)] * 3],
    "zoned times": [datetime(2024, 1, 31, 23, 30, tzinfo=UTC), *[datetime(2024, 5, 5, tzinfo=UTC)] * 4],
}
OTHERS: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "text": "unknown",
    "fraction": 7.25,
    "long decimal": Decimal("1.123456789012"),
    "huge": 10**30,
    "boolean": True,
    "far time": datetime(9999, 1, 1),
    "time of another zone": datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    "bytes": b"\xff",
    "list": [1, 2],
    "no text": "\ud800",
    "object": object(),
}


def read_columns(frame: Any, columns: dict[str, Column]) -> dict[str, list[Any]]:
    """Return the values that the engine holds of each column, in the order of the rows."""
    table = Table(columns={"n": Column(type=ColumnType.INTEGER), **columns})
    policy = Policy(tables={"t": table})
    store = prepare_store(policy, None, frames={"t": read_frame(frame, "t", table)})
    with DuckDB(store) as engine:
        found = engine.count("SELECT * FROM t ORDER BY n").secret.to_pydict()
    return {name: found[name] for name in columns}


def read(frame: Any, column: Column) -> list[Any]:
    return read_columns(frame, {"x": column})["x"]


def number_rows(values: list[Any]) -> dict[str, list[Any]]:
    return {"n": list(range(len(values))), "x": values}


def make_pandas(values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(number_rows(values))


def make_series(values: list[Any]) -> pd.Series:
    """Return a column of the type that pandas gives to these values."""
    try:
        return pd.Series(values)
    except UnicodeError:  # pandas itself refuses texts that are not UTF-8, except among objects
        return pd.Series(values, dtype=object)


@pytest.mark.parametrize("kind", COLUMNS)
def test_one_value_of_a_pandas_frame_changes_no_other(kind: str) -> None:
    """Whatever one person's value is, and whatever type pandas then gives the column."""
    values = COLUMNS[kind]
    variants = {"same": values} | {name: [*values[:-1], other] for name, other in OTHERS.items()}
    frame, columns = {"n": pd.Series(range(len(values)))}, {}
    for (variant, listed), (declared, column) in itertools.product(variants.items(), DECLARED.items()):
        frame[f"{variant} as {declared}"] = make_series(listed)
        columns[f"{variant} as {declared}"] = column
    found = read_columns(pd.DataFrame(frame), columns)
    for variant, declared in itertools.product(OTHERS, DECLARED):
        assert found[f"{variant} as {declared}"][:-1] == found[f"same as {declared}"][:-1]


@pytest.mark.parametrize("kind", [name for name in COLUMNS if "zoned" not in name])
def test_one_missing_value_changes_no_other_in_any_library(kind: str) -> None:
    values = COLUMNS[kind]
    makers: list[Callable[[dict[str, list[Any]]], Any]] = [
        pa.table,
        lambda listed: pl.DataFrame(listed, strict=False),
        lambda listed: duckdb.from_arrow(pa.table(listed)),
        lambda listed: pd.DataFrame(listed).convert_dtypes(),
        lambda listed: pd.DataFrame(listed, dtype=object),
    ]

    def repeat(listed: list[Any]) -> dict[str, list[Any]]:
        return {"n": list(range(len(listed))), **dict.fromkeys(DECLARED, listed)}

    expected = read_columns(pd.DataFrame(repeat(values)), DECLARED)
    without = {name: [*found[:-1], None] for name, found in expected.items()}
    for make in makers:
        assert read_columns(make(repeat(values)), DECLARED) == expected
        assert read_columns(make(repeat([*values[:-1], None])), DECLARED) == without


def test_numbers_that_stand_for_text_are_written_alike() -> None:
    column = DECLARED["category"]
    frames = [
        make_pandas([1, 2, 2]),
        make_pandas([1.0, 2.0, 2.0]),
        make_pandas([Decimal("1.00"), Decimal("2.00"), Decimal(2)]),
        make_pandas([1, 2, 2]).astype({"x": "category"}),
        make_pandas([1, 2.0, "2"]),
        pa.table({"n": [0, 1, 2], "x": pa.array([1, 2, 2], pa.float16())}),
        pa.table({"n": [0, 1, 2], "x": pa.array([Decimal(1), Decimal(2), Decimal(2)], pa.decimal256(60, 9))}),
        pa.table({"n": [0, 1, 2], "x": pa.array([1.0, 2.0, 2.0]).dictionary_encode()}),
        pl.DataFrame({"n": [0, 1, 2], "x": ["1", "2", "2"]}, schema_overrides={"x": pl.Categorical}),
        duckdb.sql("SELECT * FROM (VALUES (0, 1::HUGEINT), (1, 2), (2, 2)) AS t(n, x)"),
    ]
    assert [read(frame, column) for frame in frames] == [["1", "2", "2"]] * len(frames)


def test_missing_values_of_every_kind_are_the_same() -> None:
    values = [None, float("nan"), pd.NA, pd.NaT, "x"]
    frames = [
        pd.DataFrame({"n": range(5), "x": pd.Series(values, dtype=object)}),
        pd.DataFrame({"n": range(5), "x": pd.Series([None] * 4 + ["x"], dtype="string")}),
        pd.DataFrame({"n": range(5), "x": pd.Series([None] * 4 + ["x"], dtype="category")}),
        pl.DataFrame({"n": range(5), "x": [None] * 4 + ["x"]}),
    ]
    assert all(read(frame, DECLARED["text"]) == [None] * 4 + ["x"] for frame in frames)
    numbers = pl.DataFrame({"n": range(3), "x": [1.5, float("nan"), None]})
    assert read(numbers, DECLARED["text"]) == ["1.5", None, None]
    assert read(numbers, DECLARED["bounded decimal"]) == [15, None, None]
    assert read(pa.table({"n": [0], "x": pa.nulls(1)}), DECLARED["bounded integer"]) == [None]


def test_objects_are_read_as_their_own_columns_would_be() -> None:
    moment = datetime(2024, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    objects = pd.DataFrame({"n": range(2), "x": pd.Series([moment, "x"], dtype=object)})
    alone = pd.DataFrame({"n": range(2), "x": pd.Series([moment, moment])})
    for declared in ("date", "bounded timestamp", "text"):
        assert read(objects, DECLARED[declared])[0] == read(alone, DECLARED[declared])[0]
    others = [
        np.int8(3),
        np.float32(2.5),
        np.bool_(True),
        np.datetime64("2024-01-31"),
        time(12, 30),
        UUID(int=1),
    ]
    found = read(pd.DataFrame({"n": range(6), "x": pd.Series(others, dtype=object)}), DECLARED["text"])
    assert found == ["3", "2.5", "true", "2024-01-31 00:00:00", "12:30:00", str(UUID(int=1))]


def test_large_integers_of_a_relation_are_exact() -> None:
    frame = duckdb.sql(f"SELECT 0 AS n, {2**120}::HUGEINT AS x")
    assert read(frame, DECLARED["text"]) == [str(2**120)]
    longer = pl.DataFrame({"n": [0], "x": pl.Series([2**120], dtype=pl.Int128)})
    assert read(longer, DECLARED["text"]) == [str(2**120)]
    assert read(longer, DECLARED["bounded integer"]) == [100]


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (pa.table({"n": [1], "x": [[1]]}), "list"),
        (pa.table({"n": [1], "x": [{"a": 1}]}), "struct"),
        (pa.table({"n": [1], "x": [timedelta(1)]}), "duration"),
        (pl.DataFrame({"n": [1], "x": [[1]]}), "list"),
        (duckdb.sql("SELECT 1 AS n, MAP {'a': 1} AS x"), "map"),
        (pd.DataFrame({"n": [1], "x": [pd.Timedelta(1)]}), "duration"),
        (pd.DataFrame({"n": [1], "x": pd.period_range("2024-01", periods=1, freq="M")}), "period"),
        (pd.DataFrame({"n": [1], "x": pd.interval_range(0, 1)}), "interval"),
        (pd.DataFrame({"n": [1], "x": [1j]}), "complex"),
        (pl.DataFrame({"n": [1], "x": pl.Series([object()], dtype=pl.Object)}), "Object"),
    ],
)
def test_nested_types_are_refused_by_name(frame: Any, kind: str) -> None:
    with pytest.raises(RequestError, match=f"column x of table t has the type .*{kind}"):
        read(frame, DECLARED["text"])


def test_only_declared_columns_are_read() -> None:
    frame = pa.table({"Age": [34], "secret": [[1]], "n": [0]})
    table = Table(columns={"age": Column(type=ColumnType.INTEGER, low=0, high=99)})
    for each in (frame, frame.to_pandas(), duckdb.from_arrow(frame), ds.dataset(frame), frame.to_reader()):
        assert read_frame(each, "t", table).to_pydict() == {"age": [34]}


def test_a_missing_or_ambiguous_column_is_refused() -> None:
    table = Table(columns={"age": Column()})
    with pytest.raises(
        RequestError, match=r"declares the column age; the frame does not have it\. Did you mean ages"
    ):
        read_frame(pa.table({"ages": [1]}), "t", table)
    twice = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(RequestError, match="has 2 columns named age"):
        read_frame(twice, "t", table)
    with pytest.raises(RequestError, match="has 2 columns named age"):
        read_frame(pa.table({"Age": [1], "AGE": [2]}), "t", table)
    assert read_frame(pa.table({"Age": [1], "age": [2]}), "t", table).to_pydict() == {"age": [2]}


class Exporter:
    """A frame of a library that is not known, which exports an Arrow stream."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def test_whatever_exports_a_stream_is_a_frame() -> None:
    frame = Exporter(pa.table({"n": [0, 1], "x": [1.0, None]}))
    assert is_frame(frame)
    assert read(frame, DECLARED["category"]) == ["1", None]


@pytest.mark.parametrize("value", [None, 3, "people.csv", {"x": [1]}, [1], np.zeros((2, 2)), pd.Series([1])])
def test_other_values_are_no_frames(value: object) -> None:
    assert not is_frame(value)


def test_frames_of_no_rows_are_read() -> None:
    empty = pa.table({"n": pa.array([], pa.int64()), "x": pa.array([], pa.string())})
    for frame in (empty, empty.to_pandas(), pl.from_arrow(empty), duckdb.from_arrow(empty)):
        assert all(read(frame, column) == [] for column in DECLARED.values())


def test_no_other_library_is_needed_for_a_frame_of_one() -> None:
    script = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "pyspark"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import duckdb, discreet
rows = duckdb.sql("SELECT range AS age, range % 2 = 0 AS even FROM range(100)")
columns = {"age": (17, 90), "even": bool}
answer = discreet.ask(rows, "SELECT even, COUNT(*) AS n FROM df GROUP BY even", columns=columns, epsilon=1)
print(answer.to_arrow().num_rows)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


def test_a_large_frame_is_not_copied_where_its_types_fit() -> None:
    numbers = pa.array(range(1_000_000))
    table = Table(columns={"x": Column(type=ColumnType.INTEGER, low=0, high=10**6)})
    read_again = read_frame(pa.table({"x": numbers}), "t", table).column("x").chunk(0)
    assert read_again.buffers()[1].address == numbers.buffers()[1].address


def test_the_same_values_have_the_same_text_in_every_order() -> None:
    """Chunks of objects are converted by themselves, by Arrow or value by value."""
    texts = ["a", "b", None] * 50_000
    mixed = pd.DataFrame({"n": range(len(texts) + 1), "x": pd.Series([*texts, 7], dtype=object)})
    found = read(mixed, DECLARED["text"])
    assert found == [*texts, "7"]
    assert list(itertools.islice(found, 3)) == ["a", "b", None]
