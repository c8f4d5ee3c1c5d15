"""Histograms, contingency tables and itemsets, from the policy to what is released."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from discreet.attacks.privacy_audit import audit_epsilon
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.simplex import project_to_simplex
from discreet.engines.duckdb import DuckDB
from discreet.engines.prepared_store import prepare_store
from discreet.mining.schema import Schema
from discreet.mining.tabulation import contingency, frequent_itemsets
from tests.conftest import seeded
from tests.mining.synthesis.tables import IMPOSSIBLE, Remembering, counter_of, opened, people, policy_of
from tests.statistical import FALSE_ALARM

PRESENCE = PureDP(epsilon=1, relation=Relation.PRESENCE)


def test_a_table_has_every_declared_combination_once_and_impossible_ones_are_zero(
    tmp_path: Path, random: Randomness
) -> None:
    with opened(tmp_path, people(800), impossible=IMPOSSIBLE) as (policy, engine):
        plan = contingency.plan_contingency(policy, "people", ["sex", "kin"], PRESENCE)
        found = contingency.release_contingency(plan, policy, engine, random)
        assert len(engine.asked) == 1
    rows = found.to_arrow().to_pylist()
    assert [(row["sex"], row["kin"]) for row in rows] == [
        (sex, kin) for sex in "fm" for kin in ("wife", "husband", "child", "other", "missing")
    ]
    impossible = [row for row in rows if (row["sex"], row["kin"]) in (("m", "wife"), ("f", "husband"))]
    assert all(row["count"] == row["noisy"] == 0 for row in impossible)
    assert found.counts.min() >= 0
    assert found.counts.sum() == pytest.approx(found.noisy.sum())


def test_a_public_number_of_rows_is_the_total_where_values_are_the_secret(
    tmp_path: Path, random: Randomness
) -> None:
    with opened(tmp_path, people(300), rows=300) as (policy, engine):
        plan = contingency.plan_contingency(
            policy, "people", ["age"], PureDP(epsilon=1, relation=Relation.VALUE)
        )
        assert contingency.release_contingency(plan, policy, engine, random).counts.sum() == pytest.approx(
            300
        )


@pytest.mark.parametrize(
    ("guarantee", "rows", "half_width"),
    [(PRESENCE, 1, 3), (PureDP(epsilon=1, relation=Relation.VALUE), 1, 6), (PRESENCE, 4, 12)],
)
def test_the_expected_error_follows_from_budget_relation_and_rows(
    guarantee: PureDP, rows: int, half_width: int
) -> None:
    table: dict[str, Any] = {"person": "name", "rows_per_person": rows} if rows > 1 else {}
    assert (
        contingency.plan_contingency(policy_of(**table), "people", ["sex"], guarantee).error95 == half_width
    )


def test_an_audit_of_a_histogram_comes_close_and_catches_a_person_with_two_rows() -> None:
    plan = contingency.plan_contingency(policy_of(), "people", ["sex"], PRESENCE)

    def drawn(rows: int, seed: int) -> Any:
        random, counter = seeded(seed), counter_of(plan.schema, [[0]] * rows)
        return lambda runs: [
            contingency.release_from_counter(plan, counter, random).noisy.tolist() for _ in range(runs)
        ]

    kept = audit_epsilon(drawn(3, 1), drawn(4, 2), claimed=1, runs=3_000, confidence=1 - FALSE_ALARM)
    broken = audit_epsilon(drawn(3, 1), drawn(5, 2), claimed=1, runs=3_000, confidence=1 - FALSE_ALARM)
    assert 0.6 < kept.lower_bound <= 1 < broken.lower_bound


def test_bins_are_cut_where_an_impossible_range_ends_on_the_grid_or_off_it() -> None:
    policy = policy_of(impossible=[{"pay": {"low": "10.2", "high": "12.7"}, "sex": "m"}])
    plan = contingency.plan_contingency(policy, "people", ["pay", "sex"], PRESENCE, bins=4)
    (pay, _) = plan.schema.attributes
    never = {label for label, possible in zip(pay.labels, plan.possible[:, 1], strict=True) if not possible}
    assert never == {"10.5 to 13"}
    assert plan.possible[:, 0].all()


def test_counts_of_people_with_more_rows_than_planned_are_refused(random: Randomness) -> None:
    plan = contingency.plan_contingency(policy_of(), "people", ["sex"], PRESENCE)
    counter = replace(counter_of(plan.schema, [[0]] * 9), rows_per_person=3)
    with pytest.raises(InvalidParameterError, match="at least the 3 that a person may have"):
        contingency.release_from_counter(plan, counter, random)


def test_projection_gives_the_nearest_counts_that_could_be() -> None:
    dice = np.random.default_rng(3)
    noisy = dice.normal(2, 5, (3, 4))
    found = project_to_simplex(noisy, 20.0)
    assert found.sum() == pytest.approx(20)
    assert found.min() >= 0
    for _ in range(200):
        other = dice.dirichlet(np.ones(12)).reshape(3, 4) * 20
        assert ((found - noisy) ** 2).sum() <= ((other - noisy) ** 2).sum() + 1e-9
    assert project_to_simplex(np.array([-3.0, -5.0]), 0.0).tolist() == [0, 0]


def test_tables_that_are_too_large_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="10,000,000 cells or less"):
        contingency.plan_contingency(policy_of(), "people", ["age", "born", "pay", "kin"], PRESENCE, bins=200)


ITEMS = ("bread", "milk", "eggs", "salt", "tea", "soap", "wine", "rice", "figs", "nuts", "oats", "corn")


def baskets(number: int) -> pa.Table:
    dice = np.random.default_rng(2)
    columns = {name: dice.random(number) < 0.02 for name in ITEMS}
    columns["bread"] = dice.random(number) < 0.6
    columns["milk"] = columns["bread"] & (dice.random(number) < 0.8)
    columns["eggs"] = dice.random(number) < 0.3
    return pa.table({**columns, "shop": ["corner"] * number})


def shop(source: Path | str) -> Policy:
    columns = {name: {"type": "boolean"} for name in ITEMS} | {"shop": {"type": "text"}}
    return Policy.model_validate({"tables": {"baskets": {"source": str(source), "columns": columns}}})


@pytest.mark.parametrize(
    "guarantee", [PRESENCE, ZeroConcentratedDP(rho=Fraction(1, 50), relation=Relation.VALUE)]
)
def test_planted_itemsets_are_found_and_no_others(
    guarantee: PureDP, tmp_path: Path, random: Randomness
) -> None:
    pa.csv.write_csv(baskets(20_000), tmp_path / "baskets.csv")
    policy = shop(tmp_path / "baskets.csv")
    with Remembering(DuckDB.open(prepare_store(policy, None))) as engine:
        plan = frequent_itemsets.plan_itemsets(policy, "baskets", guarantee, basis=5, threshold=0.2)
        found = frequent_itemsets.find_itemsets(plan, policy, engine, random)
        assert len(engine.asked) == 2
    sets = {frozenset(each.items): each.support for each in found}
    assert set(sets) == {frozenset(each) for each in (["bread"], ["milk"], ["eggs"], ["bread", "milk"])}
    assert sets[frozenset(["bread", "milk"])] == pytest.approx(0.48, abs=0.03)
    assert plan.guarantee == guarantee


def test_itemsets_of_all_items_spend_nothing_on_picking(random: Randomness) -> None:
    plan = frequent_itemsets.plan_itemsets(
        shop("x.csv"), "baskets", PRESENCE, items=["bread", "milk"], basis=8
    )
    counter = counter_of(Schema(attributes=plan.schema.attributes), [[1, 1]] * 900 + [[0, 0]] * 100)
    found = frequent_itemsets.find_itemsets_from_counter(plan, counter, random)
    assert {each.items for each in found} == {("bread",), ("milk",), ("bread", "milk")}
    assert all(each.support == pytest.approx(0.9, abs=0.05) for each in found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"items": ["shop"]}, "items must be columns that are true or false"),
        ({"items": []}, "items must be columns that are true or false"),
        ({"basis": 40}, "too large"),
        ({"threshold": 0}, "threshold=` must be a probability"),
    ],
)
def test_searches_that_cannot_be_planned_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        frequent_itemsets.plan_itemsets(shop("x.csv"), "baskets", PRESENCE, **options)
