"""Attacks on an existing synthetic table, from any tool, given its original and a panel.

Panel       people who are not in the original; what an attack finds about them is the baseline.
Tables      a name that is a local file is read from it; other names are tables of the engine.
Original    as named; or the policy's table that the certificate beside the file, or `table`, names.
Columns     those that all three tables have, without identifiers; types are the policy's, or the file's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from discreet.attacks import AttributeInference, Linkability, SinglingOut
from discreet.attacks.anonymization_criteria import compute_synthetic_criteria
from discreet.attacks.synthetic_release import build_synthetic_release
from discreet.attacks.synthetic_sweep import sweep_attacks
from discreet.core.column_entry import ColumnType, Role
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.core.release_target import split_source
from discreet.core.sql_quoting import quote_identifier
from discreet.core.table_entry import Table
from discreet.mining.synthesis import SynthesisPlan
from discreet.services.attack.attack_request import AttackRequest
from discreet.services.attack.evaluation import AttackEvaluation, AttackRun, apply_bounds, skip_other_attacks
from discreet.services.attack.target_release import compute_sha256, read_certificate
from discreet.services.policies import get_promise, load_policy
from discreet.services.policy_draft.column_roles import guess_role
from discreet.services.progress import ProgressCallback
from discreet.services.publishers import open_publisher
from discreet.services.source_tables import build_file_table, choose_engine, read_engine_schema

APPLICABLE_ATTACKS = (SinglingOut, Linkability, AttributeInference)
KNOWLEDGE = "some columns of everybody"
NO_PANEL = "it needs people who are not in the data, as a baseline: a panel"
ASSUMPTIONS = (
    "Attackers have the synthetic table and know some columns of a person. Half of the people were used to "
    "choose those columns, the other half to evaluate the attack.",
    "The baseline is the better of the same attack on people who are not in the data, and one guess for "
    "everybody.",
    "The prior belief about a person is the success rate of such guesses about people who are not in the "
    "data and as near to a synthetic row. A difference that chance makes in one of twenty evaluations is "
    "ignored.",
)


def attack_synthetic(request: AttackRequest, report_progress: ProgressCallback) -> AttackEvaluation:
    """Run singling out, linkability and attribute inference."""
    if request.panel is None:
        raise RequestError(
            "attack: a synthetic table needs a panel: people who are not in the data, as a baseline.",
            hint="Name a table of such people with `panel=`.",
        )
    path = Path(request.release)
    policy = None if request.policy is None else load_policy(request.policy, engine=request.engine)
    address = choose_engine(policy, request.engine)
    made, panel = (_LocatedTable.from_name(each, address) for each in (request.release, request.panel))
    original, called = _find_original(request, policy, address)
    kinds = _find_shared_columns(request, made, original.table, panel.table)
    for name in request.sensitive:
        if name not in kinds:
            raise RequestError(
                f"attack: {name} is not in all three tables.", hint=f"They share {', '.join(kinds)}."
            )
    report_progress("reading the tables")
    places = (made, original, panel)
    rows, people, others = (read_columns(each.table, list(kinds), each.address) for each in places)
    report_progress("attacking")
    runs = run_attacks(rows, People(original=people, panel=others), kinds, request.sensitive)
    return AttackEvaluation(
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
        policy=policy,
    )


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
            hint="Name it with `original=`, or with `policy=` and `table=`.",
        )
    return _LocatedTable(table=policy.tables[str(named)], address=address), str(named)


def _find_shared_columns(
    request: AttackRequest, synthetic: _LocatedTable, original: Table, panel: Table
) -> dict[str, ColumnType]:
    """Return the columns to compare, with types from the policy, or else from the release."""
    said = read_engine_schema(synthetic.address, request.release)[1]
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


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Unprotected rows for the custodian's own attack: people in the data, and a panel of others."""

    original: pa.Table = field(repr=False)
    panel: pa.Table = field(repr=False)

    @classmethod
    def read(cls, plan: SynthesisPlan, table: Table, panel: Path, address: str) -> People:
        """Read the synthesized columns of both: of the table from its engine, of the panel from a file."""
        return cls.join(plan, table, read_panel(plan, table, panel), address)

    @classmethod
    def join(cls, plan: SynthesisPlan, table: Table, panel: pa.Table, address: str) -> People:
        """Read the synthesized columns of the table, beside those of a panel that was read before."""
        return cls(original=read_columns(table, _list_names(plan), address), panel=panel)


def read_panel(plan: SynthesisPlan, table: Table, panel: Path) -> pa.Table:
    """Return the synthesized columns of people who are not in the data, from a file."""
    return read_columns(table.model_copy(update={"source": str(panel)}), _list_names(plan))


def _list_names(plan: SynthesisPlan) -> list[str]:
    return [each.name for each in plan.schema.attributes]


def run_attacks(
    rows: pa.Table, people: People, kinds: Mapping[str, ColumnType], secrets: Sequence[str] = ()
) -> tuple[AttackRun, ...]:
    """Run the three attacks, each with the columns that find most; `secrets` are the columns to infer."""
    release = build_synthetic_release(rows.select(list(kinds)), people.original, people.panel, kinds)
    return tuple(AttackRun(findings=findings) for findings in sweep_attacks(release, secrets=secrets))


def read_columns(table: Table, names: Sequence[str], address: str = "duckdb") -> pa.Table:
    """Return some columns of a table, unprotected."""
    with open_publisher(address, {"rows": table}) as engine:
        return engine.count(
            f"SELECT {', '.join(map(quote_identifier, names))} FROM {quote_identifier('rows')}"
        ).secret
