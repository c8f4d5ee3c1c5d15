"""Attacks on a curator's answers, each with the whole budget of the promise for every victim.

Nothing is charged: every victim is attacked through a curator with a new ledger in memory, as if nothing had
been asked before, which is the best case for an attacker. The store is in memory too, and discarded.

Claim       --claim, or that a sensitive column has the value whose share is nearest to one half.
Victims     people whom a condition on known columns singles out, half of whom meet the claim.
Prior       the promise's own, so that posteriors can be compared with the promised one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.accounting.ledger import Ledger
from discreet.app.curator import Curator
from discreet.app.trials.answerer import CuratorAnswerer
from discreet.app.trials.skipping import of_another_kind
from discreet.app.trials.trial import Run, Skipped
from discreet.app.trials.victims import Target
from discreet.attacks import (
    ATTACKS,
    Averaging,
    Differencing,
    FloatingPoint,
    InformedAdversary,
    Reconstruction,
    Tracker,
)
from discreet.attacks.asking import Noise, Refused, Victim, count, score
from discreet.attacks.attack import Findings
from discreet.attacks.pairs import draws
from discreet.belief import Promise
from discreet.core.engine import Engine
from discreet.core.policy import ContributionBounding, Policy
from discreet.core.randomness import Randomness
from discreet.sql.planner import plan_query

REPEATS = 8
QUESTIONS_OF_A_TRACKER = 5
PEOPLE, PER_PERSON = 16, 6
ANOTHER = Fraction(1, 10**7)  # a different epsilon is a different measurement, so its noise is fresh
ANALYST = "attacker"


@dataclass(frozen=True, kw_only=True, eq=False)
class Asking:
    """A policy and an engine over its tables, asked through new ledgers."""

    policy: Policy
    promise: Promise
    engine: Engine
    target: Target
    random: Randomness

    def curator(self) -> Curator:
        """Return a curator with a full budget; it is not closed, because the engine is shared."""
        ledger = Ledger(":memory:", self.promise, analysts={ANALYST: 1})
        return Curator(self.policy, ledger=ledger, engine=self.engine, analyst=ANALYST, random=self.random)

    def epsilon(self, questions: int) -> Fraction:
        """Return the epsilon of each of a number of equal questions."""
        return self.curator().ledger.get_accountant().epsilon_per_question(questions)

    def noise(self, epsilon: Fraction) -> Noise:
        """Return the noise of a count at this epsilon, in rows as shown rather than in fractions."""
        sql = f"SELECT COUNT(*) AS n FROM {self.target.table} WHERE {self.target.claim}"
        kept = self.policy.model_copy(update={"bounding": ContributionBounding.ROWS})
        (vector,) = plan_query(sql, kept, self.promise, epsilon=epsilon, raw=True).noisy_primitives.values()
        return vector.noise

    def answerer(self, epsilon: Fraction) -> CuratorAnswerer:
        """Return a fresh curator as an attacker sees it."""
        return CuratorAnswerer(curator=self.curator(), epsilon=epsilon)


@dataclass(frozen=True)
class Varying:
    """A curator paid slightly less each time, so that no answer is a stored one."""

    curator: Curator
    epsilon: Fraction
    asked: list[str]

    def ask(self, sql: str) -> pa.Table | Refused:
        """Return the curator's answer with fresh noise, or its refusal."""
        self.asked.append(sql)
        epsilon = self.epsilon * (1 - ANOTHER * len(self.asked))
        return CuratorAnswerer(curator=self.curator, epsilon=epsilon).ask(sql)


def attack_curator(
    asking: Asking, tell: Callable[[str], None] = lambda _: None
) -> tuple[tuple[Run, ...], tuple[Skipped, ...]]:
    """Run every attack that applies to answers; return the runs and the skipped attacks."""
    runs, skipped = [], []
    for attack in ATTACKS:
        runner = ON_ANSWERS.get(attack)
        if runner is None:
            skipped.append(of_another_kind(attack))
            continue
        tell(f"attacking: {attack.name}")
        try:
            runs.append(Run(findings=runner(asking)))
        except _Unfit as unfit:
            skipped.append(Skipped(name=attack.name, why=str(unfit)))
    return tuple(runs), tuple(skipped)


class _Unfit(Exception):  # noqa: N818  (no error: an attack that has nothing to work with)
    """An attack that does not apply, with the reason."""


def _each(asking: Asking, attack: Any, epsilon: Fraction, posterior: Callable[[Victim], float]) -> Findings:
    """Attack every victim separately, and score all of them together."""
    victims = asking.target.victims
    return score(
        attack,
        victims,
        [posterior(victim) for victim in victims],
        claim=asking.target.claim,
        prior=asking.promise.prior,
        figures={"epsilon of a question": float(epsilon)},
    )


def _alone(asking: Asking, attack: Any, epsilon: Fraction) -> Findings:
    """Attack every victim with a fresh curator, and score all of them together."""

    def posterior(victim: Victim) -> float:
        return float(attack.run(asking.answerer(epsilon), [victim]).victims[0].posterior)

    return _each(asking, attack, epsilon, posterior)


def _stated(asking: Asking, epsilon: Fraction) -> dict[str, Any]:
    """Return the arguments that attacks on counts share."""
    return {
        "table": asking.target.table,
        "claim": asking.target.claim,
        "prior": asking.promise.prior,
        "noise": asking.noise(epsilon),
    }


def _differencing(asking: Asking) -> Findings:
    epsilon = asking.epsilon(2)
    return _alone(asking, Differencing(**_stated(asking, epsilon)), epsilon)


def _tracker(asking: Asking) -> Findings:
    if not asking.target.trackers:
        raise _Unfit("no column has bounds or values by which about half of the rows could be asked for")
    epsilon = asking.epsilon(QUESTIONS_OF_A_TRACKER)
    return _alone(asking, Tracker(**_stated(asking, epsilon), trackers=asking.target.trackers), epsilon)


def _averaging(asking: Asking) -> Findings:
    epsilon = asking.epsilon(REPEATS)
    attack = Averaging(**_stated(asking, epsilon), repeats=REPEATS)

    def posterior(victim: Victim) -> float:
        fresh = Varying(asking.curator(), epsilon, [])
        return attack.run(fresh, [victim]).victims[0].posterior

    return _each(asking, attack, epsilon, posterior)


@dataclass(frozen=True)
class _Whole:
    """An integer mechanism for outputs that are stored as floats."""

    noise: Noise

    def likelihood(self, output: float, truth: float) -> float:
        return self.noise.likelihood(round(output), round(truth))


def _informed(asking: Asking) -> Findings:
    """Attack with one count for the whole budget, knowing every record but the victim's."""
    epsilon, target, prior = asking.epsilon(1), asking.target, asking.promise.prior
    noise = _Whole(asking.noise(epsilon))

    def adversary(others: int) -> InformedAdversary:
        worlds: dict[object, float] = {True: float(others + 1), False: float(others)}
        return InformedAdversary(worlds=worlds, mechanism=noise, prior={True: prior, False: 1 - prior})

    def posterior(victim: Victim) -> float:
        answer = count(asking.answerer(epsilon), target.table, target.claim)
        return prior if answer is None else adversary(target.often - victim.truth).believes(answer)[True]

    return _each(asking, adversary(0), epsilon, posterior)


def _reconstruction(asking: Asking) -> Findings:
    victims = asking.target.victims[:PEOPLE]
    if len(victims) < 2:
        raise _Unfit("it takes two or more victims")
    attack = Reconstruction(table=asking.target.table, claim=asking.target.claim, per_person=PER_PERSON)
    answerer = asking.answerer(asking.epsilon(PER_PERSON * len(victims)))
    where, truth = [victim.where for victim in victims], [victim.truth for victim in victims]
    return attack.run(answerer, where, truth, asking.random)


def _floating_point(asking: Asking) -> Findings:
    noise = asking.noise(asking.epsilon(1))
    return FloatingPoint().run(
        lambda value, runs: np.asarray(draws(noise, value, asking.random)(runs), np.float64)
    )


ON_ANSWERS: dict[type[Any], Callable[[Asking], Findings]] = {
    Differencing: _differencing,
    Averaging: _averaging,
    Tracker: _tracker,
    Reconstruction: _reconstruction,
    InformedAdversary: _informed,
    FloatingPoint: _floating_point,
}
