"""What every aggregate owes by being listed in `AGGREGATES`.

An aggregate that joins the tuple adds one line to CALLS: the forms in which a question writes it.

Neighbours are compared exactly: one person has every choice of at most two rows out of ROWS, beside nobody or
beside others. The statements of each plan run on every state through DuckDB.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, combinations_with_replacement

import duckdb
import pyarrow as pa
import pytest

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import PreparedStore
from discreet.sql import sql_reference
from discreet.sql.accuracy import (
    describe_open_error,
    find_error_bound,
    find_least_epsilon,
    find_rank_error,
)
from discreet.sql.aggregates import AGGREGATES, get_aggregate
from discreet.sql.aggregates.base import Aggregate
from discreet.sql.expression_types import Family
from discreet.sql.planner import QueryPlan, plan_query
from discreet.sql.refusal import Refusal
from discreet.sql.true_values import compute_true_values
from tests.sql.claims import Claims, World, halved
from tests.sql.tables import Tables
from tests.sql.tampered_plans import replace_in_core

LABELS = ("Measures", "Sensitivity", "Estimate", "Error")
CALLS: dict[str, tuple[str, ...]] = {
    "count": ("COUNT(*)", "COUNT(x)", "COUNT_IF(f)"),
    "count_distinct": ("COUNT(DISTINCT x)", "COUNT(DISTINCT person)"),
    "sum": ("SUM(x)",),
    "avg": ("AVG(x)",),
    "min": ("MIN(x)",),
    "max": ("MAX(x)",),
    "median": ("MEDIAN(x)",),
    "quantile": ("QUANTILE_CONT(x, 0.25)", "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY x)"),
    "var_samp": ("VARIANCE(x)",),
    "var_pop": ("VAR_POP(x)",),
    "stddev_samp": ("STDDEV(x)",),
    "stddev_pop": ("STDDEV_POP(x)",),
    "mode": ("MODE(g)",),
    "bool_or": ("BOOL_OR(f)", "BOOL_OR(x > 0)"),
    "bool_and": ("BOOL_AND(f)", "BOOL_AND(x > 0)"),
}
ROWS_PER_PERSON = 2
POLICY = Policy.model_validate(
    {
        "tables": {
            "t": {
                "source": "t.parquet",
                "person": "person",
                "rows_per_person": ROWS_PER_PERSON,
                "columns": {
                    "person": {"type": "integer", "role": "identifier"},
                    "g": {"type": "category", "values": ["a", "b", "c"]},
                    "x": {"type": "integer", "low": 0, "high": 2, "nulls": True},
                    "f": {"type": "boolean", "nulls": True},
                },
            }
        }
    }
)

Row = tuple[str, int | None, bool | None]
ROWS: tuple[Row, ...] = (
    ("a", 0, True),
    ("a", 2, False),
    ("a", 1, None),
    ("b", 0, False),
    ("b", 2, True),
    ("b", None, True),
)
CHOICES = [rows for size in range(ROWS_PER_PERSON + 1) for rows in combinations_with_replacement(ROWS, size)]
OTHERS: tuple[Sequence[Row], ...] = ((), (("a", 1, True), ("b", 1, False), ("b", 0, None)))

every_aggregate = pytest.mark.parametrize("kind", AGGREGATES, ids=lambda kind: kind.name)


@dataclass
class Remembered:
    """An engine over one state that runs each statement once."""

    rows: Sequence[tuple[int, int, Row]]
    answers: dict[str, pa.Table] = field(default_factory=dict)

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute(
            "CREATE TABLE t (_discreet_person BIGINT, person BIGINT, _discreet_rank BIGINT, "
            "g ENUM ('a', 'b', 'c'), x BIGINT, f BOOLEAN)"
        )
        rows = [(person, person, rank, *row) for person, rank, row in self.rows]
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
        return connection

    @cached_property
    def engine(self) -> DuckDB:
        return DuckDB(PreparedStore(path=None, memory_connection=self.connection))

    def count(self, statement: str) -> Exact[pa.Table]:
        if statement not in self.answers:
            self.answers[statement] = self.engine.count(statement).secret
        return Exact(self.answers[statement])


def state(mine: Sequence[Row], others: Sequence[Row]) -> Remembered:
    rows = [(0, rank, row) for rank, row in enumerate(mine, 1)]
    return Remembered([*rows, *((person, 1, row) for person, row in enumerate(others, 1))])


@pytest.fixture(scope="module")
def states() -> Iterator[list[list[Remembered]]]:
    """All states of one person, for each choice of other people."""
    made = [[state(mine, others) for mine in CHOICES] for others in OTHERS]
    yield made
    for each in chain(*made):
        each.engine.close()


def neighbours(states: list[list[Remembered]], relation: Relation) -> Iterator[tuple[Remembered, Remembered]]:
    """Pairs that differ in one person: who is there or not, or has any other rows."""
    for beside in states:
        nothing, *others = beside
        yield from ((nothing, each) for each in others)
        if relation is Relation.VALUE:
            yield from combinations(others, 2)


def plan(sql: str, relation: Relation = Relation.VALUE) -> QueryPlan:
    return plan_query(sql, POLICY, Promise(0.01, 0.05, secret=relation), epsilon=1)


def questions(kind: type[Aggregate]) -> list[str]:
    calls = CALLS[kind.name]
    return [
        *(f"SELECT {call} AS m FROM t" for call in calls),
        *(f"SELECT g, {call} AS m FROM t GROUP BY g" for call in calls),
        f"SELECT {calls[0]} FILTER (WHERE x < 2) AS m FROM t",
    ]


def claims(made: QueryPlan, relation: Relation, pair: tuple[Remembered, Remembered]) -> list[str]:
    engines: tuple[Engine, Engine] = pair  # type: ignore[assignment]
    nothing = Tables((), {}, {}, ())
    return list(Claims(made, World(relation, POLICY, engines, (nothing, nothing))).broken())


# -- What it says of itself ---------------------------------------------------------------------------------


def test_every_listed_aggregate_has_calls() -> None:
    assert sorted(CALLS) == sorted(kind.name for kind in AGGREGATES)


def test_names_nodes_and_sql_names_belong_to_one_aggregate() -> None:
    for listed in (
        [kind.name for kind in AGGREGATES],
        [node for kind in AGGREGATES for node in kind.nodes],
        [name for kind in AGGREGATES for name in kind.sql_names],
    ):
        assert len(set(listed)) == len(listed)


@every_aggregate
def test_module_states_measures_sensitivity_estimate_and_error(kind: type[Aggregate]) -> None:
    lines = (sys.modules[kind.__module__].__doc__ or "").splitlines()
    starts = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]
    assert [label for label in starts if label in LABELS] == list(LABELS)


@every_aggregate
def test_documentation_is_sentences_and_its_example_plans(kind: type[Aggregate]) -> None:
    assert kind.documentation.endswith(".")
    assert kind.documentation in sql_reference.format_reference()
    made = plan_query(kind.example, sql_reference.POLICY, sql_reference.PROMISE, epsilon=1)
    assert any(type(measure) is kind for _, measure in made.core.question.measures)


@every_aggregate
def test_calls_are_resolved_to_it_under_its_stored_identity(kind: type[Aggregate]) -> None:
    for sql in questions(kind):
        ((_, measure),) = plan(sql).core.question.measures
        assert type(measure) is kind is get_aggregate(kind.name)
        assert repr(measure).startswith(f"Measure(function={kind.name!r}, argument=")


# -- Error --------------------------------------------------------------------------------------------------


@every_aggregate
def test_error_is_stated_before_data_is_read(kind: type[Aggregate]) -> None:
    for sql in questions(kind):
        made = plan(sql)
        (output,) = made.outputs
        bound, rows = find_error_bound(made, output), find_rank_error(made, output)
        assert bound is None or rows is None
        assert (bound is not None and bound > 0) or describe_open_error(made, output)
        if rows is not None:
            assert rows.rows > 0
            assert rows.description == describe_open_error(made, output)
        if output.measure.result_type.family is not Family.NUMBER:
            assert bound is None, "only a number is ± something"
            assert rows is not None


@every_aggregate
def test_tolerance_is_met_or_refused_with_a_hint(kind: type[Aggregate]) -> None:
    sql = questions(kind)[0]

    def plan_at(epsilon: Fraction) -> QueryPlan:
        return plan_query(sql, POLICY, Promise(0.01, 0.05), epsilon=epsilon, least_rows=1000)

    def find_outcome(within: int | str) -> Fraction | str | None:
        try:
            return find_least_epsilon(within, plan_at)
        except Refusal as refusal:
            return refusal.hint

    assert all(find_outcome(within) for within in (3, "20%"))


# -- Sensitivity --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [Relation.PRESENCE, Relation.VALUE])
@every_aggregate
def test_no_neighbour_moves_it_by_more_than_it_claims(
    kind: type[Aggregate], relation: Relation, states: list[list[Remembered]]
) -> None:
    for sql in questions(kind):
        made = plan(sql, relation)
        for pair in neighbours(states, relation):
            assert not claims(made, relation, pair), (sql, pair[0].rows, pair[1].rows)


@pytest.mark.parametrize("relation", [Relation.PRESENCE, Relation.VALUE])
@every_aggregate
def test_claims_of_half_the_size_are_found_wrong(
    kind: type[Aggregate], relation: Relation, states: list[list[Remembered]]
) -> None:
    sql = f"SELECT g, {CALLS[kind.name][0]} AS m FROM t GROUP BY g"
    if kind.name == "mode":
        sql = f"SELECT {CALLS[kind.name][0]} AS m FROM t"  # within one group there is nothing to choose
    twin = halved(plan(sql, relation))
    twin = replace_in_core(
        twin,
        value_selections={
            name: replace(
                each, guarantee=replace(each.guarantee, epsilon=Fraction(each.guarantee.epsilon) / 4)
            )
            for name, each in twin.value_selections.items()
        },
    )
    assert any(claims(twin, relation, pair) for pair in neighbours(states, relation))


# -- Estimate -----------------------------------------------------------------------------------------------

FIVES: list[Row] = [
    *(("a", x, f) for x, f in ((0, True), (0, False), (1, None), (1, True), (2, True), (None, False))),
    *(("b", x, f) for x, f in ((2, True), (2, True), (1, True), (2, None), (1, True))),
    *(("a", x, f) for x, f in ((None, None), (None, True))),
]


@pytest.fixture(scope="module")
def table() -> Iterator[Remembered]:
    """One table; five rows of each group have a number, so that quantiles are values of rows."""
    made = state((), FIVES)
    yield made
    made.engine.close()


@every_aggregate
def test_without_noise_it_is_what_duckdb_says(kind: type[Aggregate], table: Remembered) -> None:
    for call in CALLS[kind.name]:
        sql = f"SELECT g, {call} AS m FROM t GROUP BY g"
        wanted = table.connection.execute(sql).fetchall()
        found = compute_true_values(plan(sql), table).columns["m"]  # type: ignore[arg-type]
        assert len(wanted) == 2
        for key, value in wanted:
            assert found[(key,)] == pytest.approx(value), (sql, key)
