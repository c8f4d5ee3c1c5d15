"""Re-identification risk under the three attacker models.

prosecutor  knows that a certain person is in the table: a row of that person's class belongs to them with
            probability 1 / size.
journalist  wants to find anybody, and knows only that the table is part of a population: 1 / the number of
            people of the population who share the class's quasi-identifiers. Without a population table
            the prosecutor's risk is used, which is an upper bound.
marketer    links every row, and counts how many links are right: the journalist's probability, on average.

Success is the expected share of right links if each row is linked at random within its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.core.errors import require_parameter

THRESHOLD = Fraction(1, 5)  # a class of five, a usual threshold for health data


@dataclass(frozen=True, kw_only=True)
class AttackerRisk:
    """The risk under one attacker: the share of rows above the threshold, the highest, and mean success."""

    at_risk: float
    highest: float
    success: float


@dataclass(frozen=True, kw_only=True)
class AttackerRisks:
    """The risks of one table under the three attackers."""

    prosecutor: AttackerRisk
    journalist: AttackerRisk
    marketer: float


def assess_risks(classes: EquivalenceClasses, *, threshold: Fraction = THRESHOLD) -> AttackerRisks:
    """Return the risks of the classes; all are 0 where nothing is published."""
    require_parameter(0 < threshold <= 1, "risk", "threshold", threshold, "a fraction above 0 and at most 1")
    prosecutor = _assess_risk(classes.sizes, classes.sizes, threshold)
    journalist = prosecutor
    if classes.population is not None:
        # a population that lacks people of the table is completed by them
        journalist = _assess_risk(classes.sizes, np.maximum(classes.population, classes.sizes), threshold)
    return AttackerRisks(prosecutor=prosecutor, journalist=journalist, marketer=journalist.success)


def _assess_risk(sizes: Integers, candidates: Integers, threshold: Fraction) -> AttackerRisk:
    rows = int(sizes.sum())
    if rows == 0:
        return AttackerRisk(at_risk=0.0, highest=0.0, success=0.0)
    # 1 / candidates > threshold, in integers
    risky = candidates * threshold.numerator < threshold.denominator
    return AttackerRisk(
        at_risk=int(sizes[risky].sum()) / rows,
        highest=1 / int(candidates.min()),
        success=float((sizes / candidates).sum()) / rows,
    )
