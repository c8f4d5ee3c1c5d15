"""Tables full of what engines disagree about: every value is stored alike, and nothing errs.

NULL, NaN, infinities, -0.0, empty text, other alphabets, the largest integers, the first and last dates. And
neighbours: whoever leaves the data moves no count further than the plan says, on each engine.
"""

from __future__ import annotations

from datetime import date, datetime
from math import inf, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.relations import Relation
from discreet.engines.duckdb import DuckDB
from discreet.engines.store import prepare
from discreet.sql.plan import plan
from tests.engines.servers import Server

WORDS = ["", " ", "a", "A", "ä", "ß€😀", "it's", "a\\b", "%", "1", "-1.5", "1e3", "inf", "nan", "1d"]
NUMERALS = [
    *("0x1", "0X1F", "0b101", "1_000", "1_0.5", "0o17", "+7", "++7", ".5", "5.", "1.e3", "1e+3", "1E-3", "1e400"),
    *("-1e400", "1e-400", "1e99999", "0e12345", "e3", ".", "1e", "Infinity", "-INF", "+nan", "nan(1)", "infin"),
    *("1f", "1L", "$1", "1,000", "１", "٣", "9.2e18", "0.5", "2.5", "-2.5", "-0", "-0.0", "007", "true"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("9223372036854775807.4", "9223372036854775807.5", "-9223372036854775808.5", "1" * 38, "1" * 60),
    *(" 7 ", "\t7\n", "\v7\f", "- 7", "1 2", "\u00a07"),
]
    "0x1",
    "0X1F",
    "0b101",
    "1_000",
    "1_0.5",
    "0o17",
    "+7",
    "++7",
    ".5",
    "5.",
    "1.e3",
    "1e+3",
    "1E-3",
    "1e400",
    "-1e400",
    "1e-400",
    "1e99999",
    "0e12345",
    "e3",
    ".",
    "1e",
    "Infinity",
    "-INF",
    "+nan",
    "nan(1)",
    "infin",
    "1f",
    "1L",
    "$1",
    "1,000",
    "１",
    "٣",
    "9.2e18",
    "0.5",
    "2.5",
    "-2.5",
    "-0",
    "-0.0",
    "007",
    "true",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "9223372036854775807.4",
    "9223372036854775807.5",
    "-9223372036854775808.5",
]
DAYS = ["2020-02-29", "2021-02-29", "1900-1-1", "2020-01-05 10:00", "2020", "x", "2020-13-01"]
COLUMNS: dict[str, dict[str, Any]] = {
    "whole": {"type": "integer"},
    "steps": {"type": "integer", "low": -3, "high": 5},
    "price": {"type": "decimal", "low": -2, "high": 2, "resolution": "0.25"},
    "float": {"type": "decimal"},
    "word": {"type": "text"},
    "kind": {"type": "category", "values": ["b", "a", "ß€😀", ""]},
    "flag": {"type": "boolean"},
    "day": {"type": "date"},
    "near": {"type": "date", "low": "2000-01-01", "high": "2010-01-01"},
    "time": {"type": "timestamp"},
    "read_number": {"type": "decimal", "low": -9, "high": 9, "resolution": "0.5"},
    "read_whole": {"type": "integer"},
    "read_float": {"type": "decimal"},
    "read_day": {"type": "date"},
    "read_flag": {"type": "boolean"},
}
integers = st.sampled_from([None, 0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63)])
floats = st.sampled_from(
    [None, 0.0, -0.0, nan, inf, -inf, 0.125, -0.125, 0.375, 1e308, -1e308, 5e-324, 1.7976931348623157e308]
)
words = st.sampled_from([None, *WORDS])
numerals = st.sampled_from([None, *WORDS, *NUMERALS])
days = st.sampled_from([None, date(1, 1, 1), date(9999, 12, 31), date(2005, 5, 5), date(1969, 12, 31)])
times = st.sampled_from(
    [None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(2020, 1, 1, 1, 2, 3, 4)]
)
KINDS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "whole": (integers, pa.int64()),
    "steps": (integers, pa.int64()),
    "price": (floats, pa.float64()),
    "float": (floats, pa.float64()),
    "word": (words, pa.string()),
    "kind": (words, pa.string()),
    "flag": (st.sampled_from([None, True, False]), pa.bool_()),
    "day": (days, pa.date32()),
    "near": (days, pa.date32()),
    "time": (times, pa.timestamp("us")),
    "read_number": (numerals, pa.string()),
    "read_whole": (numerals, pa.string()),
    "read_float": (numerals, pa.string()),
    "read_day": (st.sampled_from([None, *DAYS]), pa.string()),
    "read_flag": (st.sampled_from([None, "true", "T", "no", "1.0", " yes ", "2"]), pa.string()),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Many rows at once, as an engine takes long to be told of a table and not to read it."""
    return pa.table(
        {
            name: pa.array(draw(st.lists(values, min_size=60, max_size=60)), kind)
            for name, (values, kind) in KINDS.items()
        }
    )


def counts(engine: Engine, column: str) -> list[tuple[Any, ...]]:
    text = f'SELECT "{column}" AS v, count(*) AS n FROM "t" GROUP BY 1'
    rows = engine.count(f"SELECT * FROM ({text}) AS g ORDER BY v").secret.to_pylist()
    return [tuple(row.values()) for row in rows]


@settings(max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(table=tables())
def test_whatever_a_table_holds_is_stored_alike(
    table: pa.Table, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "t.parquet"
    pq.write_table(table, path)
    here = {"tables": {"t": {"source": str(path), "columns": COLUMNS}}}
    there = {"tables": {"t": {"source": server.put({"t": table})["t"], "columns": COLUMNS}}}
    with (
        DuckDB.open(prepare(Policy.model_validate(here), None)) as measure,
        server.open(Policy.model_validate(there)) as engine,
    ):
        found = {column: counts(engine, column) for column in COLUMNS}
        assert found == {column: counts(measure, column) for column in COLUMNS}


def test_every_text_is_the_same_number_on_every_engine(server: Server, tmp_path: Path) -> None:
    texts = [*WORDS, *NUMERALS]
    table = pa.table({"word": texts, "as_whole": texts, "as_float": texts})
    columns = {
        "word": {"type": "text"},
        "as_whole": {"type": "integer"},
        "as_float": {"type": "decimal"},
    }
    pq.write_table(table, tmp_path / "t.parquet")
    here = {"tables": {"t": {"source": str(tmp_path / "t.parquet"), "columns": columns}}}
    there = {"tables": {"t": {"source": server.put({"t": table})["t"], "columns": columns}}}
    text = 'SELECT "word", "as_whole", "as_float" FROM "t" ORDER BY "word"'
    with (
        DuckDB.open(prepare(Policy.model_validate(here), None)) as measure,
        server.open(Policy.model_validate(there)) as engine,
    ):
        found = measure.count(text).secret.to_pylist()
        assert engine.count(text).secret.to_pylist() == found
    numbers = {row["word"]: row["as_whole"] for row in found}
    assert [numbers[each] for each in ("0x1", "1_000", "1d", " 7 ", "2.5", "1e3")] == [
        None,
        None,
        None,
        7,
        3,
        1000,
    ]


VISITS: dict[str, Any] = {
    "person": "who",
    "rows_per_person": 2,
    "groups_per_person": 2,
    "columns": {
        "who": {"type": "integer", "role": "identifier"},
        "ward": {"type": "category", "values": ["a", "b", "c"]},
        "cost": {"type": "integer", "low": -3, "high": 9},
    },
}
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY ward",
    "SELECT COUNT(*) AS n, AVG(cost) AS m FROM t WHERE cost > 1",
    "SELECT COUNT(*) AS p, SUM(s) AS s FROM (SELECT who, SUM(cost) AS s FROM t GROUP BY who)",
]


def test_whoever_leaves_moves_no_count_further_than_the_plan_says(server: Server) -> None:
    people = [1] * 9 + [2] * 3 + [3] + [None, 4, 4]
    rows = pa.table(
        {
            "who": people,
            "ward": ["abc"[place % 3] for place in range(len(people))],
            "cost": [place * 7 % 15 - 4 for place in range(len(people))],
        }
    )
    promise = Promise(0.01, 0.05, secret=Relation.PRESENCE, tail=1e-6)
    everybody = _policy(server, rows)
    plans = [plan(each, everybody, promise, epsilon=1, leak=1e-7) for each in QUESTIONS]
    with server.open(everybody) as engine:
        before = [engine.count(each.statement).secret for each in plans]
    for person in (1, 2, 3):
        without = rows.filter(pa.array([who != person for who in people]))
        with server.open(_policy(server, without)) as engine:
            for made, whole in zip(plans, before, strict=True):
                part = engine.count(made.statement).secret
                for name, vector in made.vectors.items():
                    moved = zip(whole[name].to_pylist(), part[name].to_pylist(), strict=True)
                    assert sum(abs(a - b) for a, b in moved) <= vector.primitive.sensitivity.l1


def _policy(server: Server, rows: pa.Table) -> Policy:
    tables = {"t": {"source": server.put({"t": rows})["t"], **VISITS}}
    return Policy.model_validate({"tables": tables})
