"""Evaluation of attacks on a synthetic table before it is written: does it reveal people in the data?

Attackers have the synthetic table. Whatever they find about people who are *not* in the data (the panel) does
not come from their data, and is the baseline. Without a panel no attack applies.
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
from discreet.belief import Promise
from discreet.core.policy import ColumnType, Table
from discreet.engines.duckdb_connection import quote_identifier
from discreet.mining.synthesis import SynthesisPlan
from discreet.services.attack.evaluation import AttackEvaluation, AttackRun, SkippedAttack, apply_bounds
from discreet.services.attack.release_evaluation import bound_from_option
from discreet.services.attack.skipped_attacks import skip_other_attacks
from discreet.services.publishers import open_publisher
from discreet.services.synthesize.synthetic_table import SyntheticTable

APPLICABLE_ATTACKS = (SinglingOut, Linkability, AttributeInference)
KNOWLEDGE = "some columns of everybody"
NO_PANEL = "it needs people who are not in the data, as a baseline: name them with --panel"
ASSUMPTIONS = (
    "Attackers have the synthetic table and know some columns of a person. Half of the people were used to "
    "choose those columns, the other half to evaluate the attack.",
    "The baseline is the better of the same attack on people who are not in the data, and one guess for "
    "everybody.",
    "The prior belief about a person is the success rate of such guesses about people who are not in the "
    "data and as near to a synthetic row. A difference that chance makes in one of twenty evaluations is "
    "ignored.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Unprotected rows for the custodian's own attack: people in the data, and a panel of others."""

    original: pa.Table = field(repr=False)
    panel: pa.Table = field(repr=False)

    @classmethod
    def read(cls, plan: SynthesisPlan, table: Table, panel: Path, address: str) -> People:
        """Read the synthesized columns of both: of the table from its engine, of the panel from a file."""
        names = [each.name for each in plan.schema.attributes]
        others = table.model_copy(update={"source": str(panel)})
        return cls(original=read_columns(table, names, address), panel=read_columns(others, names))


def evaluate_synthetic(
    synthetic: SyntheticTable, table: Table, people: People | None, *, at_most: float | None, promise: Promise
) -> AttackEvaluation:
    """Run the attacks that apply on rows that are not written yet."""
    runs: tuple[AttackRun, ...] = ()
    skipped = skip_other_attacks(*APPLICABLE_ATTACKS)
    if people is None:
        skipped += tuple(SkippedAttack(name=each.name, reason=NO_PANEL) for each in APPLICABLE_ATTACKS)
    else:
        names = [each.name for each in synthetic.plan.schema.attributes]
        runs = run_attacks(synthetic.table, people, {name: table.columns[name].type for name in names})
    return AttackEvaluation(
        subject=f"the synthetic table of {synthetic.plan.table}",
        knowledge=KNOWLEDGE,
        runs=apply_bounds(runs, bound_from_option(at_most)),
        skipped=skipped,
        criteria=compute_synthetic_criteria(*(each.findings for each in runs)) if runs else None,
        promise=promise,
        assumptions=ASSUMPTIONS,
    )


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
