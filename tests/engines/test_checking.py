"""A text that is about to run on another engine is what was meant, or it does not run.

Real statements of real questions, changed in one word after the other; dialects that quote or bracket
wrongly; and a writer that leaves out or changes a clause: each is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import sqlglot
from sqlglot import Token, TokenType

from discreet.core.errors import EngineFault, RequestError
from discreet.engines.dialects import sql_marks, sql_types
from discreet.engines.dialects.postgres_dialect import PostgresDialect
from discreet.engines.dialects.spark_dialect import SparkDialect
from discreet.engines.dialects.statement_verification import StatementTranslator, verify_statement
from discreet.engines.dialects.statement_writer import SqlRelation, TranslatedStatement, translate_select
from discreet.engines.identifier_types import IdentifierType
from discreet.engines.policy_tables import EngineTable, build_policy_tables, select_declared_columns
from discreet.sql.planner import plan_query
from tests.sql import example

TYPES = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "category": "VARCHAR",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "boolean": "BOOLEAN",
}
QUESTIONS = [
    "SELECT sex, COUNT(*) AS n, SUM(height) AS s FROM people WHERE age <= 30 AND city = 'Ulm' GROUP BY sex",
    "SELECT COUNT(*) AS n FROM people WHERE CAST(city AS INTEGER) > 3 OR NOT smoker",
    "SELECT AVG(cost) AS m FROM visits AS v LEFT JOIN clinics AS c ON v.clinic = c.id WHERE region = 'North'",
    "SELECT COUNT(*) AS n FROM (SELECT customer, SUM(price) AS t FROM orders GROUP BY customer) WHERE t < 2",
    "SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop",
    "SELECT COUNT(*) AS n FROM (SELECT smoker, NULL AS t FROM people) AS s "
    "WHERE CASE WHEN smoker THEN '' ELSE t END <> 'a'",
]
DIALECTS = pytest.mark.parametrize(
    "dialect", [PostgresDialect(), SparkDialect()], ids=["postgresql", "spark"]
)
Case = tuple[str, TranslatedStatement]


@cache
def relations(dialect: Any) -> dict[str, SqlRelation]:
    """The example's tables, as an engine that holds them sees them."""
    origins = {}
    for name, table in example.POLICY.tables.items():
        forms = {column: ("{0}", TYPES[entry.type.value]) for column, entry in table.columns.items()}
        exact = {column: IdentifierType(type=kind, is_exact=True) for column, (_, kind) in forms.items()}
        read = select_declared_columns(name, name, forms, None, dialect, exact)
        text = f"(SELECT {read.text} FROM {sql_marks.mark_name(name, dialect)})"
        origins[name] = EngineTable(
            text=text, table=name, types=read.types, identifier_types=read.identifier_types
        )
    return dict(build_policy_tables(example.POLICY, origins, dialect).relations)


@cache
def cases(dialect: Any) -> list[Case]:
    made = [
        plan_query(each, example.POLICY, example.TAILED, epsilon=1, leak=example.LEAK) for each in QUESTIONS
    ]
    return [(each.statement, translate_select(each.statement, dialect, relations(dialect))) for each in made]


def is_refused(text: str, statement: TranslatedStatement, sql: str, dialect: Any) -> bool:
    try:
        verify_statement(text, statement, sql, dialect)
    except EngineFault:
        return True
    return False


@DIALECTS
def test_statements_as_they_are_written_are_let_through(dialect: Any) -> None:
    for sql, statement in cases(dialect):
        verify_statement(statement.text, statement, sql, dialect)
        assert not sql_marks.MARKS.search(statement.text)


# -- Texts that were changed --------------------------------------------------------------------------------

OTHER = {"<=": "<", "<": "<=", ">": ">=", ">=": ">", "=": "<>", "<>": "=", "+": "-", "-": "+", "*": "/"}
WORDS = {"AND": "OR", "OR": "AND", "LEFT": "INNER", "CAST": "TRY_CAST", "TRY_CAST": "CAST", "SUM": "MAX"}
SKIPPED = (TokenType.L_PAREN, TokenType.R_PAREN)


def words(text: str, dialect: Any) -> list[Token]:
    return list(sqlglot.Dialect.get_or_raise(dialect.sqlglot_dialect).tokenize(text))


def changed(text: str, dialect: Any) -> Iterator[str]:
    """One word left out, said twice, or in place of it another, here and there in the text."""
    for place, word in enumerate(words(text, dialect)):
        before, here, after = text[: word.start], text[word.start : word.end + 1], text[word.end + 1 :]
        other = OTHER.get(here) or WORDS.get(here.upper())
        if word.token_type is TokenType.NUMBER:
            other = "7" if here != "7" else "8"
        elif word.token_type is TokenType.STRING:
            other = "'other'"
        elif word.token_type is TokenType.IDENTIFIER:
            other = dialect.quote_identifier("other")
        if word.token_type not in SKIPPED:
            yield f"{before}{(other, '', f'{here} {here}')[place % 3 if other else 1]}{after}"


def assert_refused(dialect: Any, at_most: int) -> None:
    logging.disable(logging.ERROR)
    try:
        for sql, statement in cases(dialect):
            mutants = list(changed(statement.text, dialect))
            for mutant in mutants[:: max(1, len(mutants) // at_most)]:
                assert is_refused(mutant, statement, sql, dialect), mutant
    finally:
        logging.disable(logging.NOTSET)


@DIALECTS
def test_a_text_that_differs_in_one_word_does_not_run(dialect: Any) -> None:
    assert_refused(dialect, 12)


@pytest.mark.night
@DIALECTS
def test_a_text_that_differs_in_any_one_word_does_not_run(dialect: Any) -> None:
    assert_refused(dialect, 10_000)


def without(text: str, start: str, end: str) -> str:
    """The text without what stands from one word to another."""
    first = text.index(start)
    return text[:first] + text[text.index(end, first) :]


@DIALECTS
def test_a_text_that_was_changed_in_its_shape_does_not_run(dialect: Any) -> None:
    (sql, statement), *_ = cases(dialect)
    text = statement.text
    mutants = {
        "a condition left out": without(text, " WHERE ", " GROUP BY "),
        "a condition more": text.replace(" WHERE ", " WHERE TRUE AND ", 1),
        "a second statement": f"{text}; SELECT 1",
        "a union": f"{text} UNION ALL {text}",
        "a comment": f"{text} -- of somebody",
        "a comment within": text.replace(" WHERE ", " /* + */ WHERE ", 1),
        "a limit": f"{text} LIMIT 1",
        "a semicolon": f"{text};",
        "other brackets": _regrouped(text),
    }
    for what, mutant in mutants.items():
        assert mutant != text
        assert is_refused(mutant, statement, sql, dialect), what


def _regrouped(text: str) -> str:
    """a AND (b …) read as (a AND b) …: the brackets of one operand are taken away."""
    place = text.index("(", text.index(" WHERE "))
    depth, end = 0, place
    for end in range(place, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            break
    return f"{text[:place]}NOT {text[place + 1 : end]} IS NULL{text[end + 1 :]}"


# -- Dialects that are wrong --------------------------------------------------------------------------------

ONE = {
    "t": SqlRelation(text="t", columns={"a": sql_types.TEXT, "b": sql_types.INTEGER}, tables=frozenset({"t"}))
}
HOSTILE = ["it's", "' OR TRUE OR a = '", "\\", "\\' OR TRUE --", "x' UNION ALL SELECT a FROM t WHERE a = '"]


@dataclass(frozen=True, kw_only=True)
class Unescaped(PostgresDialect):
    def quote_literal(self, text: str) -> str:
        return f"'{text}'"


@dataclass(frozen=True, kw_only=True)
class Doubling(SparkDialect):
    """Quotes as PostgreSQL does, which Spark reads otherwise."""

    def quote_literal(self, text: str) -> str:
        return PostgresDialect().quote_literal(text)


@dataclass(frozen=True, kw_only=True)
class Unquoted(PostgresDialect):
    def quote_identifier(self, name: str) -> str:
        return f'"{name}"'


@dataclass(frozen=True, kw_only=True)
class Unbracketed(PostgresDialect):
    def write_float_arithmetic(self, operator: str, left: Any, right: Any) -> str:
        return f"{left.text} {operator} {right.text}"

    def write_null_safe_equal(self, left: Any, right: Any) -> str:
        return f"{left.text} = {right.text} OR {left.text} IS NULL"


def refusals(sql: str, dialect: Any, known: dict[str, SqlRelation]) -> list[str]:
    found = translate_select(sql, dialect, known)
    return [sql] if is_refused(found.text, found, sql, dialect) else []


@pytest.mark.parametrize("dialect", [Unescaped(), Doubling()], ids=["without escapes", "with others"])
def test_a_constant_that_is_read_as_something_else_does_not_run(dialect: Any) -> None:
    right = {"Unescaped": PostgresDialect(), "Doubling": SparkDialect()}[type(dialect).__name__]
    found: list[str] = []
    for text in HOSTILE:
        sql = f"SELECT b FROM t WHERE a = {PostgresDialect().quote_literal(text)}"
        assert not refusals(sql, right, ONE)
        found += refusals(sql, dialect, ONE)
    assert len(found) >= 3


def test_a_name_that_is_read_as_something_else_does_not_run() -> None:
    name = 'a" = "a'
    known = {"t": replace(ONE["t"], columns={name: sql_types.TEXT})}
    sql = f"""SELECT count(*) AS n FROM t WHERE {PostgresDialect().quote_identifier(name)} = 'x'"""
    assert not refusals(sql, PostgresDialect(), known)
    assert refusals(sql, Unquoted(), known)


def test_an_operand_that_lost_its_brackets_does_not_run() -> None:
    sql = "SELECT b FROM t WHERE (a IS NOT DISTINCT FROM 'x') AND b > 1"
    assert not refusals(sql, PostgresDialect(), ONE)
    assert refusals(sql, Unbracketed(), ONE)


@DIALECTS
def test_text_that_holds_a_mark_is_refused_by_name(dialect: Any) -> None:
    with pytest.raises(RequestError, match="internal use"):
        translate_select(f"SELECT b FROM t WHERE a = 'x{sql_marks.END}'", dialect, ONE)


# -- A writer that is wrong ---------------------------------------------------------------------------------

PAIRS = [
    ("SELECT b FROM t WHERE a = 'x'", "SELECT b FROM t"),
    ("SELECT b FROM t WHERE a = 'x'", "SELECT b FROM t WHERE b = 1"),
    ("SELECT b FROM t WHERE a = 'x' AND b = 1", "SELECT b FROM t WHERE a = 'x'"),
    ("SELECT b FROM t", "SELECT a AS b FROM t"),
    ("SELECT b FROM t", "SELECT b AS c FROM t"),
    ("SELECT a, b FROM t", "SELECT b, a FROM t"),
    ("SELECT b FROM t", "SELECT DISTINCT b FROM t"),
    ("SELECT b FROM t ORDER BY b LIMIT 3", "SELECT b FROM t ORDER BY b LIMIT 4"),
    ("SELECT b FROM t ORDER BY b", "SELECT b FROM t ORDER BY b DESC"),
    ("SELECT count(*) AS n FROM t GROUP BY a, b", "SELECT count(*) AS n FROM t GROUP BY a"),
    ("SELECT count(*) AS n FROM t GROUP BY a HAVING max(b) > 1", "SELECT count(*) AS n FROM t GROUP BY a"),
    ("SELECT b FROM t UNION ALL SELECT b FROM t", "SELECT b FROM t"),
    ("SELECT x.b FROM t AS x JOIN t AS y ON x.b = y.b", "SELECT x.b FROM t AS x CROSS JOIN t AS y"),
    (
        "SELECT x.b FROM t AS x JOIN t AS y ON x.b = y.b",
        "SELECT x.b FROM t AS x LEFT JOIN t AS y ON x.b = y.b",
    ),
    ("SELECT x.b FROM t AS x JOIN t AS y ON x.b = y.b", "SELECT x.b FROM t AS x JOIN t AS y ON x.b = y.a"),
    ("SELECT b FROM (SELECT b FROM t WHERE a = 'x') AS s", "SELECT b FROM (SELECT b FROM t) AS s"),
    (
        "WITH s AS (SELECT b FROM t WHERE b > 0) SELECT b FROM s",
        "WITH s AS (SELECT b FROM t) SELECT b FROM s",
    ),
    ("SELECT b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1", "SELECT b FROM t"),
    (
        "SELECT b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT b FROM t QUALIFY row_number() OVER (ORDER BY b) = 1",
    ),
    ("SELECT sum(b) OVER w AS s FROM t WINDOW w AS (PARTITION BY a)", "SELECT sum(b) OVER () AS s FROM t"),
]


@DIALECTS
@pytest.mark.parametrize(("ours", "other"), PAIRS, ids=lambda text: text)
def test_a_statement_with_another_clause_than_ours_does_not_run(ours: str, other: str, dialect: Any) -> None:
    known = {"t": replace(ONE["t"], columns={"a": sql_types.TEXT, "b": sql_types.INTEGER})}
    if "y.a" in other:
        known = {"t": replace(ONE["t"], columns={"a": sql_types.INTEGER, "b": sql_types.INTEGER})}
    assert not refusals(ours, dialect, known)
    found = translate_select(other, dialect, known)
    assert is_refused(found.text, found, ours, dialect)


# -- What is kept -------------------------------------------------------------------------------------------


@DIALECTS
def test_what_was_checked_before_anything_was_charged_is_what_runs(dialect: Any) -> None:
    statements = StatementTranslator(dialect=dialect, relations=ONE)
    assert statements("SELECT b FROM t") is statements("SELECT b FROM t")


@DIALECTS
def test_what_is_nested_too_deeply_is_refused_by_name(dialect: Any) -> None:
    deep = f"SELECT {'abs(' * 3000}b{')' * 3000} AS b FROM t"
    with pytest.raises(RequestError, match="nesting"):
        StatementTranslator(dialect=dialect, relations=ONE)(deep)
