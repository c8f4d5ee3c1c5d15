"""LPB: Ouyang, Yin & Liu, Limiting Privacy Breaches in Differential Privacy.

Its thesis is the one discreet builds on: epsilon = ln gamma(rho1, rho2). It contains arithmetic errors, and
its Figures 2 to 4 show the same quantity.
"""

from __future__ import annotations

from math import log

from discreet.belief import Promise, compute_posterior, highest_posterior, uniform_prior
from discreet.papers.adult_survey import AdultSurvey
from discreet.papers.reproduction import (
    ComparedValue,
    ContinuousLaplace,
    Curve,
    Figure,
    Reproduction,
    ReproductionInputs,
)

DOCUMENT = "Limiting Privacy Breaches in Differential Privacy (LPB)"
PEOPLE = 48_842
BOUNDS = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
WORLDS = {x: (1 + 2 + 3 + x) / 4 for x in (1, 2, 3, 5, 10)}
RESPONSE = 5.041
PRINTED_NOISE = ("3.291", "3.401", "2.791", "2.291", "1.041")
PRINTED_DENSITIES = ("0.0238", "0.0216", "0.0372", "0.0580", "0.1762")
PRINTED_POSTERIORS = ("0.0751", "0.0682", "0.1174", "0.1831", "0.5562")
RHO1 = {"age": (0.0137, 0.049, 0.09, 0.19), "hours-per-week": (0.0101, 0.049, 0.09, 0.19)}
RHO1["education-num"] = (0.0625, 0.079, 0.09, 0.19)
RHO2 = tuple(k / 10 for k in range(2, 10))
FIGURES = {"age": "2", "hours-per-week": "3", "education-num": "4"}


def reproduce_table_1(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Table I: beliefs about x after the mean of {1, 2, 3, x} is released as 5.041 at epsilon 2."""
    del inputs
    spread = max(WORLDS.values()) - min(WORLDS.values())
    law = ContinuousLaplace(scale=spread / 2)
    after = compute_posterior(law, WORLDS, uniform_prior(WORLDS), RESPONSE)
    lines = [
        ComparedValue("sensitivity of the mean", "2.25", spread),
        ComparedValue("scale of the noise", "1.125", law.scale),
        ComparedValue(
            "response r",
            "5.401",
            RESPONSE,
            reason="two digits swapped: the noise of every other row leads back to 5.041, "
            "as the text says once",
        ),
    ]
    printed = zip(WORLDS, PRINTED_NOISE, PRINTED_DENSITIES, PRINTED_POSTERIORS, strict=True)
    for x, noise, density, believed in printed:
        slip = "computed from a noise of 3.401 where it is 3.041" if x == 2 else ""
        lines += [
            ComparedValue(f"x = {x}: noise", noise, RESPONSE - WORLDS[x], reason=slip),
            ComparedValue(f"x = {x}: density", density, law.likelihood(RESPONSE, WORLDS[x]), reason=slip),
            ComparedValue(
                f"x = {x}: posterior",
                believed,
                after[x],
                reason=slip or "divided by a sum that holds the wrong density of x = 2",
            ),
        ]
    safe = Promise(0.2, 0.5)
    lines.append(ComparedValue("noise that keeps (0.2, 0.5): scale", "", safe.laplace_scale(spread)))
    return Reproduction(
        name="lpb-table-1",
        document=DOCUMENT,
        title="Table I: what a mean at epsilon 2 reveals about the missing value",
        lines=tuple(lines),
        notes=(
            f"The verdict stands: 20% becomes {after[10]:.1%}, above 50%. An epsilon of 2 alone would allow "
            f"{highest_posterior(0.2, 2):.1%}; the promise (20%, 50%) needs epsilon = ln 4 = "
            f"{safe.epsilon:.4f}.",
            "Densities are called probabilities throughout; as likelihoods they serve as well.",
            "A breach is taken here as a posterior above rho2: with noise of just that size Laplace attains "
            "rho2, which Definition 3 would call a breach and Theorem 2 would not.",
        ),
    )


def reproduce_table_2(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Table II: sensitivities of means over Adult, and the chance of a random guess."""
    adult = inputs.adult
    names = dict(zip(BOUNDS, ("age", "education_num", "hours_per_week"), strict=True))
    printed = {
        "age": ("90", "17", "0.0015", "0.0137"),
        "education-num": ("16", "1", "0.0031", "0.0101"),
        "hours-per-week": ("99", "1", "0.0020", "0.0625"),
    }
    slips = {
        "age": ("", "1/73: the difference 90 - 17, where 74 values are possible"),
        "education-num": ("a zero too few: 15 / 48,842", "swapped with hours-per-week"),
        "hours-per-week": ("", "swapped with education-num; 99 values are possible, 96 occur"),
    }
    lines = [ComparedValue("people", "48,842", float(adult.people), is_sample=not adult.is_real)]
    for column, (high, low, reach, guess) in printed.items():
        found = adult.columns[names[column]]
        lines += [
            _make_adult_line(adult, f"{column}: max", high, float(found.high)),
            _make_adult_line(adult, f"{column}: min", low, float(found.low)),
            _make_adult_line(
                adult,
                f"{column}: sensitivity",
                reach,
                (found.high - found.low) / adult.people,
                slips[column][0],
            ),
            _make_adult_line(
                adult, f"{column}: random guess", guess, 1 / found.possible_values, slips[column][1]
            ),
        ]
    lines += [
        ComparedValue("numeric attributes", "5", float(len(NUMERIC)), reason=", ".join(NUMERIC)),
        ComparedValue("categorical attributes", "9", 14.0 - len(NUMERIC), reason="of 14"),
    ]
    return Reproduction(
        name="lpb-table-2",
        document=DOCUMENT,
        title="Table II: Adult's columns, their sensitivity in a mean, a random guess",
        lines=tuple(lines),
        notes=(
            "The bounds are read from the data, as in the paper; discreet takes them from the policy alone.",
            "The text gives 1~99 as the possible ages; that is the range of hours.",
        ),
    )


def reproduce_figure_1(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Figure 1: the scale of the noise against rho1, at rho2 = 0.5."""
    del inputs
    priors = [k / 100 for k in range(1, 11)]
    curves = tuple(
        Curve(
            name=column,
            points=tuple((p, Promise(p, 0.5).laplace_scale((high - low) / PEOPLE)) for p in priors),
        )
        for column, (low, high) in BOUNDS.items()
    )
    lines = [
        ComparedValue(f"{curve.name}: scale at rho1 = {p:g}", "", scale)
        for curve in curves
        for p, scale in (curve.points[0], curve.points[-1])
    ]
    rises = all(a[1] < b[1] for curve in curves for a, b in zip(curve.points, curve.points[1:], strict=False))
    lines.append(ComparedValue("noise as rho1 grows", "increases", "increases" if rises else "falls"))
    return Reproduction(
        name="lpb-figure-1",
        document=DOCUMENT,
        title="Figure 1: noise against the prior, at rho2 = 0.5",
        lines=tuple(lines),
        notes=("The caption says rho1 = 0.01; rho1 is the axis and runs from 0.01 to 0.10.",),
        figure=Figure(x="prior rho1", y="scale of the Laplace noise", curves=curves),
    )


def reproduce_noise_ratio(column: str) -> Reproduction:
    """Reproduce one of Figures 2 to 4: noise over range, as rho1 and rho2 vary."""
    low, high = BOUNDS[column]
    curves, lines = [], []
    for rho1 in RHO1[column]:
        laws = {
            r: ContinuousLaplace(scale=_get_noise_ratio(low, high, Promise(rho1, r).epsilon)) for r in RHO2
        }
        curves.append(
            Curve(name=f"rho1 = {rho1:g}", points=tuple((r, law.quantile(0.75)) for r, law in laws.items()))
        )
        lines += [
            ComparedValue(f"upper quartile at ({rho1:g}, {r:g})", "", laws[r].quantile(0.75))
            for r in (RHO2[0], 0.5, RHO2[-1])
        ]
    falls = all(a[1] > b[1] for curve in curves for a, b in zip(curve.points, curve.points[1:], strict=False))
    lines.append(
        ComparedValue(
            "noise needed as rho2 grows",
            "more",
            "less" if falls else "more",
            reason="a weaker promise needs less noise: lambda falls as rho2 rises",
        )
    )
    return Reproduction(
        name=f"lpb-figure-{FIGURES[column]}",
        document=DOCUMENT,
        title=f"Figure {FIGURES[column]}: noise ratio for {column}",
        lines=tuple(lines),
        notes=(
            "Noise over range is Laplace(1 / (n epsilon)) for every column, so that Figures 2, 3 and 4 can "
            "differ only in their rho1, and by chance.",
        ),
        figure=Figure(
            x="posterior rho2",
            y="upper quartile of the noise ratio",
            curves=tuple(curves),
            is_logarithmic=True,
        ),
    )


def reproduce_figure_2(inputs: ReproductionInputs) -> Reproduction:
    del inputs
    return reproduce_noise_ratio("age")


def reproduce_figure_3(inputs: ReproductionInputs) -> Reproduction:
    del inputs
    return reproduce_noise_ratio("hours-per-week")


def reproduce_figure_4(inputs: ReproductionInputs) -> Reproduction:
    del inputs
    return reproduce_noise_ratio("education-num")


def reproduce_figure_5(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Figure 5: noise over range for given epsilons, and the beliefs that they allow."""
    del inputs
    epsilons = (0.1, 0.5, 1.0, 2.0, 5.0)
    laws = {epsilon: ContinuousLaplace(scale=_get_noise_ratio(17, 90, epsilon)) for epsilon in epsilons}
    quartiles = Curve(name="any column", points=tuple((e, law.quantile(0.75)) for e, law in laws.items()))
    lines = [
        ComparedValue(f"upper quartile at epsilon {epsilon:g}", "", law.quantile(0.75))
        for epsilon, law in laws.items()
    ]
    lines += [
        ComparedValue(
            f"a belief of 1% may become, at epsilon {epsilon:g}", "", highest_posterior(0.01, epsilon)
        )
        for epsilon in epsilons
    ]
    return Reproduction(
        name="lpb-figure-5",
        document=DOCUMENT,
        title="Figure 5: noise ratio of epsilon-differential privacy",
        lines=tuple(lines),
        notes=("LPB and epsilon are one: each (rho1, rho2) is an epsilon, each epsilon many such pairs.",),
        figure=Figure(
            x="epsilon", y="upper quartile of the noise ratio", curves=(quartiles,), is_logarithmic=True
        ),
    )


def reproduce_claims(inputs: ReproductionInputs) -> Reproduction:
    """Check the numerical claims of the text."""
    del inputs
    largest = max(highest_posterior(p / 1000, Promise(0.5, 0.9).epsilon) - p / 1000 for p in range(1, 501))
    return Reproduction(
        name="lpb-claims",
        document=DOCUMENT,
        title="What the text says of its formulas",
        lines=(
            ComparedValue(
                "most that (0.5, 0.9) lets a belief of up to 0.5 grow by",
                "0.4",
                round(largest, 6),
                reason="rho2 - rho1 bounds it only while rho1 + rho2 <= 1: 0.25 may become 0.75",
            ),
            ComparedValue(
                "does a smaller rho2 - rho1 mean more noise?",
                "yes",
                "yes" if Promise(0.4, 0.5).epsilon > Promise(0.01, 0.05).epsilon else "not always",
                reason="only with one end fixed: (0.01, 0.05) has epsilon 1.65, (0.4, 0.5) has 0.405; "
                "and with "
                "neither fixed a difference of 0.04 needs less noise than one of 0.1",
            ),
            ComparedValue(
                "differential identifiability with m = 5 and rho = 0.5: epsilon",
                "",
                log((5 - 1) * 0.5 / (1 - 0.5)),
            ),
            ComparedValue("LPB at rho1 = 1/5: epsilon", "", Promise(0.2, 0.5).epsilon),
        ),
        notes=(
            "Definition 3 says a breach needs all responses r; it takes one.",
            "'Independent of the prior' means of its shape: the bound rho1 is part of the promise.",
        ),
    )


def _get_noise_ratio(low: int, high: int, epsilon: float) -> float:
    """Return the scale of the noise over the range: sensitivity / epsilon / range."""
    return (high - low) / PEOPLE / epsilon / (high - low)


def _make_adult_line(
    adult: AdultSurvey, what: str, printed: str, value: float, why: str = ""
) -> ComparedValue:
    return ComparedValue(what, printed, value, reason=why, is_sample=not adult.is_real)
