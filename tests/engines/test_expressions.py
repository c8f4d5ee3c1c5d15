"""Every function and every aggregate of the allow-lists computes the same on every engine, of whatever.

The cases are listed by the names of the allow-lists (`allowed`), so that a function that joins them fails
here until it has one. Expressions are those of real questions, many of them in one statement, over tables of
values that engines disagree about; at night hypothesis makes many of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from discreet.core.engine import Engine, ValidatesStatements
from discreet.core.errors import RequestError
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.sql import expression_sql
from discreet.sql.planner import plan_query
from tests.engines import allowed, hostile
from tests.engines.allowed import AGGREGATES, CASES, without_a_case
from tests.engines.servers import PostgresServer, Server, spark_by_night
from tests.engines.support import shows
from tests.sql import example
from tests.sql.test_expressions import read

TOGETHER = 60
TERMS = hostile.policy("t.parquet")
REMAINDERS = ("float % price", "float % 3")
BY_DAY = {"postgresql": 1000, "spark": 2}
LAST = {"postgresql": REMAINDERS}
"""Cases that an engine refuses by name."""
Values = dict[str, list[str]]


@cache
def expressions(of_each: int = 1000) -> dict[str, str]:
    """The first cases of each function that are answered, as our own statement has them."""
    shown: dict[str, str] = {}
    for cases in CASES.values():
        read_as = {case: read(f"SELECT COUNT({case}) AS n FROM t", TERMS) for case in cases}
        answered = (
            (case, expression_sql.compile_value(found[0]))
            for case, found in read_as.items()
            if found is not None
        )
        shown |= dict(islice(answered, of_each))
    return shown


def together(some: Mapping[str, str]) -> Iterator[dict[str, str]]:
    items = iter(some.items())
    while part := dict(islice(items, TOGETHER)):
        yield part


def values(engine: Engine, some: Mapping[str, str]) -> Values:
    """What each expression is in each row; -0.0 shows."""
    columns = ", ".join(f'"{name}" AS "t.{name}"' for name in hostile.KINDS)
    shown = ", ".join(f'{text} AS "c{place}"' for place, text in enumerate(some.values()))
    rows = f'SELECT "t.place", {shown} FROM (SELECT {columns} FROM "t") AS r ORDER BY "t.place"'
    found = engine.count(rows).secret
    return {case: [repr(each.as_py()) for each in found[f"c{place}"]] for place, case in enumerate(some)}


class Both:
    """The same table in DuckDB, which is the measure, and elsewhere."""

    def __init__(self, table: pa.Table, server: Server, folder: Path, **more: Any) -> None:
        pq.write_table(table, folder / "t.parquet")
        here = hostile.policy(str(folder / "t.parquet"), **more)
        there = hostile.policy(server.put({"t": table})["t"], **more)
        self._opened = ExitStack()
        self.measure = self._opened.enter_context(DuckDB.open(prepare_store(here, None)))
        self.engine = self._opened.enter_context(server.open(there))

    def __enter__(self) -> Both:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


OPENED: dict[str, Both] = {}


@pytest.fixture
def both(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """One table with everything in it, put on each engine once."""
    if server.name not in OPENED:
        OPENED[server.name] = Both(hostile.shuffled(7), server, tmp_path_factory.mktemp("hostile"))
    return OPENED[server.name]


def assert_alike(both: Both, server: Server, of_each: int = 1000) -> None:
    left_out = LAST.get(server.name, ())
    for some in together({case: text for case, text in expressions(of_each).items() if case not in left_out}):
        found, wanted = values(both.engine, some), values(both.measure, some)
        assert [case for case in some if found[case] != wanted[case]] == []


def test_everything_on_the_allow_lists_has_a_case_here() -> None:
    assert without_a_case() == set()
    answered = expressions()
    assert [name for name, cases in CASES.items() if not any(case in answered for case in cases)] == []


@shows("every function of `ask` on rows, whatever they hold")
def test_every_function_has_the_same_values(both: Both, server: Server) -> None:
    """Spark takes long to read a statement, so by day it computes two cases of each; `make night` has all."""
    assert_alike(both, server, BY_DAY[server.name])


@pytest.mark.night
@settings(max_examples=12, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(table=hostile.tables())
def test_every_function_has_the_same_values_on_many_tables(
    table: pa.Table, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Both(table, server, tmp_path_factory.mktemp("hostile")) as both:
        assert_alike(both, server)


@shows("`%` of numbers in floating point", cannot={"postgresql": "refused by name"})
def test_remainders_of_numbers_that_are_not_whole_are_the_same(
    both: Both,
) -> None:
    some = {case: text for case, text in expressions().items() if case in REMAINDERS}
    assert values(both.engine, some) == values(both.measure, some)


def test_what_an_engine_cannot_compute_is_refused_before_it_reads_data(both: Both, server: Server) -> None:
    columns = ", ".join(f'"{name}" AS "t.{name}"' for name in hostile.KINDS)
    for case in LAST.get(server.name, ()):
        text = f'SELECT {expressions()[case]} AS c FROM (SELECT {columns} FROM "t") AS r'
        assert isinstance(both.engine, ValidatesStatements)
        with pytest.raises(RequestError, match="remainder"):
            both.engine.validate(text)


@shows(
    "`LOWER` and `UPPER` of letters that have no single other case",
    cannot=dict.fromkeys(("postgresql", "spark"), "`ŉ`, `İ` and the like become several letters"),
)
@pytest.mark.parametrize("text", ["ŉ", "ﬁ"])
def test_letters_without_a_single_other_case_are_kept(text: str, both: Both) -> None:
    some = {"upper": f"upper('{text}')"}
    assert values(both.engine, some) == values(both.measure, some)


# -- Questions ---------------------------------------------------------------------------------------------


def statements(question: str, **more: Any) -> list[str]:
    made = plan_query(
        question, hostile.policy("t.parquet", **more), example.TAILED, epsilon=1, leak=example.LEAK
    )
    return [made.statement, *(each.statement for each in made.value_selections.values())]


def counted(engine: Engine, statement: str) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in engine.count(statement).secret.to_pylist())


def columns(*names: str) -> dict[str, Any]:
    return {name: hostile.KINDS[name][0] for name in names}


OF_PEOPLE: dict[str, Any] = {
    "person": "whole",
    "rows_per_person": 1000,
    "columns": {
        **columns("steps", "word", "kind", "read_whole"),
        "whole": {"type": "integer", "role": "identifier"},
    },
}
"""A person keeps all rows, as which of them are kept is the engine's own choice."""


# -- Columns that are always NULL ---------------------------------------------------------------------------

ALWAYS_NULL = ", ".join(allowed.COLUMNS)
TOTALS = "SELECT whole, MIN(nothing) AS x, MAX(nothing) AS y FROM (SELECT whole, NULL AS nothing FROM t) AS r"
PASSED_ON = (
    "SELECT COUNT(x) AS n FROM (SELECT nothing AS x FROM (SELECT NULL AS nothing FROM t) AS r) AS s",
    f"SELECT COUNT(x) AS n, COUNT(y) AS m FROM ({TOTALS} GROUP BY whole) AS s",
    f"SELECT COUNT(*) AS n FROM t LEFT JOIN ({TOTALS} GROUP BY whole) AS s ON t.whole = s.whole "
    "WHERE x IS NULL",
)


def with_nothing() -> Iterator[str]:
    """The first cases of each function, in which NULL takes the place of one column after the other."""
    rows = f"(SELECT {ALWAYS_NULL}, NULL AS nothing FROM t) AS r"
    for function, cases in CASES.items():
        for case in cases[:2] if function != "modulo" else ():  # refused by name, unless of whole numbers
            for name in allowed.COLUMNS:
                if (text := re.sub(rf"\b{name}\b", "nothing", case)) != case:
                    yield f"SELECT COUNT({text}) AS n FROM {rows}"


@pytest.mark.xdist_group("postgres")
def test_functions_of_what_is_always_null_are_counted_alike(postgres: PostgresServer, tmp_path: Path) -> None:
    with Both(hostile.shuffled(7), postgres, tmp_path) as both:
        for question in with_nothing():
            (statement,) = statements(question)
            assert counted(both.engine, statement) == counted(both.measure, statement), question


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("question", PASSED_ON)
def test_what_is_always_null_may_be_passed_on(
    question: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    with Both(hostile.shuffled(7), postgres, tmp_path, **OF_PEOPLE) as both:
        (statement,) = statements(question, **OF_PEOPLE)
        assert counted(both.engine, statement) == counted(both.measure, statement)


# -- Totals -------------------------------------------------------------------------------------------------

GROUPED = ("", "kind", "steps", "flag")


TOTALLED = columns("steps", "whole", "price", "float", "word", "kind", "flag")


def assert_aggregates_alike(both: Both, key: str) -> None:
    shown = ", ".join(f"{text} AS a{place}" for place, text in enumerate(AGGREGATES.values()))
    question = f"SELECT {key}, {shown} FROM t GROUP BY {key}" if key else f"SELECT {shown} FROM t"
    for statement in statements(question, columns=TOTALLED):
        assert counted(both.engine, statement) == counted(both.measure, statement), key


@pytest.mark.xdist_group("postgres")
def test_aggregates_count_the_same(postgres: PostgresServer, tmp_path: Path) -> None:
    """Spark takes long to read all of them at once, so it is left to the night."""
    with Both(hostile.shuffled(7), postgres, tmp_path, columns=TOTALLED) as both:
        assert_aggregates_alike(both, "kind")


@shows("every aggregate of `ask`, over any groups")
@pytest.mark.night
@pytest.mark.parametrize("key", GROUPED)
def test_every_aggregate_counts_the_same(key: str, server: Server, tmp_path: Path) -> None:
    with Both(hostile.shuffled(7), server, tmp_path, columns=TOTALLED) as both:
        assert_aggregates_alike(both, key)


PER_PERSON = (
    "SELECT COUNT(*) AS n, SUM(s) AS s, AVG(m) AS m, COUNT_IF(h > l) AS d, SUM(c) AS c, SUM(e) AS e, "
    "COUNT(w) AS w, COUNT(v) AS v FROM ("
    "SELECT whole, SUM(steps) AS s, AVG(steps) AS m, MIN(steps) AS l, MAX(steps) AS h, COUNT(word) AS c, "
    "COUNT(DISTINCT kind) AS e, AVG(read_whole) AS w, AVG(read_whole) FILTER (WHERE steps > 1) AS v "
    "FROM t GROUP BY whole)"
)


@shows("totals for each person, one within the other")
@spark_by_night
def test_totals_of_people_are_the_same(server: Server, tmp_path: Path) -> None:
    with Both(hostile.shuffled(7), server, tmp_path, **OF_PEOPLE) as both:
        for statement in statements(PER_PERSON, **OF_PEOPLE):
            assert counted(both.engine, statement) == counted(both.measure, statement)


# -- Sums are wide enough -----------------------------------------------------------------------------------

WIDE = {"type": "integer", "low": -(2**40), "high": 2**40}


@shows("sums as large as bounds allow")
def test_no_sum_is_too_large(server: Server, tmp_path: Path) -> None:
    """Of columns as wide as questions take them, and of whole numbers as large as there are."""
    table = hostile.shuffled(7)
    ends = {"steps": [2**40, 2**63 - 1], "whole": [-(2**40), -(2**63)], "read_whole": [-(2**63)] * 2}
    for name, some in ends.items():
        column = pa.array((some * table.num_rows)[: table.num_rows])
        table = table.set_column(table.schema.get_field_index(name), name, column)
    known = {**columns("read_whole"), "steps": WIDE, "whole": WIDE}
    (asked,) = statements("SELECT SUM(steps) AS s, AVG(whole) AS a FROM t", columns=known)
    with Both(table, server, tmp_path, columns=known) as both:
        assert counted(both.engine, asked) == counted(both.measure, asked)
        found = both.engine.count('SELECT sum("read_whole") AS s FROM "t"').secret
        assert [int(each) for each in found["s"].to_pylist()] == [-(2**63) * table.num_rows]
