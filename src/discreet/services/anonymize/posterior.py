"""A cap on the belief in sensitive values, and the models that keep it for a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.anonymity.equivalence_classes import SensitiveCounts
from discreet.anonymity.models import MeasuredModel
from discreet.anonymity.models.posterior_cap import DISTANCES, choose_closeness, choose_for_posterior
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_probability

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
