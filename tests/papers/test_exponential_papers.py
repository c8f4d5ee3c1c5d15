"""The exponential mechanism as the chapter's Table 2.3 and the lectures print it, and as it is right."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.mechanisms.exponential import Exponential
from tests.mechanisms.selecting import scores

DISEASES = scores(24, 8, 28, 5)  # Diabetes, Hepatitis, Flu, HIV
PRINTED = {Fraction(1, 10): (0.32, 0.15, 0.40, 0.13), Fraction(1): (0.12, 4e-5, 0.88, 8.9e-6)}
RECOMPUTED = {
    Fraction(1, 10): (0.32706751070666423, 0.1469609057822237, 0.3994811596817006, 0.12649042382941134),
    Fraction(1): (0.11919709201101714, 3.998616972435331e-05, 0.8807539996988041, 8.92212045431725e-06),
}


@pytest.mark.parametrize("epsilon", RECOMPUTED)
def test_table_of_diseases_is_recomputed(epsilon: Fraction) -> None:
    law = Exponential(epsilon=epsilon, sensitivity=1).probabilities(DISEASES)
    assert law == pytest.approx(RECOMPUTED[epsilon], rel=1e-12)


def test_table_of_diseases_is_as_printed_but_for_one_rounding() -> None:
    differ = [
        (epsilon, place)
        for epsilon, printed in PRINTED.items()
        for place, value in enumerate(printed)
        if float(f"{Exponential(epsilon=epsilon, sensitivity=1).probabilities(DISEASES)[place]:.2g}") != value
    ]
    assert differ == [(Fraction(1, 10), 0)]


def test_table_of_diseases_is_even_as_epsilon_vanishes() -> None:
    law = Exponential(epsilon=Fraction(1, 10**12), sensitivity=1).probabilities(DISEASES)
    assert law == pytest.approx([0.25] * 4, abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "gender", "age"),
    [(0.22336783937334342, 0.71, 0.29), (0.4471149947003612, 0.61, 0.39), (1, 0.549834, 0.450166)],
)
def test_correlations_of_the_lectures_cannot_have_both_printed_probabilities(
    scale: float, gender: float, age: float
) -> None:
    """Scores .5 and .3 in tenths; weight exp(score / scale) is a rate of 1 / (10 scale) for each tenth."""
    mechanism = Exponential(epsilon=Fraction(2) / (10 * Fraction(scale)), sensitivity=1)
    assert mechanism.probabilities(scores(5, 3)) == pytest.approx([gender, age], abs=1e-6)
