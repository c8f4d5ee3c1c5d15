"""Attacks that do not apply to a kind of release, and how to run them."""

from __future__ import annotations

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
from discreet.services.attack.evaluation import SkippedAttack
from discreet.services.attack.release_kinds import REQUEST_HINTS, ReleaseKind

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


def skip_attack(attack: type[Any]) -> SkippedAttack:
    """Return an attack as skipped, with the way to request its kind of release."""
    kind = next((kind for kind, attacks in ATTACKS_BY_KIND.items() if attack in attacks), ReleaseKind.TABLE)
    return SkippedAttack(name=attack.name, reason=REQUEST_HINTS[kind], release_kind=kind)


def skip_other_attacks(*attacks_run: type[Any]) -> tuple[SkippedAttack, ...]:
    """Return all attacks as skipped, except those that were run."""
    return tuple(skip_attack(each) for each in ATTACKS if each not in attacks_run)
