"""Training of models: planned, charged, trained, and stored like an answer.

    plan (no data) → a stored model of the same request is free → reserve → the engine counts, level by level
    → mechanisms → settle

Epsilon is a part of the promise's budget, for the promise's secret, as for a question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from discreet.belief.belief_update import Belief
from discreet.core.html_summary import build_facts, build_summary
from discreet.core.number_checks import Real
from discreet.mining.model_training import CRITERION, SELECTION, TrainingPlan, plan_training, train_model
from discreet.services.curator import Curator
from discreet.services.progress import ProgressCallback
from discreet.services.released_tables import describe_cost
from discreet.services.request_fields import COST_PANEL, CommandLine, accept_number, split_names
from discreet.services.stored_releases import release_or_replay, resolve_epsilon

# Part of the key under which a ledger stores models. The command was called `mine` once: under another key, a
# model of an older ledger would be charged a second time.
STORED_VERB = "mine"
MODEL_PANEL = "Model"


class TrainRequest(BaseModel):
    """A request to train a model: its kind, table, target, features and budget."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    kind: Annotated[
        str, Field(description="tree, forest, bayes or regression."), CommandLine(is_argument=True)
    ]
    table: Annotated[str, Field(description="A table of the policy."), CommandLine(is_argument=True)]
    target: Annotated[
        str, Field(description="The column to predict."), CommandLine(panel=MODEL_PANEL, metavar="COLUMN")
    ]
    epsilon: Annotated[
        Real | None,
        Field(description="The epsilon that the model may cost."),
        *accept_number("`epsilon=`"),
        CommandLine(panel=COST_PANEL),
    ] = None
    delta: Annotated[
        Real,
        Field(description="For a forest, if the promise has a tail."),
        *accept_number("`delta=`", nullable=False),
        CommandLine(panel=COST_PANEL),
    ] = 0
    features: Annotated[
        tuple[str, ...] | None,
        Field(description="Columns to learn from; all by default."),
        CommandLine(
            typed=str, parse=lambda text: split_names(text) or None, panel=MODEL_PANEL, metavar="A,B"
        ),
    ] = None
    logarithmic: Annotated[
        tuple[str, ...],
        Field(description="Columns to divide on a log scale."),
        CommandLine(flags=("--log",), typed=str, parse=split_names, panel=MODEL_PANEL, metavar="A,B"),
    ] = ()
    depth: Annotated[
        int | None,
        Field(description="The depth of a tree; by default, chosen from the rows and epsilon."),
        CommandLine(panel=MODEL_PANEL),
    ] = None
    criterion: Annotated[
        str | None,
        Field(description="The score of a tree's splits; gini by default."),
        CommandLine(panel=MODEL_PANEL, metavar="gini|max|gain"),
    ] = None
    selection: Annotated[
        str | None,
        Field(description="How a tree selects splits: exponential, permute-and-flip or laplace."),
        CommandLine(panel=MODEL_PANEL, metavar="NAME"),
    ] = None

    @property
    def ledger_text(self) -> str:
        """The text of the ledger entry."""
        return f"train {self.kind} {self.table} --target {self.target}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TrainedModel:
    """A released model with its cost; `model_json` is the model as JSON."""

    plan: TrainingPlan
    model_json: str
    epsilon: Real
    delta: Real
    belief: Belief
    sentence: str
    entry: int
    repeated: bool

    def __repr__(self) -> str:
        return f"<TrainedModel {self._describe_subject()}: {self._describe_cost()}>"

    def _repr_html_(self) -> str:
        facts = [("cost", self._describe_cost()), ("belief", self.sentence)]
        return build_summary(build_facts(facts, caption=f"Model: {self._describe_subject()}"))

    def _describe_subject(self) -> str:
        return f"{self.plan.kind} over {self.plan.table}"

    def _describe_cost(self) -> str:
        return describe_cost(self.epsilon, self.delta, self.entry, repeated=self.repeated)

    @property
    def model(self) -> dict[str, Any]:
        """The model as plain data."""
        found: dict[str, Any] = json.loads(self.model_json)
        return found


def plan_model(curator: Curator, request: TrainRequest) -> TrainingPlan:
    """Return the plan of a model and its cost; reads no data."""
    if request.epsilon is None and curator.policy.epsilon is None:
        # a misspelled name is refused first: no epsilon would help it
        plan_model(curator, request.model_copy(update={"epsilon": curator.promise.epsilon}))
    return plan_training(
        request.kind,
        curator.policy,
        request.table,
        request.target,
        epsilon=resolve_epsilon(curator, request.epsilon, "train"),
        delta=request.delta,
        promise=curator.promise,
        features=request.features,
        logarithmic=request.logarithmic,
        depth=request.depth,
        criterion=request.criterion,
        selection=request.selection,
    )


def _resolve_defaults(request: TrainRequest) -> dict[str, str]:
    """Return criterion and selection with defaults applied, so that naming a default repeats a request."""
    return {"criterion": request.criterion or CRITERION, "selection": request.selection or SELECTION}


def train_private_model(
    curator: Curator, request: TrainRequest, report_progress: ProgressCallback
) -> TrainedModel:
    """Charge and train a model; repeating the same request is free for the analyst."""
    made, epsilon = plan_model(curator, request), resolve_epsilon(curator, request.epsilon, "train")

    def report_share(share: float) -> None:
        report_progress(f"learning a {request.kind}" if request.kind != "bayes" else "learning", share)

    found = release_or_replay(
        curator,
        "train",
        request.ledger_text,
        request.model_dump() | {"epsilon": epsilon} | _resolve_defaults(request),
        made.guarantee,
        lambda engine, random: train_model(made, engine, random, progress=report_share).to_json(),
        serialize=str.encode,
        deserialize=bytes.decode,
        stored_verb=STORED_VERB,
    )
    return TrainedModel(
        plan=made,
        model_json=found.release,
        epsilon=epsilon,
        delta=request.delta,
        belief=curator.ledger.compute_belief(analyst=curator.belief_scope),
        sentence=curator.ledger.describe_belief(analyst=curator.belief_scope),
        entry=found.entry,
        repeated=found.repeated,
    )
