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
from discreet.attacks.findings import Findings
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_percent_up
from discreet.core.neighbor_relations import Relation

Shares = Mapping[str, float]


PERSON_MODELS = (
    ProbabilisticDiversity,
    AlphaKAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)


@dataclass(frozen=True, kw_only=True)
class BeliefBound:
    """An upper bound on belief (exclusive if `is_strict`), for one attack or for all; `source` set it."""

    limit: float
    source: str
    attack: str | None = None
    column: str | None = None
    is_strict: bool = False

    def applies_to(self, attack: str, column: str | None) -> bool:
        """Return whether the bound applies to an attack on a column."""
        return self.attack in (None, attack) and self.column in (None, column)

    def is_met_by(self, findings: Findings) -> bool:
        """Return whether no belief exceeds the bound; both sides are one rounding of a quotient of counts."""
        return (
            findings.highest_posterior < self.limit
            if self.is_strict
            else findings.highest_posterior <= self.limit
        )

    @property
    def text(self) -> str:
        """The bound as text."""
        return f"{'below' if self.is_strict else 'at most'} {format_percent_up(self.limit)}"

    def to_json(self) -> dict[str, object]:
        """Return the bound as a JSON object."""
        return {
            "attack": self.attack,
            "column": self.column,
            "most": self.limit,
            "strict": self.is_strict,
            "by": self.source,
        }


def bound_from_json(entry: Mapping[str, object]) -> BeliefBound:
    """Return a bound from its JSON object in a certificate."""
    attack, column = entry.get("attack"), entry.get("column")
    return BeliefBound(
        limit=float(str(entry["most"])),
        source=str(entry["by"]),
        attack=None if attack is None else str(attack),
        column=None if column is None else str(column),
        is_strict=bool(entry.get("strict")),
    )


def derive_model_bounds(
    models: Iterable[Model], shares: Shares | None = None, repeated_columns: Collection[str] = ()
) -> tuple[BeliefBound, ...]:
    """Return the bounds that models imply; `shares` are each column's largest shares in the table, if usable.

    People have more than one value of the columns in `repeated_columns`. There, a model that compares counts
    of values bounds no belief about a person, except that a value which everybody has is known.

    >>> [each.text for each in derive_model_bounds([KAnonymity(k=5)])]
    ['at most 20%']
    """
    return tuple(
        bound
        for model in models
        if model.column not in repeated_columns or isinstance(model, PERSON_MODELS)
        for bound in _derive_bounds(model, shares or {})
    )


def _derive_bounds(model: Model, shares: Shares) -> Iterable[BeliefBound]:
    """Yield the bounds that one model implies."""
    column, by = model.column, model.name
    match model:
        case KAnonymity(k=k):
            yield BeliefBound(attack=Linkage.name, limit=1 / k, source=by)
        case StrictRisk(risk=risk, attacker=Attacker.PROSECUTOR):
            yield BeliefBound(attack=Linkage.name, limit=float(risk), source=by)
        case AlphaKAnonymity(alpha=alpha, k=k, values=values):
            yield BeliefBound(attack=Linkage.name, limit=1 / k, source=by)
            if not values:
                yield BeliefBound(attack=ClassInference.name, column=column, limit=float(alpha), source=by)
        case MInvariance(m=m):
            yield BeliefBound(attack=ClassInference.name, column=column, limit=1 / m, source=by)
        case ProbabilisticDiversity(l=l):
            yield BeliefBound(attack=ClassInference.name, column=column, limit=float(1 / l), source=by)
        case RecursiveDiversity(l=l, belief_bound=bound):
            # an attacker who rules nothing out believes no more; class inference also covers repeated values
            for attack in (
                (ClassInference.name,) if l == 2 else (ClassInference.name, BackgroundKnowledge.name)
            ):
                yield BeliefBound(attack=attack, column=column, limit=float(bound), source=by, is_strict=True)
        case DistinctDiversity(l=l) | EntropyDiversity(l=l) if l > 1:
            yield BeliefBound(attack=Homogeneity.name, column=column, limit=1.0, source=by, is_strict=True)
        case _:
            yield from _derive_bounds_from_shares(model, shares)


def _derive_bounds_from_shares(model: Model, shares: Shares) -> Iterable[BeliefBound]:
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
    # `limit` is a rounded sum or product, so an exact tie needs slack
    rounded = min(1.0, most * (1 + 1e-12))
    yield BeliefBound(attack=ClassInference.name, column=model.column, limit=rounded, source=model.name)


def compute_promised_posterior(promise: Promise, prior: float) -> float:
    """Return the highest posterior of a claim about a record's value under a promise."""
    # replacing a value is one removal and one addition: twice the loss of a promise about presence
    return highest_posterior(prior, promise.loss * (2 if promise.secret is Relation.PRESENCE else 1))


def count_ruled_out_values(models: Iterable[Model]) -> dict[str, int]:
    """Return how many values per column an attacker may rule out under recursive diversity."""
    allowed: dict[str, int] = {}
    for model in models:
        if isinstance(model, RecursiveDiversity) and model.l > 2:
            allowed[model.column] = min(model.l - 2, allowed.get(model.column, model.l))
    return allowed


def bound_from_option(at_most: float | None, option: str = "--at-most") -> tuple[BeliefBound, ...]:
    """Return the bound that a custodian set for every attack, if any."""
    return () if at_most is None else (BeliefBound(limit=at_most, source=option),)
