"""A model of a policy's table: planned, charged, learned, and kept like an answer.

    plan (no data) → a stored model of the same request is free → reserve → the engine counts, level by level
    → mechanisms → settle

Epsilon is a part of the promise's budget, for its own secret, as it is of a question.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.app.commands.progress import Tell
from discreet.app.curator import Curator
from discreet.app.once import cost_of, once
from discreet.belief.update import Belief
from discreet.core.numbers import Real
from discreet.mining.drawing import svg
from discreet.mining.learning import CRITERION, SELECTION, MiningPlan, plan, train
from discreet.mining.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is to be learned, and from what."""

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
        """What the ledger calls it."""
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
        """The model drawn as SVG; trees alone can be."""
        return svg(Tree.from_json(self.text, self.plan.schema, self.plan.recipe.guarantee))


def planned(curator: Curator, wish: Wish) -> MiningPlan:
    """What would be learned and what it would cost; reads no data."""
    return plan(
        wish.kind,
        curator.policy,
        wish.table,
        wish.target,
        epsilon=cost_of(curator, wish.epsilon, "mine"),
        delta=wish.delta,
        promise=curator.promise,
        features=wish.features,
        logarithmic=wish.logarithmic,
        depth=wish.depth,
        criterion=wish.criterion,
        selection=wish.selection,
    )


def _chosen(wish: Wish) -> dict[str, str]:
    """What is chosen where nothing is said: saying so is the same wish."""
    return {"criterion": wish.criterion or CRITERION, "selection": wish.selection or SELECTION}


def mine(curator: Curator, wish: Wish, tell: Tell) -> Mined:
    """The model; the same wish of the same analyst is free."""
    made, epsilon = planned(curator, wish), cost_of(curator, wish.epsilon, "mine")

    def told(share: float) -> None:
        tell(f"learning a {wish.kind}" if wish.kind != "bayes" else "learning", share)

    found = once(
        curator,
        "mine",
        wish.text,
        asdict(wish) | {"epsilon": epsilon} | _chosen(wish),
        made.guarantee,
        lambda engine, random: train(made, engine, random, progress=told).to_json(),
        packed=str.encode,
        unpacked=bytes.decode,
    )
    return Mined(
        plan=made,
        text=found.released,
        epsilon=epsilon,
        delta=wish.delta,
        belief=curator.ledger.belief(analyst=curator.alone),
        sentence=curator.ledger.sentence(analyst=curator.alone),
        entry=found.entry,
        repeated=found.repeated,
    )
