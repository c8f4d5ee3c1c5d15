"""A synthetic table on the terminal, as JSON, and in the custodian's report.

The report compares the table with real rows, so it is not public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from discreet.accounting.guarantee_json import guarantee_to_json
from discreet.belief.wording import format_number, format_percent
from discreet.core.output_files import write_output
from discreet.mining.synthesis.marginal_comparison import Comparison
from discreet.rendering import attack_report, attack_view
from discreet.rendering.report_document import Document, Grid, Paragraph, Section
from discreet.rendering.terminal import print_facts
from discreet.services.attack.evaluation import NOTICE
from discreet.services.synthesize.synthetic_results import LIMITS, SyntheticPublication, SyntheticTable

MAX_PAIRS = 200


def synthetic_to_json(made: SyntheticPublication, files: Sequence[Path]) -> dict[str, object]:
    """Return the JSON object; comparison and attack evaluation are for the custodian only."""
    synthetic, comparison = made.synthetic, made.comparison
    pairs = comparison.compute_mean(2) if comparison.has_sets(2) or not comparison.not_compared else None
    return {
        "table": synthetic.plan.table,
        "rows": synthetic.table.num_rows,
        "columns": synthetic.table.column_names,
        "left_out": list(synthetic.plan.left_out),
        "quality": synthetic.plan.quality,
        "epsilon": float(synthetic.epsilon),
        "delta": float(synthetic.delta),
        "guarantee": json.loads(guarantee_to_json(synthetic.plan.guarantee)),
        "variation": {"columns": comparison.compute_mean(1), "pairs": pairs},
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
        f"{comparison.describe_mean(1)} for a column, {comparison.describe_mean(2)} for a pair, on average"
    )
    facts = [
        ("rows", f"{synthetic.table.num_rows:,} of {len(synthetic.table.column_names)} columns"),
        ("variation", f"{pairs} (for the custodian)"),
        ("left out", ", ".join(synthetic.plan.left_out) or "nothing"),
        *([("agrees with", _format_entries(synthetic))] if synthetic.earlier else []),
        ("cost", f"{charge} (entry {synthetic.entry})"),
        ("belief", synthetic.sentence),
    ]
    print_facts(console, facts)
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


def write_synthetic_report(made: SyntheticPublication) -> Path:
    """Write the custodian's report beside the published rows."""
    path = made.place.make_companion_path("report.html")
    write_output(path, build_synthetic_report(made).to_html(), private=True)  # the custodian's alone
    return path


def build_synthetic_report(made: SyntheticPublication) -> Document:
    """Return the report: accuracy of the rows, usefulness for learning, and results of attacks."""
    return Document(
        title=f"{made.synthetic.plan.table}: a synthetic table",
        notice=NOTICE,
        sections=(
            _build_summary(made.synthetic, made.comparison),
            *([_build_usefulness_section(made.useful)] if made.useful else []),
            *attack_report.build_sections(made.trial),
            attack_report.build_assumptions_section(made.trial),
            _build_comparison_section(made.comparison),
        ),
    )


def _build_summary(synthetic: SyntheticTable, comparison: Comparison) -> Section:
    plan = synthetic.plan
    rows = (
        ("rows", f"{synthetic.table.num_rows:,}"),
        ("columns", ", ".join(each.name for each in plan.schema.attributes)),
        ("left out, as their values are not declared", ", ".join(plan.left_out) or "none"),
        (
            "cost",
            f"epsilon {format_number(float(synthetic.epsilon))}, delta {float(synthetic.delta):g} (entry "
            f"{synthetic.entry})",
        ),
        (
            "total variation, on average",
            f"{comparison.describe_mean(1)} of columns, {comparison.describe_mean(2)} of pairs of columns",
        ),
    )
    parts = (Paragraph(text=LIMITS), Paragraph(text=synthetic.sentence), Grid(head=("", ""), rows=rows))
    return Section(title="What is published", parts=parts)


def _build_comparison_section(comparison: Comparison) -> Section:
    order = sorted(comparison.variations.items(), key=lambda each: (len(each[0]), -each[1]))
    singles = [each for each in order if len(each[0]) == 1]
    pairs = [each for each in order if len(each[0]) == 2][:MAX_PAIRS]
    text = "Total variation is the largest difference in probability of any event that the columns decide."
    rows = tuple((" and ".join(names), format_percent(value)) for names, value in (*singles, *pairs))
    grid = Grid(head=("columns", "total variation"), rows=rows, numbers=(1,))
    return Section(title="How close it comes to the real table", parts=(Paragraph(text=text), grid))


def _build_usefulness_section(useful: Mapping[str, tuple[float, float]]) -> Section:
    rows = tuple((name, format_percent(made), format_percent(real)) for name, (made, real) in useful.items())
    text = "Gradient boosting, trained on one table and tested on people of the panel, is right so often:"
    grid = Grid(head=("predicts", "from synthetic rows", "from real rows"), rows=rows, numbers=(1, 2))
    return Section(title="What can be learned from it", parts=(Paragraph(text=text), grid))
