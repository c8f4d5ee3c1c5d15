"""Documents about a synthetic table: the public certificate, and the custodian's report.

The certificate has parameters and the error that follows from them. The report compares the table with real
rows, so it is not public.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.belief.wording import format_number, format_percent
from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.mining.bin_counters import EngineCounter
from discreet.mining.synthesis.marginal_comparison import Comparison, compare_marginals
from discreet.rendering import attack_report
from discreet.rendering.report_document import Document, Grid, Paragraph, Section
from discreet.services.attack.evaluation import NOTICE, AttackEvaluation
from discreet.services.attack.release_evaluation import bound_from_option
from discreet.services.synthesize.synthetic_table import SyntheticTable

MAX_PAIRS = 200
LIMITS = (
    "Rows are generated from noisy counts and are as private as those counts. Relations between columns that "
    "were measured together are approximated; relations between other columns are lost."
)


def build_synthetic_certificate(
    synthetic: SyntheticTable, trial: AttackEvaluation, *, at_most: float | None = None, forced: bool = False
) -> dict[str, object]:
    """Return the certificate to publish with the table.

    `forced` means that attacks could not have prevented publication, not that a bound was exceeded: the
    latter depends on the data.
    """
    plan = synthetic.plan
    return {
        "kind": "differentially private synthetic table",
        "table": plan.table,
        "quality": plan.quality,
        "columns": [each.name for each in plan.schema.attributes],
        "left_out": list(plan.left_out),
        "relation": plan.guarantee.relation.value,
        "epsilon": float(synthetic.epsilon),
        "delta": float(synthetic.delta),
        "guarantee": repr(plan.guarantee),
        "earlier": [
            {"columns": list(counts.columns), "guarantee": repr(entry.guarantee)}
            for counts, entry in zip(plan.earlier, synthetic.earlier, strict=True)
        ],
        "attacker": "knows all other records, or takes records as independent",
        "limits": LIMITS,
        "expected_error": [
            {
                "columns": list(each.columns),
                "mechanism": each.mechanism,
                "error95": each.error95,
                "variation": each.variation,
            }
            for each in plan.expected_error
        ],
        "attacks_run": list(trial.attack_names),
        "bounds": [bound.to_json() for bound in bound_from_option(at_most)],
        "forced": forced,
    }


def compare_with_table(synthetic: SyntheticTable, engine: Engine, policy: Policy) -> Comparison:
    """Compare every column and pair of columns with the real table."""
    counter = EngineCounter.from_table(engine, policy, synthetic.plan.table, synthetic.plan.schema)
    return compare_marginals(synthetic.plan.schema, counter, synthetic.codes)


def build_synthetic_report(
    synthetic: SyntheticTable,
    comparison: Comparison,
    trial: AttackEvaluation,
    useful: Mapping[str, tuple[float, float]],
) -> Document:
    """Return the report: accuracy of the rows, usefulness for learning, and results of attacks."""
    return Document(
        title=f"{synthetic.plan.table}: a synthetic table",
        notice=NOTICE,
        sections=(
            _build_summary(synthetic, comparison),
            *([_build_usefulness_section(useful)] if useful else []),
            *attack_report.build_sections(trial),
            attack_report.build_assumptions_section(trial),
            _build_comparison_section(comparison),
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
            f"{format_percent(comparison.compute_mean(1))} of columns, {format_percent(comparison.compute_mean(2))} "
            "of pairs of columns",
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
