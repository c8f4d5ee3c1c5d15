"""A literal that the policy does not declare for a category is refused, with the value that is meant."""

from __future__ import annotations

import pytest

from discreet.core.policy import Policy
from discreet.sql.planner import plan_query
from discreet.sql.refusal import Refusal
from tests.sql.example import PROMISE

POLICY = Policy.model_validate(
    {
        "promise": {"prior": "1%", "posterior": "5%"},
        "tables": {
            "people": {
                "source": "people.csv",
                "csv": {"nulls": ["?", "k. A."]},
                "columns": {
                    "sex": {"type": "category", "values": ["Male", "Female"]},
                    "town": {"type": "category"},
                    "note": {"type": "text"},
                    "answer": {"type": "category", "values": ["", "yes", "O'Neil"]},
                    "age": {"type": "integer", "low": 0, "high": 100},
                },
            }
        },
    }
)


def plan(condition: str, *values: str) -> None:
    plan_query(f"SELECT COUNT(*) FROM people WHERE {condition}", POLICY, PROMISE, epsilon=1, values=values)


@pytest.mark.parametrize(
    "condition",
    [
        "sex = 'F'",
        "'F' = sex",
        "sex <> 'F'",
        "NOT sex = 'F'",
        "sex IN ('Male', 'F')",
        "sex NOT IN ('F')",
        "sex = 'F' OR age > 3",
        "(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) = 1",
        "(CASE sex WHEN 'F' THEN 1 ELSE 0 END) = 1",
        "CASE WHEN age > 3 THEN sex = 'F' ELSE false END",
    ],
)
def test_a_text_that_is_no_declared_value_is_refused_with_the_nearest(condition: str) -> None:
    with pytest.raises(Refusal, match="'F' is not a declared value of sex") as refused:
        plan(condition)
    assert refused.value.hint == "Did you mean 'Female'? Its values are 'Male', 'Female'."


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FILTER (WHERE sex = 'F') FROM people",
        "SELECT COUNT_IF(sex = 'F') FROM people",
        "SELECT SUM(CASE WHEN sex = 'F' THEN age END) FROM people",
        "SELECT sex = 'F' AS f, COUNT(*) FROM people GROUP BY f",
        "SELECT COUNT(*) FROM (SELECT sex AS s FROM people) WHERE s = 'F'",
        "WITH a AS (SELECT sex AS g FROM people) SELECT COUNT(*) FROM (SELECT g AS h FROM a) WHERE h = 'F'",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING sex = 'F'",
        "SELECT n FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) WHERE sex = 'F'",
    ],
)
def test_it_is_refused_wherever_it_is_compared(question: str) -> None:
    with pytest.raises(Refusal, match="'F' is not a declared value of sex"):
        plan_query(question, POLICY, PROMISE, epsilon=1)


def test_a_parameter_is_a_literal() -> None:
    plan("sex = $1", "Male")
    with pytest.raises(Refusal, match="'male' is not a declared value") as refused:
        plan("sex = $1", "male")
    assert "Did you mean 'Male'?" in refused.value.hint


@pytest.mark.parametrize(
    "condition",
    [
        "sex = 'Male' OR sex IN ('Male', 'Female')",
        "sex LIKE 'F%' OR sex LIKE 'F' OR sex ILIKE 'f'",
        "LOWER(sex) = 'female'",
        "COALESCE(sex, 'unknown') = 'unknown'",
        "NULLIF(sex, '?') IS NULL",
        "sex > 'F' OR sex BETWEEN 'F' AND 'G'",
        "town = 'Ulm' OR note = 'F' OR town NOT IN ('Rom')",
        "answer = '' OR answer = 'O''Neil'",
        "sex <> ''",
        "sex NOT IN ('?', 'k. A.')",
    ],
)
def test_what_may_be_true_or_means_what_it_says_is_planned(condition: str) -> None:
    plan(condition)


@pytest.mark.parametrize("text", ["", "?", "k. A.", "NA"])
def test_a_mark_of_missing_values_is_refused_with_a_hint_at_null(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        plan(f"sex = '{text}'")
    assert refused.value.hint == "A missing value is NULL: write sex IS NULL, or sex IS NOT NULL."


def test_a_text_near_to_nothing_lists_the_values() -> None:
    with pytest.raises(Refusal) as refused:
        plan("sex = 'xyz\x1b[31m'")
    assert refused.value.hint == "Its values are 'Male', 'Female'."
    assert "\x1b" not in refused.value.message
