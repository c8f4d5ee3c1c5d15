"""A cap on the posterior of an attacker who knows the quasi-identifiers, and the models that keep it.

With a cap on the belief in any one value of a sensitive column:

probabilistic   l = 1 / cap: a value has at most the fraction 1 / l of a class.
recursive       c = cap / (1 - cap), l = 2: a value is believed with less than c / (c + 1) = cap. An l larger
                by n allows for n values that the attacker rules out.
equal distance  t = cap - the frequency of the commonest value in the table: no value is more than t commoner
                in a class. Where that frequency is above the cap there is no such t. A reader who sees t in a
                certificate, and knows the cap, learns that frequency.
ordered,        refused. They bound how far values move on average, not the belief in one of them: t = 0.2
hierarchical    over ten ordered, equally common values allows a belief of 85%.

Unlike a promise of differential privacy this holds against one attacker only: one who knows the
quasi-identifiers of everybody and nothing else, and has seen no other release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.anonymity.equivalence_classes import SensitiveCounts
from discreet.anonymity.models.equal_closeness import EqualCloseness
from discreet.anonymity.models.model_option import to_fraction
from discreet.anonymity.models.privacy_model import MeasuredModel
from discreet.anonymity.models.probabilistic_diversity import ProbabilisticDiversity
from discreet.anonymity.models.recursive_diversity import RecursiveDiversity
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import Real, parse_probability

DISTANCES = ("equal", "ordered", "hierarchical")
CAPPING = ("probabilistic", "recursive", "equal")


@dataclass(frozen=True, kw_only=True)
class PosteriorCap:
    """A cap on the belief in any sensitive value, and the kind of model that keeps it."""

    cap: Real
    kind: str = "probabilistic"

    def __str__(self) -> str:
        return f"{self.cap}:{self.kind}"

    @staticmethod
    def parse(text: str) -> PosteriorCap:
        """Parse 20%, or 20%:equal."""
        cap, _, kind = text.partition(":")
        if kind not in ("", *CAPPING, *DISTANCES):
            raise RequestError(
                f"`posterior=` can be kept by {', '.join(CAPPING)}; got {kind}.",
                hint='Write `posterior="20%:equal"`.',
            )
        return PosteriorCap(cap=parse_probability("`posterior=`", cap), kind=kind or "probabilistic")


def build_posterior_models(
    posterior: PosteriorCap, columns: Mapping[str, SensitiveCounts]
) -> list[MeasuredModel]:
    """Return for every sensitive column the model that keeps the belief in its values below the cap."""
    if not columns:
        raise RequestError(
            "`posterior=` needs a sensitive column, and the table has none.",
            hint="Give role: sensitive to a column, or name it with `sensitive=`.",
        )
    return [choose_capped_model(posterior, each, column=name) for name, each in columns.items()]


def choose_capped_model(posterior: PosteriorCap, sensitive: SensitiveCounts, *, column: str) -> MeasuredModel:
    """Return the model of the requested kind that keeps the belief in any value of the column at the cap."""
    if posterior.kind in DISTANCES:
        return choose_closeness(posterior.cap, sensitive, column=column, distance=posterior.kind)
    bound = _parse_cap(posterior.cap)
    if posterior.kind == "recursive":
        return RecursiveDiversity(column=column, c=bound / (1 - bound), l=2)
    return ProbabilisticDiversity(column=column, l=1 / bound)


def choose_closeness(
    cap: Real, sensitive: SensitiveCounts, *, column: str, distance: str = "equal"
) -> EqualCloseness:
    """Return t-closeness with the largest t that keeps the cap; only the equal distance has one."""
    require_parameter(
        distance in DISTANCES, "choose_closeness", "distance", distance, "equal, ordered or hierarchical"
    )
    if distance != "equal":
        raise RequestError(
            f"t-closeness with the {distance} distance bounds how far values move on average, not the "
            f"belief in one of them: t = 0.2 over ten ordered values still allows 85%.",
            hint="Use the equal distance, or probabilistic l-diversity.",
        )
    spare = _compute_spare(_parse_cap(cap), sensitive)
    if spare < 0:
        raise RequestError(
            f"No t keeps the cap for {column}: the table's commonest value is more frequent than the cap.",
            hint="Raise the cap, or use probabilistic l-diversity and allow suppression.",
        )
    return EqualCloseness(column=column, t=spare)


def _parse_cap(cap: object) -> Fraction:
    bound = to_fraction(cap)
    holds = bound is not None and 0 < bound < 1
    require_parameter(holds, "PosteriorCap", "cap", cap, "a probability between 0 and 1")
    assert bound is not None
    return bound


def _compute_spare(cap: Fraction, sensitive: SensitiveCounts) -> Fraction:
    """Return the cap minus the frequency of the table's commonest value."""
    return cap - Fraction(int(sensitive.totals.max(initial=0)), max(1, int(sensitive.totals.sum())))
