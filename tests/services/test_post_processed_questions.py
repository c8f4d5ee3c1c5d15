"""Questions of several aggregations, and of none: one entry, or none, and what fails afterwards is free."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from discreet.core.errors import RequestError
from discreet.services.curator import Curator

POLICY = {
    "promise": ("1%", "50%"),
    "tables": {
        "people": {"columns": {"age": (17, 90), "sex": ["f", "m"]}},
        "regions": {"person": "none", "columns": {"sex": ["f", "m"], "weight": (0, 9)}},
    },
}
TABLES = {
    "people": pa.table({"age": [34, 61, 20, 44] * 200, "sex": ["f", "m", "f", "f"] * 200}),
    "regions": pa.table({"sex": ["f", "m"], "weight": [2, 3]}),
}
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture
def curator() -> Iterator[Curator]:
    with Curator(POLICY, tables=TABLES, ledger=":memory:") as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("SELECT * FROM regions ORDER BY sex", [["f", 2], ["m", 3]]),
        ("SELECT SUM(weight) AS w FROM regions", [[5]]),
        ("SELECT DISTINCT sex FROM people ORDER BY sex", [["f"], ["m"]]),
        ("SELECT sex FROM people GROUP BY sex ORDER BY sex", [["f"], ["m"]]),
        (f"SELECT * FROM ({BY_SEX}) AS t LIMIT 0", []),
        (f"{BY_SEX} LIMIT 0", []),
        ("SELECT age, sex FROM people WHERE 1 = 0", []),
        ("SELECT COUNT(*) AS n, AVG(age) AS a FROM people WHERE FALSE", [[0, None]]),
        ("SELECT 1 + 1 AS two", [[2]]),
    ],
)
def test_what_text_and_policy_tell_costs_nothing_and_has_no_entry(
    question: str, rows: list[list[object]], curator: Curator
) -> None:
    planned = curator.plan(question)
    answer = curator.ask(question)
    assert (planned.cost, planned.entry, planned.repeated) == (0, None, True)
    assert answer.rows == rows
    assert (answer.epsilon, answer.entry, answer.entries) == (0, None, ())
    assert "nothing" in planned.cost_sentence
    assert "nothing" in answer.cost_sentence
    assert answer.to_json()["entry"] is None
    assert float(curator.budget.spent.epsilon) == 0  # type: ignore[union-attr]


def test_a_public_table_beside_an_answer_costs_what_the_answer_costs(curator: Curator) -> None:
    question = (
        "SELECT r.sex, t.n * r.weight AS x FROM regions AS r "
        f"JOIN ({BY_SEX}) AS t ON t.sex = r.sex ORDER BY 1"
    )
    answer = curator.ask(question, epsilon=1)
    counts = curator.ask(f"{BY_SEX} ORDER BY sex", epsilon=1).table["n"].to_pylist()
    assert answer.table["x"].to_pylist() == [2 * counts[0], 3 * counts[1]]
    assert (answer.epsilon, answer.entries) == (1, (1,))


def test_several_aggregations_are_one_entry_and_are_charged_once(curator: Curator) -> None:
    question = "SELECT sex, 100.0 * COUNT(*) / (SELECT SUM(age) FROM people) AS p FROM people GROUP BY sex"
    first, again = curator.ask(question, epsilon=0.5), curator.ask(question, epsilon=0.5)
    assert (first.epsilon, first.entries) == (0.5, (1,))
    assert (again.epsilon, again.entries) == (0, (1,))
    assert again.rows == first.rows
    part = curator.ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n", epsilon=0.25)
    assert (part.epsilon, part.entries) == (0, (1,))


def test_only_the_aggregation_that_is_missing_is_charged(curator: Curator) -> None:
    curator.ask(BY_SEX, epsilon=1)
    question = "SELECT sex, COUNT(*) / (SELECT SUM(age) FROM people) AS p FROM people GROUP BY sex"
    answer = curator.ask(question, epsilon=1)
    assert (answer.epsilon, answer.entries) == (0.5, (1, 2))
    assert curator.ask(question, epsilon=1).rows == answer.rows


@pytest.mark.parametrize(
    "around",
    [
        "SELECT sex, n - LAG(n) OVER (ORDER BY sex) AS d FROM ({inner}) AS t",
        "SELECT sex FROM ({inner}) AS t QUALIFY RANK() OVER (ORDER BY n DESC) = 1",
        "SELECT * FROM ({inner}) AS t UNION ALL SELECT 'all', SUM(n) FROM ({inner}) AS u",
        "WITH a AS ({inner}) SELECT x.n - y.n AS d FROM a AS x JOIN a AS y ON x.sex < y.sex",
        "SELECT * FROM ({inner}) AS t PIVOT (SUM(n) FOR sex IN ('f', 'm'))",
        "{inner} ORDER BY n DESC LIMIT 1 OFFSET 1",
        "SELECT SQRT(ABS(n)) AS r FROM ({inner}) AS t",
    ],
)
def test_what_is_around_a_measured_aggregation_is_free(around: str, curator: Curator) -> None:
    curator.ask(BY_SEX, epsilon=1)
    answer = curator.ask(around.format(inner=BY_SEX), epsilon=1)
    assert (answer.epsilon, answer.entries) == (0, (1,))


def test_the_columns_that_a_pivot_makes_are_noisy(curator: Curator) -> None:
    answer = curator.ask(f"SELECT * FROM ({BY_SEX}) AS t PIVOT (SUM(n) FOR sex IN ('f', 'm'))", epsilon=1)
    assert {"f", "m"} <= {*answer.measures}
    assert {"f", "m"} <= {*answer.no_interval}


@pytest.mark.parametrize(
    "question",
    [
        f"SELECT nope FROM ({BY_SEX}) AS t",
        f"SELECT SUM(sex) AS s FROM ({BY_SEX}) AS t",
        "SELECT age FROM people UNION ALL SELECT 1",
        "SELECT COUNT(*), getenv('HOME') FROM people",
    ],
)
def test_what_cannot_be_computed_is_refused_before_anything_is_charged(
    question: str, curator: Curator
) -> None:
    with pytest.raises(RequestError, match=r"^ask: "):
        curator.ask(question, epsilon=1)
    with pytest.raises(RequestError, match=r"^plan: "):
        curator.plan(question, epsilon=1)
    assert float(curator.budget.spent.epsilon) == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "column",
    [
        "9223372036854775000 + n * 1000",
        "LENGTH(REPEAT('x', n * 10000000) || REPEAT('y', n * 10000000))",
        "(SELECT SUM(a.i * b.i) FROM range(n * 10000) AS a(i), range(n * 10000) AS b(i))",
    ],
    ids=["overflow", "memory", "time"],
)
def test_what_fails_with_released_values_is_an_error_that_suspends_nobody(
    column: str, curator: Curator
) -> None:
    with pytest.raises(RequestError, match=r"^ask: what is computed from the released values"):
        curator.ask(f"SELECT {column} AS x FROM ({BY_SEX}) AS t", epsilon=1)
    answer = curator.ask(BY_SEX, epsilon=1)
    assert (answer.epsilon, answer.entries) == (0, (1,))
    assert curator.ask("SELECT AVG(age) AS a FROM people", epsilon=1).entries == (2,)
