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

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, SensitiveCounts
from discreet.anonymity.hierarchies.generalization_hierarchy import Hierarchy
from discreet.anonymity.models import closeness
from discreet.anonymity.models.class_counts import (
    NEAR,
    count_commonest,
    count_distinct,
    count_rows,
    find_largest_quotient,
    multiply_exactly,
    require_population,
    require_sensitive,
    sum_commonest,
)
from discreet.anonymity.models.delta_disclosure import compute_log_ratios, has_every_value
from discreet.anonymity.models.entropy_diversity import EntropyDiversity, count_effective_values
from discreet.core.errors import RequestError, require_parameter

Level = int | float | Fraction


@dataclass(frozen=True, kw_only=True)
class FamilyQuery:
    """The input of a family: classes with rows, and one of their sensitive columns."""

    classes: EquivalenceClasses
    column: str | None
    l: int
    hierarchy: Hierarchy | None

    @property
    def sensitive(self) -> SensitiveCounts:
        found = require_sensitive(self.classes, self.column or "", "The strongest level")
        return found.select(np.flatnonzero(count_distinct(found)))

    @property
    def sizes(self) -> Integers:
        return self.classes.sizes[self.classes.sizes > 0]

    @property
    def people(self) -> Integers:
        """The population of classes with rows, which is never fewer than the rows."""
        people = require_population(self.classes, "The strongest level")
        return np.maximum(people, self.classes.sizes)[self.classes.sizes > 0]


def find_strongest(
    classes: EquivalenceClasses,
    family: str,
    column: str | None = None,
    *,
    l: int = 2,
    hierarchy: Hierarchy | None = None,
) -> Level:
    """Return the strongest level of a family that all classes meet; `l` is for recursive diversity alone."""
    require_parameter(family in FAMILIES, "find_strongest", "family", family, f"one of {', '.join(FAMILIES)}")
    if not classes.sizes.any():
        raise RequestError("A table without rows meets every model.", hint="Give a table with rows.")
    question = FamilyQuery(classes=classes, column=column, l=l, hierarchy=hierarchy)
    return FAMILIES[family](question)


def _find_probabilistic_l(question: FamilyQuery) -> Fraction:
    return 1 / find_largest_quotient(count_commonest(question.sensitive), question.sizes)


def _find_entropy_l(question: FamilyQuery) -> float:
    column = question.column or ""
    least = float(count_effective_values(question.sensitive).min())
    whole = round(least)
    if whole < 1 or abs(least - whole) > NEAR:
        return least
    holds = EntropyDiversity(column=column, l=Fraction(whole)).judge(question.classes).all()
    return float(whole) if holds else min(least, math.nextafter(whole, 0.0))


def _find_recursive_c(question: FamilyQuery) -> Level:
    sensitive = question.sensitive
    rest = count_rows(sensitive) - sum_commonest(sensitive, question.l - 1)
    return find_largest_quotient(count_commonest(sensitive), rest) if rest.all() else math.inf


def _find_hierarchical_t(question: FamilyQuery) -> Fraction:
    if question.hierarchy is None:
        raise RequestError(
            f"The hierarchical distance of {question.column} needs a hierarchy of that column.",
            hint="Declare one in the policy.",
        )
    return find_largest_quotient(
        *closeness.measure_hierarchical_distances(question.sensitive, question.hierarchy)
    )


def _find_disclosure_delta(question: FamilyQuery) -> float:
    sensitive = question.sensitive
    return (
        float(np.abs(compute_log_ratios(sensitive)).max()) if has_every_value(sensitive).all() else math.inf
    )


def _find_likeness_beta(question: FamilyQuery) -> Fraction:
    sensitive = question.sensitive
    rows = np.repeat(count_rows(sensitive), count_distinct(sensitive))
    inside = multiply_exactly(sensitive.counts, int(sensitive.totals.sum()))
    return max(
        Fraction(0),
        find_largest_quotient(inside, multiply_exactly(rows, sensitive.totals[sensitive.values])) - 1,
    )


FAMILIES: Mapping[str, Callable[[FamilyQuery], Level]] = {
    "k": lambda question: int(question.sizes.min()),
    "k-map": lambda question: int(question.people.min()),
    "distinct": lambda question: int(count_distinct(question.sensitive).min()),
    "probabilistic": _find_probabilistic_l,
    "entropy": _find_entropy_l,
    "recursive": _find_recursive_c,
    "equal": lambda question: find_largest_quotient(*closeness.measure_equal_distances(question.sensitive)),
    "ordered": lambda question: find_largest_quotient(
        *closeness.measure_ordered_distances(question.sensitive)
    ),
    "hierarchical": _find_hierarchical_t,
    "alpha": lambda question: 1 / _find_probabilistic_l(question),
    "disclosure": _find_disclosure_delta,
    "likeness": _find_likeness_beta,
    "presence-min": lambda question: 1 / find_largest_quotient(question.people, question.sizes),
    "presence-max": lambda question: find_largest_quotient(question.sizes, question.people),
    "prosecutor": lambda question: Fraction(1, int(question.sizes.min())),
    "journalist": lambda question: Fraction(1, int(question.people.min())),
}
