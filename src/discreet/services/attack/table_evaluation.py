"""Attacks on a published file: people are matched with rows, and every attack on tables runs on that."""

from __future__ import annotations

from collections.abc import Callable

from discreet.attacks.anonymization_criteria import compute_criteria
from discreet.core.policy import Policy
from discreet.services.attack.attack_preparation import collect_sources, prepare_attack
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation, apply_bounds
from discreet.services.attack.pseudonym_linkage import attack_joined
from discreet.services.attack.table_attacks import attack_table
from discreet.services.attack.target_release import resolve_release
from discreet.services.policies import get_promise
from discreet.services.publishers import open_publisher

ProgressReporter = Callable[[str], None]


def attack_published_table(
    request: AttackRequest, report_progress: ProgressReporter
) -> tuple[AttackEvaluation, Policy | None]:
    """Run every attack that applies to a published table."""
    about = resolve_release(request)
    tables, frames = collect_sources(request, about)
    report_progress("matching people and rows")
    with open_publisher(about.engine, tables, frames) as engine:
        stage = prepare_attack(engine, request, about)
        report_progress("attacking")
        runs, skipped = attack_table(stage.scenario)
        if stage.joined_sets is not None:
            runs = (*runs, *attack_joined(stage.joined_sets))
        found = compute_criteria(stage.scenario.sets, stage.scenario.columns)
    bounds = (*about.bounds, *request.bounds)
    policy = about.policy
    trial = AttackEvaluation(
        subject=about.name,
        knowledge=stage.knowledge,
        runs=apply_bounds(runs, bounds),
        skipped=skipped,
        criteria=found,
        promise=None if policy is None or policy.promise is None else get_promise(policy),
        assumptions=stage.assumptions,
        remarks=about.remarks,
        unreadable_labels=stage.unreadable_labels,
        sha256=about.sha256,
    )
    return trial, policy
