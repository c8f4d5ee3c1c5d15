"""Every function of the SQL reference is what DuckDB answers, over whole small domains."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.store import prepare
from discreet.sql.functions import FUNCTIONS
from tests.sql import whole_domain
from tests.sql.test_expressions import read
from tests.sql.whole_domain import CASES

TERMS = whole_domain.policy("t.parquet")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDB]:
    path = tmp_path_factory.mktemp("domain") / "t.parquet"
    pq.write_table(whole_domain.table(), path)
    with DuckDB(prepare(whole_domain.policy(str(path)), None)) as opened:
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
