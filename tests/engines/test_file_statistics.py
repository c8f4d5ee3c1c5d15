"""Statistics of a file decide nothing: one person's value changes nobody else's, whatever the footer claims.

Writers leave NaN out of a column's minimum and maximum, so that a file with NaN has statistics that are true
by the format and wrong for DuckDB. Footers that contradict the format are tried too. (A footer that says of a
whole column chunk that it is NULL is believed, with or without an optimizer: such a file breaks its format.)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.policy import Policy
from discreet.engines.duckdb_connection import connect_duckdb
from discreet.engines.duckdb_publisher import DuckDBPublisher
from discreet.engines.prepared_store import prepare_store
from discreet.engines.sources import write_parquet_reader
from tests.engines.stores import policy_of, rows_of

NAN = math.nan
Rows = list[Any]
QUESTIONS = (
    "SELECT id, isnan(CAST(x AS DOUBLE)) FROM t",
    "SELECT id, CASE WHEN x > 4 THEN 1 WHEN x <= 4 THEN 0 END FROM t",
    "SELECT id, x IS NULL, coalesce(x, 7), greatest(0, least(3, x)) FROM t",
    "SELECT id FROM t WHERE x > 4",
    "SELECT id FROM t WHERE NOT (x <= 4)",
    "SELECT id FROM t WHERE x < 0",
    "SELECT id FROM t WHERE x BETWEEN 0 AND 3",
    "SELECT id FROM t WHERE x IS NULL",
    "SELECT id FROM t WHERE x IS NOT NULL",
    "SELECT id FROM t WHERE x IN (9, 1e9, -5, 70000001)",
    "SELECT id FROM t WHERE x = CAST('nan' AS DOUBLE)",
    "SELECT min(x) FROM t",
    "SELECT max(x) FROM t",
    "SELECT count(x), count(*) FROM t",
    "SELECT x, count(*) FROM t GROUP BY x",
    "SELECT DISTINCT x FROM t",
    "SELECT id FROM t ORDER BY x DESC NULLS LAST, id LIMIT 2",
    "SELECT x, sum(id) FROM t GROUP BY x ORDER BY x LIMIT 3",
    "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY x > 1 ORDER BY x DESC, id) = 1",
    "SELECT a.id, b.id FROM t AS a JOIN t AS b ON a.x = b.x",
    "SELECT id FROM t JOIN (VALUES (9.0), (1e9), (-5.0), ('nan'::DOUBLE)) AS v (y) ON t.x = v.y",
)


def write(path: Path, values: Rows, kind: pa.DataType, **options: Any) -> None:
    rows = pa.table({"id": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, kind)})
    pq.write_table(rows, path, compression="none", use_dictionary=False, **options)


def change_values(path: Path, old: bytes, new: bytes) -> None:
    """Change values in the pages, and leave the statistics in the footer."""
    whole = path.read_bytes()
    end = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    assert old in whole[:end]
    path.write_bytes(whole[:end].replace(old, new) + whole[end:])


def deny_nulls(path: Path, nulls: int) -> None:
    """Change the number of NULLs in the footer to 0."""
    whole = bytearray(path.read_bytes())
    end = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
    # the field null_count, a zigzag varint, between the old and the new form of minimum and maximum
    place = whole.index(bytes([0x16, 2 * nulls, 0x28]), end)
    whole[place + 1] = 0
    path.write_bytes(whole)


def write_nans(path: Path) -> None:
    write(path, [0.0, 0.5, NAN, NAN], pa.float64())


def write_float(path: Path) -> None:
    write(path, [0.0, 0.5, NAN], pa.float32())


def write_zeros(path: Path) -> None:
    write(path, [-0.0, 0.0, NAN, 1.0], pa.float64())


def write_groups(path: Path) -> None:
    write(path, [0.0, 0.5, NAN, 7.0, 8.0, NAN, NAN, NAN, -math.inf, math.inf], pa.float64(), row_group_size=2)


def write_without_statistics(path: Path) -> None:
    write(path, [0.0, 0.5, NAN], pa.float64(), write_statistics=False)


def write_by_polars(path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"id": [0, 1, 2], "x": [0.0, 0.5, NAN]}).write_parquet(path)


def write_by_duckdb(path: Path) -> None:
    with closing(duckdb.connect()) as connection:
        values = "VALUES (0, 0.0::DOUBLE), (1, 0.5), (2, 'nan'::DOUBLE), (3, NULL)"
        connection.execute(f"COPY (FROM ({values}) AS t (id, x)) TO '{path}'")


def write_low_maximum(path: Path) -> None:
    write(path, [1.0, 2.0, 3.0, NAN], pa.float64())
    change_values(path, struct.pack("<d", 3.0), struct.pack("<d", 1e9))


def write_high_minimum(path: Path) -> None:
    write(path, [1.0, 2.0, 3.0], pa.float64())
    change_values(path, struct.pack("<d", 1.0), struct.pack("<d", -5.0))


def write_false_constant(path: Path) -> None:
    write(path, [10_000_001] * 3, pa.int64())
    change_values(path, struct.pack("<q", 10_000_001), struct.pack("<q", 70_000_001))


def write_denied_nulls(path: Path) -> None:
    write(path, [1.0, None, 3.0, None, NAN], pa.float64())
    deny_nulls(path, 2)


WRITERS = (
    write_nans,
    write_float,
    write_zeros,
    write_groups,
    write_without_statistics,
    write_by_polars,
    write_by_duckdb,
    write_low_maximum,
    write_high_minimum,
    write_false_constant,
    write_denied_nulls,
)


def comparable(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def answer_all(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    return {sql: comparable(connection.execute(sql).fetchall()) for sql in QUESTIONS}


def answer_without_statistics(path: Path) -> dict[str, list[str]]:
    """The truth: pyarrow reads all pages, and a table of DuckDB has statistics of its own."""
    with closing(duckdb.connect()) as connection:
        connection.register("arriving", pq.ParquetFile(path).read())
        connection.execute("CREATE TABLE t AS FROM arriving")
        return answer_all(connection)


def answer_by(connection: duckdb.DuckDBPyConnection, reader: str) -> dict[str, list[str]]:
    connection.execute(f"CREATE VIEW t AS FROM {reader}")
    return answer_all(connection)


@pytest.mark.parametrize("write_file", WRITERS, ids=lambda each: each.__name__)
def test_no_statement_over_a_parquet_file_depends_on_its_statistics(
    tmp_path: Path, write_file: Callable[[Path], None]
) -> None:
    path = tmp_path / "x.parquet"
    write_file(path)
    with closing(connect_duckdb()) as connection:
        assert answer_by(connection, write_parquet_reader([path])) == answer_without_statistics(path)


@pytest.mark.parametrize("write_file", [write_nans, write_low_maximum, write_denied_nulls])
def test_a_connection_with_all_optimizers_is_caught(
    tmp_path: Path, write_file: Callable[[Path], None]
) -> None:
    path = tmp_path / "x.parquet"
    write_file(path)
    with closing(duckdb.connect()) as connection:
        found = answer_by(connection, f"read_parquet('{path}')")
    assert sum(found[sql] != truth for sql, truth in answer_without_statistics(path).items()) >= 4


def dose_policy(path: Path) -> Policy:
    columns = {"id": {"role": "identifier"}, "x": {"type": "decimal", "low": 0, "high": 1, "resolution": 0.1}}
    return policy_of(path, columns, person="id")


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_one_value_changes_nobody_elses_nan(tmp_path: Path, kind: pa.DataType) -> None:
    found = []
    for name, own in {"without": [], "with": [0.0]}.items():
        path = tmp_path / f"{name}.parquet"
        write(path, [0.5] * 20 + [NAN] * 20 + own, kind)
        counts = "SELECT count(*), count(x), sum(x) FROM t"
        found.append(rows_of(prepare_store(dose_policy(path), None), counts))
        with DuckDBPublisher(dose_policy(path).tables) as publisher:
            isnan = publisher.count(
                "SELECT count(*) FILTER (isnan(x)) AS n, count(*) FILTER (x > 4) AS m FROM t"
            )
        assert isnan.secret.to_pylist() == [{"n": 20, "m": 20}]
    assert found == [[(40, 20, 100)], [(41, 21, 100)]]
