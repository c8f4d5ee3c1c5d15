"""Attacks that do not apply to a kind of release, and how to run them."""

from __future__ import annotations

from typing import Any

from discreet.app.trials.kinds import WAYS, Release
from discreet.app.trials.trial import Skipped
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

KINDS: dict[Release, tuple[type[Any], ...]] = {
    Release.ANSWERS: (
        Differencing,
        Averaging,
        Tracker,
        Reconstruction,
        InformedAdversary,
        FloatingPoint,
    ),
    Release.RATINGS: (Scoreboard,),
    Release.FREQUENCIES: (GenomeMembership,),
    Release.SYNTHETIC: (SinglingOut, Linkability, AttributeInference),
}


def of_another_kind(attack: type[Any]) -> Skipped:
    """Return an attack as skipped, with the way to request its kind of release."""
    kind = next((kind for kind, attacks in KINDS.items() if attack in attacks), Release.TABLE)
    return Skipped(name=attack.name, why=WAYS[kind], on=kind)


def others_than(*run: type[Any]) -> tuple[Skipped, ...]:
    """Return all attacks as skipped, except those that were run."""
    return tuple(of_another_kind(each) for each in ATTACKS if each not in run)
