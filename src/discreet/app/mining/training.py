"""A model of a policy's table: planned, charged, learned, and kept like an answer.

    plan (no data) → a stored model of the same request is free → reserve → the engine counts, level by level
    → mechanisms → settle

Epsilon is a part of the promise's budget, for its own secret, as it is of a question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.app.curator import Curator
from discreet.app.policies import policy_version
from discreet.belief.update import Belief
from discreet.core.errors import BudgetError, RequestError
from discreet.core.numbers import Real
from discreet.mining.drawing import svg
from discreet.mining.learning import MiningPlan, Model, plan, train
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
    criterion: str = "gini"
    selection: str = "permute-and-flip"

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
        epsilon=cost(curator, wish),
        delta=wish.delta,
        promise=curator.promise,
        features=wish.features,
        logarithmic=wish.logarithmic,
        depth=wish.depth,
        criterion=wish.criterion,
        selection=wish.selection,
    )


def cost(curator: Curator, wish: Wish) -> Real:
    """The part of the promise's epsilon that it takes: as wished, or as is usual under the policy."""
    usual = curator.policy.epsilon if wish.epsilon is None else wish.epsilon
    if usual is None:
        raise RequestError(
            "mine: nothing says how much the model may cost.",
            hint="Give --epsilon 0.5, or set epsilon in the policy.",
        )
    return usual


def mine(curator: Curator, wish: Wish) -> Mined:
    """The model; the same wish of the same analyst is free."""
    made = planned(curator, wish)
    wish = replace(wish, epsilon=cost(curator, wish))
    key = _key(curator, wish)
    stored = curator.ledger.stored(curator.analyst, key)
    if stored is not None:
        return _mined(curator, wish, made, stored.answer.decode(), stored.entry.id)
    try:
        model, entry = curator.charged(
            key, wish.text, made.guarantee, lambda engine, random: train(made, engine, random), _kept
        )
    except BudgetError as refusal:
        raise BudgetError(refusal.message.replace("reserve:", "mine:", 1), hint=refusal.hint) from None
    return _mined(curator, wish, made, model.to_json(), entry.id, repeated=False)


def _kept(model: Model) -> bytes:
    return model.to_json().encode()


def _mined(
    curator: Curator, wish: Wish, made: MiningPlan, text: str, entry: int, *, repeated: bool = True
) -> Mined:
    alone = curator.analyst if len(curator.policy.analysts) > 1 else None
    return Mined(
        plan=made,
        text=text,
        epsilon=cost(curator, wish),
        belief=curator.ledger.belief(analyst=alone),
        sentence=curator.ledger.sentence(analyst=alone),
        entry=entry,
        repeated=repeated,
    )


def _key(curator: Curator, wish: Wish) -> str:
    """What makes two wishes the same: all that the model depends on."""
    terms = asdict(wish) | {"epsilon": str(Fraction(cost(curator, wish))), "delta": str(Fraction(wish.delta))}
    meaning = [terms, policy_version(curator.policy), str(curator.policy.data_version)]
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()
