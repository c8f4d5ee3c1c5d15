"""EGM: Adewole, Olayiwola & Udeh, Differential Privacy: A Non-Stochastic Approach to Privacy Parameter
Generation.

The paper derives epsilon from the size of a table, and releases mean hours by workclass with it. The means
are right; the formula has three readings, of which one gives the printed epsilon, and the noise is not scaled
to the sensitivity.
"""

from __future__ import annotations

import math

from discreet.belief import epsilon_generation, highest_posterior
from discreet.papers.adult_survey import AdultSurvey, Workclass
from discreet.papers.reproduction import ComparedValue, Reproduction, ReproductionInputs

DOCUMENT = "A Non-Stochastic Approach to Privacy Parameter Generation (EGM)"
ROWS, COLUMNS = 32_561, 15
RANGE = 99 - 1
EPSILONS = ("2", "1", "0.5", "0.1", "0.693")
TRUE = {
    "Federal-gov": "41.38",
    "Local-gov": "40.98",
    "Never-worked": "28.43",
    "Private": "40.27",
    "Self-emp-inc": "48.82",
    "Self-emp-not-inc": "44.42",
    "State-gov": "39.03",
    "Without-pay": "32.71",
}
NOISY = {  # at epsilon 2, 1, 0.5, 0.1 and 0.693
    "Federal-gov": (41.28, 40.87, 42.41, 63.60, 48.42),
    "Local-gov": (40.56, 41.01, 40.99, 41.79, 38.96),
    "Never-worked": (28.86, 22.66, 29.89, 25.52, 30.32),
    "Private": (39.86, 39.70, 38.59, 55.52, 40.43),
    "Self-emp-inc": (48.87, 49.41, 47.24, 58.90, 54.62),
    "Self-emp-not-inc": (43.99, 45.03, 51.56, 39.07, 47.89),
    "State-gov": (38.15, 37.95, 41.37, 41.46, 40.16),
    "Without-pay": (32.94, 34.57, 32.06, 30.85, 32.28),
}
SCREEN = {  # Figure 4 cuts long numbers off
    "?": "31.919389",
    "Federal-gov": "41.379166",
    "Local-gov": "40.9827998",
    "Never-worked": "28.4285714",
    "Private": "40.2670955",
    "Self-emp-inc": "48.818100",
    "State-gov": "39.0315870",
    "Without-pay": "32.714285",
}


def reproduce_epsilon(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce the printed epsilon, and compute it for each reading of the formula."""
    adult = inputs.adult
    used = epsilon_generation(ROWS, COLUMNS).epsilon
    return Reproduction(
        name="egm-epsilon",
        document=DOCUMENT,
        title="The epsilon of the model",
        lines=(
            ComparedValue(
                "rows",
                "32,562",
                float(adult.rows),
                reason="the header was counted as a person: Figure 4 has a row 'Workclass 0.0'",
                is_sample=not adult.is_real,
            ),
            ComparedValue("epsilon: ln|1 - q| / p with p = 15", "0.693", used),
            ComparedValue("the abstract's rounding of it", "0.69", used),
            ComparedValue(
                "Equation 9: -ln|1 - N| / x",
                "0.693",
                -math.log(ROWS - 1) / COLUMNS,
                reason="a minus sign too many; it has a row count where Equation 7 has a probability",
            ),
            ComparedValue(
                "Algorithm 1, line 4: ln(|1 - q| / p)",
                "0.693",
                math.log((ROWS - 1) / COLUMNS),
                reason="the division is inside the logarithm",
            ),
            ComparedValue("the same with the 14 columns beside the class", "", math.log(ROWS - 1) / 14),
            ComparedValue("Google's ln 3", "1.1", math.log(3)),
            ComparedValue(
                "re-identification at this epsilon",
                "completely eliminated",
                f"a belief of 50% may become {highest_posterior(0.5, used):.1%}",
                reason=f"and one of 1% may become {highest_posterior(0.01, used):.2%}",
            ),
        ),
        notes=(
            "An epsilon that grows with the rows and ignores the question bounds no belief; it is offered "
            "as a heuristic, with the beliefs that it allows beside it.",
            "The abstract has epsilon's direction reversed: a high one means accurate and exposed. Equation "
            "8's factor is epsilon / 2, of |x|. Equation 5's epsilon is the accuracy of Roth and "
            "Roughgarden's test for hard questions, not a privacy loss.",
        ),
    )


def reproduce_table_1(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Table 1: mean hours by workclass."""
    adult = inputs.adult
    lines = [
        ComparedValue(name, printed, adult.workclasses[name].mean, is_sample=not adult.is_real)
        for name, printed in TRUE.items()
    ]
    unknown = adult.workclasses["?"]
    lines.append(
        ComparedValue(
            f"? ({unknown.people:,} people, left out without a word)",
            "",
            unknown.mean,
            is_sample=not adult.is_real,
        )
    )
    return Reproduction(
        name="egm-table-1",
        document=DOCUMENT,
        title="Table 1: mean hours per week by workclass",
        lines=tuple(lines),
        notes=("Query 1 lacks its GROUP BY workclass.",),
    )


def reproduce_table_2(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Table 2: the printed noise, and the actual epsilon of each group."""
    adult = inputs.adult
    scale = estimate_noise_scale()
    used = epsilon_generation(ROWS, COLUMNS).epsilon
    lines = [
        ComparedValue(
            "scale of the printed noise, times epsilon",
            "",
            scale,
            reason="fitted to the 40 cells; the sensitivity of a mean over n people is 98 / n",
        )
    ]
    for name in TRUE:
        group = adult.workclasses[name]
        lines.append(
            ComparedValue(
                f"{name} ({group.people:,} people): real epsilon",
                "0.693",
                compute_real_epsilon(group, scale / used),
                reason="noise of one size for all: far too little for few people, far too much for many",
                is_sample=not adult.is_real,
            )
        )
    return Reproduction(
        name="egm-table-2",
        document=DOCUMENT,
        title="Table 2: noisy means, and the epsilon of each group",
        lines=tuple(lines),
        notes=(
            "With Laplace(1 / epsilon), as Algorithm 2 reads with sensitivity 1, the seven who never worked "
            f"have epsilon {RANGE / 7 * used:.2f}.",
            "The noisy values are draws; nothing can be said of a single one.",
        ),
    )


def reproduce_figure_4(inputs: ReproductionInputs) -> Reproduction:
    """Reproduce Figure 4: the screen of true and private values."""
    adult = inputs.adult
    lines = [
        ComparedValue(
            f"{name}: true value",
            printed,
            _truncate_digits(adult.workclasses[name].mean, printed),
            is_sample=not adult.is_real,
        )
        for name, printed in SCREEN.items()
    ]
    lines.append(
        ComparedValue(
            "Workclass: true value",
            "0.0",
            _format_group_mean(adult, "Workclass"),
            reason="the header of the file, taken for a person",
        )
    )
    return Reproduction(
        name="egm-figure-4",
        document=DOCUMENT,
        title="Figure 4: the screen of true and private values",
        lines=tuple(lines),
        notes=(
            "True values on a screen are the custodian's alone; discreet shows them to nobody else.",
            "The group 'Workclass' gets noise of its own: -0.386 beside a true value of 0.",
        ),
    )


def estimate_noise_scale() -> float:
    """Return the maximum-likelihood scale of Laplace noise, times epsilon: the mean of |noise| epsilon."""
    sizes = [
        abs(noisy - float(TRUE[name])) * float(epsilon)
        for name, row in NOISY.items()
        for noisy, epsilon in zip(row, EPSILONS, strict=True)
    ]
    return sum(sizes) / len(sizes)


def compute_real_epsilon(group: Workclass, scale: float) -> float:
    """Return the sensitivity of the group's mean divided by the scale of the noise."""
    return RANGE / group.people / scale


def _format_group_mean(adult: AdultSurvey, name: str) -> str:
    found = adult.workclasses.get(name)
    return "no such group" if found is None else f"{found.mean:.1f}"


def _truncate_digits(value: float, printed: str) -> str:
    """Return the value truncated to as many digits as are printed."""
    places = len(printed.partition(".")[2])
    return f"{math.floor(value * 10**places) / 10**places:.{places}f}"
