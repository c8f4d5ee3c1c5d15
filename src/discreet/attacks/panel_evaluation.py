"""Evaluation of attacks on synthetic data against a panel of people who were not in the data.

A synthetic table harms nobody by what it reveals about similar people: the same is found about people who
were not in the data. So the baseline is the better of two: the same attack on the panel, and the best
constant guess. A lower baseline would count as an attack what only reflects the population.

The belief about one person depends on how near the person is to a synthetic row, before and after
(`nearness_beliefs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from discreet.attacks.claims import MOST_VICTIMS
from discreet.attacks.findings import AttackDescription, Finding, Findings, Points
from discreet.attacks.nearness_beliefs import Beliefs, Guesses, compute_beliefs
from discreet.core.binomial import clopper_pearson

CURVE_POINTS = 20


def evaluate_against_panel(
    attack: AttackDescription,
    *,
    victims: Guesses,
    panel: Guesses,
    constant: float,
    describe: Callable[[int], tuple[str, str]],
    figures: Mapping[str, float] | None = None,
    note: str = "",
) -> Findings:
    """Return the findings from guesses about the people in the data, about the panel, and a constant guess.

    `describe` returns a victim's name and the claim.
    """
    hits, attempts = int(victims.right.sum()), len(victims.right)
    among_others, claimed = float(panel.right.mean()), victims.claimed
    baseline = max(among_others, constant)
    low, high = clopper_pearson(int(panel.right.sum()), len(panel.right))
    believed = compute_beliefs(victims, panel, constant)
    return Findings(
        attack=attack.name,
        knows=attack.knows,
        learns=attack.learns,
        stopped_by=attack.stopped_by,
        success=hits / attempts,
        baseline=baseline,
        attempts=attempts,
        interval=clopper_pearson(hits, attempts),
        victims=_select_findings(victims, believed, describe),
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
        series={
            "right by nearness": _compute_success_curve(victims),
            "right of the panel by nearness": _compute_success_curve(panel),
        },
        note=note,
        overall_posterior=float(believed.posterior[believed.has_gained & claimed].max(initial=0.0)),
        overall_odds_factor=believed.factor,
    )


def _select_findings(
    victims: Guesses, person_beliefs: Beliefs, describe: Callable[[int], tuple[str, str]]
) -> tuple[Finding, ...]:
    """Return findings about the victims with the largest gains, the nearest first."""
    order = np.lexsort((victims.distance, -person_beliefs.posterior, ~person_beliefs.has_gained))
    found = []
    for who in order[victims.claimed[order]][:MOST_VICTIMS].tolist():
        victim, claim = describe(who)
        found.append(
            Finding(
                victim=victim,
                claim=claim,
                prior=float(person_beliefs.prior[who]),
                posterior=float(person_beliefs.posterior[who]),
                truth=bool(victims.right[who]),
            )
        )
    return tuple(found)


def _compute_success_curve(guesses: Guesses) -> Points:
    """Return the share of right guesses among the nearest 5% of people, 10%, and so on."""
    right = guesses.right[np.argsort(guesses.distance, kind="stable")]
    ends = np.unique(np.linspace(1, len(right), CURVE_POINTS + 1)[1:].astype(int))
    upto = np.cumsum(right)
    return tuple((float(end / len(right)), float(upto[end - 1] / end)) for end in ends)
