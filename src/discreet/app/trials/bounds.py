"""Bounds: the most that attacks may come to believe, as a custodian set it or as models that were asked for
imply it.

A model bounds what an attacker who knows quasi-identifiers and nothing else believes. Three of them compare
with the table, so their bounds are known only from its counts: those are the custodian's, and not for the
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from discreet.anonymity.models import (
    AlphaKAnonymity,
    Attacker,
    BetaLikeness,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    EqualCloseness,
    KAnonymity,
    MInvariance,
    Model,
    ProbabilisticDiversity,
    RecursiveDiversity,
    StrictRisk,
)
from discreet.attacks import BackgroundKnowledge, ClassInference, Homogeneity, Linkage
from discreet.attacks.attack import Findings
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_percent_up
from discreet.core.neighbor_relations import Relation

Shares = Mapping[str, float]
OF_PEOPLE = (
    ProbabilisticDiversity,
    AlphaKAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """No more than `most` (less than it, if `strict`), for one attack or for all; `by` says who set it."""

    most: float
    by: str
    attack: str | None = None
    column: str | None = None
    strict: bool = False

    def covers(self, attack: str, column: str | None) -> bool:
        return self.attack in (None, attack) and self.column in (None, column)

    def holds(self, findings: Findings) -> bool:
        """Whether nothing is believed beyond it. Both sides are one rounding of a quotient of counts."""
        return findings.highest < self.most if self.strict else findings.highest <= self.most

    @property
    def said(self) -> str:
        return f"{'below' if self.strict else 'at most'} {format_percent_up(self.most)}"

    def as_object(self) -> dict[str, object]:
        return {
            "attack": self.attack,
            "column": self.column,
            "most": self.most,
            "strict": self.strict,
            "by": self.by,
        }


def from_object(entry: Mapping[str, object]) -> Bound:
    """A bound as a certificate has it."""
    attack, column = entry.get("attack"), entry.get("column")
    return Bound(
        most=float(str(entry["most"])),
        by=str(entry["by"]),
        attack=None if attack is None else str(attack),
        column=None if column is None else str(column),
        strict=bool(entry.get("strict")),
    )


def of_models(
    models: Iterable[Model], shares: Shares | None = None, several: Collection[str] = ()
) -> tuple[Bound, ...]:
    """What follows from models; `shares` are the largest in the table of each column, where they may be used.

    Of the columns in `several` people have more than one value: a model that compares counts of values bounds
    no belief about a person there, but that a value which all have is known.

    >>> [each.said for each in of_models([KAnonymity(k=5)])]
    ['at most 20%']
    """
    return tuple(
        bound
        for model in models
        if model.column not in several or isinstance(model, OF_PEOPLE)
        for bound in _of(model, shares or {})
    )


def _of(model: Model, shares: Shares) -> Iterable[Bound]:
    column, by = model.column, model.name
    match model:
        case KAnonymity(k=k):
            yield Bound(attack=Linkage.name, most=1 / k, by=by)
        case StrictRisk(risk=risk, attacker=Attacker.PROSECUTOR):
            yield Bound(attack=Linkage.name, most=float(risk), by=by)
        case AlphaKAnonymity(alpha=alpha, k=k, values=values):
            yield Bound(attack=Linkage.name, most=1 / k, by=by)
            if not values:
                yield Bound(attack=ClassInference.name, column=column, most=float(alpha), by=by)
        case MInvariance(m=m):
            yield Bound(attack=ClassInference.name, column=column, most=1 / m, by=by)
        case ProbabilisticDiversity(l=l):
            yield Bound(attack=ClassInference.name, column=column, most=float(1 / l), by=by)
        case RecursiveDiversity(l=l, belief_bound=bound):
            # who rules nothing out believes no more; that is tried where people have several values, too
            for attack in (
                (ClassInference.name,) if l == 2 else (ClassInference.name, BackgroundKnowledge.name)
            ):
                yield Bound(attack=attack, column=column, most=float(bound), by=by, strict=True)
        case DistinctDiversity(l=l) | EntropyDiversity(l=l) if l > 1:
            yield Bound(attack=Homogeneity.name, column=column, most=1.0, by=by, strict=True)
        case _:
            yield from _beside_the_table(model, shares)


def _beside_the_table(model: Model, shares: Shares) -> Iterable[Bound]:
    usual = shares.get(model.column or "")
    if usual is None:
        return
    match model:
        case EqualCloseness(t=t):
            most = usual + float(t)
        case BetaLikeness(beta=beta):
            most = usual * (1 + float(beta))
        case DeltaDisclosure(delta=delta):
            most = usual * math.exp(delta)
        case _:
            return
    # sums and products of rounded numbers, which the exact judgement of a tie is not
    rounded = min(1.0, most * (1 + 1e-12))
    yield Bound(attack=ClassInference.name, column=model.column, most=rounded, by=model.name)


def of_promise(promise: Promise, prior: float) -> float:
    """The most that a claim about what a record says may come to be believed under a promise."""
    # under a promise about presence such a claim may move by twice the loss
    return highest_posterior(prior, promise.loss * (2 if promise.secret is Relation.PRESENCE else 1))


def ruled_out(models: Iterable[Model]) -> dict[str, int]:
    """How many values an attacker may rule out against whom recursive diversity of a column still stands."""
    allowed: dict[str, int] = {}
    for model in models:
        if isinstance(model, RecursiveDiversity) and model.l > 2:
            allowed[model.column] = min(model.l - 2, allowed.get(model.column, model.l))
    return allowed
