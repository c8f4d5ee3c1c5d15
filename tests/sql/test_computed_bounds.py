"""Intervals hold for what is computed, rounding included; nothing relies on one that a value may leave.

A difference of large numbers in floating point leaves the interval of the exact difference by any factor.
What follows may be computed in 64 bits, or without a look at overflows, because of the interval: so a value
beyond it would raise for one person's data alone.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql import expression_sql
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Family
from tests.engines.servers import PostgresServer
from tests.sql.test_expressions import read

COLUMNS = {
    "x": ({"type": "integer", "low": 0, "high": 1}, [0, 1, 1, 0]),
    "n": ({"type": "integer", "low": -9_007_199, "high": 9_007_199}, [-9_007_199, 0, 7, 9_007_199]),
    "d": ({"type": "decimal", "low": "-0.8", "high": "0.9", "resolution": "0.1"}, [-0.8, 0.1, 0.3, 0.9]),
    "k": ({"type": "integer"}, [-(2**63), 2**63 - 1, 0, 2**53 + 1]),
}
LARGE = "(1e10 * 1e10)"
TINY = f"GREATEST(((x * 1e4 + {LARGE}) - {LARGE}) - 1e4, 0)"  # 6384 if x is 1, and 0 without rounding
LARGER = f"{TINY} * 1e15"
RAISED = (
    f"FLOOR({LARGER} * 1e15 * 1e15)",
    f"CAST({LARGER} AS BIGINT) + CAST({LARGER} AS BIGINT)",
    f"CAST({LARGER} AS DECIMAL(18, 0)) * CAST({LARGER} AS DECIMAL(18, 0)) * 9007199254740991",
    TINY + " * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15 * 1e15" * 2,
    f"ROUND({LARGER} * 1e9, 2)",
    f"CAST(CAST({LARGER} * 1e15 AS DECIMAL(19, 2)) AS BIGINT) % 7",
    "CEIL((n * 1e15 + 0.1e0) - n * 1e15 - 0.1) * 9007199254740991 * 1000",
)


def policy(source: str) -> Policy:
    tables = {"t": {"source": source, "columns": {name: entry for name, (entry, _) in COLUMNS.items()}}}
    return Policy.model_validate({"promise": {"prior": "1%", "posterior": "5%"}, "tables": tables})


def table() -> pa.Table:
    return pa.table({name: values for name, (_, values) in COLUMNS.items()})


def opened(folder: Path) -> DuckDB:
    pq.write_table(table(), folder / "t.parquet")
    return DuckDB(prepare_store(policy(str(folder / "t.parquet")), None))


def assert_kept(text: str, over: Engine, terms: Policy) -> bool:
    """Every value lies within its interval, exactly; False where the question is refused."""
    found = read(f"SELECT COUNT({text}) AS n FROM t", terms)
    if found is None:
        return False
    argument, rows = found
    for row in over.count(
        f"SELECT {expression_sql.compile_operand(argument)} AS v FROM ({rows}) AS r"
    ).secret.to_pylist():
        if row["v"] is not None:
            assert _is_within(Fraction(row["v"]), argument), f"{row['v']} of {text}"
    return True


def _is_within(value: Fraction, argument: Expression) -> bool:
    kind = argument.type
    if kind.family is not Family.NUMBER:
        return True
    held = value * kind.step if kind.is_exact and kind.step is not None else value
    within = (kind.low is None or kind.low <= held) and (kind.high is None or held <= kind.high)
    return within and (not kind.is_exact or kind.max_magnitude is None or abs(held) <= kind.max_magnitude)


@pytest.mark.parametrize("text", RAISED)
def test_what_is_beyond_an_exact_interval_by_rounding_raises_nothing(text: str, tmp_path: Path) -> None:
    with opened(tmp_path) as over:
        assert assert_kept(text, over, policy(str(tmp_path / "t.parquet")))


@pytest.mark.xdist_group("postgres")
def test_nothing_raises_on_postgresql(postgres: PostgresServer) -> None:
    terms = policy(postgres.put({"t": table()})["t"])
    with postgres.open(terms) as over:
        assert all(assert_kept(text, over, terms) for text in RAISED)


@pytest.mark.parametrize(
    ("total", "outer"),
    [
        ("AVG(CAST(n AS DOUBLE) + 9007199254740991)", "1 / v"),  # put on a grid, beyond its interval
        ("SUM(n * 9007199254740991)", "v * 1e15"),  # exact, in more than 64 bits
        ("AVG(n * 9007199254740991)", "v"),
        ("SUM(CAST(k AS DECIMAL(38, 5)) * 0.5)", "v"),
    ],
)
def test_totals_lie_within_their_intervals(total: str, outer: str, tmp_path: Path) -> None:
    pq.write_table(table().append_column("p", pa.array([1, 1, 2, 2])), tmp_path / "t.parquet")
    made = policy(str(tmp_path / "t.parquet")).model_dump(mode="json", exclude_defaults=True)
    made["tables"]["t"] |= {"person": "p", "rows_per_person": 2}
    made["tables"]["t"]["columns"]["p"] = {"type": "integer"}
    terms = Policy.model_validate(made)
    text = f"SELECT p, {total} AS v FROM t GROUP BY p"
    found = read(f"SELECT COUNT({outer}) AS c FROM ({text}) AS s", terms)
    assert found is not None
    argument, rows = found
    with DuckDB(prepare_store(terms, None)) as over:
        values = over.count(
            f"SELECT {expression_sql.compile_operand(argument)} AS v FROM ({rows}) AS r"
        ).secret.to_pylist()
    assert all(_is_within(Fraction(row["v"]), argument) for row in values)


CONSTANTS = ("0.1", "0.1e0", "1e-1", "7", "1e15", LARGE, "9007199254740991", "0.005", "1e-9", "0")
KINDS = ("BIGINT", "DOUBLE", "DECIMAL(18, 3)", "DECIMAL(9, 2)", "DECIMAL(30, 5)", "DECIMAL(38, 0)")


def drawn(random: Random, depth: int) -> str:
    """Sums and differences of the very large and the very small, rounded and converted."""
    if depth == 0 or random.random() < 0.1:
        return random.choice((*COLUMNS, *COLUMNS, *CONSTANTS))
    a, b = drawn(random, depth - 1), drawn(random, depth - 1)
    form = random.choice(
        (
            *("({a} + {b})", "({a} - {b})", "({a} * {b})") * 3,
            *("({a} / {b})", "({a} % {b})", "-({a})", "ABS({a})", "NULLIF({a}, {b})"),
            *("FLOOR({a})", "CEIL({a})", "ROUND({a})", "ROUND({a}, {places})", "CAST({a} AS {kind})") * 2,
            *("LEAST({a}, {constant})", "GREATEST({a}, {constant})", "COALESCE({a}, {b})"),
            *("CASE WHEN {a} < {b} THEN {a} ELSE {b} END", "(({a} + {large}) - {large})"),
        )
    )
    return form.format(
        a=a,
        b=b,
        places=random.choice((-3, -1, 1, 2, 5, 9)),
        kind=random.choice(KINDS),
        constant=random.choice(CONSTANTS),
        large=LARGE,
    )


def kept_of(seed: int, count: int, folder: Path) -> int:
    random, terms = Random(seed), policy(str(folder / "t.parquet"))
    with opened(folder) as over:
        return sum(assert_kept(drawn(random, random.choice((2, 3, 4))), over, terms) for _ in range(count))


def test_every_computed_value_lies_within_its_interval(tmp_path: Path) -> None:
    assert kept_of(0, 120, tmp_path) > 60


@pytest.mark.night
@pytest.mark.parametrize("seed", range(1, 41))
def test_many_computed_values_lie_within_their_intervals(seed: int, tmp_path: Path) -> None:
    kept_of(seed, 500, tmp_path)
