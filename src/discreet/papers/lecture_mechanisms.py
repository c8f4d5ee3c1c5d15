"""The lectures on differential privacy: noise, sensitivity, neighbours, selection, trees, families."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from discreet.accounting import compose
from discreet.belief import Promise, highest_posterior
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.papers.lecture_tables import DOCUMENT
from discreet.papers.reproduction import (
    ComparedValue,
    ContinuousLaplace,
    Curve,
    Figure,
    Reproduction,
    ReproductionInputs,
)

CORRELATIONS = {"gender": 0.5, "age": 0.3}


def reproduce_laplace(inputs: ReproductionInputs) -> Reproduction:
    """Check lambda >= |h - h'| / epsilon by the ratio of densities over all answers."""
    del inputs
    epsilon, counts = 1.0, (2.0, 3.0)
    law = ContinuousLaplace(scale=1 / epsilon)
    answers = np.linspace(-10, 15, 5_001).tolist()
    ratio = max(law.likelihood(y, counts[0]) / law.likelihood(y, counts[1]) for y in answers)
    tight = ContinuousLaplace(scale=0.9 / epsilon)
    too_much = max(tight.likelihood(y, counts[0]) / tight.likelihood(y, counts[1]) for y in answers)
    curves = tuple(
        Curve(name=f"{count:g} patients", points=tuple((y, law.likelihood(y, count)) for y in answers[::50]))
        for count in counts
    )
    return Reproduction(
        name="lectures-laplace",
        document=DOCUMENT,
        title="Laplace noise: how large must lambda be?",
        lines=(
            ComparedValue("largest change of the number of diabetes patients", "1", 1.0),
            ComparedValue(
                "factor of the density for a step of 1, lambda = 1",
                f"{math.exp(-1):.4f}",
                law.likelihood(1, 0) / law.likelihood(0, 0),
            ),
            ComparedValue(
                "largest ratio of densities over all answers, epsilon = 1", f"{math.exp(epsilon):.4f}", ratio
            ),
            ComparedValue("the same with a tenth less noise", "", too_much),
        ),
        notes=("The bound is attained at every answer on one side of both counts.",),
        figure=Figure(x="answer", y="density", curves=curves),
    )


def reproduce_histogram(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the sensitivity of a histogram: replacing a record changes two bins by one."""
    del inputs
    return Reproduction(
        name="lectures-histogram",
        document=DOCUMENT,
        title="Sensitivity of a histogram",
        lines=(
            ComparedValue(
                "a record replaced",
                "2",
                float(ContributionBounds(rows=1, relation=Relation.VALUE).count_sensitivity().l1),
            ),
            ComparedValue(
                "the same, over all pairs of small tables", "2", _search_sensitivity(Relation.VALUE)
            ),
            ComparedValue(
                "a person added or removed",
                "",
                float(ContributionBounds(rows=1, relation=Relation.PRESENCE).count_sensitivity().l1),
            ),
            ComparedValue(
                "the same, over all pairs of small tables", "", _search_sensitivity(Relation.PRESENCE)
            ),
        ),
    )


def reproduce_neighbours(inputs: ReproductionInputs) -> Reproduction:
    """Compare bounded and unbounded differential privacy."""
    del inputs
    presence = Promise(0.01, 0.05, secret="presence")
    return Reproduction(
        name="lectures-neighbours",
        document=DOCUMENT,
        title="Bounded and unbounded: what changes between neighbours",
        lines=(
            ComparedValue(
                "unbounded epsilon implies bounded: factor",
                "2",
                1 / (Promise(0.01, 0.05).epsilon_for("presence") / Promise(0.01, 0.05).epsilon),
            ),
            ComparedValue(
                "bounded allows to publish the number of rows",
                "yes",
                "yes" if _search_sensitivity(Relation.VALUE, total=True) == 0 else "no",
            ),
            ComparedValue(
                "unbounded does",
                "no",
                "yes" if _search_sensitivity(Relation.PRESENCE, total=True) == 0 else "no",
            ),
            ComparedValue(
                "a presence promise of 1% to 5% allows a value belief of 1% to become",
                "",
                highest_posterior(0.01, 2 * presence.epsilon),
            ),
        ),
    )


def reproduce_exponential(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the exponential mechanism's choice between age and gender."""
    del inputs
    one = _get_probabilities(1.0)
    return Reproduction(
        name="lectures-exponential",
        document=DOCUMENT,
        title="Exponential mechanism: gender (0.5) or age (0.3)",
        lines=(
            ComparedValue(
                "Pr[gender] + Pr[age]",
                "1.10",
                sum(one.values()),
                reason="0.71 and 0.39 are of two different lambdas",
            ),
            ComparedValue("lambda at which gender has 0.71", "", _find_scale(0.71)),
            ComparedValue(
                "then Pr[age]",
                "0.39",
                _get_probabilities(_find_scale(0.71))["age"],
                reason="the rest of 0.71",
            ),
            ComparedValue("lambda at which age has 0.39", "", _find_scale(0.61)),
            ComparedValue(
                "then Pr[gender]",
                "0.71",
                _get_probabilities(_find_scale(0.61))["gender"],
                reason="the rest of 0.39",
            ),
            ComparedValue("Pr[gender] at lambda = 1", "", one["gender"]),
        ),
    )


def reproduce_tree(inputs: ReproductionInputs) -> Reproduction:
    """Compare two ways to select a split: noise on every score, or the exponential mechanism."""
    del inputs
    attributes, epsilon = 14, 0.1
    rates = {"Laplace on every score": epsilon / attributes, "exponential mechanism": epsilon}
    gaps = list(range(0, 401, 10))
    picture = Figure(
        x="rows by which the best split is ahead of the second",
        y="chance that it is chosen of two, sensitivity 1",
        curves=tuple(
            Curve(name=name, points=tuple((float(g), 1 / (1 + math.exp(-rate * g / 2))) for g in gaps))
            for name, rate in rates.items()
        ),
    )
    return Reproduction(
        name="lectures-tree",
        document=DOCUMENT,
        title="Decision trees: what it costs to choose among m attributes",
        lines=(
            ComparedValue(
                "m = 14 scores with Laplace noise of epsilon = 0.1 each: cost, m × epsilon",
                "1.4",
                compose([PureDP(epsilon=epsilon)] * attributes, delta=0).epsilon,
            ),
            ComparedValue(
                "exponential mechanism: cost, epsilon",
                "0.1",
                Exponential(epsilon=Fraction(1, 10), sensitivity=1).guarantee.cap,
            ),
            ComparedValue(
                "information gain of age",
                "3.5",
                _get_largest_gain(classes=2),
                reason="for a class of two values it is at most one bit",
            ),
        ),
        notes=(
            "Report noisy max needs epsilon alone as well: the cost of m is that of publishing all scores. "
            "The picture gives both the same total of 0.1.",
        ),
        figure=picture,
    )


def reproduce_family(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce correlated records: a family of ten that is ill together or not at all."""
    del inputs
    return Reproduction(
        name="lectures-family",
        document=DOCUMENT,
        title="Correlation: a family of ten in which one illness is everybody's",
        lines=(
            ComparedValue(
                "epsilon 0.1: a belief of 1% becomes at most", "", highest_posterior(0.01, 10 * 0.1)
            ),
            ComparedValue("epsilon 1: a belief of 1% becomes at most", "", highest_posterior(0.01, 10 * 1.0)),
            ComparedValue(
                "epsilon of each that keeps 1% to 5% for the family",
                "",
                Promise(0.01, 0.05, group=10).epsilon,
            ),
            ComparedValue(
                "epsilon understates the risk of a family",
                "yes",
                "yes" if highest_posterior(0.01, 10 * 0.1) > highest_posterior(0.01, 0.1) else "no",
            ),
        ),
        notes=("A promise with group = 10 is the honest one here: a tenth of the budget each.",),
    )


def _search_sensitivity(relation: Relation, *, total: bool = False) -> float:
    """Return the largest L1 change of a 3-bin histogram, or of its total, over tables of up to 3 rows."""
    tables = [t for n in range(4) for t in itertools.combinations_with_replacement(range(3), n)]
    largest = 0
    for one in tables:
        for other in tables:
            a, b = (np.bincount(np.array(t, dtype=int), minlength=3) for t in (one, other))
            apart = int(np.abs(a - b).sum())
            replaced = len(one) == len(other) and apart <= 2
            added = abs(len(one) - len(other)) == 1 and apart == 1
            if replaced if relation is Relation.VALUE else added:
                largest = max(largest, abs(int(a.sum() - b.sum())) if total else apart)
    return float(largest)


def _get_probabilities(scale: float) -> dict[str, float]:
    odds = {name: math.exp(score / scale) for name, score in CORRELATIONS.items()}
    return {name: each / sum(odds.values()) for name, each in odds.items()}


def _find_scale(gender: float) -> float:
    """Return the lambda at which gender is chosen with this probability."""
    return (CORRELATIONS["gender"] - CORRELATIONS["age"]) / math.log(gender / (1 - gender))


def _get_largest_gain(*, classes: int) -> float:
    """Return the entropy of equally frequent classes in bits, the most that a split can gain."""
    return math.log2(classes)
