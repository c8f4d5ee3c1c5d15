"""Every function of the allow-list, in the engine, on the worst values: no error, no infinity, no NaN."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from itertools import product
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.sql_quoting import quote_identifier
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.engines.released_queries import query_released_tables
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.expression_tree import Call, Expression
from discreet.sql.row_sources import RowScope, scan_table
from discreet.sql.scalar_expressions import resolve_scalar

WHOLE = [None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53, 7]
REAL = [None, 0.0, -0.0, nan, inf, -inf, 1.7e308, 5e-324]
TEXTS = [None, "", "junk", "12", "nan", "1e999", "%_\\", "ß😀"]
DAYS = [
    None,
    date.min,
    date.max,
    date(1970, 1, 1),
    date(2020, 2, 29),
    date(1, 1, 1),
    date(9999, 12, 31),
    None,
]
COLUMNS: dict[str, dict[str, Any]] = {
    "n": {"type": "integer"},
    "b": {"type": "integer", "low": -5, "high": 5},
    "r": {"type": "decimal"},
    "d": {"type": "decimal", "low": -1, "high": 1, "resolution": "0.01"},
    "t": {"type": "text"},
    "e": {"type": "category", "values": ["junk", "", "ß😀"]},
    "f": {"type": "category", "values": ["12", "other"]},
    "p": {"type": "boolean"},
    "day": {"type": "date"},
    "at": {"type": "timestamp"},
}
NUMBERS, WORDS, MOMENTS = ("n", "b", "r", "d", "-1", "0", "0.5"), ("t", "e", "f", "'x'", "''"), ("day", "at")
ALL = [*(name for name in COLUMNS), "NULL", "0", "'x'", "DATE '2020-01-01'", "TRUE"]
FORMS: list[tuple[str, tuple[tuple[str, ...], ...]]] = [
    *((f"{{}} {sign} {{}}", (NUMBERS, NUMBERS)) for sign in "+-*/%"),
    *((f"{name}({{}})", (NUMBERS,)) for name in ("-", "ABS", "ROUND", "FLOOR", "CEIL")),
    ("ROUND({}, 9)", (NUMBERS,)),
    *((f"{name}({{}}, {{}})", (NUMBERS, NUMBERS)) for name in ("LEAST", "GREATEST", "COALESCE", "NULLIF")),
    *((f"{name}({{}}, {{}})", (WORDS, WORDS)) for name in ("LEAST", "GREATEST", "COALESCE", "NULLIF")),
    *((f"{{}} {sign} {{}}", (NUMBERS, NUMBERS)) for sign in ("=", "<>", "<", "<=", ">", ">=")),
    *((f"{{}} {sign} {{}}", (WORDS, WORDS)) for sign in ("=", "<>", "<", "<=", ">", ">=")),
    ("{} IN ({}, 'undeclared')", (WORDS, WORDS)),
    ("{} BETWEEN {} AND 'y'", (WORDS, WORDS)),
    ("{} BETWEEN {} AND 5", (NUMBERS, NUMBERS)),
    ("CASE {} WHEN {} THEN 1 WHEN 0 THEN 2 END", (NUMBERS, NUMBERS)),
    ("CASE {} WHEN {} THEN 'x' WHEN '12' THEN t END", (WORDS, WORDS)),
    ("CASE WHEN p THEN {} ELSE {} END", (WORDS, WORDS)),
    ("CASE WHEN {} > 1 THEN {} END", (NUMBERS, NUMBERS)),
    *((f"{{}} {word} {{}}", (("p", "TRUE", "NULL"), ("NOT p", "FALSE", "NULL"))) for word in ("AND", "OR")),
    ("{} IS NULL", (tuple(ALL),)),
    ("{} LIKE {}", (WORDS, (*WORDS, r"'\'", r"'%\'", "'_%_'"))),
    *((f"{name}({{}})", (WORDS,)) for name in ("LOWER", "UPPER", "LENGTH")),
    ("SUBSTR({}, {})", (WORDS, (*NUMBERS, "-9007199254740991", "9007199254740991"))),
    ("SUBSTR({}, {}, {})", (WORDS, NUMBERS, (*NUMBERS, "9007199254740991"))),
    *(
        (f"EXTRACT({part} FROM {{}})", (MOMENTS,))
        for part in ("year", "quarter", "month", "week", "day", "dow", "hour", "minute")
    ),
    *(
        (f"DATE_TRUNC('{unit}', {{}})", (MOMENTS,))
        for unit in ("year", "quarter", "month", "week", "day", "hour")
    ),
    *((f"CAST({{}} AS {kind})", (NUMBERS,)) for kind in ("INTEGER", "DOUBLE", "VARCHAR", "DECIMAL(9, 2)")),
    *((f"CAST({{}} AS {kind})", (WORDS,)) for kind in ("INTEGER", "DOUBLE", "VARCHAR", "BOOLEAN")),
    ("CAST({} AS DATE)", (("t", "e", "f"),)),
    *((f"CAST({{}} AS {kind})", (MOMENTS,)) for kind in ("DATE", "VARCHAR")),
]
EXPRESSIONS = [form.format(*chosen) for form, places in FORMS for chosen in product(*places)]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, RowScope, str]]:
    path: Path = tmp_path_factory.mktemp("nasty") / "nasty.parquet"
    times = [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59) for day in DAYS]
    columns = {
        **dict.fromkeys(("n", "b"), pa.array(WHOLE, pa.int64())),
        **dict.fromkeys(("r", "d"), pa.array(REAL)),
        **dict.fromkeys(("t", "e", "f"), pa.array(TEXTS)),
        "p": pa.array([None, True, False, True, False, None, True, False]),
        "day": pa.array(DAYS, pa.date32()),
        "at": pa.array(times, pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), path)
    policy = Policy.model_validate({"tables": {"nasty": {"source": str(path), "columns": COLUMNS}}})
    source = scan_table(policy, "nasty", "nasty")
    with DuckDB(prepare_store(policy, None)) as engine:
        yield engine, RowScope({"nasty": source}), compiled.compile_rows(source.node)


def resolved(text: str, scope: RowScope) -> Expression:
    (written,) = sqlglot.parse_one(f"SELECT {text}", read="duckdb").expressions
    assert isinstance(written, exp.Expression)
    return resolve_scalar(written, scope)


def functions(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*(functions(each) for each in expression.arguments))


def computed(texts: list[str], nasty: tuple[Engine, RowScope, str]) -> dict[str, list[Any]]:
    engine, scope, rows = nasty
    outputs = [
        f"{expression_sql.compile_value(resolved(text, scope))} AS v{place}"
        for place, text in enumerate(texts)
    ]
    table = engine.count(f"SELECT {', '.join(outputs)} FROM ({rows}) AS s").secret
    return {text: table[f"v{place}"].to_pylist() for place, text in enumerate(texts)}


def test_the_expressions_use_every_function(nasty: tuple[Engine, RowScope, str]) -> None:
    used = set().union(*(functions(resolved(text, nasty[1])) for text in EXPRESSIONS))
    assert used == set(FUNCTIONS)


def test_no_function_fails_or_gives_what_is_no_number(nasty: tuple[Engine, RowScope, str]) -> None:
    for start in range(0, len(EXPRESSIONS), 60):
        for text, values in computed(EXPRESSIONS[start : start + 60], nasty).items():
            wrong = [value for value in values if isinstance(value, float) and not isfinite(value)]
            assert not wrong, text


@pytest.mark.parametrize("text", EXPRESSIONS[:98:7] + EXPRESSIONS[-60::7])
def test_what_is_computed_can_be_computed_with(text: str, nasty: tuple[Engine, RowScope, str]) -> None:
    computed([f"({text}) IS NULL", f"NULLIF({text}, {text})", f"CASE WHEN p THEN {text} END"], nasty)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 0", [None] * 8),
        ("b / 0", [None] * 8),
        ("b % 0", [None] * 8),
        ("b / b", [None, None, 1, 1, 1, 1, 1, 1]),
        ("r * r", [None, 0, 0, None, None, None, None, 0]),
        ("n + n", [None, 0, 2, -2, 2.0**64, -(2.0**64), 2.0**54, 14]),
        ("CAST(t AS INTEGER)", [None, None, None, 12, None, None, None, None]),
        ("CAST(t AS DATE)", [None] * 8),
        ("e = 'undeclared'", [None, False, False, None, None, None, None, False]),
        ("e IN ('undeclared', 'junk')", [None, False, True, None, None, None, None, False]),
        ("COALESCE(e, 'undeclared')", ["undeclared", "", "junk", *["undeclared"] * 4, "ß😀"]),
        ("t = e", [None, True, True, None, None, None, None, True]),
        (r"t LIKE '%\'", [None, False, False, False, False, False, True, False]),
        ("t LIKE '%%%'", [None, *[True] * 7]),
        ("SUBSTR(t, -2)", [None, "", "nk", "12", "an", "99", "_\\", "ß😀"]),
        ("LENGTH(t)", [None, 0, 4, 2, 3, 5, 3, 2]),
        ("YEAR(day)", [None, 1, 9999, 1970, 2020, 1, 9999, None]),
        ("day < DATE '9999-12-31'", [None, True, False, True, True, True, False, None]),
    ],
)
def test_what_has_no_value_is_null(
    text: str, expected: list[Any], nasty: tuple[Engine, RowScope, str]
) -> None:
    assert computed([text], nasty)[text] == expected


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)


@settings(max_examples=300)
@given(TEXT)
def test_any_text_comes_back_as_it_was_written(text: str) -> None:
    released = {"released": pa.table({"n": [1]})}
    (row,) = query_released_tables(
        f"SELECT {expression_sql.format_literal(text)} AS v FROM released", released
    ).to_pylist()
    assert row["v"] == text


@pytest.mark.parametrize(
    "text", ["'", "''", "\\", "\\'", "'; DROP TABLE released; --", "$$", "E'\\x27'", "x" * 19_000]
)
def test_text_that_looks_like_sql_stays_text(text: str) -> None:
    released = {"released": pa.table({"n": [1]})}
    (row,) = query_released_tables(
        f"SELECT {expression_sql.format_literal(text)} AS v FROM released", released
    ).to_pylist()
    assert row["v"] == text


@settings(max_examples=300)
@given(TEXT.filter(bool))
def test_any_name_comes_back_as_it_was_written(name: str) -> None:
    released = {"released": pa.table({"n": [1]})}
    assert query_released_tables(
        f"SELECT n AS {quote_identifier(name)} FROM released", released
    ).column_names == [name]
