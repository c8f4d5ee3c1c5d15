"""On data that the policy describes, what is counted before any noise is what DuckDB itself answers.

Left out is what gives NULL here and NaN, an infinity or an error there (`%`, `/`, 1e400).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pytest

from discreet.core.column_entry import Column, ColumnType
from discreet.core.neighbor_relations import Relation
from discreet.sql import type_inference
from discreet.sql.expression_types import count_decimal_places
from discreet.sql.planner import DecomposedMeasure
from tests.sql.claims import World, engine
from tests.sql.questions import Namer, Writer, drawn_source
from tests.sql.tables import COLUMNS, Row, Tables, policy

QUESTIONS = 40
CLEAN: dict[str, tuple[str | None, ...]] = {
    "age": ("0", "1", "3", "6", None),
    "income": ("-1", "2", "0.25", "0"),
    "sex": ("m", "f", "ß", None),
    "flag": ("true", "false", None),
    "born": ("2020-01-31", "2020-02-01"),
    "seen": ("2020-01-31 23:59:59", "0001-01-01"),
    "note": ("a", "B", "7", "", None),
    "wide": ("5", "-3", "0", None),
    "ratio": ("0.5", "2", "-3", None),
    "dept": ("0", "1", None),
    "cost": ("-3", "10", "0", None),
    "score": ("0", "0.5", "1", None),
    "kind": ("z", "a", "m", None),
    "day": ("2020-01-01", "2020-01-02", None),
    "text": ("a", "7", None),
    "days": ("1", "4", "2", None),
    "ward": ("n", "e", None),
    "tag": ("a", "b", None),
    "heat": ("35.5", "36", None),
    "pages": ("0", "3", None),
    "topic": ("x", "y", None),
    "words": ("-1", "4", None),
    "style": ("u", None),
}
PUBLIC: tuple[Row, ...] = ({"id": "0", "size": "2", "name": "A"}, {"id": "1", "size": "9", "name": "B"})
NATIVE = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


def clean(random: Random, *, declared: bool = False) -> Tables:
    """Nobody has more rows than are kept, so bounding changes nothing; keys are one row's, links find one.

    With `declared`, a column holds NULL only where the policy says so.
    """

    def value(table: str, name: str) -> str | None:
        nulls = not declared or COLUMNS[table][name][0].get("nulls", False)
        return random.choice([each for each in CLEAN[name] if nulls or each is not None])

    def rows(table: str, most: int) -> tuple[Row, ...]:
        names, count = COLUMNS[table], random.randint(0, most)
        return tuple({name: value(table, name) for name in names} for _ in range(count))

    def keyed(table: str, **keys: Sequence[str]) -> tuple[Row, ...]:
        """As many rows as the first of the keys."""
        count = min(map(len, keys.values()))
        return tuple(
            {name: value(table, name) for name in COLUMNS[table]}
            | {name: each[place] for name, each in keys.items()}
            for place in range(count)
        )

    visits = {person: keyed("visits", id=[f"{person}1", f"{person}2"]) for person in "pqr"}
    stays = {person: keyed("stays", visit=[f"{person}{random.choice('12')}"] * 2) for person in "pqr"}
    notes = keyed("notes", visit=["p1", "p1", "q2", "r1"], id=["a", "b", "c", "d"])
    lines = keyed("lines", note=["a", "b", "c", "c"])
    return Tables(rows("people", 6), visits, stays, PUBLIC, notes, lines)


def native(column: Column) -> str:
    """The type with which a column is compared: a DECIMAL of as many places as its resolution has.

    It has nine digits and no more than its values need: a BIGINT times a DECIMAL(18, 1) is a DECIMAL(37, 1)
    in DuckDB, and beside 1.005 a DECIMAL(38, 2), which rounds 1.005 to 1.01 where we keep all places.
    """
    if column.type is not ColumnType.DECIMAL:
        return NATIVE.get(column.type, "VARCHAR")
    return "DOUBLE" if column.resolution is None else f"DECIMAL(9, {count_decimal_places(column.grid_step)})"


def own(folder: Path) -> duckdb.DuckDBPyConnection:
    """The same files in a DuckDB of their own, which computes each expression as it is written.

    Its optimizer turns `DATE_TRUNC('hour', d) <= DATE_TRUNC('hour', DATE '2020-01-31')` of a DATE column into
    `d < DATE '2020-01-31'` (it adds an hour to the constant and casts the sum back to a day), so that equal
    days are not equal; without a column, or with the rewriting left out, DuckDB says that they are.
    """
    connection = duckdb.connect(config={"disabled_optimizers": "expression_rewriter"})
    for name, table in policy(str(folder)).tables.items():
        columns = ", ".join(
            f"TRY_CAST({column} AS {native(entry)}) AS {column}" for column, entry in table.columns.items()
        )
        connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet('{table.source}')")
    return connection


def drawn(random: Random) -> Iterator[str]:
    while True:
        source = drawn_source(random.choice, Namer(), random.choice((0, 0, 1, 2)))
        writer = Writer(random.choice, source)
        x, y = writer.of_rows(writer.bounded(2)), random.choice((writer.number, writer.text, writer.day))(1)
        measures = f"SUM({x}) AS s, COUNT({y}) AS n, COUNT(DISTINCT {y}) AS d"
        text = f"SELECT {measures} FROM {source.text}{writer.where('WHERE', 2)}"
        if not any(each in text for each in ("%", "/", "1e400")):
            yield text


def agreed(seed: int, folder: Path, count: int) -> int:
    """How many questions both answer, which must be alike."""
    random, both = Random(seed), 0
    tables, terms = clean(random), policy(str(folder))
    with engine(tables, folder, terms) as over, own(folder) as raw:
        world = World(Relation.VALUE, terms, (over, over), (tables, tables))
        for text, _ in zip(drawn(random), range(count), strict=False):
            made = world.plan(text, tail=0)
            try:
                wanted = raw.execute(text).fetchone()
            except duckdb.Error:  # it errs where we say NULL
                continue
            if made is None or wanted is None:
                continue
            both += 1
            found = over.count(made.statement).secret.to_pylist()[0]
            for output, value in zip(made.outputs, wanted, strict=True):
                (part,) = output.primitive_names
                unit = float(made.noisy_primitives[part].primitive.unit)
                assert found[part] * unit == pytest.approx(float(value or 0), abs=slack(output, unit)), text
    return both


def slack(output: DecomposedMeasure, unit: float) -> float:
    """What has no grid of its own is rounded to one, row by row; there are fewer than a hundred."""
    argument = output.measure.argument
    return 1e-6 if argument is None or argument.type.step is not None else 100 * unit


@pytest.mark.parametrize("seed", range(6))
def test_what_is_counted_is_what_duckdb_answers(seed: int, tmp_path: Path) -> None:
    assert agreed(seed, tmp_path, QUESTIONS) > QUESTIONS / 2


EXTREMES = "(SELECT person, MIN(kind) AS a, MAX(kind) AS z FROM visits GROUP BY person) AS t"
CATEGORIES_IN_ORDER = (
    f"SELECT COUNT(*) AS n FROM {EXTREMES} WHERE z = 'z'",
    f"SELECT COUNT(*) AS n FROM {EXTREMES} WHERE a = 'a'",
    f"SELECT COUNT(*) AS n FROM {EXTREMES} WHERE LEAST(a, z) = 'a' AND a < z",
    "SELECT COUNT(*) AS n FROM visits WHERE COALESCE(kind, kind) < GREATEST(kind, NULLIF(kind, 'z'))",
)


@pytest.mark.parametrize("text", CATEGORIES_IN_ORDER)
@pytest.mark.parametrize("seed", range(4))
def test_categories_are_ordered_as_text_and_not_as_they_are_declared(
    text: str, seed: int, tmp_path: Path
) -> None:
    tables, terms = clean(Random(1_007 + seed)), policy(str(tmp_path))
    with engine(tables, tmp_path, terms) as over, own(tmp_path) as raw:
        made = World(Relation.VALUE, terms, (over, over), (tables, tables)).plan(text, tail=0)
        assert made is not None
        assert list(over.count(made.statement).secret.to_pylist()[0].values()) == list(
            raw.execute(text).fetchone() or ()
        )


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@pytest.mark.parametrize("unit", type_inference.UNITS)
def test_truncated_days_and_moments_are_compared_as_duckdb_compares_them(unit: str, tmp_path: Path) -> None:
    tables, terms = clean(Random(5)), policy(str(tmp_path))
    assert {row["born"] for row in tables.people} == set(CLEAN["born"])
    conditions = [
        f"DATE_TRUNC('{unit}', {column}) {comparison} {constant}"
        for column, kind in (("born", "DATE"), ("seen", "TIMESTAMP"))
        for comparison in COMPARISONS
        for constant in (f"DATE_TRUNC('{unit}', {kind} '2020-01-31')", f"{kind} '2020-02-01'")
    ]
    with engine(tables, tmp_path, terms) as over, own(tmp_path) as raw:
        world = World(Relation.VALUE, terms, (over, over), (tables, tables))
        for condition in conditions:
            text = f"SELECT COUNT(*) AS n FROM people WHERE {condition}"
            made = world.plan(text, tail=0)
            assert made is not None, text
            found = list(over.count(made.statement).secret.to_pylist()[0].values())
            assert found == list(raw.execute(text).fetchone() or ()), text


NOT_ALIKE = ("%", "/", "1e400")


def grouped(seed: int, folder: Path, count: int) -> int:
    """How many questions both answer by the same groups, of which ours may have more, that are empty."""
    random, both = Random(seed), 0
    tables, terms = clean(random, declared=True), policy(str(folder))
    with engine(tables, folder, terms) as over, own(folder) as raw:
        world = World(Relation.VALUE, terms, (over, over), (tables, tables))
        for _ in range(count):
            source = drawn_source(random.choice, Namer(), random.choice((0, 0, 1, 2)))
            key = Writer(random.choice, source).key(2)
            text = f"SELECT {key} AS k, COUNT(*) AS n FROM {source.text} GROUP BY k"
            made = world.plan(text, tail=0)
            told_apart = "DATE_TRUNC" in text and "AS VARCHAR" in text
            if made is None or told_apart or any(each in text for each in NOT_ALIKE):
                continue
            try:
                wanted = dict(raw.execute(text).fetchall())
            except duckdb.Error:
                continue
            both += 1
            found = over.count(made.statement).secret.to_pylist()
            here = {_shown(row["k0"]): row["p0"] for row in found if row["p0"]}
            assert here == {_shown(key): n for key, n in wanted.items()}, text
    return both


def _shown(key: object) -> object:
    """DuckDB turns a day that it truncates into a moment; we show a DECIMAL as a DOUBLE."""
    if isinstance(key, Decimal):
        return float(key)
    return key.date() if isinstance(key, datetime) and key.time() == time() else key


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_duckdb_and_empty_ones(seed: int, tmp_path: Path) -> None:
    assert grouped(seed, tmp_path, 3 * QUESTIONS) > QUESTIONS / 2


@pytest.mark.night
@pytest.mark.parametrize("seed", range(200))
def test_much_that_is_counted_is_what_duckdb_answers(seed: int, tmp_path: Path) -> None:
    agreed(1000 + seed, tmp_path, 100)
