"""The trial of a synthetic table before it is written: can people who are in the data be told from it?

Attackers have the synthetic table; whatever they find of people who are *not* in the data (the panel) they
find without anybody's data. So a panel is needed, and without one no attack fits.
"""

from __future__ import annotations

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

FITTING = (SinglingOut, Linkability, AttributeInference)
NO_PANEL = "nobody is known who is not in the data: name such people with --panel"
ASSUMED = (
    "Attackers have the synthetic table and know some columns of a person; which columns was chosen on half "
    "of the people, and judged on the others.",
    "Guessing is what the same attacker finds of people who are not in the data, or one guess for everybody, "
    "whichever is better.",
)


def try_synthetic(
    found: Synthetic, table: Table, panel: Path | None, *, at_most: float | None, promise: Promise
) -> Trial:
    """Run what fits on rows that are not written yet."""
    runs: list[Run] = []
    skipped = [Skipped(name=each.name, why=of_another_kind(each)) for each in ATTACKS if each not in FITTING]
    if panel is None:
        skipped += [Skipped(name=each.name, why=NO_PANEL) for each in FITTING]
    else:
        names = [each.name for each in found.plan.schema.attributes]
        kinds = {name: table.columns[name].type for name in names}
        original, others = (rows_of(table, source, names) for source in (table.source, str(panel)))
        release = compare(found.table.select(names), original, others, kinds)
        runs = [Run(findings=findings) for findings in sweep(release)]
    return Trial(
        subject=f"the synthetic table of {found.plan.table}",
        knowledge="some columns of everybody",
        tried=judged(runs, stated(at_most)),
        skipped=tuple(skipped),
        promise=promise,
        assumed=ASSUMED,
    )


def rows_of(table: Table, source: str, names: list[str]) -> pa.Table:
    """Rows as they are, for the custodian's own attack."""
    with DuckDBPublisher({"rows": table.model_copy(update={"source": source})}) as engine:
        return engine.count(f"SELECT {', '.join(map(quoted, names))} FROM {quoted('rows')}").secret
