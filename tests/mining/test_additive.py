"""Forests and naive Bayes: what they spend, and what they learn."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP, convert_guarantee
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.mining import training_budget
from discreet.mining.additive_model import AdditiveModel
from discreet.mining.boosting import BoostingPlan, NoisySums, smooth_categories, smooth_ordered
from discreet.mining.model_training import plan_training, train_from_counter
from tests.conftest import seeded
from tests.mining.rows import at_hand, binary, drawn, policy

PURE = PureDP(epsilon=Fraction(3, 5), relation=Relation.PRESENCE)
CONCENTRATED = ZeroConcentratedDP(rho=Fraction(1, 30), relation=Relation.PRESENCE)
TRAIN, TEST = drawn(6_000), drawn(3_000, seed=8)


def right(model: AdditiveModel, target: str) -> tuple[float, float]:
    """The share that is predicted rightly, and that of the commonest class."""
    assert model.schema.target is not None
    words = np.array(model.schema.target.values)
    codes = model.schema.encode([TEST[each.name] for each in model.schema.attributes])
    truth = TEST[target]
    known = np.isin(truth.astype(str), words)
    predicted = words[model.predict(codes).argmax(axis=1)]
    shares = [np.mean(truth[known] == word) for word in words]
    return float(np.mean(predicted[known] == truth[known])), float(max(shares))


@pytest.mark.parametrize("spent", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("rows", [None, 5_000])
@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_and_the_number_of_rows_add_up_to_the_budget(
    spent: Any, rows: int | None, classes: int
) -> None:
    made = BoostingPlan(schema=binary(3, [str(c) for c in range(classes)]), budget=spent, rows=rows)
    for rounds in (2, 5, 8):
        noises = [made.make_count_noise(rounds), *[made.make_residual_noise(rounds)] * (rounds - 1)]
        noises += [made.row_count_noise] if made.row_count_noise else []
        if spent is PURE:
            assert sum(each.epsilon for each in noises if isinstance(each, DiscreteLaplace)) == PURE.epsilon
        else:
            rhos = [
                each.squared_sensitivity / (2 * each.variance)
                for each in noises
                if isinstance(each, DiscreteGaussian)
            ]
            assert sum(rhos) == CONCENTRATED.rho
        assert len(noises) == rounds + (rows is None)


def test_a_budget_of_epsilon_and_delta_is_the_largest_that_keeps_both() -> None:
    held = training_budget.make_noise_budget("train", 1, 1e-6, None)
    assert isinstance(held, ZeroConcentratedDP)
    assert held.profile(1.0) <= 1e-6 < ZeroConcentratedDP(rho=held.rho * Fraction(1001, 1000)).profile(1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (1.5, 1e-5), (0.1, 1e-9)])
@pytest.mark.parametrize("secret", list(Relation))
def test_epsilon_and_delta_are_kept_for_the_promises_own_secret(
    epsilon: float, delta: float, secret: Relation
) -> None:
    held = training_budget.make_noise_budget(
        "train", epsilon, delta, Promise(0.01, 0.05, tail=1e-4, secret=secret)
    )
    assert isinstance(held, ZeroConcentratedDP)
    more = ZeroConcentratedDP(rho=held.rho * Fraction(1001, 1000), relation=Relation.PRESENCE)
    assert (
        convert_guarantee(held, secret).profile(epsilon)
        <= delta
        < convert_guarantee(more, secret).profile(epsilon)
    )


def test_a_promise_with_a_tail_is_served_by_concentrated_noise(tmp_path: Path) -> None:
    promise = Promise(0.01, 0.05, tail=1e-6)
    made = plan_training("forest", policy(tmp_path), "people", "ill", promise=promise)
    assert isinstance(made.model_plan.guarantee, ZeroConcentratedDP)
    assert promise.admits(made.guarantee)
    assert made.guarantee.relation is Relation.VALUE
    without = plan_training("forest", policy(tmp_path), "people", "ill", promise=Promise(0.01, 0.05))
    assert isinstance(without.model_plan.guarantee, PureDP)
    assert Promise(0.01, 0.05).admits(without.guarantee)


@pytest.mark.parametrize("kind", ["forest", "bayes"])
@pytest.mark.parametrize("target", ["ill", "work"])
def test_a_model_finds_what_the_rows_say(kind: str, target: str, tmp_path: Path) -> None:
    features = ["age", "work", "owner"] if target == "ill" else ["age", "ill"]
    terms = policy(tmp_path)
    made = plan_training(kind, terms, "people", target, epsilon=8, features=features)
    model = train_from_counter(made.model_plan, at_hand(made.schema, TRAIN), seeded(4))
    assert isinstance(model, AdditiveModel)
    found, commonest = right(model, target)
    assert found > commonest + (0.08 if target == "ill" else 0.02)


def test_more_rows_are_worth_more_rounds_and_bins() -> None:
    made = BoostingPlan(schema=binary(4), budget=CONCENTRATED)
    sizes = (100, 10**3, 10**4, 10**5, 10**7)
    for chosen in ([made.choose_rounds(each) for each in sizes], [made.choose_bins(each) for each in sizes]):
        assert chosen == sorted(chosen)
        assert chosen[0] < chosen[-1]


def test_a_shape_keeps_a_clear_step_and_smooths_noise() -> None:
    generator = np.random.default_rng(3)
    weights = np.full(64, 100.0)
    step = np.where(np.arange(64) < 20, -1.0, 1.0)
    noisy = NoisySums(
        sums=weights * step + generator.normal(0, 10, 64), weights=weights, sum_noise=100.0, weight_noise=4.0
    )
    found = smooth_ordered(noisy)
    assert np.abs(found - step).max() < 0.5
    flat = NoisySums(sums=generator.normal(0, 10, 64), weights=weights, sum_noise=100.0, weight_noise=4.0)
    assert np.abs(smooth_ordered(flat)).max() < 0.2


def test_cells_that_do_not_stand_out_of_their_noise_say_nothing() -> None:
    known = NoisySums(
        sums=np.array([50.0, 50.0]), weights=np.array([100.0, 3.0]), sum_noise=4.0, weight_noise=4.0
    )
    assert smooth_categories(known)[0] > 0.3
    assert smooth_categories(known)[1] == 0


def test_nobody_at_all_is_learned_from_without_a_fault(tmp_path: Path) -> None:
    for kind in ("forest", "bayes"):
        made = plan_training(kind, policy(tmp_path), "people", "ill", epsilon=1)
        nobody = {name: values[:0] for name, values in TRAIN.items()}
        model = train_from_counter(made.model_plan, at_hand(made.schema, nobody), seeded(4))
        shares = model.predict(made.schema.encode([TEST[each.name] for each in made.schema.attributes]))
        assert np.isfinite(shares).all()
        assert np.allclose(shares.sum(axis=1), 1)


def test_export_holds_every_bins_score(tmp_path: Path) -> None:
    made = plan_training("forest", policy(tmp_path), "people", "ill", epsilon=1)
    model = train_from_counter(made.model_plan, at_hand(made.schema, TRAIN), seeded(4))
    assert isinstance(model, AdditiveModel)
    kept = json.loads(model.to_json())
    assert [each["name"] for each in kept["features"]] == [each.name for each in made.schema.attributes]
    assert all(len(each["bins"]) == len(each["scores"][0]) for each in kept["features"])


def test_a_counter_with_more_rows_a_person_than_are_paid_for_is_refused(tmp_path: Path) -> None:
    made = plan_training("bayes", policy(tmp_path), "people", "ill", epsilon=1)
    with pytest.raises(RequestError, match="more rows a person than the plan pays for"):
        train_from_counter(made.model_plan, at_hand(made.schema, TRAIN, rows_per_person=2), seeded(1))


def test_a_guarantee_for_replaced_values_is_no_budget() -> None:
    with pytest.raises(RequestError, match="a guarantee for added and removed people"):
        BoostingPlan(schema=binary(2), budget=PureDP(epsilon=1))
