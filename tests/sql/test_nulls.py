"""What is taken to be never NULL: where the policy says so it is, and no sensitivity rests on it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.planner import plan_query
from discreet.sql.refusal import Refusal
from tests.sql.claims import Claims, World, engine
from tests.sql.example import POLICY, PROMISE
from tests.sql.questions import Namer, Writer, drawn_source, question
from tests.sql.tables import COLUMNS, Tables, neighbours, policy
from tests.sql.test_agreement import CLEAN, PUBLIC

QUESTIONS = 60


def strict(terms: Policy) -> Policy:
    """The same policy, which says of every column that no row lacks it."""
    tables = {
        name: table.model_copy(
            update={"columns": {k: c.model_copy(update={"nulls": False}) for k, c in table.columns.items()}}
        )
        for name, table in terms.tables.items()
    }
    return terms.model_copy(update={"tables": tables})


def complete(random: Random, missing: tuple[str | None, ...] = ()) -> Tables:
    """Tables in which every row has every value; or, with something `missing`, may not."""

    def row(table: str) -> dict[str, str | None]:
        known = {name: [each for each in CLEAN[name] if each is not None] for name in COLUMNS[table]}
        return {name: random.choice([*values, *missing]) for name, values in known.items()}

    people, visits, stays = (tuple(row(name) for _ in range(9)) for name in ("people", "visits", "stays"))
    by_person = {person: visits[place : place + 2] for place, person in enumerate("pqr")}
    return Tables(people, by_person, {"p": stays[:2], "s": stays[2:4]}, PUBLIC)


def counted(made: tuple[str, Policy], over: DuckDB) -> tuple[bool, int, int]:
    """Whether COUNT(y) of a question may leave rows out, its rows, and those where y is known."""
    planned = plan_query(*made, PROMISE, epsilon=1)
    argument = planned.core.question.measures[0][1].argument
    assert argument is not None
    totals = f"count(*) AS r, count({expression_sql.compile_value(argument)}) AS n"
    statement = f"SELECT {totals} FROM ({compiled.compile_rows(planned.core.question.rows)}) AS s"
    (row,) = over.count(statement).secret.to_pylist()
    return argument.type.is_nullable, row["r"], row["n"]


def drawn(random: Random) -> str:
    source = drawn_source(random.choice, Namer(), random.choice((0, 1, 2)))
    writer = Writer(random.choice, source)
    kind = random.choice((writer.bounded, writer.number, writer.text, writer.day, writer.condition))
    return f"SELECT COUNT({writer.of_rows(kind(2))}) AS n FROM {source.text}{writer.where('WHERE', 1)}"


def checked(seed: int, folder: Path, missing: tuple[str | None, ...] = ()) -> tuple[int, int]:
    """How many expressions are taken to be never NULL, and how many of these are so."""
    random, terms = Random(seed), strict(policy(str(folder)))
    with engine(complete(random, missing), folder, terms) as over:
        found: list[tuple[bool, int, int]] = []
        while len(found) < QUESTIONS:
            with suppress(Refusal):  # a key that is a numeral is a place, which may hold an aggregate
                found.append(counted((drawn(random), terms), over))
    never = [(rows, known) for nullable, rows, known in found if not nullable]
    return len(never), sum(rows == known for rows, known in never)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_taken_to_be_never_null_is_never_null(seed: int, tmp_path: Path) -> None:
    never, right = checked(seed, tmp_path)
    assert never == right
    assert never > QUESTIONS / 5


def test_the_check_would_notice_values_that_are_missing(tmp_path: Path) -> None:
    never, right = checked(1, tmp_path, missing=(None,))
    assert right < never


@pytest.mark.parametrize("seed", range(8))
def test_no_sensitivity_rests_on_the_policys_word_about_null(seed: int, tmp_path: Path) -> None:
    """The rows are full of NULL, against the policy's word."""
    relation = (Relation.VALUE, Relation.PRESENCE)[seed % 2]
    random, terms = Random(seed), strict(policy(str(tmp_path)))
    states = neighbours(random.choice, relation)
    engines = (engine(states[0], tmp_path, terms), engine(states[1], tmp_path, terms))
    world = World(relation, terms, engines, states)
    try:
        for _ in range(20):
            text = question(random.choice)
            made = world.plan(text, tail=0)
            assert made is None or not list(Claims(made, world).broken()), text
    finally:
        world.close()


@pytest.mark.parametrize(
    ("measures", "parts"),
    [
        ("COUNT(*), COUNT(age)", 1),
        ("COUNT(*), AVG(age)", 2),
        ("COUNT(*), COUNT(age + 1), COUNT(COALESCE(sex, 'm')), COUNT(age > 3), COUNT(1)", 1),
        ("COUNT(*), COUNT(CASE WHEN sex = 'm' THEN age ELSE 0 END)", 1),
        ("COUNT(*), COUNT(sex)", 2),
        ("COUNT(*), COUNT(age / 2)", 2),
        ("COUNT(*), COUNT(NULLIF(age, 3))", 2),
        ("COUNT(*), COUNT(CAST(age AS DOUBLE))", 2),
        ("COUNT(*), COUNT(CASE WHEN age > 3 THEN age END)", 2),
        ("COUNT(*), COUNT(age) FILTER (WHERE age > 3)", 2),
    ],
)
def test_counts_of_what_is_never_null_are_paid_for_once(measures: str, parts: int) -> None:
    assert (
        len(plan_query(f"SELECT {measures} FROM patients", POLICY, PROMISE, epsilon=1).noisy_primitives)
        == parts
    )


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("(SELECT age * 2 AS x FROM patients)", 1),
        ("(SELECT patient, MAX(age) AS x FROM patients GROUP BY patient)", 1),
        ("(SELECT patient, COUNT(*) AS x FROM visits GROUP BY patient)", 1),
        ("(SELECT patient, MAX(age) FILTER (WHERE age > 9) AS x FROM patients GROUP BY patient)", 2),
        ("(SELECT p.age AS x FROM visits v JOIN patients p ON v.patient = p.patient)", 1),
        ("(SELECT p.age AS x FROM visits v LEFT JOIN patients p ON v.patient = p.patient)", 2),
        (
            "(SELECT p.x AS x FROM visits v LEFT JOIN (SELECT patient, age + 1 AS x FROM patients) p "
            "ON v.patient = p.patient)",
            2,
        ),
    ],
)
def test_subqueries_carry_what_is_never_null_and_left_joins_do_not(source: str, parts: int) -> None:
    made = plan_query(f"SELECT COUNT(*), COUNT(x) FROM {source}", POLICY, PROMISE, epsilon=1)
    assert len(made.noisy_primitives) == parts


def test_a_policy_that_says_nothing_of_null_leaves_it_possible() -> None:
    column = POLICY.tables["patients"].columns["age"]
    said = {"age": column.model_copy(update={"nulls": None})}
    table = POLICY.tables["patients"].model_copy(update={"columns": said})
    unsaid = POLICY.model_copy(update={"tables": {**POLICY.tables, "patients": table}})
    assert (
        len(
            plan_query(
                "SELECT COUNT(*), COUNT(age) FROM patients", unsaid, PROMISE, epsilon=1
            ).noisy_primitives
        )
        == 2
    )
