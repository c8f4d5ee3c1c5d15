"""Evaluation of attacks on synthetic data against a panel of people who were not in the data.

A synthetic table harms nobody by what it reveals about similar people: the same is found about people who
were not in the data. So the baseline is the better of two: the same attack on the panel, and the best
constant guess. A lower baseline would count as an attack what only reflects the population.

The belief about one person depends on how near the person is to a synthetic row, compared with
people of the panel who are as near:

Rings       people in the data from the nearest on: the first forty, as many again, twice as many, and so on.
            People at the same distance are in one ring.
Posterior   the share of right guesses about the people of a ring.
Prior       the share of right guesses about people of the panel at the same distance, or about the forty
            nearest to the ring if there are fewer; but at least the success of one constant guess. People
            near a synthetic row are guessed well, in the data or not: that harms nobody.
Chance      if the panel would reach a ring's success by chance in one of twenty sweeps, by the hypergeometric
            distribution and over all rings together, the ring shows nothing: then prior and posterior are the
            pooled success.
Odds        a lower bound on the growth of odds: from the upper 95% bound of the panel's success to the lower
            95% bound of the ring's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.claims import MOST_VICTIMS
from discreet.attacks.findings import AttackDescription, Finding, Findings, Points, compute_odds_factor
from discreet.attacks.nearest_records import Booleans
from discreet.core.binomial import clopper_pearson

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RING_SIZE = 40  # people; a share of fewer has too wide an interval
ERROR_RATE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """Guesses about some people: whether each is `right`, and whether the attacker would claim it.

    `distance` is that of the synthetic row from which the guess was made.
    """

    right: Booleans
    claimed: Booleans
    distance: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Beliefs:
    """Beliefs about each person in the data; `factor` is a lower bound on the growth of odds in any ring."""

    prior: Floats
    posterior: Floats
    factor: float

    @property
    def has_gained(self) -> Booleans:
        """For each person, whether the belief grew."""
        return np.asarray(self.posterior > self.prior)


def compute_beliefs(victims: Guesses, panel: Guesses, constant: float) -> Beliefs:
    """Return the belief about each person in the data; `constant` is the success of one constant guess."""
    ring = _assign_rings(victims.distance)
    level = ERROR_RATE / (int(ring.max()) + 1)
    prior, posterior, factor = np.empty(len(ring)), np.empty(len(ring)), 1.0
    for inside in _iterate_rings(ring):
        ours, theirs = (
            victims.right[inside],
            panel.right[_select_panel_ring(panel.distance, victims.distance[inside])],
        )
        least, most = (
            clopper_pearson(int(ours.sum()), len(ours))[0],
            _compute_baseline_bound(theirs, constant),
        )
        before, after = max(float(theirs.mean()), constant), float(ours.mean())
        if after <= before or _compute_p_value(ours, theirs) > level:
            before = after = float(np.concatenate([ours, theirs]).mean())
        else:
            factor = max(factor, compute_odds_factor(most, least))
        prior[inside], posterior[inside] = before, after
    return Beliefs(prior=prior, posterior=posterior, factor=factor)


def _assign_rings(distances: Floats) -> Integers:
    """Return the ring of each person, from the nearest out; the last is no smaller than the first."""
    places = np.unique(distances, return_inverse=True)[1]
    nearer = np.concatenate([[0], np.cumsum(np.bincount(places))])[places]
    ring = np.floor(np.log2(nearer // RING_SIZE + 1)).astype(np.int64)
    last = int(ring.max())
    if last and np.count_nonzero(ring == last) < RING_SIZE:
        ring[ring == last] = ring[ring < last].max()
    return np.unique(ring, return_inverse=True)[1].astype(np.int64)


def _iterate_rings(ring: Integers) -> Iterator[Integers]:
    """Yield the people of each ring."""
    for each in range(int(ring.max()) + 1):
        yield np.flatnonzero(ring == each)


def _select_panel_ring(distances: Floats, ring: Floats) -> Integers:
    """Return the panel's people at the distances of a ring; at least the forty nearest to it."""
    beyond = np.maximum(np.maximum(ring.min() - distances, distances - ring.max()), 0)
    inside = np.flatnonzero(beyond == 0)
    return inside if len(inside) >= RING_SIZE else np.argsort(beyond, kind="stable")[:RING_SIZE]


def _compute_baseline_bound(theirs: Booleans, constant: float) -> float:
    """Return the upper bound on the success of the panel or of the constant guess."""
    return max(clopper_pearson(int(theirs.sum()), len(theirs))[1], constant)


def _compute_p_value(ours: Booleans, theirs: Booleans) -> float:
    """Return the probability that this many of all right guesses are about the people in the data."""
    from scipy.stats import hypergeom  # takes a second to load, and nothing else here needs it

    both, right = len(ours) + len(theirs), int(ours.sum() + theirs.sum())
    return float(hypergeom.sf(int(ours.sum()) - 1, both, right, len(ours)))


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
