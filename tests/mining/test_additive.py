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
from discreet.mining import budget
from discreet.mining.additive import Additive
from discreet.mining.boosting import Boosting
from discreet.mining.learning import learn, plan
from discreet.mining.shapes import Sums, categories, ordered
from tests.conftest import seeded
from tests.mining.rows import at_hand, binary, drawn, policy

PURE = PureDP(epsilon=Fraction(3, 5), relation=Relation.PRESENCE)
CONCENTRATED = ZeroConcentratedDP(rho=Fraction(1, 30), relation=Relation.PRESENCE)
TRAIN, TEST = drawn(6_000), drawn(3_000, seed=8)


def right(model: Additive, target: str) -> tuple[float, float]:
    """The share that is predicted rightly, and that of the commonest class."""
    assert model.schema.target is not None
    words = np.array(model.schema.target.values)
    codes = model.schema.codes([TEST[each.name] for each in model.schema.attributes])
    truth = TEST[target]
    known = np.isin(truth.astype(str), words)
    predicted = words[model.values(codes).argmax(axis=1)]
    shares = [np.mean(truth[known] == word) for word in words]
    return float(np.mean(predicted[known] == truth[known])), float(max(shares))


@pytest.mark.parametrize("spent", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("rows", [None, 5_000])
@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_and_the_number_of_rows_add_up_to_the_budget(
    spent: Any, rows: int | None, classes: int
) -> None:
    made = Boosting(schema=binary(3, [str(c) for c in range(classes)]), budget=spent, rows=rows)
    for rounds in (2, 5, 8):
        noises = [made.counts(rounds), *[made.sums(rounds)] * (rounds - 1)]
        noises += [made.counted] if made.counted else []
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
    held = budget.for_noise("mine", 1, 1e-6, None)
    assert isinstance(held, ZeroConcentratedDP)
    assert held.profile(1.0) <= 1e-6 < ZeroConcentratedDP(rho=held.rho * Fraction(1001, 1000)).profile(1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (1.5, 1e-5), (0.1, 1e-9)])
@pytest.mark.parametrize("secret", list(Relation))
def test_epsilon_and_delta_are_kept_for_the_promises_own_secret(
    epsilon: float, delta: float, secret: Relation
) -> None:
    held = budget.for_noise("mine", epsilon, delta, Promise(0.01, 0.05, tail=1e-4, secret=secret))
    assert isinstance(held, ZeroConcentratedDP)
    more = ZeroConcentratedDP(rho=held.rho * Fraction(1001, 1000), relation=Relation.PRESENCE)
    assert (
        convert_guarantee(held, secret).profile(epsilon)
        <= delta
        < convert_guarantee(more, secret).profile(epsilon)
    )


def test_a_promise_with_a_tail_is_served_by_concentrated_noise(tmp_path: Path) -> None:
    promise = Promise(0.01, 0.05, tail=1e-6)
    made = plan("forest", policy(tmp_path), "people", "ill", promise=promise)
    assert isinstance(made.recipe.guarantee, ZeroConcentratedDP)
    assert promise.admits(made.guarantee)
    assert made.guarantee.relation is Relation.VALUE
    without = plan("forest", policy(tmp_path), "people", "ill", promise=Promise(0.01, 0.05))
    assert isinstance(without.recipe.guarantee, PureDP)
    assert Promise(0.01, 0.05).admits(without.guarantee)


@pytest.mark.parametrize("kind", ["forest", "bayes"])
@pytest.mark.parametrize("target", ["ill", "work"])
def test_a_model_finds_what_the_rows_say(kind: str, target: str, tmp_path: Path) -> None:
    features = ["age", "work", "owner"] if target == "ill" else ["age", "ill"]
    terms = policy(tmp_path)
    made = plan(kind, terms, "people", target, epsilon=8, features=features)
    model = learn(made.recipe, at_hand(made.schema, TRAIN), seeded(4))
    assert isinstance(model, Additive)
    found, commonest = right(model, target)
    assert found > commonest + (0.08 if target == "ill" else 0.02)


def test_more_rows_are_worth_more_rounds_and_bins() -> None:
    made = Boosting(schema=binary(4), budget=CONCENTRATED)
    sizes = (100, 10**3, 10**4, 10**5, 10**7)
    for chosen in ([made.rounds(each) for each in sizes], [made.bins(each) for each in sizes]):
        assert chosen == sorted(chosen)
        assert chosen[0] < chosen[-1]


def test_a_shape_keeps_a_clear_step_and_smooths_noise() -> None:
    generator = np.random.default_rng(3)
    weights = np.full(64, 100.0)
    step = np.where(np.arange(64) < 20, -1.0, 1.0)
    noisy = Sums(
        sums=weights * step + generator.normal(0, 10, 64), weights=weights, sum_noise=100.0, weight_noise=4.0
    )
    found = ordered(noisy)
    assert np.abs(found - step).max() < 0.5
    flat = Sums(sums=generator.normal(0, 10, 64), weights=weights, sum_noise=100.0, weight_noise=4.0)
    assert np.abs(ordered(flat)).max() < 0.2


def test_cells_that_do_not_stand_out_of_their_noise_say_nothing() -> None:
    known = Sums(sums=np.array([50.0, 50.0]), weights=np.array([100.0, 3.0]), sum_noise=4.0, weight_noise=4.0)
    assert categories(known)[0] > 0.3
    assert categories(known)[1] == 0


def test_nobody_at_all_is_learned_from_without_a_fault(tmp_path: Path) -> None:
    for kind in ("forest", "bayes"):
        made = plan(kind, policy(tmp_path), "people", "ill", epsilon=1)
        nobody = {name: values[:0] for name, values in TRAIN.items()}
        model = learn(made.recipe, at_hand(made.schema, nobody), seeded(4))
        shares = model.values(made.schema.codes([TEST[each.name] for each in made.schema.attributes]))
        assert np.isfinite(shares).all()
        assert np.allclose(shares.sum(axis=1), 1)


def test_export_holds_every_bins_score(tmp_path: Path) -> None:
    made = plan("forest", policy(tmp_path), "people", "ill", epsilon=1)
    model = learn(made.recipe, at_hand(made.schema, TRAIN), seeded(4))
    assert isinstance(model, Additive)
    kept = json.loads(model.to_json())
    assert [each["name"] for each in kept["features"]] == [each.name for each in made.schema.attributes]
    assert all(len(each["bins"]) == len(each["scores"][0]) for each in kept["features"])


def test_a_counter_with_more_rows_a_person_than_are_paid_for_is_refused(tmp_path: Path) -> None:
    made = plan("bayes", policy(tmp_path), "people", "ill", epsilon=1)
    with pytest.raises(RequestError, match="more rows a person than the plan pays for"):
        learn(made.recipe, at_hand(made.schema, TRAIN, rows_per_person=2), seeded(1))


def test_a_guarantee_for_replaced_values_is_no_budget() -> None:
    with pytest.raises(RequestError, match="a guarantee for added and removed people"):
        Boosting(schema=binary(2), budget=PureDP(epsilon=1))
