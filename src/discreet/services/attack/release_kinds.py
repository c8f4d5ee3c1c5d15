"""The kind of release under attack, from options and file; options of other kinds are refused.

Attacks that do not apply to the kind are listed as skipped, with the way to run them.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from discreet.attacks import (
    ATTACKS,
    AttributeInference,
    Averaging,
    Differencing,
    FloatingPoint,
    GenomeMembership,
    InformedAdversary,
    Linkability,
    Reconstruction,
    Scoreboard,
    SinglingOut,
    Tracker,
)
from discreet.core.errors import RequestError
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import SkippedAttack
from discreet.services.attack.target_release import read_certificate

POLICY_SUFFIXES = (".yaml", ".yml")
SYNTHETIC_KIND = "differentially private synthetic table"


class ReleaseKind(StrEnum):
    """The kind of a release, by what an attacker sees of it."""

    ANSWERS = "answers"
    TABLE = "a published table"
    RATINGS = "ratings"
    FREQUENCIES = "allele frequencies"
    SYNTHETIC = "a synthetic table"


OPTIONS_BY_KIND: dict[ReleaseKind, tuple[str, ...]] = {
    ReleaseKind.ANSWERS: ("victim", "table", "claim", "victims", "engine"),
    ReleaseKind.TABLE: (
        "knows",
        "victim",
        "earlier",
        "quasi",
        "sensitive",
        "hierarchies",
        "rules_out",
        "base_rates",
        "columns",
        "earlier_columns",
        "table",
        "person",
        "engine",
    ),
    ReleaseKind.RATINGS: (
        "title",
        "knows",
        "victim",
        "columns",
        "table",
        "person",
        "rating",
        "date",
        "days",
        "stars",
        "wrong",
        "engine",
    ),
    ReleaseKind.FREQUENCIES: ("genomes", "reference", "panel", "people", "epsilon", "victim", "engine"),
    ReleaseKind.SYNTHETIC: ("panel", "original", "sensitive", "table", "engine"),
}
ATTACKS_BY_KIND: dict[ReleaseKind, tuple[type[Any], ...]] = {
    ReleaseKind.ANSWERS: (
        Differencing,
        Averaging,
        Tracker,
        Reconstruction,
        InformedAdversary,
        FloatingPoint,
    ),
    ReleaseKind.RATINGS: (Scoreboard,),
    ReleaseKind.FREQUENCIES: (GenomeMembership,),
    ReleaseKind.SYNTHETIC: (SinglingOut, Linkability, AttributeInference),
}
REQUEST_HINTS = {
    ReleaseKind.ANSWERS: "name a policy.yaml in the release's place",
    ReleaseKind.TABLE: "name its file, and its quasi-identifiers or a policy",
    ReleaseKind.RATINGS: "name the title, the column of what was rated",
    ReleaseKind.FREQUENCIES: "give genomes and a reference",
    ReleaseKind.SYNTHETIC: "name a panel: people who are not in the data",
}


def determine_release_kind(request: AttackRequest) -> ReleaseKind:
    """Return the kind of release; raise RequestError for options that do not apply to it."""
    kind = _infer_kind(request)
    for field in dict.fromkeys(each for fields in OPTIONS_BY_KIND.values() for each in fields):
        if getattr(request, field) not in (None, (), {}) and field not in OPTIONS_BY_KIND[kind]:
            others = [other for other, fields in OPTIONS_BY_KIND.items() if field in fields]
            raise RequestError(
                f"attack: `{field}=` applies to {' or '.join(others)}, but the release is {kind}.",
                hint=f"Leave it out, or {REQUEST_HINTS[others[0]]}.",
            )
    return kind


def _infer_kind(request: AttackRequest) -> ReleaseKind:
    path = Path(request.release)
    if path.suffix.lower() in POLICY_SUFFIXES:
        return ReleaseKind.ANSWERS
    if request.genomes is not None or request.reference is not None:
        return ReleaseKind.FREQUENCIES
    if request.title is not None:
        return ReleaseKind.RATINGS
    made_up = path.suffix and read_certificate(path).get("kind") == SYNTHETIC_KIND
    if request.panel is not None or request.original is not None or made_up:
        return ReleaseKind.SYNTHETIC
    return ReleaseKind.TABLE


def skip_attack(attack: type[Any]) -> SkippedAttack:
    """Return an attack as skipped, with the way to request its kind of release."""
    kind = next((kind for kind, attacks in ATTACKS_BY_KIND.items() if attack in attacks), ReleaseKind.TABLE)
    return SkippedAttack(name=attack.name, reason=REQUEST_HINTS[kind], release_kind=kind)


def skip_other_attacks(*attacks_run: type[Any]) -> tuple[SkippedAttack, ...]:
    """Return all attacks as skipped, except those that were run."""
    return tuple(skip_attack(each) for each in ATTACKS if each not in attacks_run)
