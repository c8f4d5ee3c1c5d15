"""Evaluation of attacks on a synthetic table before it is written: does it reveal people in the data?

Attackers have the synthetic table. Whatever they find about people who are *not* in the data (the panel) does
not come from their data, and is the baseline. Without a panel no attack applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from discreet.app.publishers import publisher
from discreet.app.synthesis.synthesizing import Synthetic
from discreet.app.trials.release_trial import stated
from discreet.app.trials.skipping import others_than
from discreet.app.trials.trial import Run, Skipped, Trial, judged
from discreet.attacks import AttributeInference, Linkability, SinglingOut
from discreet.attacks.criteria import criteria_of_synthetic
from discreet.attacks.sweep import sweep
from discreet.attacks.synthetic_release import compare
from discreet.belief import Promise
from discreet.core.policy import ColumnType, Table
from discreet.engines.duckdb_connection import quote_identifier
from discreet.mining.synthesis import Plan

FITTING = (SinglingOut, Linkability, AttributeInference)
KNOWLEDGE = "some columns of everybody"
NO_PANEL = "it needs people who are not in the data, as a baseline: name them with --panel"
ASSUMED = (
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
    def read(cls, plan: Plan, table: Table, panel: Path, address: str) -> People:
        """Read the synthesized columns of both: of the table from its engine, of the panel from a file."""
        names = [each.name for each in plan.schema.attributes]
        others = table.model_copy(update={"source": str(panel)})
        return cls(original=rows_of(table, names, address), panel=rows_of(others, names))


def try_synthetic(
    found: Synthetic, table: Table, people: People | None, *, at_most: float | None, promise: Promise
) -> Trial:
    """Run the attacks that apply on rows that are not written yet."""
    runs: tuple[Run, ...] = ()
    skipped = others_than(*FITTING)
    if people is None:
        skipped += tuple(Skipped(name=each.name, why=NO_PANEL) for each in FITTING)
    else:
        names = [each.name for each in found.plan.schema.attributes]
        runs = swept(found.table, people, {name: table.columns[name].type for name in names})
    return Trial(
        subject=f"the synthetic table of {found.plan.table}",
        knowledge=KNOWLEDGE,
        tried=judged(runs, stated(at_most)),
        skipped=skipped,
        criteria=criteria_of_synthetic(*(each.findings for each in runs)) if runs else None,
        promise=promise,
        assumed=ASSUMED,
    )


def swept(
    rows: pa.Table, people: People, kinds: Mapping[str, ColumnType], secrets: Sequence[str] = ()
) -> tuple[Run, ...]:
    """Run the three attacks, each with the columns that find most; `secrets` are the columns to infer."""
    release = compare(rows.select(list(kinds)), people.original, people.panel, kinds)
    return tuple(Run(findings=findings) for findings in sweep(release, secrets=secrets))


def rows_of(table: Table, names: Sequence[str], address: str = "duckdb") -> pa.Table:
    """Return some columns of a table, unprotected."""
    with publisher(address, {"rows": table}) as engine:
        return engine.count(
            f"SELECT {', '.join(map(quote_identifier, names))} FROM {quote_identifier('rows')}"
        ).secret
