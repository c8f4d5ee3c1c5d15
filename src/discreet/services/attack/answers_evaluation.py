"""Attacks on a curator's answers, each with the whole budget of the promise for every victim.

Nothing is charged: every victim is attacked through a curator with a new ledger in memory, as if nothing had
been asked before, which is the best case for an attacker. The store is in memory too, and discarded.

Claim       as given, or that a sensitive column has the value whose share is nearest to one half.
Victims     people whom a condition on known columns singles out, half of whom meet the claim.
Prior       the promise's own, so that posteriors can be compared with the promised one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.accounting.ledger import Ledger
from discreet.accounting.ledger_storage import MEMORY
from discreet.attacks import (
    ATTACKS,
    Averaging,
    Differencing,
    FloatingPoint,
    InformedAdversary,
    Reconstruction,
    Tracker,
)
from discreet.attacks.findings import Findings
from discreet.attacks.neighbor_pairs import make_sampler
from discreet.attacks.query_attacks import Noise, Refusal, Victim, ask_count, score_claims
from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.number_checks import Real
from discreet.core.policy import ContributionBounding, Policy
from discreet.core.randomness import Randomness
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import (
    AttackEvaluation,
    AttackRun,
    BeliefBound,
    SkippedAttack,
    apply_bounds,
    compute_promised_posterior,
    skip_attack,
)
from discreet.services.attack.victims import AttackTarget, choose_table, choose_target
from discreet.services.curator import Curator
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_engines import open_engine
from discreet.services.progress import ProgressCallback, ignore_progress
from discreet.services.publishers import open_publisher
from discreet.sql.planner import plan_query

AVERAGING_REPEATS = 8
TRACKER_QUESTIONS = 5
RECONSTRUCTION_PEOPLE, QUESTIONS_PER_PERSON = 16, 6
ANALYST = "attacker"
ROUNDING_SLACK = 1 + 1e-9
EVEN_PRIOR = 0.5  # the floating-point attack tells 0 from 1, each with this prior
DEFAULT_VICTIMS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class CuratorSession:
    """A policy and an engine over its tables, asked through new ledgers."""

    policy: Policy
    promise: Promise
    engine: Engine
    target: AttackTarget
    random: Randomness

    def make_curator(self) -> Curator:
        """Return a curator with a full budget; it is not closed, because the engine is shared."""
        ledger = Ledger(":memory:", self.promise, analysts={ANALYST: 1})
        return Curator.from_parts(
            self.policy, ledger=ledger, engine=self.engine, analyst=ANALYST, random=self.random
        )

    def split_epsilon(self, questions: int) -> Fraction:
        """Return the epsilon of each of a number of equal questions."""
        return self.make_curator().ledger.get_accountant().epsilon_per_question(questions)

    def compute_noise(self, epsilon: Fraction) -> Noise:
        """Return the noise of a count at this epsilon, in rows as shown rather than in fractions."""
        sql = f"SELECT COUNT(*) AS n FROM {self.target.table} WHERE {self.target.claim}"
        kept = self.policy.model_copy(update={"bounding": ContributionBounding.ROWS})
        (vector,) = plan_query(sql, kept, self.promise, epsilon=epsilon, raw=True).noisy_primitives.values()
        return vector.mechanism

    def make_answerer(self, epsilon: Fraction) -> CuratorAnswerer:
        """Return a fresh curator as an attacker sees it."""
        return CuratorAnswerer(curator=self.make_curator(), epsilon=epsilon)


def attack_curator(
    session: CuratorSession, report_progress: ProgressCallback = ignore_progress
) -> tuple[tuple[AttackRun, ...], tuple[SkippedAttack, ...]]:
    """Run every attack that applies to answers; return the runs and the skipped attacks."""
    runs, skipped = [], []
    for attack in ATTACKS:
        runner = ANSWER_ATTACKS.get(attack)
        if runner is None:
            skipped.append(skip_attack(attack))
            continue
        report_progress(f"attacking: {attack.name}")
        try:
            runs.append(AttackRun(findings=runner(session)))
        except _AttackNotApplicable as unfit:
            skipped.append(SkippedAttack(name=attack.name, reason=str(unfit)))
    return tuple(runs), tuple(skipped)


class _AttackNotApplicable(Exception):  # noqa: N818  (no error: an attack that has nothing to work with)
    """An attack that does not apply, with the reason."""


def _attack_victims(
    session: CuratorSession, attack: Any, epsilon: Fraction, posterior: Callable[[Victim], float]
) -> Findings:
    """Attack every victim separately, and score all of them together."""
    victims = session.target.victims
    return score_claims(
        attack,
        victims,
        [posterior(victim) for victim in victims],
        claim=session.target.claim,
        prior=session.promise.prior,
        figures={"epsilon of a question": float(epsilon)},
    )


def _attack_with_fresh_curators(session: CuratorSession, attack: Any, epsilon: Fraction) -> Findings:
    """Attack every victim with a fresh curator, and score all of them together."""

    def compute_posterior(victim: Victim) -> float:
        return float(attack.run(session.make_answerer(epsilon), [victim]).victims[0].posterior)

    return _attack_victims(session, attack, epsilon, compute_posterior)


def _shared_arguments(session: CuratorSession, epsilon: Fraction) -> dict[str, Any]:
    """Return the arguments that attacks on counts share."""
    return {
        "table": session.target.table,
        "claim": session.target.claim,
        "prior": session.promise.prior,
        "noise": session.compute_noise(epsilon),
    }


def _run_differencing(session: CuratorSession) -> Findings:
    epsilon = session.split_epsilon(2)
    return _attack_with_fresh_curators(session, Differencing(**_shared_arguments(session, epsilon)), epsilon)


def _run_tracker(session: CuratorSession) -> Findings:
    if not session.target.trackers:
        raise _AttackNotApplicable(
            "no column has bounds or values by which about half of the rows could be asked for"
        )
    epsilon = session.split_epsilon(TRACKER_QUESTIONS)
    return _attack_with_fresh_curators(
        session, Tracker(**_shared_arguments(session, epsilon), trackers=session.target.trackers), epsilon
    )


def _run_averaging(session: CuratorSession) -> Findings:
    epsilon = session.split_epsilon(AVERAGING_REPEATS)
    attack = Averaging(**_shared_arguments(session, epsilon), repeats=AVERAGING_REPEATS)

    def compute_posterior(victim: Victim) -> float:
        fresh = CuratorAnswerer(curator=session.make_curator(), epsilon=epsilon, is_fresh=True)
        return attack.run(fresh, [victim]).victims[0].posterior

    return _attack_victims(session, attack, epsilon, compute_posterior)


@dataclass(frozen=True)
class _IntegerLikelihood:
    """An integer mechanism for outputs that are stored as floats."""

    noise: Noise

    def likelihood(self, output: float, truth: float) -> float:
        return self.noise.likelihood(round(output), round(truth))


def _run_informed_adversary(session: CuratorSession) -> Findings:
    """Attack with one count for the whole budget, knowing every record but the victim's."""
    epsilon, target, prior = session.split_epsilon(1), session.target, session.promise.prior
    noise = _IntegerLikelihood(session.compute_noise(epsilon))

    def build_adversary(others: int) -> InformedAdversary:
        worlds: dict[object, float] = {True: float(others + 1), False: float(others)}
        return InformedAdversary(worlds=worlds, mechanism=noise, prior={True: prior, False: 1 - prior})

    def compute_posterior(victim: Victim) -> float:
        answer = ask_count(session.make_answerer(epsilon), target.table, target.claim)
        return (
            prior
            if answer is None
            else build_adversary(target.claim_rows - victim.truth).compute_posteriors(answer)[True]
        )

    return _attack_victims(session, build_adversary(0), epsilon, compute_posterior)


def _run_reconstruction(session: CuratorSession) -> Findings:
    victims = session.target.victims[:RECONSTRUCTION_PEOPLE]
    if len(victims) < 2:
        raise _AttackNotApplicable("it takes two or more victims")
    attack = Reconstruction(
        table=session.target.table, claim=session.target.claim, per_person=QUESTIONS_PER_PERSON
    )
    answerer = session.make_answerer(session.split_epsilon(QUESTIONS_PER_PERSON * len(victims)))
    where, truth = [victim.where for victim in victims], [victim.truth for victim in victims]
    return attack.run(answerer, where, truth, session.random)


def _run_floating_point(session: CuratorSession) -> Findings:
    noise = session.compute_noise(session.split_epsilon(1))
    return FloatingPoint().run(
        lambda value, runs: np.asarray(make_sampler(noise, value, session.random)(runs), np.float64)
    )


ANSWER_ATTACKS: dict[type[Any], Callable[[CuratorSession], Findings]] = {
    Differencing: _run_differencing,
    Averaging: _run_averaging,
    Tracker: _run_tracker,
    Reconstruction: _run_reconstruction,
    InformedAdversary: _run_informed_adversary,
    FloatingPoint: _run_floating_point,
}


@dataclass(frozen=True, kw_only=True)
class CuratorAnswerer:
    """A curator that is asked each question for `epsilon`; counts keep their noise, even below 0.

    With `is_fresh` every question is paid for, and none is answered from what was released before.
    """

    curator: Curator
    epsilon: Real
    is_fresh: bool = False

    def ask(self, sql: str) -> pa.Table | Refusal:
        """Return the curator's answer, or its refusal."""
        try:
            return self.curator.ask(sql, epsilon=self.epsilon, fresh=self.is_fresh, raw=True).table
        except RequestError as refusal:
            return Refusal(message=str(refusal))


def attack_answers(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Run every attack on answers, for the policy named in the request."""
    policy = load_policy(Path(request.release), engine=request.engine)
    promise = get_promise(policy)
    name = choose_table(policy, request.table)
    with open_publisher(policy.engine, {name: policy.tables[name]}) as rows:
        report_progress("choosing victims")
        aim = choose_target(
            rows,
            name,
            policy.tables[name],
            claim=request.claim,
            victim=request.victim,
            victim_count=request.victims or DEFAULT_VICTIMS,
        )
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": None, "analysts": {}})
    with open_engine(scratch, progress=report_progress) as engine:
        asking = CuratorSession(
            policy=scratch, promise=promise, engine=engine, target=aim, random=Randomness()
        )
        runs, skipped = attack_curator(asking, report_progress)
    bounds = (*_bounds_from_promise(promise), *request.bounds)
    return AttackEvaluation(
        subject=f"the answers about {name} under {Path(request.release).name}",
        knowledge=f"what singles out one person of {name}, and the mechanism; the claim is {aim.claim}",
        runs=apply_bounds(runs, bounds),
        skipped=skipped,
        promise=None,
        remarks=() if aim.claim_rows else (f"The claim is true of nobody in {name}.",),
        assumptions=(
            f"{len(aim.victims)} people were attacked one by one, each with the whole budget of the promise, "
            "as if nothing had been asked before. Nothing was charged: the ledger was one in memory.",
            f"Attackers believe the claim with {format_percent(promise.prior)} beforehand, as the "
            "promise has it.",
            f"Reconstruction is tried on {min(RECONSTRUCTION_PEOPLE, len(aim.victims))} of them.",
        ),
        policy=policy,
    )


def _bounds_from_promise(promise: Promise) -> list[BeliefBound]:
    """Return what the promise allows for the prior of each attack."""
    by = f"the promise {format_percent(promise.prior)} → {format_percent(promise.posterior)}"
    return [
        BeliefBound(
            attack=attack.name,
            limit=min(1.0, compute_promised_posterior(promise, prior) * ROUNDING_SLACK),
            source=by,
        )
        for attack in ANSWER_ATTACKS
        for prior in [EVEN_PRIOR if attack is FloatingPoint else promise.prior]
    ]
