"""The trial of a synthetic table before it is written: can people who are in the data be told from it?

Attackers have the synthetic table; whatever they find of people who are *not* in the data (the panel) they
find without anybody's data. So a panel is needed, and without one no attack fits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from discreet.app.synthesis.synthesizing import Synthetic
from discreet.app.trials.release_trial import stated
from discreet.app.trials.table_attacks import of_another_kind
from discreet.app.trials.trial import Run, Skipped, Trial, judged
from discreet.attacks import ATTACKS, AttributeInference, Linkability, SinglingOut
from discreet.attacks.sweep import sweep
from discreet.attacks.synthetic_release import compare
from discreet.belief import Promise
from discreet.core.policy import Table
from discreet.engines.connection import quoted
from discreet.engines.publishing import DuckDBPublisher
from discreet.mining.synthesis import Plan

FITTING = (SinglingOut, Linkability, AttributeInference)
NO_PANEL = "nobody is known who is not in the data: name such people with --panel"
ASSUMED = (
    "Attackers have the synthetic table and know some columns of a person; which columns was chosen on half "
    "of the people, and judged on the others.",
    "Guessing is what the same attacker finds of people who are not in the data, or one guess for everybody, "
    "whichever is better.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Rows as they are, for the custodian's own attack: people of the data, and of a panel beside them."""

    original: pa.Table = field(repr=False)
    panel: pa.Table = field(repr=False)

    @classmethod
    def read(cls, plan: Plan, table: Table, panel: Path) -> People:
        """The columns that are synthesized, of both."""
        names = [each.name for each in plan.schema.attributes]
        original, others = (_rows_of(table, source, names) for source in (table.source, str(panel)))
        return cls(original=original, panel=others)


def try_synthetic(
    found: Synthetic, table: Table, people: People | None, *, at_most: float | None, promise: Promise
) -> Trial:
    """Run what fits on rows that are not written yet."""
    runs: list[Run] = []
    skipped = [Skipped(name=each.name, why=of_another_kind(each)) for each in ATTACKS if each not in FITTING]
    if people is None:
        skipped += [Skipped(name=each.name, why=NO_PANEL) for each in FITTING]
    else:
        names = [each.name for each in found.plan.schema.attributes]
        kinds = {name: table.columns[name].type for name in names}
        release = compare(found.table.select(names), people.original, people.panel, kinds)
        runs = [Run(findings=findings) for findings in sweep(release)]
    return Trial(
        subject=f"the synthetic table of {found.plan.table}",
        knowledge="some columns of everybody",
        tried=judged(runs, stated(at_most)),
        skipped=tuple(skipped),
        promise=promise,
        assumed=ASSUMED,
    )


def _rows_of(table: Table, source: str, names: list[str]) -> pa.Table:
    with DuckDBPublisher({"rows": table.model_copy(update={"source": source})}) as engine:
        return engine.count(f"SELECT {', '.join(map(quoted, names))} FROM {quoted('rows')}").secret
