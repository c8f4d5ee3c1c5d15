"""Learners on worst-case neighbours: no model tells more than its epsilon, and broken twins are caught.

The neighbours differ in one person, who has several rows. A learner that pays for all of them holds; its twin
is told that a person has one, as if an engine had kept more rows than the plan believes. Choices are audited
by themselves too: the person's row moves one attribute's score by all that the criterion states and leaves
the others as they are; the twin believes a quarter of the sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.attacks.privacy_audit import EpsilonAudit, audit_epsilon
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.additive_model import AdditiveModel
from discreet.mining.attributes import Attribute
from discreet.mining.bin_counters import ArrayCounter
from discreet.mining.boosting import BoostingPlan
from discreet.mining.decision_tree import DecisionTree, Splits
from discreet.mining.model_training import ModelPlan, train_from_counter
from discreet.mining.naive_bayes import NaiveBayesPlan
from discreet.mining.schema import Schema
from discreet.mining.split_criteria import GRID, Criterion, Gini, MajorityCount, SquaredError
from discreet.mining.training_budget import make_noise_budget
from discreet.mining.tree_growth import SELECTIONS, SPLIT_SHARE, TreePlan, grow_tree
from tests.conftest import seeded
from tests.mining.rows import binary
from tests.statistical import FALSE_ALARM

ROWS, MANY = 4, 20
EPSILON = Fraction(1)
DELTA = 1e-3
RUNS, MORE_RUNS = 600, 2_000
SCHEMA = binary(1)
NUMBERS = Schema(
    attributes=SCHEMA.attributes, target=Attribute.numeric("y", 0, 4, bins=4, step=1, has_missing_bin=False)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Remembering(ArrayCounter):
    """Counts what it has counted before only once: a run then costs its mechanisms."""

    known: dict[Any, Exact[Integers]] = field(default_factory=dict)

    def count_cells_by_node(self, splits: Splits) -> Exact[Integers]:
        if splits not in self.known:
            self.known[splits] = ArrayCounter.count_cells_by_node(self, splits)
        return self.known[splits]

    def count_by_node(self, splits: Splits) -> Exact[Integers]:
        if ("in", splits) not in self.known:
            self.known["in", splits] = ArrayCounter.count_by_node(self, splits)
        return self.known["in", splits]


def counter(schema: Schema, rows: list[tuple[int, ...]], claimed: int = ROWS) -> ArrayCounter:
    """Rows of codes, the target last; `claimed` is what a twin believes of a person's rows."""
    table = np.array(rows, np.int64).reshape(len(rows), len(schema.attributes) + 1)
    return Remembering(
        schema=schema, codes=table[:, :-1].astype(np.int16), targets=table[:, -1], rows_per_person=claimed
    )


@dataclass(frozen=True)
class Case:
    """A learner, what others' rows are, and what one person's are."""

    recipe: ModelPlan
    others: tuple[tuple[int, int], ...]
    person: tuple[int, int]
    delta: float = 0.0
    rows: int = ROWS

    def audited(self, *, twin: bool) -> EpsilonAudit:
        paid = 1 if twin else self.rows
        recipe = replace(self.recipe, rows_per_person=paid)
        with_her = counter(recipe.schema, [*self.others, *[self.person] * self.rows], paid)
        without = counter(recipe.schema, list(self.others), paid)
        sides = [_drawing(recipe, each, seeded(seed)) for each, seed in ((with_her, 1), (without, 2))]
        return audit_epsilon(*sides, claimed=EPSILON, delta=self.delta, runs=RUNS, confidence=1 - FALSE_ALARM)


def _drawing(recipe: ModelPlan, rows: ArrayCounter, random: Randomness) -> Callable[[int], list[object]]:
    return lambda runs: [_shown(train_from_counter(recipe, rows, random)) for _ in range(runs)]


def _shown(model: DecisionTree | AdditiveModel) -> object:
    """All that is released, but for what is declared."""
    if isinstance(model, DecisionTree):
        return (
            model.root.rows,
            *model.root.value,
            *(each for child in model.root.children for each in child.value),
        )
    return *model.scores.intercepts.tolist(), *model.scores.table.reshape(-1).tolist()


CASES = {
    "leaves": Case(
        TreePlan(schema=SCHEMA, epsilon=EPSILON, criterion=Gini(), depth=0), ((0, 0),) * 3, (0, 1)
    ),
    "tree": Case(
        TreePlan(schema=SCHEMA, epsilon=EPSILON, criterion=Gini(), depth=1), ((0, 0), (1, 1)) * 3, (0, 1)
    ),
    "number of rows": Case(
        TreePlan(schema=SCHEMA, epsilon=EPSILON, criterion=Gini()), ((0, 0), (1, 1)) * 3, (0, 1)
    ),
    "regression": Case(
        TreePlan(schema=NUMBERS, epsilon=EPSILON, criterion=SquaredError(bins=4), depth=0),
        ((0, 0),) * 3,
        (0, 3),
    ),
    "bayes": Case(NaiveBayesPlan(schema=SCHEMA, epsilon=EPSILON), ((0, 0), (1, 1)) * 20, (0, 1)),
    "pure forest": Case(
        BoostingPlan(schema=SCHEMA, budget=PureDP(epsilon=EPSILON, relation=Relation.PRESENCE), rows=400),
        ((0, 0), (1, 1)) * 200,
        (0, 1),
        rows=MANY,
    ),
    "concentrated forest": Case(
        BoostingPlan(schema=SCHEMA, budget=make_noise_budget("audit", EPSILON, DELTA, None), rows=400),
        ((0, 0), (1, 1)) * 200,
        (0, 1),
        delta=DELTA,
        rows=MANY,
    ),
}


WHOLE = ("tree", "number of rows")
"""Their parts are told apart best one by one: as leaves, and as choices below."""


@pytest.mark.parametrize("name", CASES)
def test_no_model_tells_more_than_its_epsilon(name: str) -> None:
    assert CASES[name].audited(twin=False).holds


@pytest.mark.parametrize("name", [name for name in CASES if name not in WHOLE])
def test_a_twin_that_counts_more_rows_than_it_pays_for_is_caught(name: str) -> None:
    assert not CASES[name].audited(twin=True).holds


# -- Choices ------------------------------------------------------------------------------------------

ATTRIBUTES = 3
EACH = 40
CHOICE = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class Quartered:
    """A criterion that believes a quarter of its sensitivity."""

    over: Criterion

    @property
    def sensitivity(self) -> int:
        return max(1, self.over.sensitivity // 4)

    def score_side(self, counts: Integers) -> Integers:
        return self.over.score_side(counts)


def _choices(criterion: Criterion, selection: str) -> EpsilonAudit:
    """All attributes tell the classes apart; the new row is on the wrong side of the first one alone."""
    schema = binary(ATTRIBUTES)
    growth = TreePlan(
        schema=schema, epsilon=CHOICE / SPLIT_SHARE, criterion=criterion, selection=selection, depth=1
    )
    others = [(kind,) * (ATTRIBUTES + 1) for kind in (0, 1) for _ in range(EACH)]
    person = (0, *[1] * ATTRIBUTES)
    sides = [_chosen(growth, rows, seed) for rows, seed in ((others, 3), ([*others, person], 4))]
    return audit_epsilon(*sides, claimed=CHOICE, runs=MORE_RUNS, confidence=1 - FALSE_ALARM)


def _chosen(growth: TreePlan, rows: list[tuple[int, ...]], seed: int) -> Callable[[int], list[object]]:
    random, over = seeded(seed), counter(growth.schema, rows, 1)

    def drawn(runs: int) -> list[object]:
        return [f"{grow_tree(growth, over, random)[0].levels[0][0].attribute}" for _ in range(runs)]

    return drawn


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_choice_tells_no_more_than_its_epsilon(selection: str) -> None:
    assert _choices(Gini(), selection).holds


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_choice_that_believes_a_quarter_of_the_sensitivity_is_caught(selection: str) -> None:
    assert not _choices(Quartered(over=Gini()), selection).holds


def test_a_choice_by_the_commonest_classes_holds_too() -> None:
    assert _choices(MajorityCount(), "exponential").holds
    assert MajorityCount().sensitivity < Gini().sensitivity / GRID
