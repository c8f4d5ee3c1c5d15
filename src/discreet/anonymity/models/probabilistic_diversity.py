"""Probabilistic l-diversity: no sensitive value has more than 1/l of a class.

Definition  In every class at most the fraction 1/l of the people has any one sensitive value; l may be
            fractional [XT06, the lectures' "probabilistic l-diversity"]. People with several values have each
            of them.
Belief      An attacker who knows a person's quasi-identifiers, and nothing else, believes every value with a
            probability of at most 1/l.
Monotone    In generalization: the commonest value of two classes has at most the rows of both commonest. Not
            in suppression: a class of one value can spoil another.
Attacks     Stopped: homogeneity. Not stopped: background knowledge (that rules out values), similarity,
            skewness (1/l may be far above the value's frequency in the table), composition, membership.

[XT06]      Xiao & Tao, Anatomy: simple and effective privacy preservation, VLDB 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.anonymity.classes import Classes, Integers
from discreet.anonymity.models.counts import at_most, most_within, quotients, sensitive_of, tops
from discreet.anonymity.models.model import HOMOGENEITY, KNOWER, Floats, Verdicts, all_but
from discreet.anonymity.models.parameters import keep_above, written
from discreet.belief.wording import at_most as at_most_percent


@dataclass(frozen=True, kw_only=True)
class ProbabilisticDiversity:
    """No value has more than 1/l of a class."""

    column: str
    l: Fraction

    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = all_but(HOMOGENEITY)

    def __post_init__(self) -> None:
        keep_above(self, "l", 1, included=True)

    @property
    def name(self) -> str:
        return f"probabilistic {written(self.l)}-diversity of {self.column}"

    @property
    def belief(self) -> str:
        return (
            f"{KNOWER}, and nothing else, believes any value of "
            f"{self.column} with probability at most {at_most_percent(float(1 / self.l))}."
        )

    def judge(self, classes: Classes) -> Verdicts:
        sensitive = sensitive_of(classes, self.column, self.name)
        return at_most(tops(sensitive), classes.sizes, 1 / self.l)

    def most_kept(self, classes: Classes) -> Integers:
        return most_within(classes, sensitive_of(classes, self.column, self.name), 0, 1 / float(self.l))

    def margin(self, classes: Classes) -> Floats:
        sensitive = sensitive_of(classes, self.column, self.name)
        return quotients(classes.sizes, tops(sensitive)) - float(self.l)
