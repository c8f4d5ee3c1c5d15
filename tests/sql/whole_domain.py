"""Every function over whole small domains: integers, decimals, doubles, dates, times, text, booleans, NULL.

The table holds every pair of a value of `n` and one of `d`, and beside them all values of the other columns
in turn. `CASES` has expressions by the function of the reference that they are about; what DuckDB answers to
the same text, over columns of the types that the policy's columns stand for, is the measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa

from discreet.core.policy import Policy
from discreet.sql import expression_sql
from discreet.sql.expression_tree import Expression

PAIRS = list(product([*range(-3, 8), None], [*(Decimal(each) / 10 for each in range(-8, 9)), None]))
CYCLES: dict[str, list[Any]] = {
    "wide": [0, 1, -1, 25, -35, 2**30, None],
    "q": [*(Decimal(each) / 4 for each in range(-5, 6)), None],
    "m": [*(Decimal(each) / 1000 for each in (-1005, -5, 0, 4, 5, 15, 1005, 1995, 33165)), None],
    "f": [0.0, 0.1, 0.5, 1.5, 2.5, -2.5, 0.125, -7.25, 1e9, 1e300, None],
    "w": ["", "a", "B", "7", " 7 ", "2.5", "-2.5", "1.005", "1e2", "x%", "ß", "true", "2020-02-29", None],
    "c": ["a", "b", "", None],
    "b": [True, False, None],
    "day": [date(2020, 1, 1), date(2020, 2, 29), date(2021, 12, 31), date(2019, 12, 30), None],
    "seen": [
        datetime(2020, 1, 1),
        datetime(2020, 2, 29, 23, 59, 59, 999999),
        datetime(1969, 12, 31, 1),
        None,
    ],
}
COLUMNS: dict[str, tuple[dict[str, Any], pa.DataType]] = {
    "place": ({"type": "integer", "low": 0, "high": len(PAIRS) - 1}, pa.int64()),
    "n": ({"type": "integer", "low": -3, "high": 7, "nulls": True}, pa.int64()),
    "d": (
        {"type": "decimal", "low": "-0.8", "high": "0.8", "resolution": "0.1", "nulls": True},
        pa.decimal128(10, 1),
    ),
    "wide": ({"type": "integer"}, pa.int64()),
    "q": ({"type": "decimal", "low": "-1.25", "high": "1.25", "resolution": "0.25"}, pa.decimal128(10, 2)),
    "m": ({"type": "decimal", "low": -2, "high": 40, "resolution": "0.001"}, pa.decimal128(10, 3)),
    "f": ({"type": "decimal"}, pa.float64()),
    "w": ({"type": "text"}, pa.string()),
    "c": ({"type": "category", "values": ["b", "a", ""], "nulls": True}, pa.string()),
    "b": ({"type": "boolean", "nulls": True}, pa.bool_()),
    "day": ({"type": "date"}, pa.date32()),
    "seen": ({"type": "timestamp"}, pa.timestamp("us")),
}


def table() -> pa.Table:
    values: dict[str, list[Any]] = {
        "place": list(range(len(PAIRS))),
        "n": [n for n, _ in PAIRS],
        "d": [d for _, d in PAIRS],
    }
    for name, cycle in CYCLES.items():
        values[name] = (cycle * len(PAIRS))[: len(PAIRS)]
    return pa.table({name: pa.array(values[name], kind) for name, (_, kind) in COLUMNS.items()})


def policy(source: str) -> Policy:
    columns = {name: entry for name, (entry, _) in COLUMNS.items()}
    tables = {"t": {"source": source, "columns": columns}}
    return Policy.model_validate({"promise": {"prior": "1%", "posterior": "5%"}, "tables": tables})


NUMBERS = ("n", "wide", "d", "q", "m", "f")
LITERALS = ("2", "0.5", "0.10", "-0.25", "1e-1", "1.005")
EXACT = ("n", "wide", "d", "q", "m")
OPERANDS = [
    *((a, b) for a in NUMBERS for b in NUMBERS if a <= b),
    *((a, b) for a in NUMBERS for b in LITERALS),
    *((b, a) for a in ("n", "d") for b in LITERALS),
    ("n * 0.1", "3.3"),
    ("n * 1.005", "d * 0.2"),
    ("q * q", "m"),
    ("FLOOR(n)", "0.1"),
    ("n / 3", "0.1"),
]
SIGNS = {"equal": "=", "unequal": "<>", "less": "<", "at_most": "<=", "more": ">", "at_least": ">="}
TESTED = [
    *OPERANDS,
    ("n * 0.1", "0.3"),
    ("d + 0.2", "0.3"),
    ("n * 1e-1", "0.3"),
    ("q + 0.05", "0.3"),
    ("w", "'B'"),
    ("c", "'a'"),
    ("day", "'2020-02-29'"),
    ("seen", "'2020-01-01'"),
    ("b", "TRUE"),
]
ROUNDED = [*NUMBERS, "n * 1.005", "m * 0.5", "q * q", "d * 0.05", "wide * 1.005", "wide * 0.1", "n / 8"]
TYPES = ("INTEGER", "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DECIMAL", "DECIMAL(9, 2)", "DECIMAL(4)")
PARTS = ("year", "quarter", "month", "week", "day", "dow")
CONSTANT_FROM_TEXT = "n * CAST(CAST(3 AS VARCHAR) AS DOUBLE)"
CASES: dict[str, list[str]] = {
    "add": [f"{a} + {b}" for a, b in OPERANDS],
    "subtract": [f"{a} - {b}" for a, b in OPERANDS],
    "multiply": [f"{a} * {b}" for a, b in OPERANDS],
    "divide": [f"{a} / {b}" for a, b in OPERANDS],
    "modulo": [f"{a} % {b}" for a, b in OPERANDS],
    "negate": [f"-({each})" for each in ROUNDED],
    "abs": [f"ABS({each})" for each in ROUNDED],
    "round": [f"ROUND({each}{places})" for each in ROUNDED for places in ("", ", 1", ", 2", ", 5", ", -1")],
    "floor": [f"FLOOR({each})" for each in ROUNDED],
    "ceil": [f"CEIL({each})" for each in ROUNDED],
    "least": [f"LEAST({a}, {b})" for a, b in OPERANDS] + ["LEAST(n, 0.5, f)", "LEAST(w, 'b')"],
    "greatest": [f"GREATEST({a}, {b})" for a, b in OPERANDS] + ["GREATEST(n, 0.5, d)", "GREATEST(day, day)"],
    "coalesce": [f"COALESCE({a}, {b})" for a, b in OPERANDS]
    + ["COALESCE(w, c, '')", "COALESCE(NULL, n, 0.5)"],
    "nullif": [f"NULLIF({a}, {b})" for a, b in TESTED],
    "case": [
        *(f"CASE WHEN n > 2 THEN {a} ELSE {b} END" for a, b in OPERANDS),
        "CASE WHEN b THEN 0.5 END",
        "IF(b, n, 0.50)",
        "CASE WHEN b THEN w ELSE 'x' END",
    ],
    "switch": [
        "CASE n WHEN 1.0 THEN 0.5 WHEN 2 THEN d ELSE 1 END",
        "CASE d WHEN 0.5 THEN 'a' WHEN 0.50 THEN 'b' END",
    ],
    **{name: [f"({a}) {sign} ({b})" for a, b in TESTED] for name, sign in SIGNS.items()},
    "in": [
        "n IN (1.0, 2, 2.5)",
        "d IN (0.5, n)",
        "q IN (0.25, f)",
        "n * 0.1 IN (0.3, 0.7)",
        "w IN ('a', '7')",
    ],
    "between": [
        "d BETWEEN 0.1 AND n",
        "n * 0.1 BETWEEN 0.3 AND 0.6",
        "n BETWEEN 0.5 AND 1e0",
        "day BETWEEN day AND day",
    ],
    "is_null": [f"{name} IS NULL" for name in COLUMNS] + ["n * 0.1 IS NOT NULL", "(n % 0.5) IS NULL"],
    "and": ["b AND d > 0.25", "b AND NULL"],
    "or": ["b OR d > 0.25", "b OR NULL"],
    "not": ["NOT b", "NOT (n * 0.1 = 0.3)"],
    "like": ["w LIKE 'a%'", "w LIKE '%_%'", "w ILIKE 'b'", "CAST(d AS VARCHAR) LIKE '%.5'"],
    "lower": ["LOWER(w)", "LOWER(c)"],
    "upper": ["UPPER(w)", "UPPER(c)"],
    "substr": ["SUBSTR(w, 2)", "SUBSTR(w, n)", "SUBSTR(w, -2, 1)", "SUBSTR(w, n, n)", "LEFT(w, 2)"],
    "length": ["LENGTH(w)", "LENGTH(CAST(d AS VARCHAR))", "LENGTH(w) * 0.1"],
    "part": [
        *(f"EXTRACT({part} FROM {name})" for part in PARTS for name in ("day", "seen")),
        *(f"EXTRACT({part} FROM seen)" for part in ("hour", "minute")),
        *("YEAR(day) * 0.1", "MONTH(day)", "DAY(seen)"),
    ],
    "truncate": [
        f"DATE_TRUNC('{unit}', {name})"
        for unit in ("year", "quarter", "month", "week", "day", "hour")
        for name in ("day", "seen")
    ],
    "cast": [
        *(f"CAST({each} AS {kind})" for each in ROUNDED for kind in TYPES),
        *(
            f"CAST({name} AS {kind})"
            for name in ("w", "b")
            for kind in TYPES
            if (name, kind) != ("b", "DOUBLE")
        ),
        *("CAST(0.5 AS INTEGER) + n", "CAST(d AS DECIMAL(2, 1))", "CAST(n * 0.10 AS VARCHAR)"),
        *("CAST(w AS DATE)", "CAST(seen AS DATE)", "CAST(day AS VARCHAR)", "CAST(c AS VARCHAR)"),
        *("CAST(CAST(n AS DECIMAL(9, 2)) AS VARCHAR)", "CAST(ROUND(m, 1) AS VARCHAR)"),
        *(CONSTANT_FROM_TEXT, "n / CAST(0.4 AS INTEGER)"),
    ],
}


def answers(connection: duckdb.DuckDBPyConnection, cases: list[str]) -> dict[str, list[Any]]:
    """What DuckDB itself answers in each row; NULL where it errs."""
    shown = ", ".join(f"TRY({case}) AS c{place}" for place, case in enumerate(cases))
    rows = connection.execute(f"SELECT {shown} FROM t ORDER BY place").fetchall()
    return {case: [row[place] for row in rows] for place, case in enumerate(cases)}


def statement(expressions: list[Expression]) -> str:
    """Our own statement of what they are in each row, as functions take them."""
    columns = ", ".join(f'"{name}" AS "t.{name}"' for name in COLUMNS)
    shown = ", ".join(
        f'{expression_sql.compile_operand(each)} AS "c{place}"' for place, each in enumerate(expressions)
    )
    return f'SELECT "t.place", {shown} FROM (SELECT {columns} FROM "t") AS r ORDER BY "t.place"'


def same(found: Any, wanted: Any, expression: Expression) -> bool:
    """Whether what we hold is what DuckDB answers; what is infinite or no number there is NULL here."""
    if isinstance(wanted, float) and not math.isfinite(wanted):
        wanted = None
    if found is None or wanted is None:
        return found is wanted
    kind = expression.type
    if kind.is_exact and kind.step is not None:
        return not isinstance(wanted, float) and Fraction(int(found)) * kind.step == Fraction(wanted)
    if isinstance(wanted, float):
        return float(found) == wanted
    if isinstance(wanted, datetime) and not isinstance(found, datetime):
        return wanted.time() == time() and wanted.date() == found
    return bool(found == wanted)


def together(cases: list[str], size: int = 80) -> Iterator[list[str]]:
    for start in range(0, len(cases), size):
        yield cases[start : start + size]
