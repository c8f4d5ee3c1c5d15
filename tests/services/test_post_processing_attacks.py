"""Post-processing reaches nothing, draws nothing and takes nothing down, whatever an analyst writes.

Each statement is an ordinary error, or computes something from released values alone. Nothing is charged for
it, nobody is suspended, and the next question is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from discreet.core.errors import RequestError
from discreet.services.curator import Curator

COLUMNS = {"age": (17, 90), "sex": ["f", "m"]}
POLICY: dict[str, Any] = {
    "promise": ("1%", "50%"),
    "tables": {"people": {"columns": COLUMNS}, "regions": {"person": "none", "columns": {"weight": (0, 9)}}},
}
TABLES = {
    "people": pa.table({"age": [34, 61, 20, 44] * 200, "sex": ["f", "m", "f", "f"] * 200}),
    "regions": pa.table({"weight": [2, 3]}),
}
COUNTS = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
RELEASED = f"({COUNTS}) AS t"

FILES_AND_NETWORK = [
    *(
        f"SELECT * FROM {source}"
        for source in (
            *("read_csv('/etc/passwd')", "read_text('/etc/passwd')", "read_blob('/etc/passwd')"),
            *("read_json('/etc/passwd')", "read_parquet('x.parquet')", "parquet_metadata('x')"),
            *("sniff_csv('/etc/passwd')", "glob('/*')", "'/etc/passwd'", '"/etc/passwd"'),
            *("read_csv('http://169.254.169.254/')", "'https://example.org/x.csv'", "'s3://bucket/x'"),
        )
    ),
    f"SELECT n, (SELECT content FROM read_text('/etc/passwd')) AS x FROM {RELEASED}",
    f"SELECT n FROM {RELEASED} WHERE n > (SELECT COUNT(*) FROM glob('/*'))",
]
CATALOG = [
    f"SELECT * FROM {source}"
    for source in (
        *("duckdb_settings()", "duckdb_tables()", "duckdb_functions()", "duckdb_secrets()"),
        *("duckdb_memory()", "duckdb_temporary_files()", "pragma_table_info('people')"),
        *("pg_catalog.pg_tables", "pg_class", "information_schema.tables", "sqlite_master"),
        *("query('SELECT 1')", "query_table('people')", "query_table(['r0'])", "r0", "temp.r0"),
    )
]
STATEMENTS = [
    *("COPY (SELECT 1) TO 'x'", "ATTACH 'x.db'", "DETACH memory", "USE memory", "CHECKPOINT", "VACUUM"),
    *("INSTALL httpfs", "LOAD httpfs", "PRAGMA database_list", "CALL pragma_version()", "SHOW TABLES"),
    *("SET threads = 4", "SET memory_limit = '100GB'", "RESET memory_limit", "IMPORT DATABASE 'x'"),
    *("CREATE TABLE x AS SELECT 1", "CREATE MACRO f(x) AS x", "DROP TABLE people", "DELETE FROM people"),
    *("INSERT INTO people VALUES (1)", "UPDATE people SET age = 1", "PREPARE x AS SELECT 1", "EXECUTE x"),
    *("EXPORT DATABASE 'x'", "DESCRIBE people", "SUMMARIZE people", f"{COUNTS}; {COUNTS}"),
]
CHANCE_TIME_AND_STATE = [
    f"SELECT n, {call} AS x FROM {RELEASED}"
    for call in (
        *("random()", "setseed(0.5)", "uuid()", "gen_random_uuid()", "uuidv7()", "nextval('s')", "now()"),
        *("today()", "current_timestamp", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP", "localtime"),
        *("get_current_timestamp()", "transaction_timestamp()", "age(DATE '2020-01-01')", "sleep_ms(1000)"),
        *("txid_current()", "current_setting('threads')", "current_query()", "current_database()"),
        *("current_schema", "current_catalog", "current_user", "session_user", "current_role", "user"),
        *("version()", "getenv('HOME')", "getvariable('x')", "write_log('x')", "pg_backend_pid()"),
        *("hash(n)", "stats(n)", "array_shuffle([1])", "ROW_NUMBER() OVER (ORDER BY random())"),
    )
] + [
    *(f'SELECT n, "{name}" AS x FROM {RELEASED}' for name in ("current_timestamp", "localtime", "user")),
    f"SELECT n FROM {RELEASED} WHERE CAST(\"current_time\" AS VARCHAR) < '12'",
    f"SELECT * FROM {RELEASED} ORDER BY random()",
    f"SELECT * FROM {RELEASED} USING SAMPLE 50%",
    f"SELECT * FROM {RELEASED} TABLESAMPLE 1 ROWS",
    'SELECT "current_timestamp" AS x',
]
TOO_MUCH = [
    f"SELECT n, repeat('x', 2000000000) AS x FROM {RELEASED}",
    f"SELECT n, repeat(repeat('x', 100000), 1000000) AS x FROM {RELEASED}",
    f"SELECT n, length(lpad('x', 2147483647, 'y')) AS x FROM {RELEASED}",
    f"SELECT n, printf('%1000000000d', n) AS x FROM {RELEASED}",
    f"SELECT n, format('{{:1000000000}}', n) AS x FROM {RELEASED}",
    "SELECT string_agg(repeat('x', 1000000), ',') AS s FROM range(100000)",
    "SELECT array_agg(range) AS a FROM range(1000000000)",
    "SELECT * FROM range(1000000000)",
    "SELECT COUNT(*) AS c FROM range(1000000) AS a, range(1000000) AS b",
    f"SELECT COUNT(*) AS c FROM {RELEASED}, generate_series(1, 100000000000)",
    "SELECT SUM(a.range * b.range) OVER (ORDER BY a.range ROWS UNBOUNDED PRECEDING) AS s "
    "FROM range(100000) AS a, range(10000) AS b",
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT MAX(i) AS i FROM r",
]
HARMLESS = [
    f"SELECT n, regexp_matches(sex, '(a+)+$') AS x FROM {RELEASED}",
    f"SELECT n, regexp_replace(repeat('a', 30) || 'b', '(a*)*b', 'c') AS x FROM {RELEASED}",
    f"SELECT n, n / 0 AS a, 1e308 * 1e308 AS b, exp(1000) AS c, n ** 1000 AS d, LN(-1) AS e FROM {RELEASED}",
    f"SELECT n, CAST(sex AS DATE) AS x, CAST('x' AS INTEGER) AS y FROM {RELEASED}",
    f"SELECT n, string_agg(sex) OVER () AS x FROM {RELEASED}",
    f"SELECT 'x' LIKE repeat('%a', 1000) || '%' AS x FROM {RELEASED}",
]


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with Curator(POLICY, tables=TABLES, ledger=":memory:") as opened:
        opened.ask(COUNTS, epsilon=0.5)
        yield opened


def require_unharmed(curator: Curator, spent: object) -> None:
    """Fail if something was charged, somebody is suspended, or the next question is not answered."""
    assert curator.budget.spent == spent
    assert curator.ledger.get_account(curator.analyst).incident is None
    assert curator.ask(COUNTS, epsilon=0.5).table.num_rows == 2


@pytest.mark.parametrize(
    "statement", [*FILES_AND_NETWORK, *CATALOG, *STATEMENTS, *CHANCE_TIME_AND_STATE, *TOO_MUCH]
)
def test_an_attack_is_an_ordinary_error_that_costs_nothing(statement: str, curator: Curator) -> None:
    spent = curator.budget.spent
    with pytest.raises(RequestError, match=r"^ask: ") as caught:
        curator.ask(statement, epsilon=0.5)
    assert "passwd:" not in str(caught.value)
    require_unharmed(curator, spent)


@pytest.mark.parametrize("statement", HARMLESS)
def test_what_looks_hostile_but_is_not_is_answered_and_repeats(statement: str, curator: Curator) -> None:
    spent = curator.budget.spent
    first = curator.ask(statement, epsilon=0.5)
    assert curator.ask(f"{statement} ", epsilon=0.5).rows == first.rows
    require_unharmed(curator, spent)


def test_a_column_may_have_the_name_of_a_function_of_time() -> None:
    tables = {"people": {"columns": {"user": (17, 90), "current_date": ["f", "m"]}}}
    rows = pa.table({"user": [20, 30] * 200, "current_date": ["f", "m"] * 200})
    with Curator({**POLICY, "tables": tables}, tables={"people": rows}, ledger=":memory:") as curator:
        inner = 'SELECT "current_date", AVG("user") AS "user" FROM people GROUP BY "current_date"'
        answer = curator.ask(f'SELECT "current_date", "user" / 1 AS x, "user" FROM ({inner}) AS t', epsilon=1)
        assert {type(row[0]) for row in answer.rows} == {str}
        assert [row[1] for row in answer.rows] == [row[2] for row in answer.rows]


def test_others_are_answered_while_somebody_computes_without_end(curator: Curator) -> None:
    endless = "SELECT COUNT(*) AS c FROM range(1000000) AS a, range(1000000) AS b"
    with ThreadPoolExecutor(3) as threads:
        attacks = [
            threads.submit(curator.plan, f"{endless} LIMIT {place + 1}", epsilon=0.5) for place in range(2)
        ]
        answers = [
            threads.submit(curator.ask, f"{COUNTS} LIMIT {place + 3}", epsilon=0.5) for place in range(3)
        ]
        assert [each.result().table.num_rows for each in answers] == [2, 2, 2]
        assert all(isinstance(each.exception(), RequestError) for each in attacks)
