"""Queries over released tables run in a process of their own, which can reach nothing else and is limited."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet.core.errors import RequestError
from discreet.engines.released_queries import query_released_tables
from tests.engines.test_duckdb import READS

RELEASED = {"r0": pa.table({"k0": ["a", "b", None], "m0": [3, -4, 5], "m1": [0.5, None, 2.0]})}


def rows(sql: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = query_released_tables(sql, RELEASED).to_pylist()
    return found


def test_tables_are_there_for_one_query_alone() -> None:
    assert rows("SELECT k0, m0 FROM r0 ORDER BY m0") == [
        {"k0": "b", "m0": -4},
        {"k0": "a", "m0": 3},
        {"k0": None, "m0": 5},
    ]
    with pytest.raises(RequestError, match="r0 does not exist"):
        query_released_tables("SELECT * FROM r0", {})


def test_numbers_have_the_types_of_answers() -> None:
    found = query_released_tables(
        "SELECT SUM(m0) AS s, 1.5 AS d, 7::UTINYINT AS i, NULL AS n, m1::FLOAT AS f, SUM(m0) AS s, "
        "DATE '2020-01-31' AS t, SUM(m0::HUGEINT * 4611686018427387904) AS h FROM r0 GROUP BY m1 ORDER BY m1",
        {**RELEASED, "p": pa.table({"x": [Decimal("0.10")]})},
    )
    assert found.column_names == ["s", "d", "i", "n", "f", "s_2", "t", "h"]
    kinds = [
        pa.int64(),
        pa.float64(),
        pa.int64(),
        pa.string(),
        pa.float64(),
        pa.int64(),
        pa.date32(),
        pa.int64(),
    ]
    assert found.schema.types == kinds
    assert found["h"].to_pylist() == [None, None, None]


def test_what_is_not_a_number_is_null() -> None:
    assert rows("SELECT 1 / 0 AS a, 0 / 0 AS b, 5 % 0 AS c, LN(-1) AS d, SQRT(-1) AS e, LN(0) AS f") == [
        dict.fromkeys("abcdef")
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nope FROM r0",
        "SELECT r0.nope FROM r0",
        "SELECT k0 + 1 FROM r0",
        "SELECT [m0] FROM r0",
        "SELECT 9223372036854775807 + m0 FROM r0",
        "SELECT getenv('HOME')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "COPY r0 TO 'x'",
        "SET threads = 2",
        "ATTACH 'x.db'",
        "CREATE TABLE x AS SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT repeat('x', 1000000000) || repeat('x', 1000000000) || repeat('y', m0 * 100000000) FROM r0",
        "SELECT ARRAY_AGG(i) FROM range(10000000000) AS t(i)",
    ],
)
def test_what_fails_is_a_request_error_and_the_next_query_works(sql: str) -> None:
    with pytest.raises(RequestError) as caught:
        rows(sql)
    assert caught.value.message.startswith("ask: ")
    assert caught.value.message.endswith(".")
    assert caught.value.hint
    assert rows("SELECT COUNT(*) AS n FROM r0") == [{"n": 3}]


@pytest.mark.parametrize("sql", [*READS, "SELECT * FROM people"])
def test_released_tables_are_all_that_is_reached(sql: str) -> None:
    PEOPLE = pa.table({"name": ["a"]})  # noqa: F841, N806  (a replacement scan would find it)
    with pytest.raises(RequestError):
        rows(sql.format(people="people.parquet"))


def test_each_query_sees_its_own_tables() -> None:
    query_released_tables("SELECT * FROM r0", {**RELEASED, "other": RELEASED["r0"]})
    with pytest.raises(RequestError):
        query_released_tables("SELECT * FROM other", RELEASED)
    assert query_released_tables("SELECT * FROM r0", {"r0": RELEASED["r0"].slice(0, 1)}).num_rows == 1


def test_too_much_time_is_a_request_error() -> None:
    endless = "SELECT SUM(a.i * b.i) AS s FROM range(1000000) AS a(i), range(1000000) AS b(i)"
    with pytest.raises(RequestError, match="too much time or memory"):
        query_released_tables(endless, RELEASED, seconds=0.5)
    assert rows("SELECT COUNT(*) AS n FROM r0") == [{"n": 3}]


def test_an_unknown_column_is_named_with_what_is_probably_meant() -> None:
    with pytest.raises(RequestError, match="has no column nope") as caught:
        rows("SELECT nope FROM (SELECT k0 AS sex, m0 AS nop FROM r0)")
    assert caught.value.hint == "Did you mean nop?"


def test_a_repeated_query_has_the_same_rows_in_the_same_order() -> None:
    table = {
        "r0": pa.table({"k0": list(range(300_000)), "m0": [0.1 * (place % 977) for place in range(300_000)]})
    }
    sql = "SELECT k0 % 7 AS k, SUM(m0) AS s, FIRST(k0) AS f FROM r0 GROUP BY 1"
    assert query_released_tables(sql, table).equals(query_released_tables(sql, table))


def test_any_number_of_threads_may_query() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda place: rows(f"SELECT {place} + m0 AS n FROM r0 LIMIT 1"), range(40)))
    assert found == [[{"n": place + 3}] for place in range(40)]


def test_workers_end_with_the_process_that_started_them() -> None:
    script = (
        "import pyarrow as pa\n"
        "from discreet.engines import released_queries as queries\n"
        "queries.query_released_tables('SELECT 1', {})\n"
        "import os\n"
        "(worker,) = queries._open_workers(os.getpid())._idle\n"
        "print(worker._process.pid)\n"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(made.stdout), 0)
