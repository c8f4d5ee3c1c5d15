"""A statement is split into cores, which are charged, and a query over nothing but what they release."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

from discreet.sql.query_parser import parse_statement
from discreet.sql.refusal import Refusal
from discreet.sql.statement_splitting import SplitStatement, split_statement
from tests.sql.example import POLICY

POST_PROCESSED = (Path(__file__).parent / "post_processed.sql").read_text().strip().split("\n\n")


def split(text: str) -> SplitStatement:
    return split_statement(parse_statement(text), POLICY)


def list_measures(found: SplitStatement) -> dict[str, tuple[list[str], list[str]]]:
    """The keys and measures of each core."""
    return {
        name: ([column.name for column, _ in core.keys], [measure.name for _, measure in core.measures])
        for name, core in found.cores.items()
    }


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n > 9 ORDER BY n DESC "
            "LIMIT 3 OFFSET 2",
            'SELECT "r0"."k0" AS "sex", "r0"."m0" AS "n" FROM "r0" WHERE ("r0"."m0") > 9 ORDER BY 2 DESC '
            "LIMIT 3 OFFSET 2",
        ),
        (
            "SELECT sex, SUM(COUNT(*)) OVER (PARTITION BY sex) AS s FROM people GROUP BY sex "
            "QUALIFY RANK() OVER (ORDER BY COUNT(*)) < 3",
            'SELECT "r0"."k0" AS "sex", SUM("r0"."m0") OVER (PARTITION BY "r0"."k0") AS "s" FROM "r0" '
            'QUALIFY RANK() OVER (ORDER BY "r0"."m0") < 3',
        ),
        (
            "SELECT COUNT(*) AS n FROM people UNION ALL SELECT COUNT(*) FROM visits ORDER BY 1",
            'SELECT "r0"."m0" AS "n" FROM "r0" UNION ALL SELECT "r1"."m0" AS "count(*)" FROM "r1" ORDER BY 1',
        ),
        (
            "SELECT disease, COUNT(*) AS n FROM visits GROUP BY ROLLUP (disease)",
            'SELECT "grouped"."k0" AS "disease", "grouped"."m0" AS "n" FROM (SELECT "r0"."k0" AS "k0", '
            '"r0"."m0" AS "m0", 0 AS "g0" FROM "r0" UNION ALL SELECT NULL AS "k0", "r1"."m0" AS "m0", '
            '1 AS "g0" FROM "r1") AS "grouped"',
        ),
        (
            "SELECT region, COUNT(*) AS n FROM clinics GROUP BY region",
            'SELECT "region", COUNT(*) AS "n" FROM "clinics" GROUP BY "region"',
        ),
    ],
)
def test_the_query_is_written_over_released_tables(text: str, query: str) -> None:
    assert split(text).post_processing == query


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("SELECT COUNT(*), COUNT(*) + 1, AVG(age) FROM people", {"r0": ([], ["count", "avg"])}),
        (
            "SELECT sex, COUNT(*) / (SELECT COUNT(*) FROM people) FROM people GROUP BY sex",
            {"r0": (["k0"], ["count"]), "r1": ([], ["count"])},
        ),
        (
            "SELECT (SELECT COUNT(*) FROM people), (SELECT AVG(age) FROM people)",
            {"r0": ([], ["count", "avg"])},
        ),
        (
            "SELECT a.n FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS a "
            "JOIN (SELECT sex, MAX(age) AS m FROM people GROUP BY 1) AS b USING (sex)",
            {"r0": (["k0"], ["count", "max"])},
        ),
        (
            "WITH a AS (SELECT COUNT(*) AS n FROM people), b AS (SELECT COUNT(*) AS n FROM visits) "
            "SELECT x.n - y.n FROM a AS x, a AS y",
            {"r0": ([], ["count"])},
        ),
        ("SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY 1)", {"r0": ([], ["avg"])}),
        ("SELECT * FROM clinics", {}),
    ],
)
def test_equal_aggregations_are_one_core(text: str, cores: object) -> None:
    assert list_measures(split(text)) == cores


@pytest.mark.parametrize("text", POST_PROCESSED, ids=[text[:60] for text in POST_PROCESSED])
def test_the_query_reads_released_and_public_tables_alone(text: str) -> None:
    found = split(text)
    own = {each.alias for each in found.query.find_all(exp.CTE)}
    read = {table.name for table in found.query.find_all(exp.Table) if isinstance(table.this, exp.Identifier)}
    assert read <= {*found.cores, "clinics"} | own
    assert {*found.public_tables} <= {"clinics"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS t LIMIT 0",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex LIMIT 0",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM people) WHERE 1 = 0",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM people WHERE FALSE)",
        "SELECT sex, COUNT(*) FROM people WHERE age > 3 AND FALSE GROUP BY sex",
        "SELECT age, sex FROM people LIMIT 0",
        "SELECT * FROM (SELECT * FROM people) AS t WHERE 1 = 0",
        "SELECT DISTINCT sex FROM people",
        "SELECT sex FROM people WHERE age > 30 GROUP BY sex",
        "SELECT * FROM clinics",
        "SELECT region, COUNT(*) FROM clinics GROUP BY ALL",
        "SELECT 1 AS x",
    ],
)
def test_nothing_is_measured_for_what_text_and_policy_tell(text: str) -> None:
    assert split(text).measured_cores == {}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM (SELECT sex FROM people) LIMIT 1",
        "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM people) WHERE n > 0",
        "SELECT sex, COUNT(*) FROM people WHERE age = 0 GROUP BY sex",
        "SELECT COUNT(*) AS n FROM people UNION ALL SELECT 1 LIMIT 1",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM people) WHERE n = 0",
    ],
)
def test_anything_else_is_measured(text: str) -> None:
    assert list(split(text).measured_cores) == ["r0"]


# -- Attacks ------------------------------------------------------------------------------------------------

INNER = "(SELECT sex, COUNT(*) AS n FROM people GROUP BY sex)"
ROWS = [
    "SELECT * FROM people",
    "SELECT age FROM people UNION ALL SELECT 1",
    "SELECT COUNT(*) FROM people UNION SELECT age FROM people",
    "SELECT COUNT(*) FROM people EXCEPT SELECT age FROM people",
    "SELECT age FROM people INTERSECT SELECT COUNT(*) FROM people",
    "SELECT (SELECT age FROM people LIMIT 1)",
    "SELECT EXISTS (SELECT 1 FROM people WHERE age = 3)",
    "WITH a AS (SELECT age FROM people) SELECT * FROM a",
    "WITH a AS (SELECT age FROM people), b AS (SELECT * FROM a) "
    f"SELECT n, (SELECT MIN(x.age) OVER () FROM b AS x) FROM {INNER}",
    f"WITH a AS (SELECT age FROM people) SELECT n FROM {INNER}, a",
    f"SELECT n FROM {INNER} AS t, LATERAL (SELECT age FROM people) AS u",
    f"SELECT n FROM {INNER} AS t LEFT JOIN people ON t.sex = people.sex",
    f"SELECT n FROM {INNER} AS t JOIN (SELECT patient, COUNT(*) FROM visits GROUP BY patient) AS u ON TRUE",
    f"SELECT n FROM {INNER} AS t WHERE n IN (SELECT age FROM people)",
    f"SELECT n FROM {INNER} AS t WHERE EXISTS (SELECT 1 FROM people WHERE age = n)",
    f"SELECT n FROM {INNER} AS t WHERE n > ALL (SELECT age FROM people)",
    f"SELECT n FROM {INNER} AS t ORDER BY (SELECT age FROM people LIMIT 1)",
    "SELECT sex, COUNT(*), (SELECT age FROM people AS p WHERE p.sex = people.sex LIMIT 1) FROM people "
    "GROUP BY sex",
    "SELECT sex, COUNT(*), (SELECT COUNT(*) FROM people AS p WHERE p.sex = people.sex) FROM people "
    "GROUP BY sex",
    f"SELECT (SELECT COUNT(*) FROM people WHERE age < t.n) FROM {INNER} AS t",
    "SELECT sex, COUNT(*), age FROM people GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY age",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING age > 3",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex QUALIFY ROW_NUMBER() OVER (ORDER BY age) = 1",
    "SELECT sex, SUM(age) OVER (PARTITION BY sex) FROM people GROUP BY sex",
    "SELECT sex, SUM(COUNT(*)) OVER (ORDER BY age) FROM people GROUP BY sex",
    "SELECT sex, COUNT(*) FILTER (WHERE age > 3) OVER () FROM people GROUP BY sex",
    "SELECT sex, LAG(age) OVER (ORDER BY COUNT(*)) FROM people GROUP BY sex",
    "SELECT sex, FIRST_VALUE(age) OVER w FROM people GROUP BY sex WINDOW w AS (ORDER BY sex)",
    "SELECT sex, RANK() OVER w FROM people GROUP BY sex WINDOW w AS (ORDER BY age)",
    "SELECT DISTINCT ON (age) sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT MAX(age) OVER (), COUNT(*) FROM people",
    "SELECT LAG(age) OVER (ORDER BY age) FROM people",
    "SELECT COUNT(*) OVER () FROM people",
    "SELECT ARRAY_AGG(age) FROM people",
    "SELECT STRING_AGG(city, ',') FROM people",
    "SELECT FIRST(age) FROM people",
    "SELECT ARG_MAX(name, age) FROM people",
    "SELECT HISTOGRAM(age) FROM people",
    "SELECT ANY_VALUE(age) FROM people",
    "SELECT COLUMNS(*) FROM people",
    "SELECT patient, n FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient)",
    "SELECT DISTINCT patient FROM visits",
    "SELECT DISTINCT city FROM people",
    "SELECT name, COUNT(*) FROM people GROUP BY name",
    "SELECT name FROM people LIMIT 0",
    "SELECT COUNT(*) FROM people LIMIT (SELECT age FROM people)",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex, (SELECT MAX(age) FROM people)",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people)",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people GROUP BY name)",
    "SELECT COUNT(*) FROM people AS p WHERE age > (SELECT MAX(p.age) FROM clinics)",
    "SELECT COUNT(*) FROM people WHERE subquery('c0', 'x') > 3",
    "SELECT * FROM people PIVOT (COUNT(*) FOR sex IN ('f'))",
    "PIVOT people ON sex USING COUNT(*)",
    "SELECT * FROM clinics AS c, people",
    "SELECT * FROM (FROM people)",
    "SELECT age FROM people WHERE FALSE UNION ALL SELECT age FROM people",
    "SELECT * FROM (SELECT age FROM people LIMIT 0) AS t JOIN people ON t.age = people.age",
    "SELECT COUNT(*) FROM people TABLESAMPLE 10%",
    f"SELECT * FROM {INNER} TABLESAMPLE 10%",
]
REACHING_OUT = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM 'x.csv'",
    "SELECT * FROM glob('*')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('people')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM temp.r0",
    "SELECT * FROM r0",
    "SELECT COUNT(*), getenv('HOME') FROM people",
    "SELECT COUNT(*), current_setting('threads') FROM people",
    "SELECT COUNT(*), current_user FROM people",
    "SELECT COUNT(*) + random() FROM people",
    "SELECT COUNT(*), uuid() FROM people",
    "SELECT COUNT(*), now() FROM people",
    "SELECT COUNT(*), CURRENT_DATE FROM people",
    "SELECT COUNT(*), today() FROM people",
    "SELECT COUNT(*), nextval('s') FROM people",
    "SELECT COUNT(*), getvariable('s') FROM people",
    f"SELECT n INTO x FROM {INNER} AS t",
    f"SELECT n FROM {INNER} AS t FOR UPDATE",
    "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT * FROM a",
]


@pytest.mark.parametrize("text", [*ROWS, *REACHING_OUT])
def test_no_row_of_people_passes_and_nothing_else_is_reached(text: str) -> None:
    with pytest.raises(Refusal):
        split(text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            "SELECT COUNT(*) AS k0, sex AS m0 FROM people AS r0 GROUP BY sex HAVING m0 = 'f' ORDER BY k0, m0",
            'SELECT "r0"."m0" AS "k0", "r0"."k0" AS "m0" FROM "r0" WHERE ("r0"."k0") = \'f\' ORDER BY 1, 2',
        ),
        (
            'WITH R0 AS (SELECT "SEX", COUNT(*) AS "N" FROM PEOPLE GROUP BY Sex) SELECT n FROM r0',
            'WITH "_discreet_with0" AS (SELECT "r0"."k0" AS "SEX", "r0"."m0" AS "N" FROM "r0") '
            'SELECT "n" FROM "_discreet_with0" AS "r0"',
        ),
        (
            "WITH people AS (SELECT 1 AS age) SELECT age FROM people",
            'WITH "people" AS (SELECT 1 AS "age") SELECT "age" FROM "people"',
        ),
        (
            "SELECT grouped.n FROM (SELECT COUNT(*) AS n FROM people) AS grouped",
            'SELECT "grouped"."n" FROM (SELECT "r0"."m0" AS "n" FROM "r0") AS "grouped"',
        ),
    ],
)
def test_names_of_the_statement_do_not_shadow_released_ones(text: str, query: str) -> None:
    assert split(text).post_processing == query


def test_a_common_table_means_the_one_before_it() -> None:
    found = split(
        "WITH people AS (SELECT sex FROM people WHERE age > 3), b AS (SELECT sex, COUNT(*) AS n FROM people "
        "GROUP BY sex) SELECT n FROM b"
    )
    assert list_measures(found) == {"r0": (["k0"], ["count"])}


def test_a_condition_that_compares_with_an_answer_needs_that_core_first() -> None:
    found = split(
        "WITH a AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) "
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(n) FROM a) AND age < 2 * (SELECT AVG(n) FROM a)"
    )
    assert list_measures(found) == {"r0": (["k0"], ["count"]), "r1": ([], ["count"])}
    (constant,) = found.constants.values()
    assert constant.cores == ("r0",)
    assert constant.written == "SELECT AVG(n) FROM a"


def test_other_subqueries_over_rows_say_to_ask_them_first() -> None:
    with pytest.raises(Refusal, match="Ask «SELECT AVG\\(age\\) FROM people» first"):
        split("SELECT SUM(age - (SELECT AVG(age) FROM people)) FROM people")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS a0"
        + "".join(f", a{place} + a{place} AS a{place + 1}" for place in range(30))
        + " FROM people",
        "SELECT COUNT(*) FROM people GROUP BY " + ", ".join("CUBE (age, sex, smoker)" for _ in range(9)),
        "SELECT " + " + ".join("(SELECT COUNT(*) FROM people WHERE age = 1)" for _ in range(300)),
        "SELECT " + " + ".join(f"(SELECT COUNT(*) FROM people WHERE age = {place})" for place in range(60)),
        "SELECT " + "(SELECT " * 59 + "COUNT(*)" + " FROM people)" * 59 + " FROM people",
        " UNION ALL ".join("SELECT COUNT(*) FROM people" for _ in range(100)),
    ],
    ids=["aliases", "grouping sets", "many subqueries", "many cores", "nested", "branches"],
)
def test_what_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        split(text)


def test_common_tables_that_are_renamed_take_no_name_of_another() -> None:
    inner = "(WITH r0 AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) SELECT r0.n FROM r0, r0_1)"
    found = split(f"WITH r0_1 AS (SELECT COUNT(*) AS n FROM people) SELECT * FROM {inner}")
    names = [each.alias for each in found.query.find_all(exp.CTE)]
    assert len({*names}) == len(names) == 2
