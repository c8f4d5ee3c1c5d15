"""What is refused: every statement of refused.sql for its reason, and anything else with nothing worse.

refused.sql holds blocks of a reason (part of the message, after --) and a statement, a blank line between.
"""

from __future__ import annotations

import random as chance
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import RequestError
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from tests.sql.example import LEAK, POLICY, PROMISE, TAILED

BLOCKS = (Path(__file__).parent / "refused.sql").read_text().strip().split("\n\n")
REFUSED = [tuple(block.removeprefix("-- ").split("\n", 1)) for block in BLOCKS]

VALID = [
    "SELECT sex, COUNT(*) AS n, AVG(height) FROM people WHERE age >= 30 GROUP BY sex HAVING n > 1 ORDER BY 2",
    "SELECT AVG(t) FROM (SELECT patient, SUM(cost) AS t FROM visits WHERE days > 2 GROUP BY patient) AS x",
    "WITH a AS (SELECT sex, age * 2 AS b FROM people) SELECT sex, SUM(b) / COUNT(b) FROM a GROUP BY 1",
    "SELECT c.region, COUNT(DISTINCT v.patient) FROM visits v JOIN clinics c ON v.clinic = c.id GROUP BY ALL",
    "SELECT MAX(n) FROM (SELECT floor(age / 10) AS d, COUNT(*) AS n FROM people GROUP BY d) WHERE d < 5",
    "SELECT MEDIAN(age), QUANTILE_CONT(age, 0.9), MODE(sex), STDDEV(age) FILTER (WHERE smoker) FROM people",
    "SELECT CASE WHEN age < 18 THEN 'young' ELSE LOWER(sex) END AS k, COUNT(*) FROM people GROUP BY k",
]
MORE = """
DISTINCT OVER UNION ALL WITH RECURSIVE EXISTS LATERAL VALUES NOT NULL IS IN LIKE BETWEEN CAST USING SAMPLE
QUALIFY ROLLUP OFFSET INTERVAL DATE TIMESTAMP EXTRACT PIVOT LEFT CROSS * ; ' " $1 ? [ ] { } :: -> || // ** ~ @
# /* */ -- 1e9 1e-99999 0x1 '' "" NaN _discreet_person rowid
"""
WORDS = sorted(
    {word for question in VALID for word in re.findall(r"\w+|[^\w\s]", question)} | set(MORE.split())
)


def outcome(question: str) -> QueryPlan | str:
    """A plan, or why there is none; any other exception is the test's failure."""
    try:
        return plan_query(question, POLICY, TAILED, epsilon=1, leak=LEAK)
    except RequestError as refusal:
        return str(refusal)


@pytest.mark.parametrize(
    "condition", ["person IN (SELECT patient FROM visits)", "NOT EXISTS (SELECT 1 FROM visits)"]
)
def test_who_filters_by_a_subquery_is_told_of_a_join(condition: str) -> None:
    refusal = outcome(f"SELECT COUNT(*) FROM people WHERE {condition}")
    assert isinstance(refusal, str)
    assert "JOIN (SELECT person, COUNT(*) AS n FROM b" in refusal
    counted = "(SELECT patient, COUNT(*) AS n FROM visits WHERE days > 2 GROUP BY patient) AS t"
    for told in (
        f"SELECT COUNT(*) FROM visits AS v JOIN {counted} ON v.patient = t.patient",
        f"SELECT COUNT(*) FROM visits AS v LEFT JOIN {counted} ON v.patient = t.patient WHERE t.n IS NULL",
    ):
        assert isinstance(outcome(told), QueryPlan)


def test_the_corpus_is_large() -> None:
    assert len({statement for _, statement in REFUSED}) >= 200


@pytest.mark.parametrize(("reason", "statement"), REFUSED, ids=[statement[:70] for _, statement in REFUSED])
def test_a_statement_is_refused_for_its_reason_with_a_way_out(reason: str, statement: str) -> None:
    with pytest.raises(Refusal) as caught:
        plan_query(statement, POLICY, PROMISE, epsilon=1)
    assert reason in caught.value.message
    assert re.fullmatch(r"ask: .*\.", caught.value.message)
    assert re.fullmatch(r".{5,}[.…?]", caught.value.hint)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("SELECT COUNT(*) FROM people WHERE city = 'a\x00b'", "unpaired surrogate"),
        ("SELECT COUNT(*) FROM people WHERE city = '\ud800'", "unpaired surrogate"),
        ("SELECT COUNT(*) FROM people" + " " * 20_000, "characters"),
        ("SELECT COUNT(*) FROM people WHERE " + "(" * 70 + "TRUE" + ")" * 70, "too deeply"),
        ("SELECT COUNT(*) FROM people WHERE " + "NOT " * 4_000 + "TRUE", "too deeply"),
        ("SELECT COUNT(*) FROM people WHERE age = " + "1 + " * 400 + "1", "too deeply"),
        ("SELECT a" + "[1]" * 6_000 + " FROM people", "lists"),
        ("", "0 statements"),
        ("  -- nothing", "0 statements"),
        ("SELECT COUNT(*) FROM people LIMIT " + "9" * 5_000, "whole number"),
        ("SELECT COUNT(*) FROM people GROUP BY " + "9" * 5_000, "no column"),
        ("SELECT COUNT(*) FROM people WHERE age > " + "9" * 5_000, "too large"),
        ("SELECT COUNT(*) FROM people WHERE age > 0." + "1" * 5_000, "digits"),
    ],
    ids=range(13),
)
def test_odd_and_oversized_text_is_refused(question: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        plan_query(question, POLICY, PROMISE, epsilon=1)


def chained(step: str, count: int) -> str:
    parts = [f"a{place + 1} AS ({step.format(f'a{place}')})" for place in range(count)]
    return (
        f"WITH a0 AS (SELECT patient, days AS x FROM visits), {', '.join(parts)} SELECT SUM(x) FROM a{count}"
    )


@pytest.mark.parametrize(
    ("step", "count", "reason"),
    [
        ("SELECT l.patient, l.x FROM {0} AS l JOIN {0} AS r ON l.patient = r.patient", 40, "too many"),
        ("SELECT patient, x * x AS x FROM {0}", 50, "needs bounds"),
        ("SELECT patient, x FROM {0}", 100, "too many subqueries"),
        ("SELECT patient, x + x AS x FROM {0}", 20, "written out"),
    ],
)
def test_questions_that_double_at_each_step_are_refused_early(step: str, count: int, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        plan_query(chained(step, count), POLICY, PROMISE, epsilon=1)


def test_nested_cases_do_not_multiply() -> None:
    nested = "age"
    for _ in range(18):
        nested = f"CASE {nested} WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 1 END"
    found = outcome(f"SELECT COUNT(*) FROM people WHERE {nested} = 1")
    assert not isinstance(found, str)
    assert len(found.statement) < 10_000


def test_a_refusal_shows_no_control_characters() -> None:
    with pytest.raises(Refusal) as caught:
        plan_query('SELECT COUNT(*) FROM "\x1b[31mred"', POLICY, PROMISE, epsilon=1)
    assert str(caught.value).isprintable()


def test_the_reader_prints_nothing_of_its_own() -> None:
    script = (
        "from discreet.sql.query_parser import parse_query\n"
        "try: parse_query('EXPLAIN SELECT 1')\n"
        "except Exception: pass"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("name", ["\u212aelvin", "people\u200b", "реople", "PEOPLE\u0301"])
def test_names_that_only_look_alike_are_other_names(name: str) -> None:
    with pytest.raises(Refusal, match="no table"):
        plan_query(f'SELECT COUNT(*) FROM "{name}"', POLICY, PROMISE, epsilon=1)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
def test_any_words_give_a_plan_or_a_refusal(soup: str) -> None:
    outcome(soup)
    outcome(f"SELECT COUNT(*) FROM people WHERE {soup}")
    outcome(f"SELECT {soup} FROM people GROUP BY sex")


@settings(max_examples=200)
@given(st.sampled_from(VALID), st.integers(0, 2**32))
def test_a_changed_question_gives_a_plan_or_a_refusal(question: str, seed: int) -> None:
    dice = chance.Random(seed)
    words = re.findall(r"\w+|[^\w\s]", question)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(words))
        words[place : place + dice.randint(0, 2)] = [dice.choice(WORDS) for _ in range(dice.randint(0, 2))]
        words = words or ["SELECT"]
    outcome(" ".join(words))


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_gives_a_plan_or_a_refusal(text: str) -> None:
    outcome(text)
    outcome(f"SELECT COUNT(*) FROM people WHERE city = '{text}'")


@pytest.mark.parametrize("question", VALID)
def test_the_questions_that_are_changed_are_answered_as_they_are(question: str) -> None:
    assert isinstance(outcome(question), QueryPlan)
