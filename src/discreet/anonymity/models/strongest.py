"""The strongest parameter of each family of models that a table meets without recoding.

k, k-map, distinct      the largest whole number
probabilistic           the largest l, a fraction
entropy                 the largest l, a float whose whole part is right
recursive               the largest r1 / (rl + ... + rm): every c above it is met, this one is not
equal, ordered,         the smallest t, a fraction
hierarchical
alpha                   the smallest alpha, a fraction
disclosure              the largest |ln(p / q)|: every delta above it is met
likeness                the smallest beta of the basic kind, a fraction
presence-min,           the largest delta_min and the smallest delta_max, fractions
presence-max
prosecutor, journalist  the smallest strict risk, a fraction
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes import Classes, Integers, Sensitive
from discreet.anonymity.hierarchies.hierarchy import Hierarchy
from discreet.anonymity.models import earth_movers
from discreet.anonymity.models.counts import (
    NEAR,
    largest,
    lengths,
    population_of,
    product,
    ranked_sums,
    sensitive_of,
    sums,
    tops,
)
from discreet.anonymity.models.delta_disclosure import complete, log_ratios
from discreet.anonymity.models.entropy_diversity import EntropyDiversity, effective
from discreet.core.errors import RequestError, require

Level = int | float | Fraction


@dataclass(frozen=True, kw_only=True)
class Question:
    """The input of a family: classes with rows, and one of their sensitive columns."""

    classes: Classes
    column: str | None
    l: int
    hierarchy: Hierarchy | None

    @property
    def sensitive(self) -> Sensitive:
        found = sensitive_of(self.classes, self.column or "", "The strongest level")
        return found.at(np.flatnonzero(lengths(found)))

    @property
    def sizes(self) -> Integers:
        return self.classes.sizes[self.classes.sizes > 0]

    @property
    def people(self) -> Integers:
        """The population of classes with rows, which is never fewer than the rows."""
        people = population_of(self.classes, "The strongest level")
        return np.maximum(people, self.classes.sizes)[self.classes.sizes > 0]


def strongest(
    classes: Classes,
    family: str,
    column: str | None = None,
    *,
    l: int = 2,
    hierarchy: Hierarchy | None = None,
) -> Level:
    """Return the strongest level of a family that all classes meet; `l` is for recursive diversity alone."""
    require(family in FAMILIES, "find_strongest", "family", family, f"one of {', '.join(FAMILIES)}")
    if not classes.sizes.any():
        raise RequestError("A table without rows meets every model.", hint="Give a table with rows.")
    question = Question(classes=classes, column=column, l=l, hierarchy=hierarchy)
    return FAMILIES[family](question)


def _probabilistic(question: Question) -> Fraction:
    return 1 / largest(tops(question.sensitive), question.sizes)


def _entropy(question: Question) -> float:
    column = question.column or ""
    least = float(effective(question.sensitive).min())
    whole = round(least)
    if whole < 1 or abs(least - whole) > NEAR:
        return least
    holds = EntropyDiversity(column=column, l=Fraction(whole)).judge(question.classes).all()
    return float(whole) if holds else min(least, math.nextafter(whole, 0.0))


def _recursive(question: Question) -> Level:
    sensitive = question.sensitive
    rest = sums(sensitive) - ranked_sums(sensitive, question.l - 1)
    return largest(tops(sensitive), rest) if rest.all() else math.inf


def _hierarchical(question: Question) -> Fraction:
    if question.hierarchy is None:
        raise RequestError(
            f"The hierarchical distance of {question.column} needs a hierarchy of that column.",
            hint="Declare one in the policy.",
        )
    return largest(*earth_movers.hierarchical(question.sensitive, question.hierarchy))


def _disclosure(question: Question) -> float:
    sensitive = question.sensitive
    return float(np.abs(log_ratios(sensitive)).max()) if complete(sensitive).all() else math.inf


def _likeness(question: Question) -> Fraction:
    sensitive = question.sensitive
    rows = np.repeat(sums(sensitive), lengths(sensitive))
    inside = product(sensitive.counts, int(sensitive.totals.sum()))
    return max(Fraction(0), largest(inside, product(rows, sensitive.totals[sensitive.values])) - 1)


FAMILIES: Mapping[str, Callable[[Question], Level]] = {
    "k": lambda question: int(question.sizes.min()),
    "k-map": lambda question: int(question.people.min()),
    "distinct": lambda question: int(lengths(question.sensitive).min()),
    "probabilistic": _probabilistic,
    "entropy": _entropy,
    "recursive": _recursive,
    "equal": lambda question: largest(*earth_movers.equal(question.sensitive)),
    "ordered": lambda question: largest(*earth_movers.ordered(question.sensitive)),
    "hierarchical": _hierarchical,
    "alpha": lambda question: 1 / _probabilistic(question),
    "disclosure": _disclosure,
    "likeness": _likeness,
    "presence-min": lambda question: 1 / largest(question.people, question.sizes),
    "presence-max": lambda question: largest(question.sizes, question.people),
    "prosecutor": lambda question: Fraction(1, int(question.sizes.min())),
    "journalist": lambda question: Fraction(1, int(question.people.min())),
}
