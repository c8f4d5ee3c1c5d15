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
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.table_entry import Table
from discreet.mining import training_budget
from discreet.mining.additive_model import AdditiveModel
from discreet.mining.attributes import DEFAULT_BINS
from discreet.mining.bin_counters import Counter, EngineCounter, Progress, require_countable
from discreet.mining.boosting import FINEST, BoostingPlan, boost_scores, compute_deviation
from discreet.mining.decision_tree import DecisionTree, build_classification_tree
from discreet.mining.naive_bayes import NaiveBayesPlan, release_class_scores
from discreet.mining.regression_tree import build_regression_tree, release_leaves
from discreet.mining.schema import Schema
from discreet.mining.split_criteria import SquaredError, make_criterion
from discreet.mining.tree_growth import TreePlan, grow_tree, release_leaf_counts

ModelPlan = TreePlan | BoostingPlan | NaiveBayesPlan
Model = DecisionTree | AdditiveModel

TREE_BINS = 64
TARGET_BINS = 32
CRITERION, SELECTION = "gini", "permute-and-flip"
KINDS = {"tree": TREE_BINS, "forest": FINEST, "bayes": DEFAULT_BINS, "regression": TREE_BINS}
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
class TrainingPlan:
    """The model to train, its table, and its cost."""

    kind: str
    table: str
    model_plan: ModelPlan
    promise: Promise | None
    max_rows_per_person: int | None

    @property
    def schema(self) -> Schema:
        return self.model_plan.schema

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of training, for the promise's secret; without one, for added and removed people."""
        if self.promise is None:
            return self.model_plan.guarantee
        return convert_guarantee(self.model_plan.guarantee, self.promise.secret)


def plan_training(
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
) -> TrainingPlan:
    """Return the plan, or refuse; reads no data."""
    if kind not in KINDS:
        raise InvalidParameterError(f"train: `kind=` must be one of {', '.join(KINDS)}; got {kind}.")
    _require_applicable_options(kind, depth=depth, criterion=criterion, selection=selection)
    declared = _get_table(policy, table)
    number = bins if bins is not None else KINDS[kind]
    spread = dict.fromkeys(declared.columns, number)
    if kind == "regression":
        spread[target] = TARGET_BINS
    schema = Schema.from_table(
        declared,
        target,
        features=features,
        bins=spread,
        logarithmic=logarithmic,
        is_classification=kind != "regression",
    )
    require_countable(schema)
    recipe = build_model_plan(
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
    return TrainingPlan(kind=kind, table=table, model_plan=recipe, promise=promise, max_rows_per_person=most)


def compute_budget(
    kind: str, *, epsilon: Real | None, delta: Real, promise: Promise | None
) -> training_budget.Budget:
    """Return the budget of a model of this kind."""
    if kind == "forest":
        return training_budget.make_noise_budget("train", epsilon, delta, promise)
    if delta:
        raise InvalidParameterError(f"train: `delta=` must be 0 for a {kind}, which spends a pure epsilon.")
    return training_budget.make_pure_budget("train", epsilon, promise)


def build_model_plan(
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
) -> ModelPlan:
    """Return the recipe of a model of this kind, within the budget."""
    allowed = compute_budget(kind, epsilon=epsilon, delta=delta, promise=promise)
    if kind == "forest":
        return BoostingPlan(schema=schema, budget=allowed, rows=rows, rows_per_person=rows_per_person)
    assert isinstance(allowed, PureDP)
    spent = Fraction(allowed.epsilon)
    if kind == "bayes":
        return NaiveBayesPlan(schema=schema, epsilon=spent, rows_per_person=rows_per_person)
    split_by = (
        SquaredError(bins=schema.classes) if kind == "regression" else make_criterion(criterion_name, rows)
    )
    return TreePlan(
        schema=schema,
        epsilon=spent,
        criterion=split_by,
        selection=selection,
        depth=depth,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def train_model(
    plan: TrainingPlan, engine: Engine, random: Randomness, *, progress: Progress | None = None
) -> Model:
    """Train the model of a plan from the engine's counts; `progress` receives the share done."""
    counter = EngineCounter(
        engine=engine, schema=plan.schema, table=plan.table, max_rows_per_person=plan.max_rows_per_person
    )
    return train_from_counter(plan.model_plan, counter, random, progress=progress)


def train_from_counter(
    plan: ModelPlan, counter: Counter, random: Randomness, *, progress: Progress | None = None
) -> Model:
    """Train the model of a recipe; refuse a counter with more rows per person than the recipe allows."""
    if counter.rows_per_person > plan.rows_per_person:
        raise RequestError("train: the counter counts more rows a person than the plan pays for.")
    told = progress or (lambda _: None)
    told(0.0)
    if isinstance(plan, TreePlan):
        return _train_tree(plan, counter, random, told)
    if isinstance(plan, BoostingPlan):
        scores = boost_scores(plan, counter, random, told)
    else:
        scores = release_class_scores(plan, counter, random)
    return AdditiveModel(schema=plan.schema, scores=scores, guarantee=plan.guarantee)


def _train_tree(
    plan: TreePlan, counter: Counter, random: Randomness, report_progress: Progress
) -> DecisionTree:
    splits, depth = grow_tree(plan, counter, random, report_progress)
    if isinstance(plan.criterion, SquaredError):
        assert plan.schema.target is not None
        root = build_regression_tree(
            splits, release_leaves(plan, counter, splits, random), plan.schema.target
        )
    else:
        counts = release_leaf_counts(plan, counter, splits, random).value
        root = build_classification_tree(splits, counts, compute_deviation(plan.make_leaf_noise(depth)))
    return DecisionTree(schema=plan.schema, root=root, guarantee=plan.guarantee)


def _require_applicable_options(kind: str, **options: object) -> None:
    """Refuse an option that this kind of model ignores."""
    for name, value in options.items():
        if value is not None and name not in OPTIONS[kind]:
            of = " and ".join(each for each, names in OPTIONS.items() if name in names)
            raise InvalidParameterError(
                f"train: {name} does not apply to {kind}; it is an option of {of}.", hint="Leave it out."
            )


def _get_table(policy: Policy, name: str) -> Table:
    if name not in policy.tables:
        raise RequestError(f"train: the policy has no table {name}.", hint="Name one that it declares.")
    if policy.tables[name].person == "none":
        raise RequestError(f"train: {name} is about nobody.", hint="Learn from it directly.")
    return policy.tables[name]
