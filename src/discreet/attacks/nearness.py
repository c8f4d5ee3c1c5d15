"""What is believed of people by how near they are to a synthetic row, beside people who are not in the data.

Rings       people of the data from the nearest on: the first forty, as many again, twice as many, and so on.
            Those at the same distance are in one ring.
Posterior   how often guesses about the people of a ring are right.
Prior       how often the same guesses are right about people of the panel who are as near, or about the forty
            nearest to the ring where there are fewer; but no less than by one guess for everybody. Who is
            near to a synthetic row is guessed well, in the data or not: that is no harm to anybody.
Chance      a ring where the panel's guesses would be as often right in one of twenty sweeps, by the
            hypergeometric law and over all rings together, shows nothing: there prior and posterior are the
            share of both together.
Odds        the factor by which odds grew at least: from the most that the panel's guesses may be right to the
            least that those of the ring may be, with 95% each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.attack import odds_factor
from discreet.attacks.nearest import Booleans
from discreet.core.binomial import clopper_pearson

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ALIKE = 40
CHANCE = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """What was guessed of some people: whether it was `right`, whether the attacker would stand by it
    (`claimed`), and how `far` from a synthetic row it was got."""

    right: Booleans
    claimed: Booleans
    far: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Beliefs:
    """Of each person of the data, before and after; `factor` is what odds grew by at least, in any ring."""

    prior: Floats
    posterior: Floats
    factor: float

    @property
    def gained(self) -> Booleans:
        return np.asarray(self.posterior > self.prior)


def beliefs(victims: Guesses, panel: Guesses, constant: float) -> Beliefs:
    """What is believed of each of the people of the data; `constant` is the share that one guess gets."""
    ring = _rings(victims.far)
    level = CHANCE / (int(ring.max()) + 1)
    prior, posterior, factor = np.empty(len(ring)), np.empty(len(ring)), 1.0
    for inside in _members(ring):
        ours, theirs = victims.right[inside], panel.right[_as_near(panel.far, victims.far[inside])]
        least, most = clopper_pearson(int(ours.sum()), len(ours))[0], _most(theirs, constant)
        before, after = max(float(theirs.mean()), constant), float(ours.mean())
        if after <= before or _chance(ours, theirs) > level:
            before = after = float(np.concatenate([ours, theirs]).mean())
        else:
            factor = max(factor, odds_factor(most, least))
        prior[inside], posterior[inside] = before, after
    return Beliefs(prior=prior, posterior=posterior, factor=factor)


def _rings(far: Floats) -> Integers:
    """The ring of each person, from the nearest out; the last is no smaller than the first."""
    places = np.unique(far, return_inverse=True)[1]
    nearer = np.concatenate([[0], np.cumsum(np.bincount(places))])[places]
    ring = np.floor(np.log2(nearer // ALIKE + 1)).astype(np.int64)
    last = int(ring.max())
    if last and np.count_nonzero(ring == last) < ALIKE:
        ring[ring == last] = ring[ring < last].max()
    return np.unique(ring, return_inverse=True)[1].astype(np.int64)


def _members(ring: Integers) -> Iterator[Integers]:
    for each in range(int(ring.max()) + 1):
        yield np.flatnonzero(ring == each)


def _as_near(far: Floats, ring: Floats) -> Integers:
    """Who of the panel is as near as the people of a ring; the forty who are nearest to that, at least."""
    beyond = np.maximum(np.maximum(ring.min() - far, far - ring.max()), 0)
    inside = np.flatnonzero(beyond == 0)
    return inside if len(inside) >= ALIKE else np.argsort(beyond, kind="stable")[:ALIKE]


def _most(theirs: Booleans, constant: float) -> float:
    return max(clopper_pearson(int(theirs.sum()), len(theirs))[1], constant)


def _chance(ours: Booleans, theirs: Booleans) -> float:
    """How probable it is that as many of all right guesses are about the people of the data."""
    from scipy.stats import hypergeom  # takes a second to load, and nothing else here needs it

    both, right = len(ours) + len(theirs), int(ours.sum() + theirs.sum())
    return float(hypergeom.sf(int(ours.sum()) - 1, both, right, len(ours)))
