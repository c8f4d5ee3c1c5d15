"""Every function of the SQL reference is what DuckDB answers, over whole small domains."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.belief import Promise
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.planner import plan_query
from tests.sql import whole_domain
from tests.sql.test_expressions import read
from tests.sql.whole_domain import CASES

TERMS = whole_domain.policy("t.parquet")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDB]:
    path = tmp_path_factory.mktemp("domain") / "t.parquet"
    pq.write_table(whole_domain.table(), path)
    with DuckDB(prepare_store(whole_domain.policy(str(path)), None)) as opened:
        yield opened


@pytest.fixture(scope="module")
def raw() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same table as its user has it."""
    connection, stored = duckdb.connect(), whole_domain.table()
    connection.register("stored", stored)
    connection.execute("CREATE TABLE t AS SELECT * FROM stored")
    yield connection
    connection.close()


def test_every_function_of_the_reference_has_cases() -> None:
    assert set(FUNCTIONS) - set(CASES) == set()


@pytest.mark.parametrize("function", CASES)
def test_every_value_is_what_duckdb_answers(
    function: str, engine: DuckDB, raw: duckdb.DuckDBPyConnection
) -> None:
    if function not in FUNCTIONS:
        pytest.skip("not in the reference")
    wrong = []
    for cases in whole_domain.together(CASES[function]):
        wanted = whole_domain.answers(raw, cases)
        expressions = []
        for case in cases:
            found = read(f"SELECT COUNT({case}) AS n FROM t", TERMS)
            assert found is not None, case
            expressions.append(found[0])
        rows = engine.count(whole_domain.statement(expressions)).secret
        for place, (case, expression) in enumerate(zip(cases, expressions, strict=True)):
            values = rows[f"c{place}"].to_pylist()
            unlike = [
                (a, b)
                for a, b in zip(values, wanted[case], strict=True)
                if not whole_domain.same(a, b, expression)
            ]
            if unlike:
                wrong.append((case, expression.type.numeric.value, unlike[:2]))
    assert not wrong, "\n".join(map(str, wrong))


SUMMED = [
    *("n * 0.1", "n * 1.005", "ROUND(n * 1.005, 2)", "ROUND(d * 0.5, 1)", "d * q", "q * q - m", "n % 0.7"),
    *("CASE WHEN n > 2 THEN d ELSE 1.5 END", "LEAST(n, 0.25)", "COALESCE(d, n, 0.05)", "CAST(m AS INTEGER)"),
    *("FLOOR(m)", "CEIL(q * 3)", "ABS(d - 0.05)", "-m", "CAST(n AS DECIMAL(9, 2)) * 0.1", "NULLIF(d, 0.5)"),
    *("YEAR(day) % 7 * 0.1", "LEAST(GREATEST(wide * 0.1, -3), 2.5)", "LEAST(LENGTH(w), 3) * 0.1"),
]


def test_sums_are_those_of_duckdb(engine: DuckDB, raw: duckdb.DuckDBPyConnection) -> None:
    """Exactly, as a sum of whole steps."""
    shown = ", ".join(f"SUM({case}) AS s{place}" for place, case in enumerate(SUMMED))
    text = f"SELECT {shown} FROM t"
    made = plan_query(text, TERMS, Promise(0.01, 0.05), epsilon=1)
    found, wanted = engine.count(made.statement).secret.to_pylist()[0], raw.execute(text).fetchone()
    assert wanted is not None
    for case, output, value in zip(SUMMED, made.outputs, wanted, strict=True):
        (part,) = output.primitive_names
        assert found[part] * made.noisy_primitives[part].primitive.unit == Fraction(value), case


COUNTED = {
    "n * 0.1 = 0.3": "n = 3",
    "n * 0.1 IN (0.3, 0.7)": "n IN (3, 7)",
    "d + 0.2 = 0.3": "d BETWEEN 0.05 AND 0.15",
    "ROUND(n * 1.005, 2) = 3.02": "n = 3",
    "CAST(d AS VARCHAR) = '-0.5'": "d = -0.5",
    "wide * 0.1 = 2.5": "wide = 25",
}


@pytest.mark.parametrize(("exact", "plainly"), COUNTED.items())
def test_a_condition_on_decimals_counts_the_rows_of_which_it_is_true(
    exact: str, plainly: str, engine: DuckDB, raw: duckdb.DuckDBPyConnection
) -> None:
    counts = []
    for condition in (exact, plainly):
        text = f"SELECT COUNT(*) AS n FROM t WHERE {condition}"
        counts.append(
            engine.count(plan_query(text, TERMS, Promise(0.01, 0.05), epsilon=1).statement)
            .secret["p0"][0]
            .as_py()
        )
        row = raw.execute(text).fetchone()
        assert row is not None
        counts.append(row[0])
    assert counts[0] > 0
    assert len(set(counts)) == 1


BEYOND = [
    *(
        "wide + wide",
        "-wide",
        "ABS(wide)",
        "wide * wide",
        "wide * wide * wide",
        "wide * 1.00000000000000000001",
    ),
    *(
        "ROUND(wide * 1.005, 2)",
        "FLOOR(wide * 0.1)",
        "CAST(wide * 0.1 AS INTEGER)",
        "CAST(wide AS DECIMAL(38, 30))",
    ),
    *(
        "CAST(wide AS DECIMAL(3, 2))",
        "CAST(wide * 0.5 AS VARCHAR)",
        "wide % 0.7",
        "CAST(f AS DECIMAL(38, 20))",
    ),
    *(
        "LEAST(wide, 0.0000000000000000000000000001)",
        "wide * 0.1 = 0.0000000000000000000000000001",
    ),
    *(
        "CAST(f AS INTEGER)",
        "ROUND(f, 2) * 0.1",
        "f * 0.1",
        "CAST(w AS DECIMAL(38))",
        "CAST(w AS DECIMAL(19, 19))",
    ),
    *("CAST(CAST(wide AS VARCHAR) AS DECIMAL(30, 2))", "ROUND(wide, -9)", "SUBSTR(w, 0.5)"),
]


def test_no_number_makes_an_exact_computation_err(tmp_path: Path) -> None:
    """The ends of 64 bits, of floating point, and text of any length."""
    ends: dict[str, list[Any]] = {
        "wide": [2**63 - 1, -(2**63), 0, None],
        "f": [1.7976931348623157e308, -1e308, 5e-324, None],
        "w": ["9" * 60, "-0." + "9" * 50, "1e400", "1" * 38],
    }
    whole, rows = whole_domain.table().slice(0, 4), 4
    for name, some in ends.items():
        place = whole.schema.get_field_index(name)
        whole = whole.set_column(place, name, pa.array(some[:rows], whole.schema.field(name).type))
    pq.write_table(whole, tmp_path / "t.parquet")
    expressions = []
    for case in BEYOND:
        found = read(f"SELECT COUNT({case}) AS n FROM t", TERMS)
        assert found is not None, case
        expressions.append(found[0])
    with DuckDB(prepare_store(whole_domain.policy(str(tmp_path / "t.parquet")), None)) as over:
        assert over.count(whole_domain.statement(expressions)).secret.num_rows == rows
