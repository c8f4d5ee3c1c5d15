"""Trees: what they spend, what they learn, and what of them is shown."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.belief import Promise
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.mining.decision_tree import (
    DecisionTree,
    Node,
    Split,
    Splits,
    build_classification_tree,
    iterate_nodes,
)
from discreet.mining.model_training import TrainingPlan, plan_training, train_model
from discreet.mining.schema import Schema
from discreet.mining.split_criteria import Gini
from discreet.mining.tree_growth import ROW_COUNT_SHARE, SELECTIONS, TreePlan, choose_depth, grow_tree
from discreet.rendering.tree_drawing import draw_tree
from tests.conftest import seeded
from tests.mining.rows import at_hand, binary, drawn, engine, policy, written

ROWS = drawn(6_000)


def learned(
    folder: Path, kind: str = "tree", target: str = "ill", **options: Any
) -> tuple[TrainingPlan, DecisionTree]:
    written(folder, ROWS)
    terms = policy(folder)
    made = plan_training(kind, terms, "people", target, **{"epsilon": 2, **options})
    with engine(folder, terms) as over:
        model = train_model(made, over, seeded(5))
    assert isinstance(model, DecisionTree)
    return made, model


def right(model: DecisionTree, rows: dict[str, Any]) -> float:
    codes = model.schema.encode([rows[each.name] for each in model.schema.attributes])
    assert model.schema.target is not None
    words = np.array(model.schema.target.values)[model.predict(codes).argmax(axis=1)]
    return float(np.mean(words[rows["ill"] != "?"] == rows["ill"][rows["ill"] != "?"]))


@pytest.mark.parametrize("depth", [None, 0, 1, 5])
@pytest.mark.parametrize("rows", [None, 5_000])
def test_levels_leaves_and_the_number_of_rows_add_up_to_epsilon(depth: int | None, rows: int | None) -> None:
    growth = TreePlan(schema=binary(2), epsilon=Fraction(7, 10), criterion=Gini(), depth=depth, rows=rows)
    for grown in (depth,) if depth is not None else (1, 4, 8):
        parts = [growth.make_split_selector(level, grown).epsilon for level in range(grown)]
        parts += [
            growth.make_leaf_noise(grown).epsilon,
            *([growth.row_count_noise.epsilon] if growth.row_count_noise else []),
        ]
        assert sum(parts) == growth.epsilon
    assert growth.guarantee == PureDP(epsilon=Fraction(7, 10), relation=Relation.PRESENCE)


def test_the_number_of_rows_is_paid_for_only_where_it_is_needed() -> None:
    def counted(**known: Any) -> object:
        return TreePlan(schema=binary(2), epsilon=Fraction(1), criterion=Gini(), **known).row_count_noise

    assert counted(rows=10) is None
    assert counted(depth=3) is None
    paid = counted()
    assert paid is not None
    assert paid.epsilon == ROW_COUNT_SHARE  # type: ignore[attr-defined]


def test_a_persons_rows_widen_every_noise() -> None:
    one, four = (
        TreePlan(schema=binary(2), epsilon=Fraction(1), criterion=Gini(), rows=9, rows_per_person=each)
        for each in (1, 4)
    )
    assert four.make_leaf_noise(3).rate * 4 == one.make_leaf_noise(3).rate
    assert four.make_split_selector(0, 3).rate * 4 == one.make_split_selector(0, 3).rate


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("criterion", ["gini", "max"])
def test_a_tree_finds_what_the_rows_say(selection: str, criterion: str, tmp_path: Path) -> None:
    _, model = learned(
        tmp_path, selection=selection, criterion=criterion, depth=4, features=["age", "work", "pay"]
    )
    commonest = float(np.mean(ROWS["ill"][ROWS["ill"] != "?"] == "no"))
    assert right(model, drawn(3_000, seed=8)) > max(commonest, 1 - commonest) + 0.08


def test_gain_needs_declared_rows_and_then_learns(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="needs a declared bound"):
        plan_training("tree", policy(tmp_path), "people", "ill", epsilon=1, criterion="gain")
    made = plan_training(
        "tree", policy(tmp_path, rows=6_000), "people", "ill", epsilon=8, criterion="gain", depth=3
    )
    assert isinstance(made.model_plan, TreePlan)
    schema = made.schema
    splits, _ = grow_tree(made.model_plan, at_hand(schema, ROWS), seeded(1))
    assert {schema.attributes[each.attribute].name for each in splits.levels[0]} <= {"age", "work"}


def test_deeper_for_more_rows_and_more_epsilon_and_within_bounds() -> None:
    depths = [choose_depth(1, rows) for rows in (1, 10**3, 10**4, 10**5, 10**9)]
    assert depths == sorted(depths)
    assert depths[0] == 1
    assert depths[-1] == 8
    assert choose_depth(1, 10**5, rows_per_person=16) < choose_depth(1, 10**5)


def test_splits_follow_from_declared_bins_even_without_rows() -> None:
    """An empty table grows a whole tree, so that its shape does not tell that nobody is there."""
    schema = binary(3)
    nobody = at_hand(schema, {each: [] for each in ("x0", "x1", "x2", "y")})
    splits, depth = grow_tree(
        TreePlan(schema=schema, epsilon=Fraction(1), criterion=Gini(), depth=3), nobody, seeded(2)
    )
    assert depth == len(splits.levels) == 3
    on_the_way = [splits.levels[0][0].attribute, splits.levels[1][0].attribute, splits.levels[2][0].attribute]
    assert len(set(on_the_way)) == 3  # what was asked for above divides nothing any more


def test_a_tree_deeper_than_its_bins_sends_rows_on() -> None:
    schema = binary(1)
    rows = {"x0": ["0", "1"] * 50, "y": ["no", "yes"] * 50}
    splits, _ = grow_tree(
        TreePlan(schema=schema, epsilon=Fraction(9), criterion=Gini(), depth=3),
        at_hand(schema, rows),
        seeded(2),
    )
    counts = at_hand(schema, rows).count_by_node(splits).secret
    assert counts.sum() == 100
    assert sorted(counts[counts.sum(axis=1) > 0].tolist()) == [[0, 50], [50, 0]]


def test_pruning_lets_the_parent_decide_where_noise_prevails() -> None:
    level = (Split(attribute=0, first=frozenset({0})),)
    counts = np.array([[400, 100], [1, 2]])
    quiet = build_classification_tree(Splits(levels=(level,)), counts, 0.01)
    noisy = build_classification_tree(Splits(levels=(level,)), counts, 50.0)
    assert [child.predicted_class for child in quiet.children] == [0, 1]
    assert noisy.predicted_class == 0
    assert {each.predicted_class for each in iterate_nodes(noisy)} == {0}


def test_pruning_joins_leaves_that_predict_the_same_but_not_those_that_differ() -> None:
    level = (Split(attribute=0, first=frozenset({0})),)
    alike = build_classification_tree(Splits(levels=(level,)), np.array([[400, 100], [390, 110]]), 1.0)
    differ = build_classification_tree(Splits(levels=(level,)), np.array([[400, 100], [100, 400]]), 1.0)
    assert not alike.children
    assert len(differ.children) == 2


def test_export_comes_back_and_predicts_the_same(tmp_path: Path) -> None:
    made, model = learned(tmp_path, depth=4)
    text = model.to_json()
    kept = json.loads(text)
    assert (
        len(kept["children_left"])
        == len(kept["feature"])
        == len(kept["value"])
        == sum(1 for _ in iterate_nodes(model.root))
    )
    again = DecisionTree.from_json(text, made.schema, model.guarantee)
    codes = made.schema.encode([ROWS[each.name] for each in made.schema.attributes])
    assert (again.predict(codes) == model.predict(codes)).all()
    with pytest.raises(InvalidParameterError, match="no tree over these attributes"):
        DecisionTree.from_json(text, binary(2), model.guarantee)
    with pytest.raises(InvalidParameterError, match="no tree over these attributes"):
        DecisionTree.from_json("[]", made.schema, model.guarantee)


def test_the_picture_has_a_box_for_every_node_and_escapes_words(tmp_path: Path) -> None:
    _, model = learned(tmp_path, depth=3)
    schema = Schema(attributes=model.schema.attributes, target=binary(1, ("<a>", "b&c")).target)
    drawing = ET.fromstring(
        draw_tree(DecisionTree(schema=schema, root=model.root, guarantee=model.guarantee))
    )
    boxes = [each for each in drawing.iter() if each.get("rx") == "6"]
    assert len(boxes) == sum(1 for _ in iterate_nodes(model.root))
    words = "".join(drawing.itertext())
    assert "<a>" in words or "b&c" in words


def test_a_single_leaf_can_be_drawn_and_exported() -> None:
    lone = DecisionTree(schema=binary(1), root=Node(rows=3.0, value=(0.5, 0.5)), guarantee=PureDP(epsilon=1))
    assert ET.fromstring(draw_tree(lone)).tag.endswith("svg")
    assert lone.depth == 0
    assert json.loads(lone.to_json())["feature"] == [-1]


def test_a_regression_tree_predicts_numbers_in_the_targets_range(tmp_path: Path) -> None:
    made, model = learned(tmp_path, kind="regression", target="age", epsilon=5, depth=3)
    codes = made.schema.encode([ROWS[each.name] for each in made.schema.attributes])
    predicted, truth = model.predict(codes)[:, 0], np.clip(ROWS["age"], 17, 90)
    assert 17 <= predicted.min() <= predicted.max() <= 90
    assert np.mean((predicted - truth) ** 2) < np.var(truth)


def test_a_value_promise_trains_at_half_and_costs_the_whole(tmp_path: Path) -> None:
    promise = Promise(0.01, 0.05)
    made = plan_training("tree", policy(tmp_path), "people", "ill", promise=promise)
    assert made.model_plan.guarantee.cap == pytest.approx(promise.epsilon / 2)
    assert made.model_plan.guarantee.relation is Relation.PRESENCE
    assert made.guarantee.cap == pytest.approx(promise.epsilon)
    assert made.guarantee.relation is Relation.VALUE
    assert promise.admits(made.guarantee)
    part = plan_training("tree", policy(tmp_path), "people", "ill", promise=promise, epsilon=1)
    assert part.model_plan.guarantee.cap == 0.5


def test_a_presence_promise_trains_at_its_epsilon(tmp_path: Path) -> None:
    promise = Promise(0.01, 0.05, secret="presence")
    made = plan_training("tree", policy(tmp_path), "people", "ill", promise=promise)
    assert made.guarantee.cap == pytest.approx(promise.epsilon)
    assert made.guarantee.relation is Relation.PRESENCE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon=` must be a finite number above 0"),
        ({"epsilon": None}, "`epsilon=` or `promise=` must be given"),
        ({"depth": -1}, "`depth=` must be an integer of at least 0"),
        ({"depth": 99}, "`depth=` must be at most 16"),
        (
            {"selection": "coin"},
            "`selection=` must be one of exponential, permute-and-flip, laplace; got coin",
        ),
        ({"delta": 0.1}, "spends a pure epsilon"),
        ({"features": ["nobody"]}, "no column nobody"),
    ],
)
def test_what_cannot_be_planned_is_refused_before_data_is_read(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError, match=message):
        plan_training("tree", policy(tmp_path), "people", "ill", **{"epsilon": 1, **options})


def test_kinds_and_tables_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="`kind=` must be one of tree, forest, bayes, regression"):
        plan_training("bush", policy(tmp_path), "people", "ill", epsilon=1)
    with pytest.raises(RequestError, match="has no table animals"):
        plan_training("tree", policy(tmp_path), "animals", "ill", epsilon=1)
    with pytest.raises(RequestError, match="about nobody"):
        plan_training(
            "tree",
            policy(tmp_path, person="row").model_copy(update={"tables": _public(tmp_path)}),
            "people",
            "ill",
            epsilon=1,
        )


def _public(folder: Path) -> dict[str, Any]:
    table = policy(folder).tables["people"]
    return {"people": table.model_copy(update={"person": "none"})}
