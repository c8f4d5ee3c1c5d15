"""Terminal and JSON views of a synthetic table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.app.synthesis.report import MADE_UP
from discreet.app.synthesis.synthesizing import Synthetic
from discreet.app.trials import view as attack_view
from discreet.app.trials.trial import Trial
from discreet.belief.wording import format_number, format_percent
from discreet.mining.synthesis.comparison import Comparison


def as_object(
    found: Synthetic, comparison: Comparison, trial: Trial, written: Sequence[Path]
) -> dict[str, object]:
    """Return the JSON object; comparison and attack evaluation are for the custodian only."""
    return {
        "table": found.plan.table,
        "rows": found.table.num_rows,
        "columns": found.table.column_names,
        "left_out": list(found.plan.left_out),
        "quality": found.plan.quality,
        "epsilon": float(found.epsilon),
        "delta": float(found.delta),
        "guarantee": repr(found.plan.guarantee),
        "variation": {"columns": comparison.mean(1), "pairs": comparison.mean(2)},
        "trial": attack_view.as_object(trial),
        "earlier": [each.number for each in found.earlier],
        "entry": found.entry,
        "repeated": found.repeated,
        "sentence": found.sentence,
        "files": [str(path) for path in written],
    }


def show(
    console: Console, found: Synthetic, comparison: Comparison, trial: Trial, written: Sequence[Path]
) -> None:
    """Print figures, results of attacks, cost and belief."""
    charge = f"epsilon {format_number(float(found.epsilon))}"
    if found.delta:
        charge += f", delta {float(found.delta):g}"
    if found.repeated:
        charge = "nothing: the same table was made before"
    pairs = (
        f"{format_percent(comparison.mean(1))} of columns, {format_percent(comparison.mean(2))} "
        "of pairs, on average"
    )
    facts = [
        ("rows", f"{found.table.num_rows:,} of {len(found.table.column_names)} columns"),
        ("variation", f"{pairs} (for the custodian)"),
        ("left out", ", ".join(found.plan.left_out) or "nothing"),
        *([("agrees with", _listed(found))] if found.earlier else []),
        ("cost", f"{charge} (entry {found.entry})"),
        ("belief", found.sentence),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, text in facts:
        grid.add_row(Text(name, "bold"), Text(text))
    console.print(grid)
    console.print()
    if trial.tried:
        attack_view.show_attacks(console, trial)
    else:
        console.print("No attack was run: --panel FILE names people who are not in the data.", style="dim")
    console.print(Text(f"\n{MADE_UP}", style="dim"))
    for path in written:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def _listed(found: Synthetic) -> str:
    numbers = ", ".join(str(each.number) for each in found.earlier)
    return (
        f"the answer of entry {numbers}" if len(found.earlier) == 1 else f"the answers of entries {numbers}"
    )
