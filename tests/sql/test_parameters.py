"""Parameters: a value that is bound means what the same constant means in the text, and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.policy import Kind
from discreet.sql.expressions import Scalar
from discreet.sql.parameters import kinds
from discreet.sql.parse import read
from discreet.sql.plan import Plan, plan
from discreet.sql.refusal import Refusal
from tests.sql.example import POLICY, PROMISE


def planned(sql: str, *values: Scalar | float) -> Plan:
    return plan(sql, POLICY, PROMISE, epsilon=1, values=values)


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
    assert planned(question + sql, *values).key == planned(question + written).key


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_text_stays_text(value: str) -> None:
    found = planned("SELECT COUNT(*) AS n FROM people WHERE sex = $1", value)
    assert "count" in found.statement.lower()
    assert found.key == planned("SELECT COUNT(*) AS n FROM people WHERE sex = $1", value).key


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
        ("SELECT COUNT(*) FROM people WHERE age > $1", Kind.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE $1 < people.AGE", Kind.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE height BETWEEN 0 AND $1", Kind.DECIMAL),
        ("SELECT COUNT(*) FROM people WHERE born IN ($1)", Kind.DATE),
        ("SELECT COUNT(*) FROM people WHERE seen > $1", Kind.TIMESTAMP),
        ("SELECT COUNT(*) FROM people WHERE smoker = $1", Kind.BOOLEAN),
        ("SELECT COUNT(*) FROM people WHERE city LIKE $1", Kind.TEXT),
        ("SELECT COUNT(*) FROM people WHERE city = $1::int", Kind.INTEGER),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 HAVING COUNT(*) > $1", Kind.INTEGER),
        ("SELECT sex, AVG(age) AS n FROM people GROUP BY 1 HAVING AVG(age) > $1", Kind.DECIMAL),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY 1 LIMIT $1", Kind.INTEGER),
        ("SELECT LEFT(sex, $1) AS s, COUNT(*) AS n FROM people GROUP BY 1", Kind.INTEGER),
        ("SELECT COUNT(*) FROM people WHERE $1", Kind.TEXT),
    ],
)
def test_a_kind_follows_from_what_a_parameter_stands_beside(sql: str, kind: Kind) -> None:
    assert kinds(read(sql), POLICY) == (kind,)
