"""Attacks on a published file: people are matched with rows, and every attack on tables runs on that."""

from __future__ import annotations

from collections.abc import Callable

from discreet.app.policies import promise_of
from discreet.app.publishers import publisher
from discreet.app.trials.attacked import attacked
from discreet.app.trials.by_pseudonym import runs_on
from discreet.app.trials.knowledge import sources, staged
from discreet.app.trials.request import Request
from discreet.app.trials.table_attacks import attack_table
from discreet.app.trials.trial import Trial, judged
from discreet.attacks.criteria import criteria
from discreet.core.policy import Policy

Tell = Callable[[str], None]


def attack_file(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """Run every attack that applies to a published table."""
    about = attacked(request)
    tables, frames = sources(request, about)
    tell("matching people and rows")
    with publisher(about.engine, tables, frames) as engine:
        stage = staged(engine, request, about)
        tell("attacking")
        runs, skipped = attack_table(stage.scene)
        if stage.joined is not None:
            runs = (*runs, *runs_on(stage.joined))
        found = criteria(stage.scene.sets, stage.scene.columns)
    bounds = (*about.bounds, *request.bounds)
    policy = about.policy
    trial = Trial(
        subject=about.name,
        knowledge=stage.knowledge,
        tried=judged(runs, bounds),
        skipped=skipped,
        criteria=found,
        promise=None if policy is None or policy.promise is None else promise_of(policy),
        assumed=stage.assumed,
        remarks=about.remarks,
        unread=stage.unread,
        sha256=about.sha256,
    )
    return trial, policy
