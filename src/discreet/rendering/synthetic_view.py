"""Terminal and JSON views of a synthetic table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.accounting.entries import guarantee_to_json
from discreet.belief.wording import format_number, format_percent
from discreet.rendering import attack_view
from discreet.services.synthesize.synthetic_publication import LIMITS, SyntheticPublication
from discreet.services.synthesize.synthetic_table import SyntheticTable


def synthetic_to_json(made: SyntheticPublication, files: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object; comparison and attack evaluation are for the custodian only."""
    synthetic, comparison = made.synthetic, made.comparison
    return {
        "table": synthetic.plan.table,
        "rows": synthetic.table.num_rows,
        "columns": synthetic.table.column_names,
        "left_out": list(synthetic.plan.left_out),
        "quality": synthetic.plan.quality,
        "epsilon": float(synthetic.epsilon),
        "delta": float(synthetic.delta),
        "guarantee": json.loads(guarantee_to_json(synthetic.plan.guarantee)),
        "variation": {"columns": comparison.compute_mean(1), "pairs": comparison.compute_mean(2)},
        "trial": attack_view.evaluation_to_json(made.trial),
        "earlier": [each.number for each in synthetic.earlier],
        "entry": synthetic.entry,
        "repeated": synthetic.repeated,
        "sentence": synthetic.sentence,
        "files": [str(path) for path in files],
    }


def print_synthetic(console: Console, made: SyntheticPublication, files: Sequence[Path]) -> None:
    """Print figures, results of attacks, cost and belief."""
    synthetic, comparison, trial = made.synthetic, made.comparison, made.trial
    charge = f"epsilon {format_number(float(synthetic.epsilon))}"
    if synthetic.delta:
        charge += f", delta {float(synthetic.delta):g}"
    if synthetic.repeated:
        charge = "nothing: the same table was made before"
    pairs = (
        f"{format_percent(comparison.compute_mean(1))} of columns, "
        f"{format_percent(comparison.compute_mean(2))} of pairs, on average"
    )
    facts = [
        ("rows", f"{synthetic.table.num_rows:,} of {len(synthetic.table.column_names)} columns"),
        ("variation", f"{pairs} (for the custodian)"),
        ("left out", ", ".join(synthetic.plan.left_out) or "nothing"),
        *([("agrees with", _format_entries(synthetic))] if synthetic.earlier else []),
        ("cost", f"{charge} (entry {synthetic.entry})"),
        ("belief", synthetic.sentence),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, text in facts:
        grid.add_row(Text(name, "bold"), Text(text))
    console.print(grid)
    console.print()
    if trial.runs:
        attack_view.print_attacks(console, trial)
    else:
        console.print("No attack was run: --panel FILE names people who are not in the data.", style="dim")
    console.print(Text(f"\n{LIMITS}", style="dim"))
    for path in files:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _format_entries(synthetic: SyntheticTable) -> str:
    numbers = ", ".join(str(each.number) for each in synthetic.earlier)
    return (
        f"the answer of entry {numbers}"
        if len(synthetic.earlier) == 1
        else f"the answers of entries {numbers}"
    )
