"""Questions and the SQL that they become, word for word, in fixtures/*.sql.

Each fixture is a question, the statement that counts, those that count values (for MEDIAN and its kin), and
the SELECT over the released table. To write them anew, and read the difference before it is kept:

    DISCREET_FIXTURES=write pytest tests/sql/test_fixtures.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from discreet.core.engine import Engine
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.expression_tree import Call, Expression
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.query_parser import parse_query
from discreet.sql.relational_algebra import Filter
from discreet.sql.resolver import resolve_query
from tests.sql.example import POLICY, PROMISE

FOLDER = Path(__file__).parent / "fixtures"
TOPICS = sorted(FOLDER.glob("*.sql"))
PART = re.compile(r"^-- (question|statement|values|after)\n", re.MULTILINE)


def questions(topic: Path) -> list[str]:
    pieces = PART.split(topic.read_text())
    named = zip(pieces[1::2], pieces[2::2], strict=True)
    return [text.strip() for name, text in named if name == "question"]


def written(question: str) -> str:
    made: QueryPlan = plan_query(question, POLICY, PROMISE, epsilon=1)
    parts = [("question", question), ("statement", made.statement)]
    parts += [("values", each.statement) for each in made.value_selections.values()]
    return "\n".join(f"-- {name}\n{text}" for name, text in [*parts, ("after", made.post_processing)])


@pytest.mark.parametrize("topic", TOPICS, ids=[topic.stem for topic in TOPICS])
def test_questions_become_this_sql(topic: Path) -> None:
    found = "\n\n".join(written(question) for question in questions(topic)) + "\n"
    if os.environ.get("DISCREET_FIXTURES") == "write":
        topic.write_text(found)
    assert found == topic.read_text(), (
        "DISCREET_FIXTURES=write pytest tests/sql/test_fixtures.py writes it anew"
    )


@pytest.mark.parametrize("topic", TOPICS, ids=[topic.stem for topic in TOPICS])
def test_the_engine_takes_every_statement(topic: Path, example_engine: Engine) -> None:
    for question in questions(topic):
        made = plan_query(question, POLICY, PROMISE, epsilon=1)
        for statement in [made.statement, *(each.statement for each in made.value_selections.values())]:
            example_engine.count(statement)


def functions(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*(functions(each) for each in expression.arguments))


def test_the_fixtures_use_every_function() -> None:
    used: set[str] = set()
    for question in questions(FOLDER / "functions.sql"):
        rows = resolve_query(parse_query(question), POLICY).rows
        assert isinstance(rows, Filter)
        used |= functions(rows.condition)
    assert used == set(FUNCTIONS)


def test_nothing_of_a_question_but_its_constants_and_names_reaches_the_engine() -> None:
    made = plan_query(
        "SELECT COUNT(*) /* secret words */ FROM people -- more words", POLICY, PROMISE, epsilon=1
    )
    assert "words" not in made.statement + made.post_processing
