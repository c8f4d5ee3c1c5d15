"""The report of an attack evaluation, as a privacy officer files it.

Everything in it is computed from real data, as its first line states.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from discreet.anonymity.risk.reidentification_risk import THRESHOLD, AttackerRisks
from discreet.attacks.anonymization_criteria import Criteria
from discreet.attacks.findings import Finding
from discreet.belief.wording import format_number, format_percent
from discreet.core.errors import RequestError
from discreet.core.output_files import write_output
from discreet.rendering.attack_charts import draw_attack_charts
from discreet.rendering.attack_view import (
    describe_strongest_claim,
    describe_verdict,
    evaluation_to_json,
    explain_success_rates,
    format_success_rates,
    select_release_runs,
)
from discreet.rendering.deployment_section import build_deployment_section
from discreet.rendering.report_document import (
    Document,
    DocumentPart,
    Grid,
    Paragraph,
    Section,
)
from discreet.services.attack.evaluation import NOTICE, AttackEvaluation, BeliefBound, JudgedRun
from discreet.services.ledgers import open_ledger_readonly

MAX_VICTIMS = 8
CAUTION = (
    "An attack that finds nothing proves nothing about attackers who know more than it was given. What a "
    "promise of differential privacy bounds is bounded for all of them."
)


REPORT_SUFFIXES = (".html", ".md", ".json")


def require_report_path(path: Path) -> None:
    """Raise RequestError for a report path with an unknown suffix or a missing folder."""
    if path.suffix.lower() not in REPORT_SUFFIXES:
        raise RequestError(
            f"A report is an .html, .md or .json file; got {path.name}.", hint="Name such a file."
        )
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.parent}.", hint="Create it, or name another file.")


def write_attack_report(evaluation: AttackEvaluation, path: Path) -> None:
    """Write the report as JSON, HTML or Markdown, by the file's suffix."""
    day = datetime.now(UTC).date().isoformat()
    if path.suffix.lower() == ".json":
        told = {"notice": NOTICE, "date": day} | evaluation_to_json(evaluation)
        text = json.dumps(told, indent=2) + "\n"
    else:
        policy = evaluation.policy
        more: list[Section] = []
        if policy is not None and policy.promise is not None:
            with open_ledger_readonly(policy) as ledger:
                more.append(build_deployment_section(policy, ledger))
        made = build_report(evaluation, *more, day=day)
        text = made.to_html() if path.suffix.lower() == ".html" else made.to_markdown()
    try:
        write_output(path, text, private=True)  # the custodian's alone
    except OSError as error:
        reason = error.strerror or "the system refuses"
        raise RequestError(f"{path} cannot be written: {reason}.", hint="Name another file.") from None


def build_report(evaluation: AttackEvaluation, *extra_sections: Section, day: str) -> Document:
    """Return the whole report of an evaluation; `extra_sections` sections precede the assumptions."""
    return Document(
        title=f"What attackers find out from {evaluation.subject}",
        notice=NOTICE,
        sections=(
            *build_sections(evaluation),
            *extra_sections,
            build_assumptions_section(evaluation),
            _build_subject_section(evaluation, day),
        ),
    )


def build_sections(evaluation: AttackEvaluation, *, risks: bool = True) -> tuple[Section, ...]:
    """Return verdict, criteria, attacks and skipped attacks; `risks` unless the report has them elsewhere."""
    found = [_build_verdict_section(evaluation)]
    if evaluation.criteria is not None:
        found.append(_build_criteria_section(evaluation.criteria))
        if risks and evaluation.criteria.risks is not None:
            found.append(_build_risks_section(evaluation.criteria.risks))
    found += [_build_attack_section(tried, evaluation) for tried in evaluation.runs]
    return (*found, *_build_skipped_section(evaluation))


def _build_subject_section(evaluation: AttackEvaluation, day: str) -> Section:
    rows = [("attacked", evaluation.subject), ("on", f"{day} (UTC)")]
    if evaluation.sha256 is not None:
        rows.append(("SHA-256", evaluation.sha256))
    return Section(title="What was attacked, and when", parts=(Grid(head=("", ""), rows=tuple(rows)),))


def build_assumptions_section(evaluation: AttackEvaluation) -> Section:
    """Return the section on the attacker's knowledge and the assumptions."""
    lines = (f"Attackers know {evaluation.knowledge}.", *evaluation.assumptions, CAUTION)
    return Section(title="What was assumed", parts=tuple(Paragraph(text=line) for line in lines))


def _build_verdict_section(evaluation: AttackEvaluation) -> Section:
    runs = list(select_release_runs(evaluation))
    rows = tuple(
        (
            tried.name,
            f"{score.success} {_bracket_qualifier(score.qualifier)}".rstrip(),
            score.guessing,
            describe_strongest_claim(tried),
            "; ".join(f"{bound.text}: {_get_bound_verdict(bound, tried)}" for bound in tried.bounds) or "–",
        )
        for tried, score in zip(runs, map(format_success_rates, runs), strict=True)
    )
    head = ("attack", "right", "guessing", "the most learned about one person", "bound")
    return Section(
        title="What could someone find out about one person?",
        parts=(
            *(Paragraph(text=text) for text in evaluation.remarks),
            *(Paragraph(text=text, tone=tone) for text, tone in describe_verdict(evaluation)),
            Grid(head=head, rows=rows, numbers=(1, 2)),
            *(Paragraph(text=line) for line in explain_success_rates(evaluation)),
        ),
    )


def _bracket_qualifier(qualifier: str) -> str:
    return qualifier if not qualifier or qualifier.startswith("of ") else f"({qualifier})"


def _describe_bound(bound: BeliefBound, judged_run: JudgedRun) -> str:
    return f"{bound.text} by {bound.source}: {_get_bound_verdict(bound, judged_run)}"


def _get_bound_verdict(bound: BeliefBound, judged_run: JudgedRun) -> str:
    return "held" if bound.is_met_by(judged_run.findings) else "BROKEN"


def _build_criteria_section(criteria: Criteria) -> Section:
    three = (criteria.singling_out, criteria.linkability, *criteria.inference)
    rows = tuple(
        (each.name, format_percent(each.share), format_percent(each.baseline), each.sentence)
        for each in three
    )
    return Section(
        title="The three criteria of the European guidance",
        parts=(Grid(head=("criterion", "of people", "by chance", ""), rows=rows, numbers=(1, 2)),),
    )


def _build_risks_section(risks: AttackerRisks) -> Section:
    high = format_percent(float(THRESHOLD))
    rows = (
        (
            "prosecutor",
            "knows that a person is in the release",
            format_percent(risks.prosecutor.highest),
            format_percent(risks.prosecutor.success),
            format_percent(risks.prosecutor.at_risk),
        ),
        (
            "journalist",
            "knows the population that it was drawn from",
            format_percent(risks.journalist.highest),
            format_percent(risks.journalist.success),
            format_percent(risks.journalist.at_risk),
        ),
        ("marketer", "links everybody, and wants many links", "–", format_percent(risks.marketer), "–"),
    )
    head = ("attacker", "who", "highest risk", "on average", f"people above {high}")
    return Section(
        title="Risk of being matched to a row", parts=(Grid(head=head, rows=rows, numbers=(2, 3, 4)),)
    )


def _build_attack_section(judged_run: JudgedRun, evaluation: AttackEvaluation) -> Section:
    findings = judged_run.findings
    parts: list[DocumentPart] = [
        Grid(head=("", ""), rows=tuple(_list_facts(judged_run))),
        *draw_attack_charts(judged_run),
    ]
    if findings.victims:
        parts.append(_build_victims_grid(findings.victims))
    return Section(title=f"{judged_run.name[:1].upper()}{judged_run.name[1:]}", parts=tuple(parts))


def _list_facts(judged_run: JudgedRun) -> Iterator[tuple[str, str]]:
    findings = judged_run.findings
    yield "knows", findings.knows
    yield "learns", findings.learns
    low, high = findings.interval
    sure = (
        ""
        if low == high
        else f" (between {format_percent(low)} and {format_percent(high)} with 95% confidence)"
    )
    yield "right", f"{format_percent(findings.success)} of {findings.attempts:,}{sure}"
    yield "guessing", format_percent(findings.baseline)
    if findings.figures:
        yield (
            "figures",
            "; ".join(f"{name} {format_figure(name, each)}" for name, each in findings.figures.items()),
        )
    if judged_run.bounds:
        yield "bound", "; ".join(_describe_bound(bound, judged_run) for bound in judged_run.bounds)
    yield "stopped\u00a0by", findings.stopped_by
    if findings.note:
        yield "note", findings.note


SHARE_FIGURES = (
    "claimed",
    "precision",
    "recall",
    "posterior",
    "matched",
    "unique",
    "confident",
    "certain",
    "guess",
    "right",
    "panel",
    "strangers",
    "power",
    "false positives",
    "allows",
)


def format_figure(name: str, value: float) -> str:
    """Return an attack's own figure as text: a percentage if its name marks it as a share."""
    shared = any(word in name for word in SHARE_FIGURES) or name.startswith(("in crowds", "fine outputs"))
    return format_percent(value) if shared and 0 <= value <= 1 else format_number(value)


def _build_victims_grid(victims: tuple[Finding, ...]) -> Grid:
    truths = {True: "true", False: "false", None: "–"}
    rows = tuple(
        (
            each.victim,
            each.claim,
            format_percent(each.prior),
            format_percent(each.posterior),
            truths[each.truth],
        )
        for each in victims[:MAX_VICTIMS]
    )
    head = ("person", "claim", "before", "after", "in truth")
    return Grid(head=head, rows=rows, caption="The people about whom most was learned", numbers=(2, 3))


def _build_skipped_section(evaluation: AttackEvaluation) -> Iterator[Section]:
    if evaluation.skipped:
        rows = tuple(
            (
                ", ".join(each.name for each in those),
                f"on {those[0].release_kind}: {why}" if those[0].release_kind else why,
            )
            for why, those in evaluation.skipped_by_reason.items()
        )
        yield Section(title="What was not run", parts=(Grid(head=("attacks", "why"), rows=rows),))
