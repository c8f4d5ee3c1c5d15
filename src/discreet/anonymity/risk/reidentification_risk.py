"""Re-identification risk: three attacker models, uniqueness in the population, special uniques.

prosecutor  knows that a certain person is in the table: a row of that person's class belongs to them with
            probability 1 / size.
journalist  wants to find anybody, and knows only that the table is part of a population: 1 / the number of
            people of the population who share the class's quasi-identifiers. Without a population table
            the prosecutor's risk is used, which is an upper bound.
marketer    links every row, and counts how many links are right: the journalist's probability, on average.

Success is the expected share of right links if each row is linked at random within its class.

Uniqueness in the sample and, by estimate, in the population from which it was drawn.

Let c_i be the number of classes of i rows, u of all, n the rows, f = n/N the sampling fraction.

Zayatz      The size distribution of the population is taken to be the sample's. A sample unique is then
            unique in the population with probability c_1 h(1) / Σ c_i h(i), h(i) the hypergeometric
            probability that one of i people is sampled; c_1 times that, over f, are unique in the
            population [Z91].
Pitman      Sizes follow Pitman's sampling formula with 0 < α < 1, θ > -α, fitted by maximum likelihood; then
            N Γ(θ + 1) Γ(θ + α + N - 1) / (Γ(θ + α) Γ(θ + N)) are expected to be unique [P95, H01].
SNB         Sizes are 1 + a negative binomial number (a, b) and each person is sampled with probability f.
            K, a and b are those under which u, c_1 and c_2 are what is expected; K b^a are unique [CK98].
            None where no such distribution exists.

The estimates depend on their models; none of them is a bound. With f = 1 all are c_1.

Special uniques: rows that a few columns already single out.

A set of columns is a minimal sample unique of a row if no other row has the same values in them, and for
every smaller set one does [Elliot 02]. The fewer columns it takes, the easier a row is found. For each
of its minimal uniques of s columns, out of M and searched up to m, a row scores the product of (M - i) over i
from s to m (to M - 1 where all columns are searched): the number of ways in which the set can be extended.

[Z91]       Zayatz, Estimation of the percent of unique population elements on a microdata file, 1991.
[P95]       Pitman, Exchangeable and partially exchangeable random partitions, 1995.
[H01]       Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment, 2001.
[CK98]      Chen & Keller-McNulty, Estimation of identification disclosure risk in microdata, 1998.
[Elliot 02] Elliot, Manning & Ford, A computational algorithm for handling the special uniques problem, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.anonymity.equivalence_classes import EquivalenceClasses, Integers, Tuples, number_rows
from discreet.anonymity.recoding import Floats, sum_by_group
from discreet.core.errors import require_parameter
from discreet.core.number_checks import require_count

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


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """The number of people with unique quasi-identifiers, in the sample and estimated in the population."""

    sample: int
    zayatz: float
    pitman: float
    snb: float | None


def estimate_uniqueness(classes: EquivalenceClasses, fraction: float) -> Uniqueness:
    """Return the uniques of the sample, and estimates for the population of which it is `fraction`."""
    holds = 0 < fraction <= 1
    require_parameter(
        holds, "estimate_uniqueness", "fraction", fraction, "a sampling fraction above 0, at most 1"
    )
    sizes, often = np.unique(classes.sizes, return_counts=True)
    single = int((classes.sizes == 1).sum())
    if fraction == 1 or single == 0:
        return Uniqueness(sample=single, zayatz=single, pitman=single, snb=float(single))
    doubles = int((classes.sizes == 2).sum())
    return Uniqueness(
        sample=single,
        zayatz=estimate_by_zayatz(sizes, often, fraction),
        pitman=estimate_by_pitman(sizes, often, fraction),
        snb=estimate_by_snb(len(classes), single, doubles, fraction),
    )


def estimate_by_zayatz(sizes: Integers, often: Integers, fraction: float) -> float:
    """Estimate population uniques by Zayatz; `often[i]` classes have `sizes[i]` rows."""
    drawn = int((sizes * often).sum())
    people = round(drawn / fraction)
    once = compute_single_draw_probability(sizes, drawn, people)
    single = float(often[sizes == 1].sum())
    alone = float(compute_single_draw_probability(np.array([1]), drawn, people)[0])
    return single * (single * alone / float((often * once).sum())) / fraction


def compute_single_draw_probability(sizes: Integers, drawn: int, people: int) -> Floats:
    """Return the probability that exactly one of `sizes` people is among `drawn` of `people`."""
    others, rest = people - sizes, drawn - 1
    possible = others >= rest
    others = np.where(possible, others, rest)
    logs = np.log(sizes) + _log_binomial(others, rest) - _log_binomial(np.array(people), drawn)
    return np.where(possible, np.exp(logs), 0.0)


def _log_binomial(n: Integers, k: int) -> Floats:
    gammaln = scipy.special.gammaln
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def estimate_by_pitman(sizes: Integers, often: Integers, fraction: float) -> float:
    """Estimate population uniques by Pitman's sampling formula."""
    theta, alpha = fit_pitman(sizes, often)
    people = round(int((sizes * often).sum()) / fraction)
    return compute_expected_uniques(theta, alpha, people)


def compute_expected_uniques(theta: float, alpha: float, people: int) -> float:
    """Return the expected number of classes of one person among `people`."""
    gammaln = scipy.special.gammaln
    logs = gammaln(theta + 1) + gammaln(theta + alpha + people - 1)
    return float(people * np.exp(logs - gammaln(theta + alpha) - gammaln(theta + people)))


def compute_log_likelihood(theta: float, alpha: float, sizes: Integers, often: Integers) -> float:
    """Return the logarithm of Pitman's sampling formula, up to a constant of the sizes."""
    gammaln = scipy.special.gammaln
    number, rows = float(often.sum()), float((sizes * often).sum())
    classes = (number - 1) * np.log(alpha) + gammaln(theta / alpha + number) - gammaln(theta / alpha + 1)
    people = gammaln(theta + rows) - gammaln(theta + 1)
    inside = (often * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
    return float(classes - people + inside)


def fit_pitman(sizes: Integers, often: Integers) -> tuple[float, float]:
    """Return the θ and α of greatest likelihood, from several starting points."""

    def to_parameters(point: Floats) -> tuple[float, float]:
        alpha = float(np.clip(scipy.special.expit(point[0]), 1e-9, 1 - 1e-9))
        return float(np.exp(np.clip(point[1], -30, 60))) - alpha, alpha

    def compute_cost(point: Floats) -> float:
        return -compute_log_likelihood(*to_parameters(point), sizes, often)

    minimize = scipy.optimize.minimize
    tries = [
        minimize(compute_cost, [a, np.log(b)], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10})
        for a in (-2.0, 1.0)
        for b in (1.0, float(often.sum()))
    ]
    return to_parameters(min(tries, key=lambda found: float(found.fun)).x)


def compute_expected_counts(a: float, b: float, fraction: float) -> tuple[float, float, float]:
    """Return the probabilities that one population class is sampled at all, once, and twice.

    From the generating function h(z) = z (b / (1 - (1 - b) z))^a of its size, at q = 1 - f:
    1 - h(q), f h'(q), f² h''(q) / 2.
    """
    q, c = 1 - fraction, 1 - b
    base = 1 - c * q
    power = (b / base) ** a
    first = power * (1 + a * c * q / base)
    second = power * a * c / base * (2 + (a + 1) * c * q / base)
    return 1 - q * power, fraction * first, fraction**2 * second / 2


def estimate_by_snb(number: float, single: float, double: float, fraction: float) -> float | None:
    """Estimate population uniques under the shifted negative binomial distribution."""

    def to_parameters(point: Floats) -> tuple[float, float]:
        return float(np.exp(point[0])), float(scipy.special.expit(point[1]))

    def compute_residuals(point: Floats) -> Floats:
        seen, once, twice = compute_expected_counts(*to_parameters(point), fraction)
        return np.array([once / seen - single / number, twice / seen - double / number])

    starts = [(x, y) for x in (-2.0, 0.0, 2.0) for y in (-4.0, -1.0, 2.0)]
    bounds = ([-12.0, -18.0], [12.0, 18.0])
    least_squares = scipy.optimize.least_squares
    tries = [
        least_squares(compute_residuals, start, bounds=bounds, xtol=1e-14, ftol=1e-14) for start in starts
    ]
    best = min(tries, key=lambda found: float(found.cost))
    if np.abs(best.fun).max() > 1e-6:  # no parameters reproduce the observed counts
        return None
    a, b = to_parameters(best.x)
    return float(number / compute_expected_counts(a, b, fraction)[0] * b**a)


Columns = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class SpecialUniques:
    """`sizes[s - 1]` minimal uniques have s columns, `columns[j]` contain column j; `scores` per tuple."""

    sizes: Integers
    columns: Integers
    scores: Integers


def find_special_uniques(tuples: Tuples, *, most: int = 3) -> SpecialUniques:
    """Return all minimal sample uniques of at most `most` columns, searched from small sets to large."""
    require_count("find_special_uniques", "most", most)
    width = tuples.codes.shape[1]
    most = min(most, width)
    domains = [int(tuples.codes[:, j].max(initial=0)) + 1 for j in range(width)]
    sizes, columns = np.zeros(most, np.int64), np.zeros(width, np.int64)
    scores = np.zeros(len(tuples), np.int64)
    below: dict[Columns, NDArray[np.bool_]] = {(): np.full(len(tuples), tuples.rows == 1)}
    for size in range(1, most + 1):
        weight = prod(width - i for i in range(size, min(most, width - 1) + 1))
        here: dict[Columns, NDArray[np.bool_]] = {}
        for chosen in combinations(range(width), size):
            alone = _find_unique_tuples(tuples, chosen, domains)
            smaller = [below[chosen[:i] + chosen[i + 1 :]] for i in range(size)]
            minimal = alone & ~np.logical_or.reduce(smaller)
            here[chosen] = alone
            found = int(minimal.sum())
            sizes[size - 1] += found
            columns[list(chosen)] += found
            scores += weight * minimal
        below = here
    return SpecialUniques(sizes=sizes, columns=columns, scores=scores)


def _find_unique_tuples(tuples: Tuples, chosen: Columns, domains: list[int]) -> NDArray[np.bool_]:
    """Return the tuples of one row whose values in some columns no other row has."""
    groups, number = number_rows([tuples.codes[:, j] for j in chosen], [domains[j] for j in chosen])
    alone: NDArray[np.bool_] = sum_by_group(groups, tuples.counts, number) == 1
    single: NDArray[np.bool_] = (tuples.counts == 1) & alone[groups]
    return single
