"""Differencing, tracker, averaging: what they find without a promise, and what a curator leaves of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import Curator
from discreet.attacks.averaging import Averaging
from discreet.attacks.differencing import Differencing, Tracker
from discreet.attacks.privacy_audit import audit_posteriors
from discreet.attacks.query_attacks import Refusal, Victim, compute_claim_posterior
from discreet.core.errors import RequestError
from discreet.mechanisms.discrete_laplace import DiscreteLaplace
from discreet.services.attack.answers_evaluation import CuratorAnswerer
from tests.attacks.answerers import CLAIM, TABLE, VICTIMS, Exactly, FreshNoise, LeastCount, write_policy
from tests.conftest import seeded

NOISE = DiscreteLaplace(epsilon=Fraction(2, 5), sensitivity=1)
DIFFERENCING = Differencing(table=TABLE, claim=CLAIM)
TRACKER = Tracker(table=TABLE, claim=CLAIM, trackers=("age < 21", "age < 50"))


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    with Curator.open(write_policy(tmp_path), random=seeded(2)) as opened:
        yield opened


def test_differencing_tells_everybody_from_exact_counts_even_if_small_ones_are_refused() -> None:
    for answerer in (Exactly(), LeastCount()):
        found = DIFFERENCING.run(answerer, VICTIMS)
        assert found.success == 1
        assert {each.posterior for each in found.victims} <= {0.0, 1.0}


def test_a_tracker_opens_a_table_that_refuses_direct_questions() -> None:
    found = TRACKER.run(LeastCount(), VICTIMS)
    assert found.figures["direct questions refused"] == 1
    assert found.success == 1


def test_a_tracker_that_is_refused_finds_nothing() -> None:
    found = Tracker(table=TABLE, claim=CLAIM, trackers=("age < 21",)).run(LeastCount(), VICTIMS)
    assert found.figures["refused"] == len(VICTIMS)
    assert {each.posterior for each in found.victims} == {0.5}


def by_enumeration(number: int, answers: int, prior: float) -> float:
    """The posterior from the masses of sums, found by convolution."""
    one = np.array([NOISE.mass(z) for z in range(-200, 201)])
    law = one
    for _ in range(answers - 1):
        law = np.convolve(law, one)
    middle = law.size // 2
    likely, unlikely = law[middle + number - 1], law[middle + number]
    return float(prior * likely / (prior * likely + (1 - prior) * unlikely))


@pytest.mark.parametrize("answers", [1, 2, 4])
@pytest.mark.parametrize("number", [-9, -1, 0, 1, 2, 30])
def test_belief_is_bayes_rule_on_the_sum_of_the_noises(number: int, answers: int) -> None:
    after = compute_claim_posterior(number, answer_count=answers, noise=NOISE, prior=0.2)
    assert after == pytest.approx(by_enumeration(number, answers, 0.2), rel=1e-9)


def test_averaging_finds_out_where_noise_is_always_fresh() -> None:
    """The loss of 200 answers is 92 on average with a deviation of 13: below 7 once in 10**10 times."""
    noise = DiscreteLaplace(epsilon=Fraction(1), sensitivity=1)
    attack = Averaging(table=TABLE, claim=CLAIM, noise=noise, repeats=200)
    found = attack.run(FreshNoise(noise, seeded(5)), VICTIMS[:4])
    assert found.success == 1
    assert all(abs(each.posterior - float(each.truth or 0)) < 1e-3 for each in found.victims)


def test_a_stored_answer_is_one_answer_however_often_it_is_read(curator: Curator) -> None:
    attack = Averaging(table=TABLE, claim=CLAIM, noise=NOISE, repeats=50)
    found = attack.run(CuratorAnswerer(curator=curator, epsilon=NOISE.epsilon), VICTIMS[:1])
    assert found.figures["answers of one victim, at most"] == 1
    assert len(curator.ledger.list_entries()) == 1
    odds = [p / (1 - p) for p in (found.victims[0].prior, found.victims[0].posterior)]
    assert abs(math.log(odds[1] / odds[0])) <= float(NOISE.epsilon) + 1e-9


def test_questions_that_only_read_differently_are_charged_until_the_budget_is_spent(curator: Curator) -> None:
    attack = Averaging(table=TABLE, claim=CLAIM, noise=NOISE, repeats=50, same="age >= -{i}")
    answerer = CuratorAnswerer(curator=curator, epsilon=NOISE.epsilon)
    found = attack.run(answerer, VICTIMS[:2])
    assert found.figures["answers of one victim, at most"] == 2
    assert isinstance(answerer.ask(f"SELECT COUNT(*) AS n FROM {TABLE}"), Refusal)
    assert all(0.3 - 1e-9 <= each.posterior <= 0.7 + 1e-9 for each in found.victims)


def test_no_attack_on_a_curator_ends_above_the_promise(tmp_path: Path) -> None:
    """Each attack meets a fresh curator several times; the claims that are true are judged."""
    attacks: tuple[Differencing | Tracker | Averaging, ...] = (
        Differencing(table=TABLE, claim=CLAIM, noise=NOISE),
        Tracker(
            table=TABLE,
            claim=CLAIM,
            trackers=("age < 50",),
            noise=DiscreteLaplace(epsilon=Fraction(1, 5), sensitivity=1),
        ),
        Averaging(table=TABLE, claim=CLAIM, noise=NOISE, repeats=9, same="age >= -{i}"),
    )
    path, posteriors = write_policy(tmp_path), []
    for seed, attack in enumerate(attacks * 4):
        with Curator.open(path, random=seeded(seed)) as curator:
            epsilon = Fraction(1, 5) if isinstance(attack, Tracker) else NOISE.epsilon
            found = attack.run(CuratorAnswerer(curator=curator, epsilon=epsilon), VICTIMS[:6])
            posteriors += [each.posterior for each in found.victims if each.truth]
            promise = curator.promise
    judged = audit_posteriors(posteriors, promise)
    assert judged.above_cap == 0
    assert judged.holds


def test_what_cannot_be_attacked_is_said_in_one_sentence() -> None:
    with pytest.raises(RequestError, match=r"^differencing: there is nobody to attack\. Name at least one"):
        DIFFERENCING.run(Exactly(), ())
    with pytest.raises(RequestError, match=r"^tracker: no condition that many rows meet is given\."):
        Tracker(table=TABLE, claim=CLAIM, trackers=())


def test_an_answer_that_is_no_count_is_refused() -> None:
    class Chatty:
        def ask(self, sql: str) -> pa.Table | Refusal:
            return pa.table({"said": ["hello"]})

    with pytest.raises(RequestError, match=r"^attack: the answerer returned no number for a COUNT"):
        DIFFERENCING.run(Chatty(), [Victim(name="Joe", where="id = 1", truth=True)])
