"""Bounds on attackers' beliefs, set by a custodian or implied by privacy models.

A model bounds the belief of an attacker who knows only quasi-identifiers. Three models compare with the
table, so their bounds follow from its counts: those are for the custodian, not for the certificate.
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
    """An upper bound on belief (exclusive if `is_strict`), for one attack or for all; `source` set it."""

    most: float
    by: str
    attack: str | None = None
    column: str | None = None
    strict: bool = False

    def covers(self, attack: str, column: str | None) -> bool:
        """Return whether the bound applies to an attack on a column."""
        return self.attack in (None, attack) and self.column in (None, column)

    def holds(self, findings: Findings) -> bool:
        """Return whether no belief exceeds the bound; both sides are one rounding of a quotient of counts."""
        return findings.highest < self.most if self.strict else findings.highest <= self.most

    @property
    def said(self) -> str:
        """The bound as text."""
        return f"{'below' if self.strict else 'at most'} {format_percent_up(self.most)}"

    def as_object(self) -> dict[str, object]:
        """Return the bound as a JSON object."""
        return {
            "attack": self.attack,
            "column": self.column,
            "most": self.most,
            "strict": self.strict,
            "by": self.by,
        }


def from_object(entry: Mapping[str, object]) -> Bound:
    """Return a bound from its JSON object in a certificate."""
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
    """Return the bounds that models imply; `shares` are each column's largest shares in the table, if usable.

    People have more than one value of the columns in `repeated_columns`. There, a model that compares counts
    of values bounds no belief about a person, except that a value which everybody has is known.

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
    """Yield the bounds that one model implies."""
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
            # an attacker who rules nothing out believes no more; class inference also covers repeated values
            for attack in (
                (ClassInference.name,) if l == 2 else (ClassInference.name, BackgroundKnowledge.name)
            ):
                yield Bound(attack=attack, column=column, most=float(bound), by=by, strict=True)
        case DistinctDiversity(l=l) | EntropyDiversity(l=l) if l > 1:
            yield Bound(attack=Homogeneity.name, column=column, most=1.0, by=by, strict=True)
        case _:
            yield from _beside_the_table(model, shares)


def _beside_the_table(model: Model, shares: Shares) -> Iterable[Bound]:
    """Yield the bounds of models that compare with the table's shares."""
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
    # `most` is a rounded sum or product, so an exact tie needs slack
    rounded = min(1.0, most * (1 + 1e-12))
    yield Bound(attack=ClassInference.name, column=model.column, most=rounded, by=model.name)


def of_promise(promise: Promise, prior: float) -> float:
    """Return the highest posterior of a claim about a record's value under a promise."""
    # replacing a value is one removal and one addition: twice the loss of a promise about presence
    return highest_posterior(prior, promise.loss * (2 if promise.secret is Relation.PRESENCE else 1))


def ruled_out(models: Iterable[Model]) -> dict[str, int]:
    """Return how many values per column an attacker may rule out under recursive diversity."""
    allowed: dict[str, int] = {}
    for model in models:
        if isinstance(model, RecursiveDiversity) and model.l > 2:
            allowed[model.column] = min(model.l - 2, allowed.get(model.column, model.l))
    return allowed
