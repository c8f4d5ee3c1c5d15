"""Counts in the engine are those of the same rows at hand, and nothing but planned counts is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.core.exact_values import Exact
from discreet.mining import count_sql
from discreet.mining.additive_model import GRID, Scores, compute_residuals, count_outputs
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.decision_tree import Split, Splits
from discreet.mining.model_training import plan_training, train_model
from discreet.mining.schema import Schema
from tests.conftest import seeded
from tests.mining.rows import COLUMNS, Watched, at_hand, drawn, engine, policy, written

LEARNED = {"tree": "ill", "forest": "ill", "bayes": "ill", "regression": "age"}
SPLITS = Splits(
    levels=(
        (Split(attribute=2, first=frozenset({1, 3})),),
        (Split(attribute=0, first=frozenset(range(9))), Split(attribute=3, first=frozenset({0}))),
    )
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    written(tmp_path, drawn(2_000))
    return tmp_path


def test_the_engine_counts_what_the_rows_at_hand_count(people: Path) -> None:
    terms = policy(people)
    schema = Schema.from_table(terms.tables["people"], "ill", logarithmic=["pay"])
    here = at_hand(schema, drawn(2_000))
    sets = [("age", "work"), ("owner",), ("ill", "since", "work"), ("pay", "owner")]
    with engine(people, terms) as over:
        there = EngineCounter(engine=over, schema=schema, table="people")
        for splits in (Splits(), SPLITS):
            assert (there.count_cells_by_node(splits).secret == here.count_cells_by_node(splits).secret).all()
            assert (there.count_by_node(splits).secret == here.count_by_node(splits).secret).all()
        for mine, theirs in zip(
            there.count_marginals(sets).secret, here.count_marginals(sets).secret, strict=True
        ):
            assert (mine == theirs).all()


@pytest.mark.parametrize("nulls", [True, False])
def test_what_is_missing_is_counted_in_its_bin_however_it_is_declared(tmp_path: Path, nulls: bool) -> None:
    """A NULL where none is declared joins those of the first bin, and nobody of that bin is lost."""
    rows = drawn(2_000)
    rows["age"] = np.where(np.arange(2_000) % 7 == 0, None, rows["age"].astype(object))
    written(tmp_path, rows)
    declared = {name: {**column, "nulls": nulls or name == "ill"} for name, column in COLUMNS.items()}
    terms = policy(tmp_path, columns=declared)
    schema = Schema.from_table(terms.tables["people"], "ill")
    splits = Splits(
        levels=(
            (Split(attribute=0, first=frozenset(range(schema.attributes[0].regular_bins - (not nulls)))),),
            (Split(attribute=4, first=frozenset(range(7))), Split(attribute=2, first=frozenset({0, 1}))),
        )
    )
    here = at_hand(schema, {**rows, "age": rows["age"].astype(float)})
    scores = Scores(table=np.arange(schema.cells)[None, :] / 64 % 1, intercepts=np.zeros(1))
    with engine(tmp_path, terms) as over:
        there = EngineCounter(engine=over, schema=schema, table="people")
        for each in (Splits(), splits):
            assert (there.count_cells_by_node(each).secret == here.count_cells_by_node(each).secret).all()
            assert (there.count_by_node(each).secret == here.count_by_node(each).secret).all()
        assert np.abs(there.sum_residuals(scores).secret - here.sum_residuals(scores).secret).sum() <= 25


@pytest.mark.parametrize("target", ["ill", "work", "pay"])
@pytest.mark.parametrize("values", [None, "undeclared"])
@pytest.mark.parametrize("nulls", [False, True])
def test_one_person_more_moves_no_count_by_more_than_is_paid_for_whatever_is_missing_of_them(
    tmp_path: Path, target: str, values: str | None, nulls: bool
) -> None:
    """What trees, naive Bayes, forests (two classes, three) and regressions count, and syntheses do."""
    declared = {name: {**column, "nulls": nulls} for name, column in COLUMNS.items()}
    rows: dict[str, list[Any]] = {name: np.asarray(each).tolist() for name, each in drawn(400).items()}
    known = {"ill": "no", "work": "sea", "pay": 900.0}
    newcomer = {
        name: values if declared[name]["type"] == "category" or values is None else None for name in rows
    }
    found = []
    for newcomers in ([], [newcomer], [newcomer | {target: known[target]}]):
        written(tmp_path, {name: each + [new[name] for new in newcomers] for name, each in rows.items()})
        terms = policy(tmp_path, columns=declared)
        schema = Schema.from_table(terms.tables["people"], target, is_classification=target != "pay")
        first = frozenset({0})
        level = Split(attribute=[each.name for each in schema.attributes].index("owner"), first=first)
        splits = Splits(levels=((level,),))
        with engine(tmp_path, terms) as over:
            counter = EngineCounter(engine=over, schema=schema, table="people")
            counts = [counter.count_cells_by_node(each).secret for each in (Splits(), splits)]
            counts += [counter.count_by_node(splits).secret]
            counts += list(
                counter.count_marginals([("work",), ("owner", "work"), ("ill", "since", "age")]).secret
            )
            if target != "pay":
                table = (
                    np.random.default_rng(1)
                    .normal(size=(count_outputs(schema.classes), schema.cells))
                    .round(2)
                )
                counts += [counter.sum_residuals(Scores(table=table, intercepts=np.zeros(len(table)))).secret]
        found.append(counts)
    d = len(schema.attributes)
    most = [d, d, 1, 1, 1, 1, d * GRID * (1 if target == "ill" else 2)]
    for other in found[1:]:
        moved = [int(np.abs(one - two).sum()) for one, two in zip(found[0], other, strict=True)]
        assert all(each <= allowed for each, allowed in zip(moved, most, strict=False)), moved


@given(low=st.integers(-50, 50), reach=st.integers(1, 300), bins=st.integers(1, 80), log=st.booleans())
@settings(max_examples=25)
def test_the_engine_and_an_array_put_every_number_into_the_same_bin(
    low: int, reach: int, bins: int, log: bool
) -> None:
    scale = "log" if log else "linear"
    attribute = Attribute.numeric("x", low, low + reach, bins=bins, scale=scale, step=1)
    values = np.arange(low, low + reach + 1)
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT * FROM (SELECT unnest(?) AS x)", [values.tolist()])
    rows = count_sql.RowSelection(table="t", attributes=(attribute,), max_rows_per_person=None).write_sql(
        '"x" AS x'
    )
    found = dict(database.sql(f"SELECT x, c0 FROM ({rows})").fetchall())
    assert [found[each] for each in values.tolist()] == attribute.encode(values).tolist()


@pytest.mark.parametrize("target", ["ill", "work"])
def test_the_engine_sums_the_residuals_of_the_rows_at_hand(people: Path, target: str) -> None:
    terms = policy(people)
    schema = Schema.from_table(terms.tables["people"], target)
    generator = np.random.default_rng(1)
    shape = count_outputs(schema.classes), schema.cells
    scores = Scores(table=generator.normal(size=shape).round(2), intercepts=generator.normal(size=shape[0]))
    with engine(people, terms) as over:
        there = EngineCounter(engine=over, schema=schema, table="people").sum_residuals(scores).secret
    here = at_hand(schema, drawn(2_000)).sum_residuals(scores).secret
    # scores add up to the same; exp may differ in its last bit, and so a residual by one step
    assert np.abs(there - here).sum() <= len(schema.attributes)


def test_a_row_counts_once_an_attribute_and_a_residual_keeps_its_bound() -> None:
    generator = np.random.default_rng(2)
    for classes in (2, 3, 7):
        scores = generator.normal(scale=8, size=(5_000, count_outputs(classes)))
        apart = np.abs(compute_residuals(scores, generator.integers(0, classes, 5_000)))
        most = 1 if classes == 2 else 2
        assert apart.sum(axis=1).max() <= most * GRID
        assert (apart**2).sum(axis=1).max() <= most * GRID**2


def test_a_person_is_counted_with_the_declared_rows_at_most(tmp_path: Path) -> None:
    rows = drawn(300)
    rows["ill"] = np.full(300, "yes")
    written(tmp_path, {**rows, "who": ["one"] * 100 + [f"p{i}" for i in range(200)]})
    terms = policy(tmp_path, person="who", rows_per_person=3)
    made = plan_training("bayes", terms, "people", "ill", epsilon=1)
    with engine(tmp_path, terms) as over:
        counter = EngineCounter(
            engine=over, schema=made.schema, table="people", max_rows_per_person=made.max_rows_per_person
        )
        counts = counter.count_by_node(Splits()).secret
    assert counts.tolist() == [[0, 203]]
    assert counter.rows_per_person == made.model_plan.rows_per_person == 3


def _trained(kind: str, folder: Path, **options: Any) -> list[str]:
    terms = policy(folder)
    made = plan_training(kind, terms, "people", LEARNED[kind], epsilon=1, **options)
    with Watched(engine(folder, terms)) as over:
        train_model(made, over, seeded(3))
        return over.asked


@pytest.mark.parametrize("kind", LEARNED)
def test_only_planned_counts_are_asked_for(kind: str, people: Path) -> None:
    """No minimum, maximum, list of values or row leaves the engine: counts and sums by bin alone."""
    for statement in _trained(kind, people):
        tree = sqlglot.parse_one(statement, dialect="duckdb")
        assert {each.name for each in tree.find_all(exp.Table)} == {"people"}
        found = {type(each) for each in tree.find_all(exp.AggFunc)}
        assert found <= {exp.Count, exp.Sum, exp.Grouping}
        assert not list(tree.find_all(exp.Distinct, exp.Join, exp.Order, exp.Limit))


def test_a_tree_asks_once_a_level_and_once_for_its_leaves(people: Path) -> None:
    assert len(_trained("tree", people, depth=4)) == 5


def test_naive_bayes_asks_once_and_a_forest_once_a_round(people: Path) -> None:
    assert len(_trained("bayes", people)) == 1
    assert 1 <= len(_trained("forest", people)) <= 8


@pytest.mark.parametrize("kind", LEARNED)
def test_the_first_statement_is_the_same_for_other_data(kind: str, people: Path) -> None:
    first = _trained(kind, people)[0]
    other = drawn(40, seed=9)
    other["age"], other["work"] = np.full(40, 10**6), np.array(["moon"] * 40)
    written(people, other)
    assert _trained(kind, people)[0] == first


def test_counts_do_not_print() -> None:
    assert repr(Exact(np.array([41]))) == "Exact()"
