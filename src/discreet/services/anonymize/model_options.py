"""Model options of a command: models by name, or a cap on the posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from discreet.anonymity.equivalence_classes import SensitiveCounts
from discreet.anonymity.hierarchies import Hierarchy, build_column_spec
from discreet.anonymity.models import (
    AlphaKAnonymity,
    Attacker,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KMap,
    MeasuredModel,
    MInvariance,
    StrictRisk,
    model_parsing,
)
from discreet.anonymity.models.model_parameters import parse_fraction
from discreet.anonymity.models.posterior_cap import DISTANCES, choose_closeness, choose_for_posterior
from discreet.core.errors import RequestError
from discreet.core.number_checks import parse_probability
from discreet.services.anonymize.table_request import ResolvedTable

T = TypeVar("T")
CAPPING = ("probabilistic", "recursive", "equal")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options of a command that name models, as typed."""

    k: int | None = None
    l_diversity: Sequence[str] = ()
    t_closeness: Sequence[str] = ()
    delta_presence: str | None = None
    k_map: int | None = None
    alpha: Sequence[str] = ()
    delta_disclosure: Sequence[str] = ()
    beta_likeness: Sequence[str] = ()
    m_invariance: Sequence[str] = ()
    risk: Sequence[str] = field(default=())


@dataclass(frozen=True, kw_only=True)
class PosteriorCap:
    """A cap on the belief in any sensitive value, and the kind of model that keeps it."""

    cap: float
    kind: str = "probabilistic"

    @staticmethod
    def parse(text: str) -> PosteriorCap:
        """Parse 20%, or 20%:equal."""
        cap, _, kind = text.partition(":")
        if kind not in ("", *CAPPING, *DISTANCES):
            raise RequestError(
                f"--posterior can be kept by {', '.join(CAPPING)}; got {kind}.",
                hint="Write --posterior 20%:equal.",
            )
        return PosteriorCap(cap=parse_probability("--posterior", cap), kind=kind or "probabilistic")


def build_models(options: ModelOptions, resolved: ResolvedTable) -> list[MeasuredModel]:
    """Return every requested model, in a fixed order."""
    models: list[MeasuredModel] = []
    if options.k is not None:
        models.append(KAnonymity(k=_check_count("-k", options.k)))
    if options.k_map is not None:
        k = _require_population(resolved, "--k-map", options.k_map)
        models.append(KMap(k=_check_count("--k-map", k)))
    if options.delta_presence is not None:
        models.append(
            model_parsing.parse_delta_presence(
                _require_population(resolved, "--delta-presence", options.delta_presence)
            )
        )
    models += [model_parsing.parse_l_diversity(text) for text in options.l_diversity]
    hierarchies = _build_hierarchies(resolved, [text.rsplit(":", 2)[0] for text in options.t_closeness])
    models += [model_parsing.parse_t_closeness(text, hierarchies) for text in options.t_closeness]
    for text in options.alpha:
        column, share = _parse_pair("--alpha", text)
        models.append(AlphaKAnonymity(column=column, alpha=share, k=options.k or 1))
    for text in options.delta_disclosure:
        column, delta = _parse_pair("--delta-disclosure", text)
        models.append(DeltaDisclosure(column=column, delta=delta))
    for text in options.beta_likeness:
        column, beta = _parse_pair("--beta-likeness", text)
        models.append(BetaLikeness(column=column, beta=beta))
    for text in options.m_invariance:
        column, m = _parse_pair("--m-invariance", text)
        if m.denominator != 1:
            raise RequestError(f"--m-invariance must be COLUMN:3 or the like; got {text}.")
        models.append(MInvariance(column=column, m=m.numerator))
    return models + [_parse_risk(text, resolved) for text in options.risk]


def build_posterior_models(
    posterior: PosteriorCap, columns: Mapping[str, SensitiveCounts]
) -> list[MeasuredModel]:
    """Return for every sensitive column the model that keeps the belief in its values below the cap."""
    if not columns:
        raise RequestError(
            "--posterior needs a sensitive column, and the table has none.",
            hint="Give role: sensitive to a column, or name it with --sensitive.",
        )
    return [_build_capped_model(posterior, name, each) for name, each in columns.items()]


def _build_capped_model(posterior: PosteriorCap, name: str, column: SensitiveCounts) -> MeasuredModel:
    if posterior.kind in DISTANCES:
        return choose_closeness(posterior.cap, column, column=name, distance=posterior.kind)
    found = choose_for_posterior(posterior.cap, column, column=name)
    return found.recursive if posterior.kind == "recursive" else found.probabilistic


def _require_population(resolved: ResolvedTable, option: str, value: T) -> T:
    if resolved.population is None:
        raise RequestError(
            f"{option} needs a population table, and there is none.",
            hint="Name one with --population FILE.",
        )
    return value


def _build_hierarchies(resolved: ResolvedTable, columns: Sequence[str]) -> dict[str, Hierarchy]:
    table = resolved.policy.tables[resolved.name]
    known = {name: table.columns[name] for name in columns if name in table.columns}
    found = {}
    for name, column in known.items():
        spec = build_column_spec(name, column, resolved.policy)
        found[name] = spec.build_hierarchy(spec.list_example_values())
    return found


def _check_count(option: str, k: int) -> int:
    if k < 1:
        raise RequestError(f"{option} must be at least 1; got {k}.", hint=f"Write {option} 5.")
    return k


def _parse_pair(option: str, text: str) -> tuple[str, Fraction]:
    column, colon, value = text.rpartition(":")
    if not colon or not column:
        raise RequestError(
            f"{option} must be COLUMN:NUMBER; got {text}.", hint=f"Write {option} disease:0.5."
        )
    return column, parse_fraction(option, value)


def _parse_risk(text: str, resolved: ResolvedTable) -> MeasuredModel:
    """Parse a risk: prosecutor:0.2 bounds every class, average:prosecutor:0.05 the mean."""
    kinds: dict[str, Callable[..., MeasuredModel]] = {"average": AverageRisk, "": StrictRisk}
    kind, _, rest = text.rpartition(":")[0].rpartition(":")
    who = rest or kind
    average = "average" if kind == "average" else ""
    if who not in list(Attacker) or text.count(":") not in (1, 2):
        raise RequestError(
            f"--risk must be prosecutor:0.2, average:journalist:0.05 or the like; got {text}.",
            hint=f"Attackers are {', '.join(Attacker)}.",
        )
    risk = parse_fraction("--risk", text.rpartition(":")[2])
    attacker = Attacker(who)
    if attacker is not Attacker.PROSECUTOR:
        _require_population(resolved, f"--risk {who}", who)
    return kinds[average](risk=risk, attacker=attacker)
