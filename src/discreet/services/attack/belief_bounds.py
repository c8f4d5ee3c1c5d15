"""Bounds on attackers' beliefs, set by a custodian or implied by privacy models.

A model bounds the belief of an attacker who knows only quasi-identifiers. Three models compare with the
table, so their bounds follow from its counts: those are for the custodian, not for the certificate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from discreet.anonymity.models import Model, RecursiveDiversity
from discreet.anonymity.models.model_option import RequestedModel, Shares
from discreet.attacks.findings import Findings
from discreet.belief import Promise
from discreet.belief.odds import highest_posterior
from discreet.belief.wording import format_percent_up
from discreet.core.neighbor_relations import Relation


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

    @property
    def source_argument(self) -> str:
        """The source for a message: an option, as certificates store it, is named as an argument."""
        name = self.source.removeprefix("--").replace("-", "_")
        return f"`{name}=`" if self.source.startswith("--") else self.source

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

    >>> from discreet.anonymity.models import KAnonymity
    >>> [each.text for each in derive_model_bounds([KAnonymity(k=5)])]
    ['at most 20%']
    """
    return tuple(
        BeliefBound(
            attack=bound.attack,
            column=bound.column,
            limit=bound.limit,
            is_strict=bound.is_strict,
            source=model.name,
        )
        for model in models
        if isinstance(model, RequestedModel)
        and (model.column not in repeated_columns or model.bounds_repeated_values)
        for bound in model.derive_bounds(shares or {})
    )


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


def bound_from_option(at_most: float | None) -> tuple[BeliefBound, ...]:
    """Return the bound that a custodian set for every attack, if any."""
    return () if at_most is None else (BeliefBound(limit=at_most, source="--at-most"),)
