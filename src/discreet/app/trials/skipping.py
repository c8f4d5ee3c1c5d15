"""Which attacks were not run on a kind of release, and how to have them run."""

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
    """An attack on another kind of release, and how that is asked for."""
    kind = next((kind for kind, attacks in KINDS.items() if attack in attacks), Release.TABLE)
    return Skipped(name=attack.name, why=WAYS[kind], on=kind)


def others_than(*run: type[Any]) -> tuple[Skipped, ...]:
    """All attacks but those that were run."""
    return tuple(of_another_kind(each) for each in ATTACKS if each not in run)
