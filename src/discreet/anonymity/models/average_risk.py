"""Average risk: at most a given fraction of the published rows is expected to be linked correctly.

Definition  The mean over the published rows of 1 / f (prosecutor) or of 1 / F (journalist) is at most `risk`;
            f are the rows of a row's class, F the people of the population who share it, never fewer than f.
            A marketer, who links all rows at once, has the same mean success: of 1 / F with a
            population, of 1 / f without one [DE10, EE13]. Without a population the mean is the
            number of classes over the number of rows.
Belief      Over all rows, on average; a single row may be linked with any probability, up to certainty.
Monotone    In generalization: merging two classes makes (f1 + f2) / (F1 + F2) of f1 / F1 + f2 / F2, which is
            not more. In suppression without a population, by the argument below; with one, not.
Attacks     Not stopped: homogeneity, background knowledge, similarity, skewness, composition, membership.
Suppressed  The smallest classes first, until the mean is low enough. Without a population this is the least
            number of rows: of all sets of m classes the m largest have most rows, so they meet the mean if
            any set of m does; and each further class adds risk * f - 1, less and less, so what is met by m
            classes is met by the largest m' < m. Merging classes leaves no fewer rows to as many classes, so
            it never suppresses more. With a population the choice of classes to suppress is a knapsack
            problem: suppressing the smallest F first exceeds the minimum by less than one class.

[DE10]      Dankar & El Emam, A method for evaluating marketer re-identification risk, 2010.
[EE13]      El Emam, Guide to the de-identification of personal health information, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers
from discreet.anonymity.models.attacker_models import Attacker, RiskThreshold, coerce_attacker
from discreet.anonymity.models.class_counts import require_population
from discreet.anonymity.models.model_option import coerce_share, format_fraction
from discreet.anonymity.models.privacy_model import ATTACKS, Floats, Verdicts
from discreet.belief.wording import format_percent_up

UNIT = 2.0**-52  # the spacing of floats at 1


@dataclass(frozen=True, kw_only=True)
class AverageRisk(RiskThreshold):
    """The mean risk of the published rows is at most `risk`."""

    form: ClassVar[str] = "average:ATTACKER:RISK"
    column: ClassVar[str | None] = None
    monotone_in_generalization: ClassVar[bool] = True
    monotone_in_suppression: ClassVar[bool] = False
    not_stopped: ClassVar[tuple[str, ...]] = ATTACKS

    def __post_init__(self) -> None:
        coerce_share(self, "risk", least=False)
        coerce_attacker(self)

    @property
    def name(self) -> str:
        return f"average {self.attacker.value} risk at most {format_fraction(self.risk)}"

    @property
    def belief(self) -> str:
        return (
            f"{self.attacker.sentence_opening} with probability at most "
            f"{format_percent_up(float(self.risk))} on average over all "
            f"rows, which bounds the belief about no single one."
        )

    def judge(self, classes: EquivalenceClasses) -> Verdicts:
        return self.select_publishable(classes, np.ones(len(classes), np.bool_))

    def select_publishable(self, classes: EquivalenceClasses, eligible: Verdicts) -> Verdicts:
        """Return all eligible classes but the smallest, of which as few as necessary are dropped."""
        people = self._count_people(classes)
        candidates = np.flatnonzero(eligible)
        order = candidates[np.argsort(-people[candidates], kind="stable")]
        kept = np.zeros(len(classes), np.bool_)
        kept[order[: self._count_meeting(classes.sizes[order], people[order])]] = True
        return kept

    def measure_margins(self, classes: EquivalenceClasses) -> Floats:
        """Return for every class the same margin: the bound minus the mean of the whole table."""
        people = np.maximum(self._count_people(classes), 1)
        mean = float((classes.sizes / people).sum() / max(1, classes.sizes.sum()))
        return np.full(len(classes), float(self.risk) - mean)

    def _count_people(self, classes: EquivalenceClasses) -> Integers:
        alone = self.attacker is Attacker.MARKETER and classes.population is None
        if self.attacker is Attacker.PROSECUTOR or alone:
            return classes.sizes
        return np.maximum(require_population(classes, self.name), classes.sizes)

    def _count_meeting(self, rows: Integers, people: Integers) -> int:
        """Return the largest number of leading classes, sorted by falling people, that meets the mean."""
        expected = np.cumsum(rows / np.maximum(people, 1))
        allowed = np.cumsum(rows) * float(self.risk)
        # a running sum of n terms is off by n roundings of its value at most
        apart = (len(rows) + 16) * UNIT * (expected + allowed)
        met = np.flatnonzero(expected <= allowed + apart)
        for last in met[::-1].tolist():
            clear = expected[last] <= allowed[last] - apart[last]
            if clear or self._meets_mean(rows[: last + 1], people[: last + 1]):
                return int(last) + 1
        return 0

    def _meets_mean(self, rows: Integers, people: Integers) -> bool:
        """Return whether sum f / F <= risk * sum f, exactly."""
        kinds, place = np.unique(people[people > 0], return_inverse=True)
        shared = np.zeros(len(kinds), np.int64)
        np.add.at(shared, place, rows[people > 0])
        terms = [Fraction(int(f), int(F)) for f, F in zip(shared, kinds, strict=True)]
        while len(terms) > 1:  # in pairs, so that denominators grow late
            terms = [sum(terms[i : i + 2], Fraction(0)) for i in range(0, len(terms), 2)]
        return sum(terms, Fraction(0)) <= self.risk * int(rows.sum())
