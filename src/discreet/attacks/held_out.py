"""Judging an attack on synthetic data by people who were not in the data.

What a synthetic table says of people like a victim is no harm to the victim: the same is found of those who
were not in the data. So guessing here means the better of two: what the same attack finds of the panel, and
what the best single guess for everybody would. A baseline below that calls it an attack where a table only
tells what most people have.

What is believed of one person goes by how near the person is to a synthetic row, before and after
(`nearness`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from discreet.attacks.attack import Finding, Findings, Points, Stated
from discreet.attacks.claims import MOST_VICTIMS
from discreet.attacks.nearness import Beliefs, Guesses, beliefs
from discreet.core.binomial import clopper_pearson

CURVE = 20


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
    believed = beliefs(victims, panel, constant)
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=hits / attempts,
        baseline=baseline,
        attempts=attempts,
        interval=clopper_pearson(hits, attempts),
        victims=_findings(victims, believed, said),
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
        believed=float(believed.posterior[believed.gained & claimed].max(initial=0.0)),
        factor=believed.factor,
    )


def _findings(
    victims: Guesses, believed: Beliefs, said: Callable[[int], tuple[str, str]]
) -> tuple[Finding, ...]:
    """Those of whom the data told most, the nearest first."""
    order = np.lexsort((victims.far, -believed.posterior, ~believed.gained))
    found = []
    for who in order[victims.claimed[order]][:MOST_VICTIMS].tolist():
        victim, claim = said(who)
        found.append(
            Finding(
                victim=victim,
                claim=claim,
                prior=float(believed.prior[who]),
                posterior=float(believed.posterior[who]),
                truth=bool(victims.right[who]),
            )
        )
    return tuple(found)


def _curve(guesses: Guesses) -> Points:
    """The share of right guesses among the nearest twentieth of people, two twentieths, and so on."""
    right = guesses.right[np.argsort(guesses.far, kind="stable")]
    ends = np.unique(np.linspace(1, len(right), CURVE + 1)[1:].astype(int))
    upto = np.cumsum(right)
    return tuple((float(end / len(right)), float(upto[end - 1] / end)) for end in ends)
