"""What is computed on rows: within its interval, never an error, and a function of the row alone."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from discreet.core.column_entry import Column as Declared
from discreet.core.column_entry import ColumnType
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.table_entry import Link
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import PreparedStore
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.contribution_bounding import bound_contributions
from discreet.sql.expression_tree import Column, Expression, Literal
from discreet.sql.expression_types import Family, Type, make_integer_type, make_number_type
from discreet.sql.primitives import Grid, PrimitiveBuilder, choose_grid
from discreet.sql.query_parser import parse_query
from discreet.sql.refusal import Refusal
from discreet.sql.relational_algebra import PrivacyUnit, Project, Scan
from discreet.sql.resolver import resolve_query
from tests.sql.claims import World, engine
from tests.sql.questions import Namer, Writer, drawn_source
from tests.sql.tables import Row, Tables, neighbours, policy

WORLDS, EXPRESSIONS = 8, 60
ULPS = 1e-12


def read(text: str, terms: Policy) -> tuple[Expression, str] | None:
    """The argument of the one aggregate, and the rows over which it is computed."""
    try:
        question = bound_contributions(
            resolve_query(parse_query(text), terms), terms, Relation.VALUE
        ).question
    except Refusal:
        return None
    argument = question.measures[0][1].argument
    assert argument is not None
    return argument, compiled.compile_rows(question.rows)


def assert_sound(argument: Expression, rows: str, over: DuckDB, text: str) -> None:
    kind, outputs, on = argument.type, [f"{expression_sql.compile_value(argument)} AS v"], _grid(argument)
    if on is not None:
        outputs.append(f"{on.steps_sql} AS s")
    for row in over.count(f"SELECT {', '.join(outputs)} FROM ({rows}) AS r").secret.to_pylist():
        if row["v"] is None:
            assert row.get("s") is None, text
            continue
        assert kind.family is not Family.NULL, text
        if kind.family is Family.NUMBER:
            assert_within(float(row["v"]), kind, text)
        if on is not None:
            assert on.low <= row["s"] <= on.high, text
            assert abs(float(int(row["s"]) * on.step) - float(row["v"])) <= float(on.step) * 0.50001 + slack(
                kind
            ), text


def _grid(argument: Expression) -> Grid | None:
    try:
        return choose_grid(argument) if argument.type.family is Family.NUMBER else None
    except Refusal:
        return None


def slack(kind: Type) -> float:
    """Rounding in floating point may leave the interval by a little."""
    return ULPS * max(1.0, *(abs(float(end)) for end in (kind.low, kind.high) if end is not None), 0.0)


def assert_within(value: float, kind: Type, text: str) -> None:
    assert math.isfinite(value), text
    assert (value, math.copysign(1, value)) != (0, -1), f"-0.0 from {text}"
    assert kind.low is None or value >= float(kind.low) - slack(kind), text
    assert kind.high is None or value <= float(kind.high) + slack(kind), text
    assert kind.step != 1 or value == math.floor(value), text


def sound_expressions(seed: int, folder: Path, count: int) -> int:
    random, read_count = Random(seed), 0
    terms = policy(str(folder))
    with engine(neighbours(random.choice, Relation.PRESENCE)[0], folder, terms) as over:
        for _ in range(count):
            source = drawn_source(random.choice, Namer(), random.choice((0, 0, 1, 2)))
            writer = Writer(random.choice, source)
            family = random.choice(
                [writer.bounded] * 3 + [writer.number, writer.text, writer.day, writer.condition]
            )
            text = f"SELECT COUNT({family(random.choice((1, 2, 3)))}) AS n FROM {source.text}"
            found = read(text, terms)
            if found is not None:
                read_count += 1
                assert_sound(*found, over, text)
    return read_count


@pytest.mark.parametrize("seed", range(WORLDS))
def test_every_expression_stays_within_its_interval(seed: int, tmp_path: Path) -> None:
    assert sound_expressions(seed, tmp_path, EXPRESSIONS) > EXPRESSIONS / 2


@pytest.mark.night
@pytest.mark.parametrize("seed", range(300))
def test_many_expressions_stay_within_their_intervals(seed: int, tmp_path: Path) -> None:
    sound_expressions(1000 + seed, tmp_path, 200)


# -- What went wrong once ----------------------------------------------------------------------------------

NOBODY: Row = dict.fromkeys(("age", "income", "sex", "flag", "born", "seen", "note", "wide", "ratio", "dept"))


def people(*rows: Row) -> Tables:
    return Tables(tuple({**NOBODY, **row} for row in rows), {}, {}, ())


def exact(tables: Tables, text: str, folder: Path, terms: Policy | None = None) -> list[dict[str, Any]]:
    """What the engine counts for a question, before any noise."""
    world = World(Relation.VALUE, terms or policy(str(folder)), (), (tables, tables))  # type: ignore[arg-type]
    made = world.plan(text, tail=1e-6)
    assert made is not None, text
    with engine(tables, folder, world.policy) as over:
        for counted in made.value_selections.values():
            over.count(counted.statement)
        return list(over.count(made.statement).secret.to_pylist())


def test_what_is_missing_does_not_become_a_bound(tmp_path: Path) -> None:
    rows = people({"age": "6"}, {"age": None}, {"age": "x"})
    assert exact(rows, "SELECT SUM(age + 1) AS s FROM people", tmp_path) == [{"p0": 7}]
    assert exact(rows, "SELECT SUM(age / 2) AS s FROM people", tmp_path) == [{"p0": 3_000_000}]


ERRED = {
    "a product of literals of 32 bits": "IF(sex = 'm', 100000, 0) * IF(age = 6, 100000, 0)",
    "the negative of the smallest number": "-wide",
    "the absolute value of the smallest number": "ABS(wide)",
    "a place in a text beyond 32 bits": "SUBSTR(note, wide, wide)",
    "a date before all calendars": "DATE_TRUNC('week', CAST(note AS DATE))",
    "a part of what is never known": "EXTRACT(year FROM nothing)",
    "the start of what is never known": "DATE_TRUNC('year', nothing)",
    "a remainder of zero": "(age % (age - age)) + (ratio % (ratio - ratio))",
    "a pattern for what is never known": "IF(note >= note, LOWER(nothing), 'a') LIKE 'abc'",
    "a sum beyond floating point": "(ratio + ratio) * ratio",
}


@pytest.mark.parametrize("expression", ERRED.values(), ids=ERRED.keys())
def test_no_data_makes_an_expression_err(expression: str, tmp_path: Path) -> None:
    worst = {"age": "6", "sex": "m", "flag": "true", "ratio": "1e308", "wide": "-9223372036854775808"}
    worst["note"] = "5877642-06-25 (BC)"
    rows = people(worst, {**worst, "wide": "9223372036854775807"})
    text = f"SELECT COUNT(DISTINCT {expression}) AS n FROM (SELECT *, NULL AS nothing FROM people)"
    (found,) = exact(rows, text, tmp_path)
    assert 0 <= found["p0"] <= 2


def test_zero_has_one_face(tmp_path: Path) -> None:
    text = "SELECT ratio * 0 AS z, COUNT(*) AS n FROM people GROUP BY z"
    for rows in ([{"ratio": "3"}, {"ratio": "-3"}], [{"ratio": "-3"}, {"ratio": "3"}]):
        (group,) = exact(people(*rows), text, tmp_path)
        assert math.copysign(1, group["k0"]) == 1


@pytest.mark.parametrize("turned", [False, True])
def test_which_of_two_public_rows_is_met_does_not_depend_on_their_order(turned: bool, tmp_path: Path) -> None:
    depts: tuple[Row, ...] = tuple({"id": "1", "size": str(size), "name": "A"} for size in range(2, 10))
    tables = replace(people({"dept": "1"}), depts=depts[::-1] if turned else depts)
    text = "SELECT SUM(d.size) AS s FROM people AS p JOIN depts AS d ON p.dept = d.id"
    assert exact(tables, text, tmp_path) == [{"p0": 2}]


def test_a_link_between_columns_of_different_kinds_does_not_err(tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    table = terms.tables["people"].model_copy(update={"links": {"note": Link(table="depts", column="id")}})
    terms = terms.model_copy(update={"tables": {**terms.tables, "people": table}})
    tables = replace(people({"note": "x"}, {"note": "1"}), depts=({"id": "1", "size": "2", "name": "A"},))
    text = "SELECT COUNT(*) AS n FROM people AS p JOIN depts AS d ON p.note = d.id"
    assert exact(tables, text, tmp_path, terms) == [{"p0": 1}]


def test_a_row_meets_one_public_row_though_rounding_makes_keys_of_several_equal(tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    links = {"links": {"ratio": Link(table="depts", column="id")}}
    keys = {"id": Declared(type=ColumnType.INTEGER)}
    tables = {
        **terms.tables,
        "people": terms.tables["people"].model_copy(update=links),
        "depts": terms.tables["depts"].model_copy(
            update={"columns": {**terms.tables["depts"].columns, **keys}}
        ),
    }
    depts: tuple[Row, ...] = tuple({"id": str(2**62 + each), "size": "2", "name": "A"} for each in range(9))
    rows = replace(people({"ratio": str(2**62)}), depts=depts)
    text = "SELECT COUNT(*) AS n FROM people AS p JOIN depts AS d ON p.ratio = d.id"
    assert exact(rows, text, tmp_path, terms.model_copy(update={"tables": tables})) == [{"p0": 1}]


@pytest.mark.parametrize("resolution", ["10000000000", "10000000000.5"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM visits WHERE wide > 5",
        "SELECT COUNT(*) AS n FROM (SELECT person, SUM(wide) AS s FROM visits GROUP BY person) WHERE s > 5",
    ],
)
def test_no_number_on_a_coarse_grid_is_too_large(text: str, resolution: str, tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    wide = Declared(type=ColumnType.DECIMAL, low=0, high=10**24, resolution=Decimal(resolution))
    visits = terms.tables["visits"]
    visits = visits.model_copy(update={"columns": {**visits.columns, "wide": wide}})
    rows = replace(people(), visits={"p": ({"wide": "1e24"},)})
    terms = terms.model_copy(update={"tables": {**terms.tables, "visits": visits}})
    assert exact(rows, text, tmp_path, terms) == [{"p0": 1}]


def test_a_total_of_totals_too_wide_for_whole_steps_keeps_its_unit(tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    wide = Declared(type=ColumnType.DECIMAL, low=0, high=8 * 10**13, resolution=Decimal("0.01"))
    visits = terms.tables["visits"]
    visits = visits.model_copy(update={"columns": {**visits.columns, "wide": wide}})
    terms = terms.model_copy(update={"tables": {**terms.tables, "visits": visits}})
    by_kind = "SELECT person, kind, SUM(wide) AS s FROM visits GROUP BY person, kind"
    in_all = f"SELECT person, SUM(s) AS s FROM ({by_kind}) GROUP BY person"
    text = f"SELECT COUNT(*) AS n FROM ({in_all}) WHERE s = 50"
    rows = replace(people(), visits={"p": ({"wide": "20", "kind": "a"}, {"wide": "30", "kind": "z"})})
    assert exact(rows, text, tmp_path, terms) == [{"p0": 1}]


@pytest.mark.parametrize(
    "rows",
    [
        "visits AS v LEFT JOIN (SELECT person, 5 AS five FROM stays) AS s ON v.person = s.person",
        "(SELECT person, MAX(5) FILTER (WHERE cost > 5) AS five, MAX(wide) AS wide FROM visits"
        " GROUP BY person)",
    ],
)
def test_a_constant_that_a_subquery_leaves_out_bounds_nothing(rows: str, tmp_path: Path) -> None:
    visits = {"p": ({"cost": "1", "wide": "9223372036854775807"},)}
    text = f"SELECT COUNT(DISTINCT GREATEST(LEAST(five, wide), 0) * 100000) AS n FROM {rows}"
    assert exact(Tables((), visits, {}, ()), text, tmp_path) == [{"p0": 1}]


def test_totals_of_a_person_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    totals = "SELECT person, {} AS t FROM stays GROUP BY person"
    hidden = '5::HUGEINT AS _discreet_person, rank AS _discreet_rank, 7::UBIGINT AS "_discreet_link visit"'
    stored = f"SELECT 1 AS days, 'n' AS ward, tag, 72 AS heat, {hidden}"
    rows = "(VALUES ('1e16', 1), ('1', 2), ('-1e16', 3), ('0.1', 4)) AS v(tag, rank)"
    world = World(Relation.VALUE, policy(str(tmp_path)), (), ())  # type: ignore[arg-type]
    for total in (
        "SUM(CAST(tag AS DOUBLE))",
        "AVG(CAST(tag AS DOUBLE))",
        "SUM(CASE WHEN tag = '1' THEN 0.1 ELSE days / 3 END)",
    ):
        made = world.plan(f"SELECT t, COUNT(*) AS n FROM ({totals.format(total)}) GROUP BY t", tail=1e-6)
        assert made is not None
        found = set()
        for order in ("rank", "-rank", "abs(rank - 2)", "tag"):
            connection = duckdb.connect()
            connection.execute(f"CREATE TABLE stays AS {stored} FROM {rows} ORDER BY {order}")
            with DuckDB(PreparedStore(path=None, memory_connection=connection)) as over:
                found.add(over.count(made.statement).secret["k0"][0].as_py())
        assert len(found) == 1


def test_a_total_beyond_floating_point_is_missing(tmp_path: Path) -> None:
    visit: Row = {"cost": "1", "ratio": "1e308", "text": "a"}
    rows = Tables((), {"p": ({**visit, "kind": "a"}, {**visit, "kind": "z"})}, {}, ())
    text = "SELECT COUNT(t) AS n FROM (SELECT person, SUM(ratio) AS t FROM visits GROUP BY person)"
    assert exact(rows, text, tmp_path) == [{"p0": 0}]


def test_the_start_of_a_week_may_lie_before_the_first_day(tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    found = read("SELECT COUNT(YEAR(DATE_TRUNC('week', day))) AS n FROM visits", terms)
    assert found is not None
    rows = Tables((), {"p": ({"day": "2020-01-01"},)}, {}, ())
    with engine(rows, tmp_path, terms) as over:
        assert_sound(*found, over, "the year of a week's start")


@pytest.mark.parametrize(
    ("form", "times"),
    [("NULLIF({0}, 1)", 25), ("({0} / wide)", 25), ("CASE WHEN {0} BETWEEN 1 AND 2 THEN 1 ELSE 2 END", 18)],
)
def test_a_nested_expression_is_answered_by_a_short_statement(form: str, times: int, tmp_path: Path) -> None:
    expression = "ratio"
    for _ in range(times):  # three levels each in the last one, of the 60 that are read
        expression = form.format(expression)
    world = World(Relation.VALUE, policy(str(tmp_path)), (), ())  # type: ignore[arg-type]
    found = world.plan(f"SELECT COUNT({expression}) AS n FROM people", tail=0)
    assert found is not None
    assert len(found.statement) < 10_000


def test_many_rows_of_a_wide_column_do_not_overflow(tmp_path: Path) -> None:
    terms = policy(str(tmp_path))
    columns = {"x": {"type": "integer", "low": 0, "high": 1 << 40}}
    wide = Policy.model_validate({"tables": {"people": {"source": "none", "columns": columns}}})
    world = World(Relation.VALUE, terms, (), ())  # type: ignore[arg-type]
    made = world.plan("SELECT AVG(x) AS a FROM people", tail=0, terms=wide)
    assert made is not None
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE people AS SELECT {1 << 39}::BIGINT AS x FROM range(10_000_000)")
    with DuckDB(PreparedStore(path=None, memory_connection=connection)) as over:
        assert over.count(made.statement).secret["p0"][0].as_py() == 0


def test_two_columns_of_one_name_are_refused() -> None:
    scan = Scan(table="t", alias="t", columns=(), stored=(), people=PrivacyUnit.ROW, rows=1, row_limit=None)
    twice = tuple(Column(name=name, type=make_integer_type(0, 1)) for name in ("a.x", "A.X"))
    one = Literal(value=1, type=make_integer_type(1, 1))
    with pytest.raises(Refusal, match="the same name"):
        compiled.compile_rows(Project(source=scan, columns=twice, expressions=(one, one)))


def test_what_nobody_moves_still_gets_noise() -> None:
    reader = PrimitiveBuilder(contribution=ContributionBounds(rows=1), is_ungrouped=True)
    five = Literal(value=5, type=make_integer_type(5, 5))
    on = choose_grid(five)
    assert reader.build_centred_sum(on).sensitivity.l1 == 1


@pytest.mark.parametrize(
    ("name", "low", "high"), [("least", None, Fraction(5)), ("greatest", Fraction(5), None)]
)
def test_a_constant_bounds_what_has_no_bounds(name: str, low: Fraction | None, high: Fraction | None) -> None:
    five = replace(make_integer_type(5, 5), is_constant=True)
    found = FUNCTIONS[name].infer_type((make_number_type(), five), ())
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize("name", ["least", "greatest"])
def test_what_may_be_missing_bounds_nothing(name: str) -> None:
    found = FUNCTIONS[name].infer_type((make_number_type(), make_integer_type(5, 5)), ())
    assert (found.low, found.high) == (None, None)
    assert not found.is_constant
