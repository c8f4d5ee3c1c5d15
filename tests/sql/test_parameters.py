"""Parameters: a value that is bound means what the same constant means in the text, and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.column_entry import ColumnType
from discreet.sql.expression_tree import Scalar
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.query_parameters import infer_parameter_kinds
from discreet.sql.query_parser import parse_statement
from discreet.sql.refusal import Refusal
from tests.sql.example import POLICY, PROMISE


def planned(sql: str, *values: Scalar | float) -> QueryPlan:
    return plan_query(sql, POLICY, PROMISE, epsilon=1, values=values)


@pytest.mark.parametrize(
    ("sql", "values", "written"),
    [
        ("age > $1", [30], "age > 30"),
        ("age > $1", [-30], "age > -30"),
        ("height < $1", [Decimal("1.75")], "height < 1.75"),
        ("height < $1", [1.75], "height < 1.75"),
        ("sex = $1", ["f"], "sex = 'f'"),
        ("sex = $1 AND age = $2 AND sex <> $1", ["f", 3], "sex = 'f' AND age = 3 AND sex <> 'f'"),
        ("born < $1", [dt.date(2000, 1, 31)], "born < DATE '2000-01-31'"),
        ("born < $1::date", [dt.date(2000, 1, 31)], "born < DATE '2000-01-31'"),
        ("seen < $1", [dt.datetime(2021, 1, 31, 12)], "seen < TIMESTAMP '2021-01-31 12:00'"),
        ("smoker = $1", [True], "smoker = TRUE"),
        ("age IN ($1, $2)", [1, 2], "age IN (1, 2)"),
        ("age BETWEEN $1 AND $2", [1, 2], "age BETWEEN 1 AND 2"),
        ("sex = $1", [None], "sex = NULL"),
    ],
)
def test_a_bound_value_is_the_constant_that_it_would_be_in_the_text(
    sql: str, values: list[Scalar], written: str
) -> None:
    question = "SELECT COUNT(*) AS n FROM people WHERE "
    assert planned(question + sql, *values).release_key == planned(question + written).release_key


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_text_stays_text(value: str) -> None:
    question = "SELECT COUNT(*) AS n FROM people WHERE city = $1"
    found = planned(question, value)
    assert "count" in found.statement.lower()
    assert found.release_key == planned(question, value).release_key


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("age > $1", []),
        ("age > $2", [1]),
        ("age > 1", [1]),
        ("age > $1001", [1]),
        ("age > ?", [1]),
        ("age > :name", [1]),
        ("age > $1", [Decimal("1e999999")]),
        ("age > $1", [float("inf")]),
        ("$1 > 1", ["FROM people"]),
        ("sex = $1", ["\0"]),
        ("sex = $1", ["\ud800"]),
    ],
)
def test_what_is_no_parameter_or_no_constant_is_refused(sql: str, values: list[Scalar]) -> None:
    with pytest.raises(Refusal):
        planned(f"SELECT COUNT(*) AS n FROM people WHERE {sql}", *values)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT COUNT(*) FROM people WHERE age > $1", ColumnType.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE $1 < people.AGE", ColumnType.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE height BETWEEN 0 AND $1", ColumnType.DECIMAL),
        ("SELECT COUNT(*) FROM people WHERE born IN ($1)", ColumnType.DATE),
        ("SELECT COUNT(*) FROM people WHERE seen > $1", ColumnType.TIMESTAMP),
        ("SELECT COUNT(*) FROM people WHERE smoker = $1", ColumnType.BOOLEAN),
        ("SELECT COUNT(*) FROM people WHERE city LIKE $1", ColumnType.TEXT),
        ("SELECT COUNT(*) FROM people WHERE city = $1::int", ColumnType.INTEGER),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > $1", ColumnType.INTEGER),
        ("SELECT sex, AVG(age) AS n FROM people GROUP BY 1 HAVING AVG(age) > $1", ColumnType.DECIMAL),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 LIMIT $1", ColumnType.INTEGER),
        ("SELECT LEFT(sex, $1) AS s, COUNT(*) AS n FROM people GROUP BY 1", ColumnType.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE $1", ColumnType.TEXT),
    ],
)
def test_a_kind_follows_from_what_a_parameter_stands_beside(sql: str, kind: ColumnType) -> None:
    assert infer_parameter_kinds(parse_statement(sql), POLICY) == (kind,)
