"""The informed adversary believes what Bayes' rule says: the LPB paper's Table I, as recomputed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.attacks.informed_adversary import InformedAdversary
from discreet.belief import Promise
from discreet.core.errors import RequestError
from discreet.mechanisms.laplace import Laplace

WORLDS: dict[object, float] = {x: (1 + 2 + 3 + x) / 4 for x in (1, 2, 3, 5, 10)}
TABLE_I = {1: 0.073368, 2: 0.091625, 3: 0.114426, 5: 0.178462, 10: 0.542119}


def adversary(epsilon: float) -> InformedAdversary:
    noise = Laplace(epsilon=Fraction(epsilon), sensitivity=Fraction(9, 4), resolution=Fraction(1, 1000))
    return InformedAdversary(worlds=WORLDS, mechanism=noise)


def test_table_1_of_lpb() -> None:
    after = adversary(2).compute_posteriors(5.041)
    assert after == {x: pytest.approx(p, abs=5e-7) for x, p in TABLE_I.items()}


def test_the_finding_is_the_claim_that_gained_the_most() -> None:
    found = adversary(2).run([5.041], [10])
    (finding,) = found.victims
    assert finding.claim == "it is 10"
    assert finding.prior == pytest.approx(0.2)
    assert finding.posterior == pytest.approx(0.542119, abs=5e-7)
    assert finding.truth
    assert found.baseline == pytest.approx(0.2)


def test_noise_by_the_promise_keeps_one_fifth_below_one_half() -> None:
    promise = Promise(0.2, 0.5)
    outputs = [r / 10 for r in range(-50, 150)]
    reached = adversary(promise.epsilon).run(outputs, [10] * len(outputs)).figures["highest posterior"]
    assert 0.4 < reached <= 0.5


def test_answers_add_up_in_odds() -> None:
    attack = adversary(1)
    once, twice = attack.compute_posteriors(5.041), attack.compute_posteriors(5.041, 5.041)
    assert twice[10] / twice[1] == pytest.approx((once[10] / once[1]) ** 2)


def test_a_true_world_that_is_not_possible_is_refused() -> None:
    with pytest.raises(RequestError, match="a true world that is one of the worlds"):
        adversary(1).run([5.0], [4])
    with pytest.raises(RequestError, match="only one world"):
        InformedAdversary(worlds={1: 1.0}, mechanism=adversary(1).mechanism)
