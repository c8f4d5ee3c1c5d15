"""Values that engines disagree about, and tables full of them.

NULL, NaN, infinities, -0.0, empty text, other alphabets, marks that combine, blanks at the end, letters whose
order or case depends on a language, the largest integers, the first and last dates. Every table has all
values of every column; hypothesis decides which of them stand in one row.
"""

from __future__ import annotations

from datetime import date, datetime
from math import inf, nan
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from discreet.core.policy import Policy

LETTERS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "ab",
    "Z",
    "z",
    "_",
    "-",
    "ä",
    "e\u0301",
    "é",
    "ß€😀",
    "ñ",
    "Ö",
    "日本",
]
SIGNS = [
    "it's",
    '"',
    "a\\b",
    "\\",
    "%",
    "a%",
    "a_b",
    "\\ud83d",
    "a\nb",
    "\t",
    "null",
    "true",
    "no",
    "2020-02-30",
]
NUMERALS = """0x1 0X1F 0b101 1_000 1_0.5 0o17 +7 ++7 .5 5. 1.e3 1e+3 1E-3 1e400 -1e400 1e-400 1e99999 0e12345
1d e3 . 1e Infinity -INF +nan nan(1) infin 1f 1L $1 1,000 １ ٣ 9.2e18 0.5 2.5 -2.5 -0 -0.0 007 1 -1.5 1e3 inf
nan 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 9223372036854775807.4
9223372036854775807.5 -9223372036854775808.5""".split()  # noqa: SIM905
NUMERALS += [" 7 ", "\t7\n", "\v7\f", "- 7", "1 2", "\u00a07", "1" * 38, "1" * 60]
DAYS = [
    "2020-02-29",
    "2021-02-29",
    "1900-1-1",
    "2020-01-05 10:00",
    "2020",
    "x",
    "2020-13-01",
    "",
    " 2020-01-01 ",
]
INTEGERS = [0, 1, -1, 2, 3, 7, -3, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS = [
    0.0,
    -0.0,
    nan,
    inf,
    -inf,
    0.125,
    -0.125,
    0.375,
    0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    1e15,
    1e16,
    4503599627370497.5,
]
FLOATS += [
    1e308,
    -1e308,
    5e-324,
    1.7976931348623157e308,
    1e-300,
    9.3e18,
    123456.789,
    12345678.9,
    0.00012345,
    1.5e-7,
    1.25e300,
]
DATES = [
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2005, 5, 5),
    date(1969, 12, 31),
    date(2020, 2, 29),
    date(1900, 3, 1),
]
TIMES = [
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59),
    datetime(2020, 1, 1, 1, 2, 3, 4),
    datetime(1969, 12, 31),
]
KINDS: dict[str, tuple[dict[str, Any], list[Any], pa.DataType]] = {
    "place": ({"type": "integer"}, [], pa.int64()),
    "whole": ({"type": "integer"}, INTEGERS, pa.int64()),
    "steps": ({"type": "integer", "low": -3, "high": 5}, INTEGERS, pa.int64()),
    "price": ({"type": "decimal", "low": -2, "high": 2, "resolution": "0.25"}, FLOATS, pa.float64()),
    "float": ({"type": "decimal"}, FLOATS, pa.float64()),
    "word": ({"type": "text"}, [*LETTERS, *SIGNS, *NUMERALS], pa.string()),
    "kind": (
        {"type": "category", "values": ["b", "a", "ß€😀", ""]},
        ["b", "a", "ß€😀", "", "x"],
        pa.string(),
    ),
    "flag": ({"type": "boolean"}, [True, False], pa.bool_()),
    "day": ({"type": "date"}, DATES, pa.date32()),
    "near": ({"type": "date", "low": "2000-01-01", "high": "2010-01-01"}, DATES, pa.date32()),
    "time": ({"type": "timestamp"}, TIMES, pa.timestamp("us")),
    "read_steps": (
        {"type": "decimal", "low": -9, "high": 9, "resolution": "0.5"},
        [*SIGNS, *NUMERALS],
        pa.string(),
    ),
    "read_whole": ({"type": "integer"}, [*SIGNS, *NUMERALS], pa.string()),
    "read_float": ({"type": "decimal"}, [*SIGNS, *NUMERALS], pa.string()),
    "read_day": ({"type": "date"}, DAYS, pa.string()),
    "read_time": ({"type": "timestamp"}, [*DAYS, "2020-01-05 10:00:00.25+01"], pa.string()),
    "read_flag": ({"type": "boolean"}, ["true", "T", "no", "1.0", " yes ", "2", "on"], pa.string()),
    "read_kind": (
        {"type": "category", "values": ["1.5", "true", "b"]},
        ["1.5", "true", "b", "B"],
        pa.string(),
    ),
}
ROWS = max(len(values) for _, values, _ in KINDS.values()) + 1


def shuffled(seed: int) -> pa.Table:
    """Every value of every column, and NULL, as often as fits, in some order."""
    order, columns = Random(seed), {"place": pa.array(range(ROWS), pa.int64())}
    for name, (_, values, kind) in KINDS.items():
        if values:
            pool = ([None, *values] * ROWS)[:ROWS]
            order.shuffle(pool)
            columns[name] = pa.array(pool, kind)
    return pa.table(columns)


def tables() -> st.SearchStrategy[pa.Table]:
    """Tables in orders that hypothesis chooses."""
    return st.integers(0, 2**32).map(shuffled)


def policy(source: str, **more: Any) -> Policy:
    """The table under the name t."""
    columns = {name: entry for name, (entry, _, _) in KINDS.items()}
    table = {"source": source, "columns": columns, **more}
    return Policy.model_validate({"promise": {"prior": "1%", "posterior": "5%"}, "tables": {"t": table}})
