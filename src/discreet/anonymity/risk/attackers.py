"""Three attackers who link a release to people, by what they know.

prosecutor  knows that a certain person is in the table: a row of that person's class is theirs with
            probability 1 / size.
journalist  wants to find anybody, and knows only that the table is part of a population: 1 / the number of
            people of the population who share the class's quasi-identifiers. Without a population table
            this is taken as the prosecutor's, which it never exceeds.
marketer    links every row, and cares for how many links are right: the journalist's probability, on average.

Success is the share of rows that linking each row at random within its class gets right on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes import Classes, Integers
from discreet.core.errors import require

THRESHOLD = Fraction(1, 5)


@dataclass(frozen=True, kw_only=True)
class Risk:
    """`at_risk` is the share of rows above the threshold, `highest` the largest risk of a row."""

    at_risk: float
    highest: float
    success: float


@dataclass(frozen=True, kw_only=True)
class Risks:
    """The three attackers on one table."""

    prosecutor: Risk
    journalist: Risk
    marketer: float


def risks(classes: Classes, *, threshold: Fraction = THRESHOLD) -> Risks:
    """What the attackers reach; nothing where nothing is published."""
    require(0 < threshold <= 1, "risk", "threshold", threshold, "a fraction above 0 and at most 1")
    prosecutor = _risk(classes.sizes, classes.sizes, threshold)
    journalist = prosecutor
    if classes.population is not None:
        # a population that lacks people of the table is one of those that the table completes
        journalist = _risk(classes.sizes, np.maximum(classes.population, classes.sizes), threshold)
    return Risks(prosecutor=prosecutor, journalist=journalist, marketer=journalist.success)


def _risk(sizes: Integers, candidates: Integers, threshold: Fraction) -> Risk:
    rows = int(sizes.sum())
    if rows == 0:
        return Risk(at_risk=0.0, highest=0.0, success=0.0)
    # 1 / candidates > threshold, in integers
    risky = candidates * threshold.numerator < threshold.denominator
    return Risk(
        at_risk=int(sizes[risky].sum()) / rows,
        highest=1 / int(candidates.min()),
        success=float((sizes / candidates).sum()) / rows,
    )
