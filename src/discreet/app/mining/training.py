"""Training of models: planned, charged, trained, and stored like an answer.

    plan (no data) → a stored model of the same request is free → reserve → the engine counts, level by level
    → mechanisms → settle

Epsilon is a part of the promise's budget, for the promise's secret, as for a question.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.app.curator import Curator
from discreet.app.once import cost_of, once
from discreet.app.progress import Tell
from discreet.belief.belief_update import Belief
from discreet.core.number_checks import Real
from discreet.mining.drawing import svg
from discreet.mining.learning import CRITERION, SELECTION, MiningPlan, plan, train
from discreet.mining.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to train a model: its kind, table, target, features and budget."""

    kind: str
    table: str
    target: str
    epsilon: Real | None = None
    delta: Real = 0
    features: Sequence[str] | None = None
    logarithmic: Sequence[str] = ()
    depth: int | None = None
    criterion: str | None = None
    selection: str | None = None

    @property
    def text(self) -> str:
        """The text of the ledger entry."""
        return f"mine {self.kind} {self.table} --target {self.target}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Mined:
    """A released model with its cost; `text` is the model as JSON."""

    plan: MiningPlan
    text: str
    epsilon: Real
    delta: Real
    belief: Belief
    sentence: str
    entry: int
    repeated: bool

    @property
    def model(self) -> dict[str, Any]:
        """The model as plain data."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def picture(self) -> str:
        """The drawing of a tree as SVG."""
        return svg(Tree.from_json(self.text, self.plan.schema, self.plan.recipe.guarantee))


def planned(curator: Curator, request: Request) -> MiningPlan:
    """Return the plan of a model and its cost; reads no data."""
    return plan(
        request.kind,
        curator.policy,
        request.table,
        request.target,
        epsilon=cost_of(curator, request.epsilon, "mine"),
        delta=request.delta,
        promise=curator.promise,
        features=request.features,
        logarithmic=request.logarithmic,
        depth=request.depth,
        criterion=request.criterion,
        selection=request.selection,
    )


def _chosen(request: Request) -> dict[str, str]:
    """Return criterion and selection with defaults applied, so that naming a default repeats a request."""
    return {"criterion": request.criterion or CRITERION, "selection": request.selection or SELECTION}


def mine(curator: Curator, request: Request, tell: Tell) -> Mined:
    """Charge and train a model; repeating the same request is free for the analyst."""
    made, epsilon = planned(curator, request), cost_of(curator, request.epsilon, "mine")

    def told(share: float) -> None:
        tell(f"learning a {request.kind}" if request.kind != "bayes" else "learning", share)

    found = once(
        curator,
        "mine",
        request.text,
        asdict(request) | {"epsilon": epsilon} | _chosen(request),
        made.guarantee,
        lambda engine, random: train(made, engine, random, progress=told).to_json(),
        packed=str.encode,
        unpacked=bytes.decode,
    )
    return Mined(
        plan=made,
        text=found.released,
        epsilon=epsilon,
        delta=request.delta,
        belief=curator.ledger.compute_belief(analyst=curator.alone),
        sentence=curator.ledger.describe_belief(analyst=curator.alone),
        entry=found.entry,
        repeated=found.repeated,
    )
