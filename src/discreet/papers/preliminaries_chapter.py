"""Chapter 2 of Zhu, Li, Zhou & Yu, Differential Privacy and Applications: preliminaries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.accounting import compose, compose_parallel
from discreet.belief import accuracy_first
from discreet.core.guarantees import GaussianDP, PureDP
from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import exact_sigma, textbook_sigma
from discreet.mechanisms.sensitivity import ContributionBounds, mean_sensitivity, median_sensitivity
from discreet.papers.reproduction import (
    ComparedValue,
    ContinuousLaplace,
    Curve,
    Figure,
    Reproduction,
    ReproductionInputs,
)

Floats = NDArray[np.float64]

DOCUMENT = "Differential Privacy and Applications, chapter 2"
DISEASES = {"Diabetes": 24, "Hepatitis": 8, "Flu": 28, "HIV": 5}
PRINTED = {
    "0": ("0.25", "0.25", "0.25", "0.25"),
    "0.1": ("0.32", "0.15", "0.40", "0.13"),
    "1": ("0.12", "4e-5", "0.88", "8.9e-6"),
}
DELTA = 1e-5


def reproduce_table_2_3(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Table 2.3: the commonest disease by the exponential mechanism."""
    del inputs
    lines = []
    for epsilon, row in PRINTED.items():
        chances = _get_probabilities(float(epsilon))
        for (disease, printed), chance in zip(zip(DISEASES, row, strict=True), chances.tolist(), strict=True):
            lines.append(
                ComparedValue(
                    f"epsilon {epsilon}: {disease}",
                    printed,
                    chance,
                    reason="cut off instead of rounded" if printed == "0.32" else "",
                )
            )
    return Reproduction(
        name="chapter-table-2.3",
        document=DOCUMENT,
        title="Table 2.3: which disease is the commonest, by the exponential mechanism",
        lines=tuple(lines),
        notes=(
            "With people added or removed the scores are monotone, and the mechanism may use twice the rate: "
            "the chapter's figures are those of half the epsilon.",
        ),
    )


def reproduce_hiv_count(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the HIV count with Laplace noise of scale 1."""
    del inputs
    reach = float(ContributionBounds(rows=1, relation=Relation.PRESENCE).count_sensitivity().l1)
    mean, middle = mean_sensitivity(low=17, high=90, rows=48_842), median_sensitivity(low=17, high=90)
    return Reproduction(
        name="chapter-hiv",
        document=DOCUMENT,
        title="The HIV count at epsilon 1",
        lines=(
            ComparedValue("sensitivity of a count", "1", reach),
            ComparedValue("scale of the noise at epsilon 1", "1", reach / 1.0),
            ComparedValue(
                "people with HIV",
                "10",
                float(DISEASES["HIV"]),
                reason="Table 2.3 has 5; the text takes another number for the example",
            ),
            ComparedValue(
                "chance that the answer is within 1 of the truth",
                "",
                ContinuousLaplace(scale=1).probability_within(1),
            ),
            ComparedValue(
                "sensitivity of an average: age in 17..90 over 48,842 known people",
                "high",
                "small" if mean < Fraction(middle, 1_000) else "high",
                reason=f"range / n = {float(mean):.4f}; it is the median's that is the whole range, {middle}",
            ),
        ),
    )


def reproduce_composition(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce sequential, parallel and optimal composition."""
    del inputs
    tenth = [PureDP(epsilon=0.1)] * 10
    together = compose(tenth, delta=DELTA)
    thousand = compose({PureDP(epsilon=0.01): 1_000}, delta=1e-6)
    return Reproduction(
        name="chapter-composition",
        document=DOCUMENT,
        title="Composition: what several releases cost together",
        lines=(
            ComparedValue(
                "10 releases at epsilon 0.1, one after the other", "1", together.alternatives["sequential"]
            ),
            ComparedValue(
                "two parts at epsilon 0.1 and 0.2, people added or removed",
                "0.2",
                _compose_parallel(Relation.PRESENCE),
            ),
            ComparedValue(
                "the same, a record replaced",
                "0.2",
                _compose_parallel(Relation.VALUE),
                reason="a replaced record may leave one part and enter the other, so both count; one that "
                "stays in its part counts twice",
            ),
            ComparedValue(
                "1,000 releases at epsilon 0.01, delta 1e-6: sequential",
                "",
                thousand.alternatives["sequential"],
            ),
            ComparedValue("the same, the tightest theorem", "", thousand.epsilon),
        ),
        notes=(
            "'Adaptive consumes less' is not so: the optimal bounds hold for mechanisms that are chosen "
            "adaptively with epsilons fixed in advance; where the epsilons are chosen on the way, a privacy "
            "filter is needed, which discreet's ledger is.",
            "The sum of Theorem 2.2 is over epsilon_i.",
        ),
    )


def reproduce_gaussian(inputs: ReproductionInputs) -> Reproduction:
    """Compare the chapter's formula for sigma with the exact calibration."""
    del inputs
    epsilons = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 8.0, 9.0, 10.0, 12.0]
    curves = (
        Curve(
            name="the chapter's formula", points=_make_points(epsilons, lambda e: textbook_sigma(e, DELTA))
        ),
        Curve(name="exact", points=_make_points(epsilons, lambda e: exact_sigma(e, DELTA))),
    )
    return Reproduction(
        name="chapter-gaussian",
        document=DOCUMENT,
        title="Gaussian noise: the formula and the exact calibration, delta = 1e-5",
        lines=(
            ComparedValue(
                "sigma at epsilon 1 that is enough",
                f"{textbook_sigma(1, DELTA):.3f}",
                exact_sigma(1, DELTA),
                reason="sqrt(2 ln(2 / delta)) / epsilon is safe here, "
                "and asks for a third more than is needed",
            ),
            ComparedValue("with 1.25 / delta in its place", "", _get_classic_sigma(1.0)),
            ComparedValue(
                "the chapter's formula is too small from epsilon",
                "",
                _find_failing_epsilon(lambda e: textbook_sigma(e, DELTA)),
            ),
            ComparedValue(
                "the one with 1.25 / delta from epsilon", "", _find_failing_epsilon(_get_classic_sigma)
            ),
        ),
        notes=(
            "The chapter gives the formula for every epsilon; it needs one that is bounded.",
            "'Variance sigma' should read sigma squared, as the definition below it writes.",
        ),
        figure=Figure(x="epsilon", y="sigma", curves=curves, is_logarithmic=True),
    )


def reproduce_usefulness(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the (alpha, beta)-usefulness of counts with Laplace noise."""
    del inputs
    alpha, beta, questions = 10.0, 0.05, 10
    one = ContinuousLaplace(scale=alpha / math.log(1 / beta))
    return Reproduction(
        name="chapter-usefulness",
        document=DOCUMENT,
        title="(alpha, beta)-usefulness: all errors within alpha but for beta",
        lines=(
            ComparedValue(
                "one count within 10 with 95%: epsilon",
                "",
                accuracy_first(alpha, beta, noise="laplace").epsilon,
            ),
            ComparedValue("chance that it is within 10 at this epsilon", "", one.probability_within(alpha)),
            ComparedValue(
                "ten counts, all within 10 with 95%: epsilon in all",
                "",
                questions * math.log(1 / (1 - (1 - beta) ** (1 / questions))) / alpha,
            ),
        ),
        notes=(
            "Definition 2.4's smooth bound is for neighbours, not for all pairs of tables: for all pairs it "
            "would be constant up to e^beta.",
        ),
    )


def _get_probabilities(epsilon: float) -> Floats:
    scores = np.array(list(DISEASES.values()))
    if epsilon == 0:
        return np.full(scores.size, 1 / scores.size)
    return Exponential(epsilon=Fraction(str(epsilon)), sensitivity=1).probabilities(scores)


def _compose_parallel(relation: Relation) -> float:
    """Return the parallel composition of 0.1 and 0.2, each proven for added or removed people."""
    parts = [PureDP(epsilon=e, relation=Relation.PRESENCE) for e in (0.1, 0.2)]
    return float(compose_parallel(parts, relation).cap)


def _get_classic_sigma(epsilon: float) -> float:
    return math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


def _find_failing_epsilon(sigma: Callable[[float], float]) -> float:
    """Return the epsilon above which this much noise is not (epsilon, delta)-DP."""

    def compute_excess(epsilon: float) -> float:
        return GaussianDP(mu=1 / sigma(epsilon)).profile(epsilon) / DELTA - 1

    return float(scipy.optimize.brentq(compute_excess, 1.0, 30.0))


def _make_points(
    epsilons: Sequence[float], sigma: Callable[[float], float]
) -> tuple[tuple[float, float], ...]:
    return tuple((e, sigma(e)) for e in epsilons)
