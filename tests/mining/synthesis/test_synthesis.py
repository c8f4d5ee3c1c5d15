"""Synthetic tables from end to end: what is asked of the engine, what appears, what is promised."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mining.schema import Schema
from discreet.mining.synthesis import Synthesis, marginal_comparison, plan_synthesis, synthesize
from discreet.mining.synthesis.marginal_comparison import compare_marginals, measure_usefulness
from discreet.mining.synthesis.synthesis_plan import EarlierAnswer
from discreet.mining.tabulation.noise_budget import NoiseBudget
from tests.mining.synthesis.tables import (
    COLUMNS,
    IMPOSSIBLE,
    Remembering,
    counter_of,
    opened,
    people,
    policy_of,
)

GENEROUS = ZeroConcentratedDP(rho=1, relation=Relation.PRESENCE)
PURE = PureDP(epsilon=1, relation=Relation.PRESENCE)
BINS = 5


def made(
    folder: Path,
    random: Randomness,
    rows: pa.Table,
    guarantee: PureDP | ZeroConcentratedDP = GENEROUS,
    quality: Literal["lean", "best"] = "lean",
    table: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Synthesis, Remembering]:
    with opened(folder, rows, **(table or {})) as (policy, engine):
        planned = plan_synthesis(policy, "people", guarantee, quality=quality, bins=BINS, **options)
        return synthesize(planned, policy, engine, random), engine


@pytest.mark.parametrize(
    "guarantee", [GENEROUS, PURE, PureDP(epsilon=Fraction(1, 100), relation=Relation.PRESENCE)]
)
@pytest.mark.parametrize("quality", ["lean", "best"])
def test_only_declared_values_appear_and_structural_zeros_never_do(
    guarantee: PureDP, quality: Literal["lean", "best"], tmp_path: Path, random: Randomness
) -> None:
    found, _ = made(tmp_path, random, people(600), guarantee, quality, {"impossible": IMPOSSIBLE})
    assert found.table.column_names == ["age", "born", "sex", "kin", "pay", "ill"]
    for row in found.table.to_pylist():
        assert 0 <= row["age"] <= 99
        assert row["born"] is None or date(1920, 1, 1) <= row["born"] <= date(2019, 12, 31)
        assert row["sex"] in COLUMNS["sex"]["values"]
        assert row["kin"] is None or row["kin"] in COLUMNS["kin"]["values"]
        assert 0 <= row["pay"] <= 100
        assert row["pay"] * 2 == int(row["pay"] * 2)
        assert (row["kin"], row["sex"]) not in {("wife", "m"), ("husband", "f")}
        assert not (row["age"] <= 14 and row["kin"] in ("wife", "husband"))


@pytest.mark.parametrize(("quality", "statements"), [("lean", 1), ("best", 1)])
def test_the_engine_is_asked_the_same_whatever_the_data(
    quality: Literal["lean", "best"], statements: int, tmp_path: Path, random: Randomness
) -> None:
    asked = []
    for number, rows in enumerate((people(300), people(3, seed=7))):
        folder = tmp_path / str(number)
        folder.mkdir()
        _, engine = made(folder, random, rows, quality=quality)
        asked.append(engine.asked)
    assert asked[0] == asked[1]
    assert len(asked[0]) == statements
    assert all(statement.count("count(*)") == 1 for statement in asked[0])


def test_a_person_with_many_rows_is_bounded_as_declared(tmp_path: Path, random: Randomness) -> None:
    rows = people(50)
    crowded = pa.concat_tables([rows, *[rows.slice(0, 1)] * 500])
    table = {"person": "name", "rows_per_person": 2}
    found, engine = made(tmp_path, random, crowded, table=table, columns=["sex", "ill"])
    assert all('"_discreet_rank" <= 2' in statement for statement in engine.asked)
    assert found.plan.budget.rows_per_person == 2
    assert found.plan.budget.sensitivity.l1 == 2
    assert len(found.codes) < 150


def test_the_guarantee_is_the_budget_and_says_for_whom() -> None:
    for guarantee in (GENEROUS, PURE, ZeroConcentratedDP(rho=Fraction(1, 3), relation=Relation.VALUE)):
        planned = plan_synthesis(policy_of(), "people", guarantee)
        assert planned.guarantee == guarantee
        assert planned.guarantee.relation is guarantee.relation


def test_a_pure_budget_gets_laplace_noise_alone() -> None:
    pure, tailed = (plan_synthesis(policy_of(), "people", each).expected_error for each in (PURE, GENEROUS))
    assert {each.mechanism for each in pure} == {"discrete-laplace"}
    assert {each.mechanism for each in tailed} == {"discrete-gaussian"}


def test_expected_errors_are_known_before_anything_is_read_and_shrink_with_the_budget() -> None:
    little, much = (
        plan_synthesis(
            policy_of(rows=1000), "people", PureDP(epsilon=each, relation=Relation.VALUE)
        ).expected_error
        for each in (1, 10)
    )
    assert all(a.error95 > b.error95 for a, b in zip(little, much, strict=True))
    assert all(a.variation >= b.variation > 0 for a, b in zip(little, much, strict=True))  # type: ignore[operator]
    assert [each.columns for each in much][:2] == [("age",), ("born",)]


def test_a_public_number_of_rows_is_kept_where_values_are_the_secret(
    tmp_path: Path, random: Randomness
) -> None:
    value = ZeroConcentratedDP(rho=Fraction(1, 100), relation=Relation.VALUE)
    found, _ = made(tmp_path, random, people(321), value, table={"rows": 321})
    assert len(found.table) == 321
    other = plan_synthesis(policy_of(rows=321), "people", GENEROUS)
    assert other.rows is None


@pytest.mark.parametrize("quality", ["lean", "best"])
def test_with_much_budget_the_rows_are_like_the_real_ones(
    quality: Literal["lean", "best"], tmp_path: Path, random: Randomness
) -> None:
    real = people(5_000)
    found, _ = made(tmp_path, random, real, ZeroConcentratedDP(rho=20, relation=Relation.PRESENCE), quality)
    schema = found.plan.schema
    codes = schema.encode([real.column(each.name).to_pylist() for each in schema.attributes])
    seen = compare_marginals(schema, counter_of(schema, codes), found.codes)
    assert seen.compute_mean(1) < 0.01
    assert seen.compute_mean(2) < (0.06 if quality == "lean" else 0.03)
    assert seen.find_worst(1)[1] >= seen.compute_mean(1)
    assert abs(len(found.codes) - 5_000) < 50


def test_where_noise_is_small_beside_the_rows_pairs_outside_of_any_tree_are_right_too(
    tmp_path: Path, random: Randomness
) -> None:
    # five answers that follow one trait: whichever tree of four pairs is measured, six more are missed by it
    dice = np.random.default_rng(1)
    trait = dice.random(20_000) < 0.5
    names = [f"answer{each}" for each in range(5)]
    real = pa.table({name: np.where(dice.random(20_000) < 0.2, ~trait, trait) for name in names})
    columns = {name: {"type": "boolean", "nulls": False} for name in names}
    found, _ = made(tmp_path, random, real, table={"columns": columns})
    schema = found.plan.schema
    codes = schema.encode([real.column(name).to_pylist() for name in names])
    assert len(found.measured) > 5 + 4
    assert compare_marginals(schema, counter_of(schema, codes), found.codes).find_worst(2)[1] < 0.02


def test_rows_agree_with_earlier_answers_if_asked(tmp_path: Path, random: Randomness) -> None:
    little = PureDP(epsilon=Fraction(1, 20), relation=Relation.PRESENCE)
    told = np.array([[100.0, 20.0, 0.0], [300.0, 80.0, 0.0]])
    earlier = EarlierAnswer(columns=("sex", "ill"), counts=told)
    found, _ = made(tmp_path, random, people(500), little, earlier=[earlier], columns=["ill", "sex", "age"])
    sex, ill = found.table.column("sex").to_pylist(), found.table.column("ill").to_pylist()
    counts = [
        [sum(pair == (s, i) for pair in zip(sex, ill, strict=True)) for i in (False, True, None)]
        for s in "fm"
    ]
    assert np.array(counts) == pytest.approx(told, abs=4)


@pytest.mark.parametrize("quality", ["lean", "best"])
def test_what_earlier_answers_do_not_tell_is_measured(
    quality: Literal["lean", "best"], tmp_path: Path, random: Randomness
) -> None:
    some, real = PureDP(epsilon=Fraction(1, 4), relation=Relation.PRESENCE), people(500)
    truth = list(zip(*(real.column(name).to_pylist() for name in ("sex", "ill")), strict=True))
    ill = [truth.count((sex, True)) for sex in "fm"]
    told = np.array([[np.nan, number, np.nan] for number in ill])
    earlier = EarlierAnswer(columns=("sex", "ill"), counts=told)
    found, _ = made(tmp_path, random, real, some, quality, earlier=[earlier], columns=["ill", "sex"])
    rows = list(zip(*(found.table.column(name).to_pylist() for name in ("sex", "ill")), strict=True))
    assert [rows.count((sex, True)) for sex in "fm"] == pytest.approx(ill, abs=8)
    assert sum(each[1] is not True for each in rows) == pytest.approx(500 - sum(ill), abs=250)


def test_one_column_alone_is_its_histogram(tmp_path: Path, random: Randomness) -> None:
    found, _ = made(tmp_path, random, people(400), columns=["sex"])
    assert found.measured == (("sex",),)
    assert len(found.table) == pytest.approx(400, abs=20)


def test_progress_is_told_in_shares_of_the_budget(tmp_path: Path, random: Randomness) -> None:
    heard: list[float] = []
    with opened(tmp_path, people(200)) as (policy, engine):
        planned = plan_synthesis(policy, "people", GENEROUS, quality="best", columns=["sex", "ill"])
        synthesize(planned, policy, engine, random, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_usefulness_compares_learning_from_synthetic_and_from_real_rows() -> None:
    class Majority:
        def __init__(self, features: Any, targets: Any) -> None:
            del features
            self.most = np.bincount(targets).argmax()

        def predict(self, features: Any) -> Any:
            return np.full(len(features), self.most)

    ones, zeros = np.array([[0, 1]] * 3), np.array([[0, 0]] * 3)
    assert measure_usefulness(Majority, zeros, ones, ones, target=1) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quality": "good"}, "synthesize: `quality=` must be 'lean' or 'best'"),
        ({"columns": ["name"]}, "has no column name that may be used"),
        ({"columns": ["shoe"]}, "has no column shoe"),
        (
            {"earlier": [EarlierAnswer(columns=("shoe",), counts=np.zeros(2))]},
            "Earlier.columns must be columns",
        ),
        (
            {"earlier": [EarlierAnswer(columns=("sex",), counts=np.zeros(3))]},
            r"Earlier.counts must be \(2,\) finite",
        ),
        ({"earlier": [EarlierAnswer(columns=("sex",), counts=np.array([1, np.inf]))]}, "finite"),
        ({"earlier": [EarlierAnswer(columns=("sex",), counts=np.full(2, np.nan))]}, "finite"),
        (
            {"earlier": [EarlierAnswer(columns=("sex",), counts=np.zeros(2), deviation=0)]},
            "Earlier.deviation",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        plan_synthesis(policy_of(), "people", GENEROUS, **options)


def test_tables_that_are_unknown_or_about_nobody_are_refused() -> None:
    with pytest.raises(RequestError, match="has no table persons"):
        plan_synthesis(policy_of(), "persons", GENEROUS)
    with pytest.raises(RequestError, match="about nobody"):
        plan_synthesis(policy_of(person="none"), "people", GENEROUS)


def test_a_budget_that_cannot_be_divided_is_refused() -> None:
    with pytest.raises(RequestError, match="ApproximateDP"):
        NoiseBudget.from_guarantee(ApproximateDP(epsilon=1, delta=1e-6))
    with pytest.raises(InvalidParameterError, match="epsilon"):
        NoiseBudget.from_epsilon(epsilon=0, delta=1e-9)


def test_marginals_are_compared_a_few_at_a_time_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.from_table(policy_of().tables["people"], bins=BINS)
    real, drawn = (
        schema.encode([people(300, seed).column(each.name).to_pylist() for each in schema.attributes])
        for seed in (1, 2)
    )
    whole = compare_marginals(schema, counter_of(schema, real), drawn.astype(np.int64))
    monkeypatch.setattr(marginal_comparison, "MAX_HELD_CELLS", 40)
    apart = compare_marginals(schema, counter_of(schema, real), drawn.astype(np.int64))
    assert apart.variations == {names: whole.variations[names] for names in apart.variations}
    assert len(apart.variations) + apart.not_compared == len(whole.variations)


def test_pairs_of_more_combinations_than_memory_holds_are_not_compared_and_that_is_said() -> None:
    columns = {name: {"type": "category", "values": [str(each) for each in range(9_000)]} for name in "abc"}
    table = policy_of(columns=columns).tables["people"]
    schema = Schema.from_table(table)
    codes = schema.encode([["1", "2"]] * 3)
    seen = compare_marginals(schema, counter_of(schema, codes), codes.astype(np.int64))
    assert seen.variations == {("a",): 0, ("b",): 0, ("c",): 0}
    assert seen.not_compared == 3
    assert seen.describe_mean(2) == "unknown (3 sets have too many combinations to be compared)"
