"""Encoding: each value as the policy declares its column, and nothing that makes it fail."""

from __future__ import annotations

import tempfile
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import RequestError
from discreet.engines.prepared_store import prepare_store
from tests.engines.stores import policy_of, rows_of


def stored(values: list[Any], kind: pa.DataType, column: dict[str, Any], folder: Path) -> list[Any]:
    """What becomes of a column of a Parquet file; the rows are numbered, as the store keeps no order."""
    path = folder / "values.parquet"
    pq.write_table(pa.table({"i": range(len(values)), "x": pa.array(values, kind)}), path)
    store = prepare_store(policy_of(path, {"i": {"type": "integer"}, "x": column}), None)
    return [row[0] for row in rows_of(store, "SELECT x FROM t ORDER BY i")]


def texts(values: list[str], column: dict[str, Any], folder: Path) -> list[Any]:
    """The same for a CSV file."""
    path = folder / "values.csv"
    lines = [f'{i},"' + value.replace('"', '""') + '"' for i, value in enumerate(values)]
    path.write_text("\n".join(["i,x", *lines]) + "\n", encoding="utf-8", newline="")
    store = prepare_store(policy_of(path, {"i": {"type": "integer"}, "x": column}), None)
    return [row[0] for row in rows_of(store, "SELECT x FROM t ORDER BY i")]


NAN, INF = float("nan"), float("inf")
SMALL = {"type": "integer", "low": -5, "high": 10}
CENTS = {"type": "decimal", "low": 0, "high": 20, "resolution": "0.05"}
COARSE = {"type": "decimal", "low": -1000, "high": 1000, "resolution": "250"}
DAYS = {"type": "date", "low": date(2000, 1, 1), "high": date(2020, 12, 31)}
MOMENTS = {"type": "timestamp", "low": datetime(2000, 1, 1, 12), "high": date(2020, 12, 31)}
CITIES = {"type": "category", "values": ["Ulm", "it's; x", "日本", "1"]}


@pytest.mark.parametrize(
    ("column", "kind", "values", "wanted"),
    [
        (SMALL, pa.int64(), [-(2**63), -6, 0, 10, 11, 2**63 - 1, None], [-5, -5, 0, 10, 10, 10, None]),
        (SMALL, pa.uint64(), [0, 2**64 - 1], [0, 10]),
        (SMALL, pa.float64(), [NAN, INF, -INF, -0.0, 2.5, 1e308, None], [None, 10, -5, 0, 3, 10, None]),
        (SMALL, pa.string(), ["7", " 7 ", "x", "", "1e400", "-inf", "nan"], [7, 7, None, None, 10, -5, None]),
        (SMALL, pa.bool_(), [True, False], [1, 0]),
        (SMALL, pa.date32(), [date(2020, 1, 1)], [None]),
        (CENTS, pa.float64(), [0.07, 0.08, 19.99, 20.01, -1.0, INF, NAN], [1, 2, 400, 400, 0, 400, None]),
        (CENTS, pa.decimal128(10, 3), [Decimal("0.074"), Decimal("0.076")], [1, 2]),
        (CENTS, pa.int32(), [3, 21], [60, 400]),
        (COARSE, pa.float64(), [124.0, 126.0, -126.0, 5000.0], [0, 1, -1, 4]),
        ({"type": "integer"}, pa.int64(), [-(2**63), 2**63 - 1, None], [-(2**63), 2**63 - 1, None]),
        ({"type": "integer"}, pa.uint64(), [2**64 - 1, 3], [None, 3]),
        ({"type": "integer"}, pa.float64(), [NAN, INF, 1e30, 4.0], [None, None, None, 4]),
        ({"type": "decimal"}, pa.float64(), [NAN, INF, -INF, 0.1, None], [None, None, None, 0.1, None]),
        ({"type": "decimal"}, pa.string(), ["1e400", "0.5", "1,5"], [None, 0.5, None]),
        (CITIES, pa.string(), ["Ulm", "ulm", "it's; x", "日本", ""], ["Ulm", None, "it's; x", "日本", None]),
        (CITIES, pa.int64(), [1, 2], ["1", None]),
        ({"type": "category"}, pa.string(), ["a", "", None], ["a", "", None]),
        ({"type": "text"}, pa.string(), ["ü\0\n'", "", None], ["ü\0\n'", "", None]),
        ({"type": "text"}, pa.binary(), [b"\xff\x00"], ["\\xFF\\x00"]),
        (
            DAYS,
            pa.string(),
            ["1999-12-31", "2010-02-28", "2010-02-30", "infinity", "-infinity", "soon"],
            [date(2000, 1, 1), date(2010, 2, 28), None, date(2020, 12, 31), date(2000, 1, 1), None],
        ),
        (DAYS, pa.timestamp("us"), [datetime(2010, 1, 1, 23), None], [date(2010, 1, 1), None]),
        (
            MOMENTS,
            pa.string(),
            ["2000-01-01", "2010-01-01T10:00:00", "2010-01-01T10:00:00+02:00", "2030-01-01", "10:00"],
            [
                datetime(2000, 1, 1, 12),
                datetime(2010, 1, 1, 10),
                datetime(2010, 1, 1, 8),
                datetime(2020, 12, 31),
                None,
            ],
        ),
        (
            {"type": "date"},
            pa.string(),
            ["0001-01-01", "9999-12-31", "12345-01-01", "0044-03-15 (BC)", "infinity"],
            [date(1, 1, 1), date(9999, 12, 31), None, None, None],
        ),
        (
            {"type": "timestamp"},
            pa.string(),
            ["9999-12-31 23:59:59.5", "10000-01-01", "-infinity"],
            [datetime(9999, 12, 31, 23, 59, 59, 500_000), None, None],
        ),
        ({"type": "boolean"}, pa.string(), ["TRUE", " yes", "1"], [True, True, True]),
        ({"type": "boolean"}, pa.string(), ["False", "no", "0", "2", ""], [False, False, False, None, None]),
        ({"type": "boolean"}, pa.bool_(), [True, False, None], [True, False, None]),
        ({"type": "boolean"}, pa.float64(), [1.0, 0.0, NAN], [True, False, None]),
    ],
)  # fmt: skip
def test_a_value_is_kept_as_the_policy_declares_it(
    tmp_path: Path, column: dict[str, Any], kind: pa.DataType, values: list[Any], wanted: list[Any]
) -> None:
    assert stored(values, kind, column, tmp_path) == wanted


def test_negative_zero_is_zero(tmp_path: Path) -> None:
    (value,) = stored([-0.0], pa.float64(), {"type": "decimal"}, tmp_path)
    assert str(value) == "0.0"


def test_a_declared_category_is_an_enum_of_its_values_in_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["Ulm"]}), tmp_path / "x.parquet")
    store = prepare_store(policy_of(tmp_path / "x.parquet", {"x": CITIES}), None)
    assert rows_of(store, "SELECT unnest(enum_range(any_value(x))) FROM t") == [
        (v,) for v in CITIES["values"]
    ]


@given(st.lists(st.decimals(-30, 30, places=3), min_size=1, max_size=20))
@settings(max_examples=30)
def test_a_decimal_moves_by_half_a_step_at_most_and_stays_on_the_grid(values: list[Decimal]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = texts([str(value) for value in values], CENTS, Path(folder))
    for value, steps in zip(values, found, strict=True):
        inside = min(max(Fraction(value), Fraction(0)), Fraction(20))
        assert 0 <= steps <= 400
        assert abs(Fraction(steps, 20) - inside) <= Fraction(1, 40) + Fraction(1, 10**12)


KINDS: list[dict[str, Any]] = [
    SMALL, CENTS, COARSE, DAYS, MOMENTS, CITIES,
    *({"type": kind} for kind in ("integer", "decimal", "category", "text", "date", "timestamp", "boolean")),
]  # fmt: skip
ALL_KINDS = {f"x{number}": column for number, column in enumerate(KINDS)}


@given(st.binary(max_size=200), st.sampled_from([",", ";", "\t", "|", "^"]))
@settings(max_examples=25)
def test_no_bytes_in_a_csv_file_make_it_fail(body: bytes, separator: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        path.write_bytes("\n".join([separator.join(ALL_KINDS), ""]).encode() + body)
        prepare_store(policy_of(path, ALL_KINDS, person="x0"), None)


WORDS = st.text() | st.sampled_from(
    [
        "nan",
        "-inf",
        "1e999",
        "-0",
        "0x1F",
        "infinity",
        "epoch",
        "9" * 400,
        "1e-400",
        "2020-02-30",
        "24:00",
        "\\N",
    ]
)


@given(st.lists(WORDS.filter(lambda word: "\r" not in word), min_size=1, max_size=10))
@settings(max_examples=25)
def test_no_text_makes_any_kind_of_column_fail(words: list[str]) -> None:
    encodable = [word.encode("utf-8", "ignore").decode() for word in words]
    columns = {"i": {"type": "integer"}, **ALL_KINDS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        pq.write_table(
            pa.table({"i": range(len(words)), **dict.fromkeys(ALL_KINDS, pa.array(encodable, pa.string()))}),
            path,
        )
        rows = rows_of(prepare_store(policy_of(path, columns), None), "SELECT * FROM t ORDER BY i")
    assert [row[0] for row in rows] == list(range(len(words)))
    for row in rows:
        assert row[1] is None or -5 <= row[1] <= 10
        assert row[2] is None or 0 <= row[2] <= 400


ODD = [
    "'101'::BIT", "repeat('9', 60)::BIGNUM", "union_value(a := 1)", "MAP {'a': 1}", "[1, NULL]", "{'a': 1}",
    "INTERVAL 1 MONTH", "TIME '10:00'", "'\\xFF'::BLOB", "uuid()", "'{}'::JSON", "'x'::ENUM('x')",
    "340282366920938463463374607431768211455::UHUGEINT", "'infinity'::TIMESTAMP", "'-infinity'::DATE",
    "'294247-01-10 04:00:54'::TIMESTAMP", "TIMESTAMPTZ '2020-01-01 00:00:00+05'", "'5881580-07-10'::DATE",
    "repeat('9', 38)::DECIMAL(38, 0)", "'nan'::FLOAT", "NULL",
]  # fmt: skip


NAMES_NOBODY = {
    "union_value(a := 1)", "MAP {'a': 1}", "[1, NULL]", "{'a': 1}", "INTERVAL 1 MONTH", "'{}'::JSON",
}  # fmt: skip
"""Of types that cannot name people; see `test_identities`."""


@pytest.mark.parametrize("person", ["row", "p"])
def test_no_type_of_a_source_makes_any_kind_of_column_fail(tmp_path: Path, person: str) -> None:
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        for number, value in enumerate(ODD):
            columns = ", ".join(f"{value} AS {name}" for name in (*ALL_KINDS, "p"))
            connection.execute(f"CREATE TABLE odd{number} AS SELECT {columns}")
    nobody = [] if person == "row" else ["'nan'::FLOAT", "NULL"]
    for number, value in enumerate(ODD):
        declared = {**ALL_KINDS, "p": {"role": "identifier"}}
        policy = policy_of(f"{path}#odd{number}", declared, person=person)
        if person != "row" and value in NAMES_NOBODY:
            with pytest.raises(RequestError, match="column p of table t identifies people"):
                prepare_store(policy, None)
            continue
        found = rows_of(prepare_store(policy, None), "SELECT count(*) FROM t")
        assert found == [(0 if value in nobody else 1,)], value
