"""Model training: planned from policy and parameters alone, then trained from counts.

    plan_training(…)                    the plan and its cost; no data is read
    train_model(plan, engine, random)   the model; the budget is reserved before this is called

A plan knows its guarantee, every statement it may send is one of its counter's, and training cannot spend
more than it says. `tree`, `regression` and `bayes` are pure, `forest` is pure or concentrated.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.errors import InvalidParameterError, RequestError
from discreet.core.guarantees import Guarantee, PureDP, convert_guarantee
from discreet.core.number_checks import Real
from discreet.core.policy import Policy, Table
from discreet.core.randomness import Randomness
from discreet.mining import budget
from discreet.mining.additive import Additive
from discreet.mining.attributes import BINS
from discreet.mining.bayes import Bayes, count_classes
from discreet.mining.boosting import FINEST, Boosting, boost, deviation
from discreet.mining.counting import Counter, EngineCounter, Progress, require_countable
from discreet.mining.criteria import Squared, criterion
from discreet.mining.growing import Growth, grow, leaf_counts
from discreet.mining.regressing import predicting, release_leaves
from discreet.mining.schema import Schema
from discreet.mining.tree import Tree, classifying

Recipe = Growth | Boosting | Bayes
Model = Tree | Additive

TREE_BINS = 64
TARGET_BINS = 32
CRITERION, SELECTION = "gini", "permute-and-flip"
KINDS = {"tree": TREE_BINS, "forest": FINEST, "bayes": BINS, "regression": TREE_BINS}
"""The kinds of models, and how many bins an ordered attribute has: choosing among more costs hardly anything,
and a forest takes them together as its noise calls for."""

OPTIONS = {
    "tree": ("depth", "criterion", "selection"),
    "regression": ("depth", "selection"),
    "forest": (),
    "bayes": (),
}
"""The options of each kind, besides the budget."""


@dataclass(frozen=True, kw_only=True)
class MiningPlan:
    """The model to train, its table, and its cost."""

    kind: str
    table: str
    recipe: Recipe
    promise: Promise | None
    most: int | None

    @property
    def schema(self) -> Schema:
        return self.recipe.schema

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of training, for the promise's secret; without one, for added and removed people."""
        if self.promise is None:
            return self.recipe.guarantee
        return convert_guarantee(self.recipe.guarantee, self.promise.secret)


def plan(
    kind: str,
    policy: Policy,
    table: str,
    target: str,
    *,
    epsilon: Real | None = None,
    delta: Real = 0,
    promise: Promise | None = None,
    features: Collection[str] | None = None,
    logarithmic: Collection[str] = (),
    bins: int | None = None,
    depth: int | None = None,
    criterion: str | None = None,
    selection: str | None = None,
) -> MiningPlan:
    """Return the plan, or refuse; reads no data."""
    if kind not in KINDS:
        raise InvalidParameterError(f"mine: kind must be one of {', '.join(KINDS)}; got {kind}.")
    _require_used(kind, depth=depth, criterion=criterion, selection=selection)
    declared = _table(policy, table)
    number = bins if bins is not None else KINDS[kind]
    spread = dict.fromkeys(declared.columns, number)
    if kind == "regression":
        spread[target] = TARGET_BINS
    schema = Schema.of_table(
        declared,
        target,
        features=features,
        bins=spread,
        logarithmic=logarithmic,
        classes=kind != "regression",
    )
    require_countable(schema)
    recipe = recipe_of(
        kind,
        schema,
        epsilon=epsilon,
        delta=delta,
        promise=promise,
        rows=declared.rows,
        rows_per_person=declared.rows_per_person,
        depth=depth,
        criterion_name=criterion or CRITERION,
        selection=selection or SELECTION,
    )
    most = declared.rows_per_person if declared.has_person_key else None
    return MiningPlan(kind=kind, table=table, recipe=recipe, promise=promise, most=most)


def allowed_of(kind: str, *, epsilon: Real | None, delta: Real, promise: Promise | None) -> budget.Budget:
    """Return the budget of a model of this kind."""
    if kind == "forest":
        return budget.for_noise("mine", epsilon, delta, promise)
    if delta:
        raise InvalidParameterError(f"mine: a {kind} spends a pure epsilon; delta must be 0.")
    return budget.pure("mine", epsilon, promise)


def recipe_of(
    kind: str,
    schema: Schema,
    *,
    epsilon: Real | None,
    delta: Real,
    promise: Promise | None,
    rows: int | None,
    rows_per_person: int = 1,
    depth: int | None = None,
    criterion_name: str = CRITERION,
    selection: str = SELECTION,
) -> Recipe:
    """Return the recipe of a model of this kind, within the budget."""
    allowed = allowed_of(kind, epsilon=epsilon, delta=delta, promise=promise)
    if kind == "forest":
        return Boosting(schema=schema, budget=allowed, rows=rows, rows_per_person=rows_per_person)
    assert isinstance(allowed, PureDP)
    spent = Fraction(allowed.epsilon)
    if kind == "bayes":
        return Bayes(schema=schema, epsilon=spent, rows_per_person=rows_per_person)
    split_by = Squared(bins=schema.classes) if kind == "regression" else criterion(criterion_name, rows)
    return Growth(
        schema=schema,
        epsilon=spent,
        criterion=split_by,
        selection=selection,
        depth=depth,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def train(made: MiningPlan, engine: Engine, random: Randomness, *, progress: Progress | None = None) -> Model:
    """Train the model of a plan from the engine's counts; `progress` receives the share done."""
    counter = EngineCounter(engine=engine, schema=made.schema, table=made.table, most=made.most)
    return learn(made.recipe, counter, random, progress=progress)


def learn(recipe: Recipe, counter: Counter, random: Randomness, *, progress: Progress | None = None) -> Model:
    """Train the model of a recipe; refuse a counter with more rows per person than the recipe allows."""
    if counter.rows_per_person > recipe.rows_per_person:
        raise RequestError("mine: the counter counts more rows a person than the plan pays for.")
    told = progress or (lambda _: None)
    told(0.0)
    if isinstance(recipe, Growth):
        return _tree(recipe, counter, random, told)
    if isinstance(recipe, Boosting):
        scores = boost(recipe, counter, random, told)
    else:
        scores = count_classes(recipe, counter, random)
    return Additive(schema=recipe.schema, scores=scores, guarantee=recipe.guarantee)


def _tree(growth: Growth, counter: Counter, random: Randomness, told: Progress) -> Tree:
    splits, depth = grow(growth, counter, random, told)
    if isinstance(growth.criterion, Squared):
        assert growth.schema.target is not None
        root = predicting(splits, release_leaves(growth, counter, splits, random), growth.schema.target)
    else:
        counts = leaf_counts(growth, counter, splits, random).value
        root = classifying(splits, counts, deviation(growth.noise(depth)))
    return Tree(schema=growth.schema, root=root, guarantee=growth.guarantee)


def _require_used(kind: str, **given: object) -> None:
    """Refuse an option that this kind of model ignores."""
    for name, value in given.items():
        if value is not None and name not in OPTIONS[kind]:
            of = " and ".join(each for each, names in OPTIONS.items() if name in names)
            raise InvalidParameterError(
                f"mine: {name} says nothing of {kind}; it is an option of {of}.", hint="Leave it out."
            )


def _table(policy: Policy, name: str) -> Table:
    if name not in policy.tables:
        raise RequestError(f"mine: the policy has no table {name}.", hint="Name one that it declares.")
    if policy.tables[name].person == "none":
        raise RequestError(f"mine: {name} is about nobody.", hint="Learn from it directly.")
    return policy.tables[name]
