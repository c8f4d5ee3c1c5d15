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

from discreet.app.drafting.roles import likely_role
from discreet.app.policies import load, promise_of
from discreet.app.publishing.table_request import build_file_table, choose_engine, read_engine_schema
from discreet.app.synthesis.synthetic_trial import ASSUMED, FITTING, KNOWLEDGE, People, rows_of, swept
from discreet.app.trials.attacked import certificate_of, digest_of
from discreet.app.trials.request import Request
from discreet.app.trials.skipping import others_than
from discreet.app.trials.trial import Trial, judged
from discreet.attacks.criteria import criteria_of_synthetic
from discreet.core.errors import RequestError
from discreet.core.policy import ColumnType, Policy, Role, Table
from discreet.engines.sources import split_source

Tell = Callable[[str], None]


def attack_synthetic(request: Request, tell: Tell) -> tuple[Trial, Policy | None]:
    """Run singling out, linkability and attribute inference; return the evaluation, and the policy if any."""
    if request.panel is None:
        raise RequestError(
            "attack: a synthetic table needs a panel: people who are not in the data, as a baseline.",
            hint="Name a table of such people with --panel.",
        )
    path = Path(request.release)
    policy = None if request.policy is None else load(request.policy, engine=request.engine)
    address = choose_engine(policy, request.engine)
    made, panel = (_Place.of(each, address) for each in (request.release, request.panel))
    original, called = _original(request, policy, address)
    kinds = _kinds(request, made, original.table, panel.table)
    for name in request.sensitive_names:
        if name not in kinds:
            raise RequestError(
                f"attack: {name} is not in all three tables.", hint=f"They share {', '.join(kinds)}."
            )
    tell("reading the tables")
    places = (made, original, panel)
    rows, people, others = (rows_of(each.table, list(kinds), each.address) for each in places)
    tell("attacking")
    runs = swept(rows, People(original=people, panel=others), kinds, request.sensitive_names)
    trial = Trial(
        subject=path.name,
        knowledge=KNOWLEDGE,
        tried=judged(runs, request.bounds),
        skipped=others_than(*FITTING),
        criteria=criteria_of_synthetic(*(each.findings for each in runs)),
        promise=None if policy is None or policy.promise is None else promise_of(policy),
        assumed=(
            *ASSUMED,
            f"{called} are the people of the data, {Path(request.panel).name} is the panel; compared are "
            f"{', '.join(kinds)}.",
        ),
        sha256=digest_of(made.table.source),
    )
    return trial, policy


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A table, and the address of the engine that reads it."""

    table: Table
    address: str

    @staticmethod
    def of(named: str, address: str) -> _Place:
        address = "duckdb" if Path(split_source(named)[0]).is_file() else address
        return _Place(table=build_file_table(named, {}, engine=address), address=address)


def _original(request: Request, policy: Policy | None, address: str) -> tuple[_Place, str]:
    """Return the original table and its name."""
    if request.original is not None:
        return _Place.of(request.original, address), Path(request.original).name
    named = request.table or certificate_of(request.release).get("table")
    if policy is None or named not in policy.tables:
        raise RequestError(
            f"attack: the original table of {Path(request.release).name} is not known.",
            hint="Name it with --original, or with --policy and --table.",
        )
    return _Place(table=policy.tables[str(named)], address=address), str(named)


def _kinds(request: Request, made: _Place, original: Table, panel: Table) -> dict[str, ColumnType]:
    """Return the columns to compare, with types from the policy, or else from the release."""
    _, said = read_engine_schema(made.address, request.release)
    shared = {
        name: kind or ColumnType.TEXT
        for name, kind in said
        if all(name in each.columns for each in (original, panel)) and not _identifies(name, original)
    }
    if len(shared) < 2:
        raise RequestError(
            "attack: the synthetic table, the original and the panel share fewer than two columns.",
            hint="Use tables with the same column names.",
        )
    if request.original is not None:
        return shared
    return {name: original.columns[name].type for name in shared}


def _identifies(name: str, original: Table) -> bool:
    return original.columns[name].role is Role.IDENTIFIER or likely_role(name) is Role.IDENTIFIER
