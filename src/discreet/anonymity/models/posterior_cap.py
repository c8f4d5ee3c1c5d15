"""A cap on the posterior of an attacker who knows the quasi-identifiers, and the models that keep it.

With a cap on the belief in any one value of a sensitive column:

probabilistic   l = 1 / cap: a value has at most the fraction 1 / l of a class.
recursive       c = cap / (1 - cap), l = 2 + the values that the attacker may rule out: what remains is
                believed with less than c / (c + 1) = cap.
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
from discreet.belief.wording import format_percent
from discreet.core.errors import RequestError, require_parameter
from discreet.core.number_checks import Real, parse_probability, require_count

DISTANCES = ("equal", "ordered", "hierarchical")
WARNING = (
    "The cap of {cap} holds against an attacker who knows everybody's quasi-identifiers and nothing else. "
    "One who knows more about a person, or has seen another release about the same people, may pass it; a "
    "promise of differential privacy has no such limit."
)


CAPPING = ("probabilistic", "recursive", "equal")


@dataclass(frozen=True, kw_only=True)
class PosteriorCap:
    """A cap on the belief in any sensitive value, and the kind of model that keeps it."""

    cap: float
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
    return [_build_capped_model(posterior, name, each) for name, each in columns.items()]


def _build_capped_model(posterior: PosteriorCap, name: str, column: SensitiveCounts) -> MeasuredModel:
    if posterior.kind in DISTANCES:
        return choose_closeness(posterior.cap, column, column=name, distance=posterior.kind)
    found = choose_for_posterior(posterior.cap, column, column=name)
    return found.recursive if posterior.kind == "recursive" else found.probabilistic


@dataclass(frozen=True, kw_only=True)
class CapOptions:
    """Three models that keep the cap; each suffices. `closeness` is None where no t does."""

    probabilistic: ProbabilisticDiversity
    recursive: RecursiveDiversity
    closeness: EqualCloseness | None
    warning: str


def choose_for_posterior(
    cap: Real, sensitive: SensitiveCounts, *, column: str, ruled_out: int = 0
) -> CapOptions:
    """Return models that keep the belief in any value of the column at or below the cap.

    The attacker may rule out `ruled_out` values beforehand; only recursive diversity takes that into account.
    """
    bound = _parse_cap(cap)
    require_count("choose_for_posterior", "ruled_out", ruled_out, minimum=0)
    within = _compute_spare(bound, sensitive) >= 0
    return CapOptions(
        probabilistic=ProbabilisticDiversity(column=column, l=1 / bound),
        recursive=RecursiveDiversity(column=column, c=bound / (1 - bound), l=2 + ruled_out),
        closeness=choose_closeness(cap, sensitive, column=column) if within else None,
        warning=WARNING.format(cap=format_percent(float(bound))),
    )


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
    require_parameter(holds, "choose_for_posterior", "cap", cap, "a probability between 0 and 1")
    assert bound is not None
    return bound


def _compute_spare(cap: Fraction, sensitive: SensitiveCounts) -> Fraction:
    """Return the cap minus the frequency of the table's commonest value."""
    return cap - Fraction(int(sensitive.totals.max(initial=0)), max(1, int(sensitive.totals.sum())))
