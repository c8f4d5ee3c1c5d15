"""Attacks on a curator's answers: victims are chosen from the real table, and attacked by questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.accounting.ledger_storage import MEMORY
from discreet.app.engines import opened
from discreet.app.policies import load, promise_of
from discreet.app.publishers import publisher
from discreet.app.trials.bounds import Bound, of_promise
from discreet.app.trials.curator_attacks import ON_ANSWERS, PEOPLE, Asking, attack_curator
from discreet.app.trials.request import Request
from discreet.app.trials.trial import Trial, judged
from discreet.app.trials.victims import table_to_attack, target
from discreet.attacks import FloatingPoint
from discreet.belief import Promise
from discreet.belief.wording import format_percent
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness

ROUNDING = 1 + 1e-9
EVEN = 0.5  # the floating-point attack tells 0 from 1, each with this prior
VICTIMS = 20

Tell = Callable[[str], None]


def attack_answers(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """Run every attack on answers, for the policy named in the request."""
    policy = load(Path(request.release), engine=request.engine)
    promise = promise_of(policy)
    name = table_to_attack(policy, request.table)
    with publisher(policy.engine, {name: policy.tables[name]}) as rows:
        tell("choosing victims")
        aim = target(
            rows,
            name,
            policy.tables[name],
            claim=request.claim,
            victim=request.victim_values,
            number=request.victims or VICTIMS,
        )
    scratch = policy.model_copy(update={"ledger": MEMORY, "store": None, "analysts": {}})
    with opened(scratch, progress=tell) as engine:
        asking = Asking(policy=scratch, promise=promise, engine=engine, target=aim, random=Randomness())
        runs, skipped = attack_curator(asking, tell)
    bounds = (*_promised(promise), *request.bounds)
    trial = Trial(
        subject=f"the answers about {name} under {Path(request.release).name}",
        knowledge=f"what only one person of {name} is, and the mechanism; the claim is {aim.claim}",
        tried=judged(runs, bounds),
        skipped=skipped,
        promise=None,
        assumed=(
            f"{len(aim.victims)} people were attacked one by one, each with the whole budget of the promise, "
            "as if nothing had been asked before. Nothing was charged: the ledger was one in memory.",
            f"Attackers believe the claim with {format_percent(promise.prior)} beforehand, as the "
            "promise has it.",
            f"Reconstruction is tried on {min(PEOPLE, len(aim.victims))} of them.",
        ),
    )
    return trial, policy


def _promised(promise: Promise) -> list[Bound]:
    """Return what the promise allows for the prior of each attack."""
    by = f"the promise {format_percent(promise.prior)} → {format_percent(promise.posterior)}"
    return [
        Bound(attack=attack.name, most=min(1.0, of_promise(promise, prior) * ROUNDING), by=by)
        for attack in ON_ANSWERS
        for prior in [EVEN if attack is FloatingPoint else promise.prior]
    ]
