"""Attacks on an existing synthetic table, from any tool, given its original and a panel.

Panel       people who are not in the original; what an attack finds about them is the baseline.
Tables      a name that is a local file is read from it; other names are tables of the engine.
Original    --original; or the policy's table that the certificate beside the file names, or --table.
Columns     those that all three tables have, without identifiers; types are the policy's, or the file's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.attacks.anonymization_criteria import compute_synthetic_criteria
from discreet.core.errors import RequestError
from discreet.core.policy import ColumnType, Policy, Role, Table
from discreet.engines.sources import split_source
from discreet.services.anonymize.table_request import build_file_table, choose_engine, read_engine_schema
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation, apply_bounds
from discreet.services.attack.skipped_attacks import skip_other_attacks
from discreet.services.attack.synthetic_evaluation import (
    APPLICABLE_ATTACKS,
    ASSUMPTIONS,
    KNOWLEDGE,
    People,
    read_columns,
    run_attacks,
)
from discreet.services.attack.target_release import compute_sha256, read_certificate
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_draft.column_roles import guess_role

ReportStage = Callable[[str], None]


def attack_synthetic(
    request: AttackRequest, report_progress: ReportStage
) -> tuple[AttackEvaluation, Policy | None]:
    """Run singling out, linkability and attribute inference; return the evaluation, and the policy if any."""
    if request.panel is None:
        raise RequestError(
            "attack: a synthetic table needs a panel: people who are not in the data, as a baseline.",
            hint="Name a table of such people with --panel.",
        )
    path = Path(request.release)
    policy = None if request.policy is None else load_policy(request.policy, engine=request.engine)
    address = choose_engine(policy, request.engine)
    made, panel = (_LocatedTable.from_name(each, address) for each in (request.release, request.panel))
    original, called = _find_original(request, policy, address)
    kinds = _find_shared_columns(request, made, original.table, panel.table)
    for name in request.sensitive_names:
        if name not in kinds:
            raise RequestError(
                f"attack: {name} is not in all three tables.", hint=f"They share {', '.join(kinds)}."
            )
    report_progress("reading the tables")
    places = (made, original, panel)
    rows, people, others = (read_columns(each.table, list(kinds), each.address) for each in places)
    report_progress("attacking")
    runs = run_attacks(rows, People(original=people, panel=others), kinds, request.sensitive_names)
    trial = AttackEvaluation(
        subject=path.name,
        knowledge=KNOWLEDGE,
        runs=apply_bounds(runs, request.bounds),
        skipped=skip_other_attacks(*APPLICABLE_ATTACKS),
        criteria=compute_synthetic_criteria(*(each.findings for each in runs)),
        promise=None if policy is None or policy.promise is None else get_promise(policy),
        assumptions=(
            *ASSUMPTIONS,
            f"{called} are the people of the data, {Path(request.panel).name} is the panel; compared are "
            f"{', '.join(kinds)}.",
        ),
        sha256=compute_sha256(made.table.source),
    )
    return trial, policy


@dataclass(frozen=True, kw_only=True)
class _LocatedTable:
    """A table, and the address of the engine that reads it."""

    table: Table
    address: str

    @staticmethod
    def from_name(name: str, address: str) -> _LocatedTable:
        address = "duckdb" if Path(split_source(name)[0]).is_file() else address
        return _LocatedTable(table=build_file_table(name, {}, engine=address), address=address)


def _find_original(request: AttackRequest, policy: Policy | None, address: str) -> tuple[_LocatedTable, str]:
    """Return the original table and its name."""
    if request.original is not None:
        return _LocatedTable.from_name(request.original, address), Path(request.original).name
    named = request.table or read_certificate(request.release).get("table")
    if policy is None or named not in policy.tables:
        raise RequestError(
            f"attack: the original table of {Path(request.release).name} is not known.",
            hint="Name it with --original, or with --policy and --table.",
        )
    return _LocatedTable(table=policy.tables[str(named)], address=address), str(named)


def _find_shared_columns(
    request: AttackRequest, synthetic: _LocatedTable, original: Table, panel: Table
) -> dict[str, ColumnType]:
    """Return the columns to compare, with types from the policy, or else from the release."""
    _, said = read_engine_schema(synthetic.address, request.release)
    shared = {
        name: kind or ColumnType.TEXT
        for name, kind in said
        if all(name in each.columns for each in (original, panel)) and not _is_identifier(name, original)
    }
    if len(shared) < 2:
        raise RequestError(
            "attack: the synthetic table, the original and the panel share fewer than two columns.",
            hint="Use tables with the same column names.",
        )
    if request.original is not None:
        return shared
    return {name: original.columns[name].type for name in shared}


def _is_identifier(name: str, original: Table) -> bool:
    return original.columns[name].role is Role.IDENTIFIER or guess_role(name) is Role.IDENTIFIER
