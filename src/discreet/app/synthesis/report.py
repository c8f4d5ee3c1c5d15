"""Documents about a synthetic table: the public certificate, and the custodian's report.

The certificate has parameters and the error that follows from them. The report compares the table with real
rows, so it is not public.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.app.documents import Document, Grid, Paragraph, Section
from discreet.app.synthesis.synthesizing import Synthetic
from discreet.app.trials import report as attack_report
from discreet.app.trials.release_trial import stated
from discreet.app.trials.trial import NOTICE, Trial
from discreet.belief.wording import format_number, format_percent
from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.mining.counting import EngineCounter
from discreet.mining.synthesis.comparison import Comparison, compare

MOST_PAIRS = 200
MADE_UP = (
    "Rows are generated from noisy counts and are as private as those counts. Relations between columns that "
    "were measured together are approximated; relations between other columns are lost."
)


def certificate(
    found: Synthetic, trial: Trial, *, at_most: float | None = None, forced: bool = False
) -> dict[str, object]:
    """Return the certificate to publish with the table.

    `forced` means that attacks could not have prevented publication, not that a bound was exceeded: the
    latter depends on the data.
    """
    plan = found.plan
    return {
        "kind": "differentially private synthetic table",
        "table": plan.table,
        "quality": plan.quality,
        "columns": [each.name for each in plan.schema.attributes],
        "left_out": list(plan.left_out),
        "relation": plan.guarantee.relation.value,
        "epsilon": float(found.epsilon),
        "delta": float(found.delta),
        "guarantee": repr(plan.guarantee),
        "earlier": [
            {"columns": list(counts.columns), "guarantee": repr(entry.guarantee)}
            for counts, entry in zip(plan.earlier, found.earlier, strict=True)
        ],
        "attacker": "knows all other records, or takes records as independent",
        "limits": MADE_UP,
        "expected_error": [
            {
                "columns": list(each.columns),
                "mechanism": each.mechanism,
                "error95": each.error95,
                "variation": each.variation,
            }
            for each in plan.expected_error
        ],
        "attacks_run": list(trial.names),
        "bounds": [bound.as_object() for bound in stated(at_most)],
        "forced": forced,
    }


def compared(found: Synthetic, engine: Engine, policy: Policy) -> Comparison:
    """Compare every column and pair of columns with the real table."""
    counter = EngineCounter.of_table(engine, policy, found.plan.table, found.plan.schema)
    return compare(found.plan.schema, counter, found.codes)


def report(
    found: Synthetic, comparison: Comparison, trial: Trial, useful: Mapping[str, tuple[float, float]]
) -> Document:
    """Return the report: accuracy of the rows, usefulness for learning, and results of attacks."""
    return Document(
        title=f"{found.plan.table}: a synthetic table",
        notice=NOTICE,
        sections=(
            _made(found, comparison),
            *([_usefulness(useful)] if useful else []),
            *attack_report.sections(trial),
            attack_report.assumptions(trial),
            _variations(comparison),
        ),
    )


def _made(found: Synthetic, comparison: Comparison) -> Section:
    plan = found.plan
    rows = (
        ("rows", f"{found.table.num_rows:,}"),
        ("columns", ", ".join(each.name for each in plan.schema.attributes)),
        ("left out, as their values are not declared", ", ".join(plan.left_out) or "none"),
        (
            "cost",
            f"epsilon {format_number(float(found.epsilon))}, delta {float(found.delta):g} (entry "
            f"{found.entry})",
        ),
        (
            "total variation, on average",
            f"{format_percent(comparison.mean(1))} of columns, {format_percent(comparison.mean(2))} "
            "of pairs of columns",
        ),
    )
    parts = (Paragraph(text=MADE_UP), Paragraph(text=found.sentence), Grid(head=("", ""), rows=rows))
    return Section(title="What is published", parts=parts)


def _variations(comparison: Comparison) -> Section:
    order = sorted(comparison.variations.items(), key=lambda each: (len(each[0]), -each[1]))
    singles = [each for each in order if len(each[0]) == 1]
    pairs = [each for each in order if len(each[0]) == 2][:MOST_PAIRS]
    text = "Total variation is the largest difference in probability of any event that the columns decide."
    rows = tuple((" and ".join(names), format_percent(value)) for names, value in (*singles, *pairs))
    grid = Grid(head=("columns", "total variation"), rows=rows, numbers=(1,))
    return Section(title="How close it comes to the real table", parts=(Paragraph(text=text), grid))


def _usefulness(useful: Mapping[str, tuple[float, float]]) -> Section:
    rows = tuple((name, format_percent(made), format_percent(real)) for name, (made, real) in useful.items())
    text = "Gradient boosting, trained on one table and tested on people of the panel, is right so often:"
    grid = Grid(head=("predicts", "from synthetic rows", "from real rows"), rows=rows, numbers=(1, 2))
    return Section(title="What can be learned from it", parts=(Paragraph(text=text), grid))
