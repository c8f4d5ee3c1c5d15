"""Every function over whole small domains is the same on PostgreSQL and Spark as in DuckDB.

`tests/sql/test_whole_domain` compares our DuckDB statements with DuckDB's own answers; here the other engines
are compared with those statements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.core.engine import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.expression_tree import Expression
from tests.engines.servers import PostgresServer, Server, SparkServer
from tests.engines.support import shows
from tests.sql import whole_domain
from tests.sql.test_expressions import read
from tests.sql.whole_domain import CASES

TERMS = whole_domain.policy("t.parquet")
SAMPLE = (
    *("n * 0.1", "d + 0.25", "q * q", "n % 0.7", "ROUND(n * 1.005, 2)", "FLOOR(d * 0.5)", "n * 0.1 = 0.3"),
    *(
        "CAST(m AS VARCHAR)",
        "CAST(w AS DECIMAL(9, 2))",
        "CAST(m AS INTEGER)",
        "wide * 1.005",
        "LEAST(n, 0.5)",
    ),
    *("ROUND(wide * 1.005, 2)", "CASE WHEN n > 2 THEN n ELSE 0.5 END", "CAST(f AS DECIMAL(9, 2))"),
    whole_domain.CONSTANT_FROM_TEXT,
)


def expression(case: str) -> Expression:
    found = read(f"SELECT COUNT({case}) AS n FROM t", TERMS)
    assert found is not None, case
    return found[0]


def values(engine: Engine, expressions: list[Expression]) -> list[list[Any]]:
    rows = engine.count(whole_domain.statement(expressions)).secret
    return [[_plain(each) for each in rows[f"c{place}"].to_pylist()] for place in range(len(expressions))]


def _plain(value: Any) -> Any:
    """A whole number of 38 digits is a Decimal to some drivers."""
    return int(value) if hasattr(value, "to_integral_value") and value == int(value) else value


def assert_alike(server: Server, cases: list[str], folder: Path) -> None:
    table = whole_domain.table()
    pq.write_table(table, folder / "t.parquet")
    here = whole_domain.policy(str(folder / "t.parquet"))
    there = whole_domain.policy(server.put({"t": table})["t"])
    wrong = []
    with DuckDB(prepare_store(here, None)) as measure, server.open(there) as engine:
        written = [case for case in cases if not _is_refused(case, server)]
        for some in whole_domain.together(written, 40):
            expressions = [expression(case) for case in some]
            pairs = zip(some, values(engine, expressions), values(measure, expressions), strict=True)
            wrong += [
                (case, [(a, b) for a, b in zip(found, wanted, strict=True) if a != b][:2])
                for case, found, wanted in pairs
                if found != wanted
            ]
    assert not wrong, "\n".join(map(str, wrong))


def _is_refused(case: str, server: Server) -> bool:
    """PostgreSQL refuses a remainder in floating point by name."""
    return server.name == "postgresql" and " % " in case and not expression(case).type.is_exact


@pytest.mark.xdist_group("postgres")
def test_every_function_is_the_same_on_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    some = [case for cases in CASES.values() for case in cases[:: max(1, len(cases) // 4)]]
    assert_alike(postgres, [*SAMPLE, *some], tmp_path)


@pytest.mark.xdist_group("spark")
def test_decimals_are_the_same_on_spark(spark: SparkServer, tmp_path: Path) -> None:
    assert_alike(spark, list(SAMPLE), tmp_path)


@shows("decimals and every function over whole small domains")
@pytest.mark.night
@pytest.mark.parametrize("function", CASES)
def test_every_function_over_its_whole_domain_is_the_same(
    function: str, server: Server, tmp_path: Path
) -> None:
    assert_alike(server, CASES[function], tmp_path)
