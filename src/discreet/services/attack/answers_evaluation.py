"""Attacks on a curator's answers: victims are chosen from the real table, and attacked by questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY
from discreet.attacks import FloatingPoint
from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.belief_bounds import BeliefBound, compute_promised_posterior
from discreet.services.attack.curator_attacks import (
    ANSWER_ATTACKS,
    RECONSTRUCTION_PEOPLE,
    CuratorSession,
    attack_curator,
)
from discreet.services.attack.evaluation import AttackEvaluation, apply_bounds
from discreet.services.attack.victims import choose_table, choose_target
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_engines import open_engine
from discreet.services.publishers import open_publisher

ROUNDING_SLACK = 1 + 1e-9
EVEN_PRIOR = 0.5  # the floating-point attack tells 0 from 1, each with this prior
DEFAULT_VICTIMS = 20

ProgressReporter = Callable[[str], None]


def attack_answers(
    request: AttackRequest, report_progress: ProgressReporter
) -> tuple[AttackEvaluation, Policy | None]:
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
            victim=request.victim_values,
            victim_count=request.victims or DEFAULT_VICTIMS,
        )
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": None, "analysts": {}})
    with open_engine(scratch, progress=report_progress) as engine:
        asking = CuratorSession(
            policy=scratch, promise=promise, engine=engine, target=aim, random=Randomness()
        )
        runs, skipped = attack_curator(asking, report_progress)
    bounds = (*_bounds_from_promise(promise), *request.bounds)
    trial = AttackEvaluation(
        subject=f"the answers about {name} under {Path(request.release).name}",
        knowledge=f"what only one person of {name} is, and the mechanism; the claim is {aim.claim}",
        runs=apply_bounds(runs, bounds),
        skipped=skipped,
        promise=None,
        assumptions=(
            f"{len(aim.victims)} people were attacked one by one, each with the whole budget of the promise, "
            "as if nothing had been asked before. Nothing was charged: the ledger was one in memory.",
            f"Attackers believe the claim with {format_percent(promise.prior)} beforehand, as the "
            "promise has it.",
            f"Reconstruction is tried on {min(RECONSTRUCTION_PEOPLE, len(aim.victims))} of them.",
        ),
    )
    return trial, policy


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
