"""Reconstruction: the shares of bits that theory and other solvers give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from discreet.attacks.reconstruction import Method, Reconstruction, decode_bits, draw_random_sets
from discreet.core.errors import InvalidParameterError, RequestError
from tests.attacks.answerers import CLAIM, TABLE, Exactly
from tests.conftest import seeded


def recovered(people: int, noise: float, method: Method = "least squares", per_person: int = 8) -> float:
    """The share of bits from counts that are off by up to noise * sqrt(people)."""
    dice = np.random.default_rng(3)
    bits = dice.random(people) < 0.5
    sets = draw_random_sets(per_person * people, people, seeded(4))
    reach = noise * np.sqrt(people)
    answers = sets @ bits.astype(float) + dice.uniform(-reach, reach, len(sets))
    return float(np.mean(decode_bits(sets, answers, method) == bits))


@pytest.mark.parametrize(("noise", "least", "most"), [(0.25, 0.999, 1), (0.5, 0.98, 1), (1, 0.85, 0.92)])
def test_a_thousand_people_are_found_by_least_squares(noise: float, least: float, most: float) -> None:
    assert least <= recovered(1_000, noise) <= most


def test_noise_far_above_the_square_root_leaves_a_coin() -> None:
    assert 0.4 < recovered(400, 20) < 0.65


def test_people_are_found_by_linear_programming() -> None:
    assert recovered(60, 0.1, "linear programming", per_person=6) > 0.95


def test_least_squares_agree_with_another_solver() -> None:
    dice = np.random.default_rng(1)
    bits = dice.random(60) < 0.3
    sets = draw_random_sets(300, 60, seeded(2))
    answers = sets @ bits.astype(float) + dice.normal(0, 2, 300)
    centred = sets - sets.mean(axis=0)
    other = lsq_linear(centred.astype(float), answers - answers.mean(), bounds=(0, 1)).x
    sure = np.abs(other - 0.5) > 0.01
    assert np.array_equal((decode_bits(sets, answers) == (other > 0.5))[sure], np.ones(sure.sum(), bool))


@pytest.mark.parametrize("method", ["least squares", "linear programming"])
def test_exact_counts_give_everybody_away(method: Method) -> None:
    attack = Reconstruction(table=TABLE, claim=CLAIM, key="id", per_person=3, method=method)
    table = Exactly().ask(f"SELECT id, ill = 'yes' AS ill FROM {TABLE} WHERE id < 40 ORDER BY id").to_pydict()  # type: ignore[union-attr]
    found = attack.run(Exactly(), table["id"], table["ill"], seeded(1))
    assert found.success == 1
    assert found.figures["answers"] == 120


def test_sets_take_each_person_half_of_the_time() -> None:
    assert draw_random_sets(2_000, 100, seeded(1)).mean() == pytest.approx(0.5, abs=0.007)


def test_what_does_not_fit_is_said_in_one_sentence() -> None:
    attack = Reconstruction(table=TABLE, claim=CLAIM, key="id")
    with pytest.raises(RequestError, match=r"^reconstruction: it needs at least two people"):
        attack.run(Exactly(), [1, 2], [True], seeded(1))
    with pytest.raises(InvalidParameterError, match=r"^Reconstruction\.method must be one of least squares"):
        Reconstruction(table=TABLE, claim=CLAIM, key="id", method="magic")  # type: ignore[arg-type]
