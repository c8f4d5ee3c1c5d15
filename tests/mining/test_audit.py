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

from discreet.attacks.audit import Audited, audit
from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.randomness import Randomness
from discreet.mechanisms.sampling import Integers
from discreet.mining.additive import Additive
from discreet.mining.attributes import Attribute
from discreet.mining.bayes import Bayes
from discreet.mining.boosting import Boosting
from discreet.mining.budget import for_noise
from discreet.mining.counting import ArrayCounter
from discreet.mining.criteria import GRID, Criterion, Gini, Max, Squared
from discreet.mining.growing import SELECTIONS, SPLITTING, Growth, grow
from discreet.mining.learning import Recipe, learn
from discreet.mining.schema import Schema
from discreet.mining.splits import Splits
from discreet.mining.tree import Tree
from tests.conftest import seeded
from tests.mining.rows import binary
from tests.statistical import FALSE_ALARM

ROWS, MANY = 4, 20
EPSILON = Fraction(1)
DELTA = 1e-3
RUNS, MORE_RUNS = 600, 2_000
SCHEMA = binary(1)
NUMBERS = Schema(
    attributes=SCHEMA.attributes, target=Attribute.numeric("y", 0, 4, bins=4, step=1, missing=False)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Remembering(ArrayCounter):
    """Counts what it has counted before only once: a run then costs its mechanisms."""

    known: dict[Any, Exact[Integers]] = field(default_factory=dict)

    def by_node(self, splits: Splits) -> Exact[Integers]:
        if splits not in self.known:
            self.known[splits] = ArrayCounter.by_node(self, splits)
        return self.known[splits]

    def in_nodes(self, splits: Splits) -> Exact[Integers]:
        if ("in", splits) not in self.known:
            self.known["in", splits] = ArrayCounter.in_nodes(self, splits)
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

    recipe: Recipe
    others: tuple[tuple[int, int], ...]
    person: tuple[int, int]
    delta: float = 0.0
    rows: int = ROWS

    def audited(self, *, twin: bool) -> Audited:
        paid = 1 if twin else self.rows
        recipe = replace(self.recipe, rows_per_person=paid)
        with_her = counter(recipe.schema, [*self.others, *[self.person] * self.rows], paid)
        without = counter(recipe.schema, list(self.others), paid)
        sides = [_drawing(recipe, each, seeded(seed)) for each, seed in ((with_her, 1), (without, 2))]
        return audit(*sides, claimed=EPSILON, delta=self.delta, runs=RUNS, confidence=1 - FALSE_ALARM)


def _drawing(recipe: Recipe, rows: ArrayCounter, random: Randomness) -> Callable[[int], list[object]]:
    return lambda runs: [_shown(learn(recipe, rows, random)) for _ in range(runs)]


def _shown(model: Tree | Additive) -> object:
    """All that is released, but for what is declared."""
    if isinstance(model, Tree):
        return (
            model.root.rows,
            *model.root.value,
            *(each for child in model.root.children for each in child.value),
        )
    return *model.scores.beforehand.tolist(), *model.scores.table.reshape(-1).tolist()


CASES = {
    "leaves": Case(Growth(schema=SCHEMA, epsilon=EPSILON, criterion=Gini(), depth=0), ((0, 0),) * 3, (0, 1)),
    "tree": Case(
        Growth(schema=SCHEMA, epsilon=EPSILON, criterion=Gini(), depth=1), ((0, 0), (1, 1)) * 3, (0, 1)
    ),
    "number of rows": Case(
        Growth(schema=SCHEMA, epsilon=EPSILON, criterion=Gini()), ((0, 0), (1, 1)) * 3, (0, 1)
    ),
    "regression": Case(
        Growth(schema=NUMBERS, epsilon=EPSILON, criterion=Squared(bins=4), depth=0), ((0, 0),) * 3, (0, 3)
    ),
    "bayes": Case(Bayes(schema=SCHEMA, epsilon=EPSILON), ((0, 0), (1, 1)) * 20, (0, 1)),
    "pure forest": Case(
        Boosting(schema=SCHEMA, budget=PureDP(epsilon=EPSILON, relation=Relation.PRESENCE), rows=400),
        ((0, 0), (1, 1)) * 200,
        (0, 1),
        rows=MANY,
    ),
    "concentrated forest": Case(
        Boosting(schema=SCHEMA, budget=for_noise("audit", EPSILON, DELTA, None), rows=400),
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

    def terms(self, counts: Integers) -> Integers:
        return self.over.terms(counts)


def _choices(criterion: Criterion, selection: str) -> Audited:
    """All attributes tell the classes apart; the new row is on the wrong side of the first one alone."""
    schema = binary(ATTRIBUTES)
    growth = Growth(
        schema=schema, epsilon=CHOICE / SPLITTING, criterion=criterion, selection=selection, depth=1
    )
    others = [(kind,) * (ATTRIBUTES + 1) for kind in (0, 1) for _ in range(EACH)]
    person = (0, *[1] * ATTRIBUTES)
    sides = [_chosen(growth, rows, seed) for rows, seed in ((others, 3), ([*others, person], 4))]
    return audit(*sides, claimed=CHOICE, runs=MORE_RUNS, confidence=1 - FALSE_ALARM)


def _chosen(growth: Growth, rows: list[tuple[int, ...]], seed: int) -> Callable[[int], list[object]]:
    random, over = seeded(seed), counter(growth.schema, rows, 1)

    def drawn(runs: int) -> list[object]:
        return [f"{grow(growth, over, random)[0].levels[0][0].attribute}" for _ in range(runs)]

    return drawn


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_choice_tells_no_more_than_its_epsilon(selection: str) -> None:
    assert _choices(Gini(), selection).holds


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_choice_that_believes_a_quarter_of_the_sensitivity_is_caught(selection: str) -> None:
    assert not _choices(Quartered(over=Gini()), selection).holds


def test_a_choice_by_the_commonest_classes_holds_too() -> None:
    assert _choices(Max(), "exponential").holds
    assert Max().sensitivity < Gini().sensitivity / GRID
