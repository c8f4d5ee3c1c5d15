"""Judging an attack on synthetic data by people who were not in the data.

What a synthetic table says of people like a victim is no harm to the victim: the same is found of those who
were not in the data. So guessing here means the better of two: what the same attack finds of the panel, and
what the best single guess for everybody would. A baseline below that calls it an attack where a table only
tells what most people have.

A claim's posterior is how often claims are right that were made of people about as near to a synthetic row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.attack import Finding, Findings, Points
from discreet.attacks.claims import MOST_VICTIMS, Stated
from discreet.attacks.nearest import Booleans
from discreet.core.binomial import clopper_pearson

Floats = NDArray[np.float64]
ALIKE = 40
CURVE = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """What was guessed of some people: whether it was `right`, whether the attacker would stand by it
    (`claimed`), and how `far` from a synthetic row it was got."""

    right: Booleans
    claimed: Booleans
    far: Floats


def judged(
    attack: Stated,
    *,
    victims: Guesses,
    panel: Guesses,
    constant: float,
    said: Callable[[int], tuple[str, str]],
    figures: Mapping[str, float] | None = None,
    note: str = "",
) -> Findings:
    """Guesses about the people of the data beside guesses about the panel, and beside one guess for all.

    `said` gives a victim's name and the claim.
    """
    hits, attempts = int(victims.right.sum()), len(victims.right)
    among_others, claimed = float(panel.right.mean()), victims.claimed
    baseline = max(among_others, constant)
    low, high = clopper_pearson(int(panel.right.sum()), len(panel.right))
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=hits / attempts,
        baseline=baseline,
        attempts=attempts,
        interval=clopper_pearson(hits, attempts),
        victims=_findings(victims, baseline, said),
        figures={
            "panel": among_others,
            "panel at least": low,
            "panel at most": high,
            "best single guess": constant,
            "claimed": float(claimed.mean()),
            "precision": float(victims.right[claimed].mean()) if claimed.any() else 0.0,
            "recall": float((victims.right & claimed).mean()),
            **(figures or {}),
        },
        series={"right by nearness": _curve(victims), "right of the panel by nearness": _curve(panel)},
        note=note,
    )


def _findings(victims: Guesses, prior: float, said: Callable[[int], tuple[str, str]]) -> tuple[Finding, ...]:
    """Those whose claims are believed most, the nearest first."""
    posterior = _posterior(victims)
    order = np.lexsort((victims.far, -posterior))
    found = []
    for who in order[victims.claimed[order]][:MOST_VICTIMS].tolist():
        victim, claim = said(who)
        found.append(
            Finding(
                victim=victim,
                claim=claim,
                prior=prior,
                posterior=float(posterior[who]),
                truth=bool(victims.right[who]),
            )
        )
    return tuple(found)


def _posterior(guesses: Guesses) -> Floats:
    """How often guesses are right about the forty or more people who are about as near."""
    far, place = np.unique(guesses.far, return_inverse=True)
    order = np.argsort(place, kind="stable")
    groups = np.arange(len(order)) // ALIKE
    groups = np.minimum(groups, max(0, len(order) // ALIKE - 1))
    first = np.full(far.size, len(order))
    np.minimum.at(first, place[order], groups)  # people at the same distance are one group
    group = first[place]
    return np.asarray((np.bincount(group, guesses.right) / np.maximum(np.bincount(group), 1))[group])


def _curve(guesses: Guesses) -> Points:
    """The share of right guesses among the nearest twentieth of people, two twentieths, and so on."""
    right = guesses.right[np.argsort(guesses.far, kind="stable")]
    ends = np.unique(np.linspace(1, len(right), CURVE + 1)[1:].astype(int))
    upto = np.cumsum(right)
    return tuple((float(end / len(right)), float(upto[end - 1] / end)) for end in ends)
