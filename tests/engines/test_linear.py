"""A statement is linear in the question, on every engine: what is nested is written once.

Each function is nested in itself. The statement must grow by the same length with every level; a form that
writes an argument twice would double it. Long parts are bound to names, and what is bound has the same value:
so every function is also computed with everything bound that can be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.engines.dialects import sql_marks as elsewhere
from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.postgres_dialect import PostgresDialect
from discreet.engines.dialects.spark_dialect import SparkDialect
from discreet.engines.dialects.statement_verification import verify_statement
from discreet.engines.dialects.statement_writer import SqlRelation, translate_select
from discreet.engines.duckdb import DuckDB
from discreet.engines.policy_tables import KINDS
from discreet.engines.prepared_store import PreparedStore, prepare_store
from discreet.sql import expression_sql, let_bindings
from discreet.sql.allowed_functions import FUNCTIONS
from tests.engines import hostile
from tests.engines.allowed import SIGNS
from tests.engines.servers import Server, spark_by_night
from tests.engines.test_checking import TYPES
from tests.engines.test_expressions import Both, expressions, together, values
from tests.sql.test_expressions import read

TERMS = hostile.policy("t.parquet")
DEPTHS = (3, 5, 7)
DIALECTS: dict[str, Dialect] = {"postgresql": PostgresDialect(), "spark": SparkDialect()}
CHOSEN = "CASE WHEN {0} THEN float ELSE whole END"
CALENDAR = "CAST(CAST({0} AS VARCHAR) AS DATE)"
NESTED: dict[str, tuple[str, ...]] = {
    "add": ("({0} + float)", "(float + {0})", "({0} + 1)"),
    "subtract": ("({0} - float)", "(float - {0})"),
    "multiply": ("({0} * float)", "({0} * 0.5)", "({0} * 3)"),
    "divide": ("({0} / float)", "(float / {0})", "({0} / 2)", "(({0} - whole) / 2)"),
    "modulo": ("({0} % 7)", "(whole % {0})"),
    "negate": ("(-{0})",),
    "abs": ("ABS({0})",),
    "round": ("ROUND({0})", "ROUND({0}, 3)", "ROUND({0}, -3)"),
    "floor": ("FLOOR({0})",),
    "ceil": ("CEIL({0})",),
    "least": ("LEAST({0}, float)", "LEAST(GREATEST({0} / (float - 1), -3), 5)"),
    "greatest": ("GREATEST({0}, 1, price)",),
    "coalesce": ("COALESCE({0}, float)",),
    "nullif": ("NULLIF({0}, 1)", "NULLIF(float, {0})"),
    "case": ("CASE WHEN flag THEN {0} WHEN whole > 2 THEN 3 END",),
    "switch": ("CASE {0} WHEN 1 THEN 2 WHEN whole THEN float ELSE 5 END",),
    **{
        name: (CHOSEN.format(f"{{0}} {sign} 1"), CHOSEN.format(f"float {sign} {{0}}"))
        for name, sign in SIGNS.items()
    },
    "in": (CHOSEN.format("{0} IN (1, 2, whole, float)"),),
    "between": (CHOSEN.format("{0} BETWEEN whole AND 7"), CHOSEN.format("whole BETWEEN {0} AND 7")),
    "is_null": (CHOSEN.format("{0} IS NULL"),),
    "and": (CHOSEN.format("flag AND {0} > 1"),),
    "or": (CHOSEN.format("flag OR {0} > 1"),),
    "not": (CHOSEN.format("NOT ({0} > 1)"),),
    "like": (CHOSEN.format("CAST({0} AS VARCHAR) LIKE '1%'"),),
    "lower": ("LOWER({0})",),
    "upper": ("UPPER({0})",),
    "substr": ("SUBSTR({0}, 2, 3)", "SUBSTR(word, LENGTH({0}), 3)"),
    "length": ("LENGTH(CAST({0} AS VARCHAR))",),
    "part": (f"YEAR({CALENDAR})",),
    "truncate": ("DATE_TRUNC('month', {0})",),
    "cast": (
        *("CAST(CAST({0} AS VARCHAR) AS DOUBLE)", "CAST(CAST({0} AS VARCHAR) AS INTEGER)", CALENDAR),
        *("CAST({0} AS DECIMAL(9, 2))", "CAST({0} AS INTEGER)"),
        CHOSEN.format("CAST(CAST({0} AS VARCHAR) AS BOOLEAN)"),
    ),
}
STARTS = {"lower": "word", "upper": "word", "substr": "word", "truncate": "day", CALENDAR: "day"}
FORMS = [(name, form) for name, forms in NESTED.items() for form in forms]
COLUMNS = ", ".join(f'"{name}" AS "t.{name}"' for name in hostile.KINDS)


def nested(name: str, form: str, depth: int) -> str:
    text = STARTS.get(form, STARTS.get(name, "float"))
    for _ in range(depth):
        text = form.replace("{0}", text)
    return text


def statement(question: str) -> str:
    found = read(f"SELECT COUNT({question}) AS n FROM t", TERMS)
    assert found is not None
    return (
        f'SELECT count({expression_sql.compile_value(found[0])}) AS "n" FROM (SELECT {COLUMNS} FROM "t") AS r'
    )


def relation(dialect: Any) -> dict[str, SqlRelation]:
    """The columns as a prepared table has them."""
    columns = {name: KINDS[TYPES[entry["type"]]] for name, (entry, _, _) in hostile.KINDS.items()}
    return {"t": SqlRelation(text="t", columns=columns, tables=frozenset({"t"}))}


def lengths(name: str, form: str) -> dict[str, list[float]]:
    """The lengths of the question and of the statement on each engine, at each depth."""
    found: dict[str, list[float]] = {each: [] for each in ("question", "duckdb", *DIALECTS)}
    for depth in DEPTHS:
        question = nested(name, form, depth)
        sql = statement(question)
        found["question"].append(len(question))
        found["duckdb"].append(len(sql))
        for each, dialect in DIALECTS.items():
            if each != "postgresql" or name != "modulo":
                there = translate_select(sql, dialect, relation(dialect))
                if depth == DEPTHS[0]:
                    verify_statement(there.text, there, sql, dialect)
                found[each].append(len(there.text))
    return {each: sizes for each, sizes in found.items() if sizes}


def test_every_function_is_nested_here() -> None:
    assert set(NESTED) == set(FUNCTIONS)


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[form for _, form in FORMS])
def test_a_statement_is_linear_in_the_question(name: str, form: str) -> None:
    found = lengths(name, form)
    asked = found["question"]
    for sizes in found.values():
        grows = [
            (sizes[place + 1] - sizes[place]) / (asked[place + 1] - asked[place])
            for place in range(len(DEPTHS) - 1)
        ]
        assert grows[1] <= 1.05 * grows[0] + 1, sizes


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PreparedStore:
    file = tmp_path_factory.mktemp("linear") / "t.parquet"
    pq.write_table(hostile.shuffled(7), file)
    return prepare_store(hostile.policy(str(file)), None)


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[form for _, form in FORMS])
def test_what_duckdb_makes_of_a_statement_is_linear_in_the_question(
    name: str, form: str, store: PreparedStore
) -> None:
    """It writes the value of BETWEEN twice by itself, and that of IN once for each column in its list."""
    assert store.memory_connection is not None
    asked, sizes = [], []
    with store.memory_connection.cursor() as connection:
        for depth in DEPTHS:
            # as a filter, which the optimizer rewrites most
            question = nested(name, form, depth)
            found = read(f"SELECT COUNT({question}) AS n FROM t", TERMS)
            assert found is not None
            condition = f"{expression_sql.compile_value(found[0])} IS NOT NULL"
            sql = f'SELECT count(*) AS "n" FROM (SELECT {COLUMNS} FROM "t") AS r WHERE {condition}'
            plans = connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
            asked.append(len(question))
            sizes.append(max(len(text) for _, text in plans))
    grows = [
        (sizes[place + 1] - sizes[place]) / (asked[place + 1] - asked[place])
        for place in range(len(DEPTHS) - 1)
    ]
    assert grows[1] <= 1.5 * grows[0] + 5, sizes


def test_a_deep_question_that_took_minutes_is_planned_and_run(tmp_path: Path) -> None:
    """As deep as a question may be; each level wrote the one below it four times."""
    question = nested("divide", "(({0} - whole) / 2)", 13)
    sql = statement(question)
    assert len(sql) < 40 * len(question)
    pq.write_table(hostile.shuffled(7), tmp_path / "t.parquet")
    with DuckDB.open(prepare_store(hostile.policy(str(tmp_path / "t.parquet")), None)) as engine:
        assert len(engine.count(sql).secret) == 1


def bind_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(let_bindings, "SHORT", 0)
    monkeypatch.setattr(elsewhere, "MAX_REPEATED_LENGTH", 0)


@spark_by_night
@pytest.mark.parametrize("of_each", [2, pytest.param(1000, marks=pytest.mark.night)])
def test_what_is_bound_to_a_name_has_the_same_value(
    server: Server, of_each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few cases of each function by day; by night all, which Spark is spared."""
    of_each = of_each if server.name == "postgresql" else 2
    plain = expressions(of_each)
    with Both(hostile.shuffled(7), server, tmp_path) as both:
        wanted = {case: each for some in together(plain) for case, each in values(both.measure, some).items()}
        expressions.cache_clear()
        bind_everything(monkeypatch)
        bound = expressions(of_each)
        monkeypatch.undo()
        expressions.cache_clear()
        for some in together(bound):
            here = values(both.measure, some)
            assert [case for case in some if here[case] != wanted[case]] == []
        bind_everything(monkeypatch)
        left_out = [case for case in bound if "%" in case and server.name == "postgresql"]
        for some in together({case: text for case, text in bound.items() if case not in left_out}):
            there = values(both.engine, some)
            assert [case for case in some if there[case] != wanted[case]] == []
