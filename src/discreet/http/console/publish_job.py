"""The job of the Publish screen: search for a release, and the contexts that its page is rendered with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from discreet.belief.wording import format_percent
from discreet.core.randomness import Randomness
from discreet.core.release_target import ReleaseTarget
from discreet.http.console.page import BAR_LENGTH, Page
from discreet.http.console.publish_form import (
    DISTANCES,
    DIVERSITIES,
    FORM_FIELDS,
    FORMATS,
    RECODINGS,
    PublishForm,
    list_publishable_tables,
)
from discreet.rendering.attack_verdicts import describe_verdict
from discreet.rendering.release_report import render_release_report
from discreet.rendering.release_view import format_examples, list_figures
from discreet.rendering.svg_charts import GRAY, VERMILLION, Bar, BarRow, draw_bars
from discreet.services.anonymize.anonymize import ANONYMIZATION_STAGES, anonymize, require_anonymizable
from discreet.services.anonymize.anonymize_request import OBJECTIVES
from discreet.services.anonymize.release import Release
from discreet.services.anonymize.release_certificate import build_certificate
from discreet.services.anonymize.release_risk import class_risk_to_json
from discreet.services.anonymize.release_risk import list_risk_rows as risks
from discreet.services.attack.evaluation import AttackEvaluation
from discreet.services.progress import ProgressCallback
from discreet.services.serving.job import JobOutcome, JobWork

RISK_FIGURES = {
    "prosecutor_highest": "highest risk",
    "marketer": "average risk",
    "at_risk": "people above 20%",
}


def build_publish_work(page: Page, fields: Mapping[str, str]) -> JobWork:
    """Return work that finds and attacks a release, and writes it if the form says publish."""
    chosen, keep = _parse_form(page, fields), fields.get("do") == "publish"
    # raises what can be refused before the job starts
    require_anonymizable(chosen.build_request(None), chosen.resolved_table)

    def run_publication(tell: ProgressCallback, folder: Path) -> JobOutcome:
        output = folder / f"{chosen.name}.{chosen.file_format}" if keep else None
        result = anonymize(
            chosen.build_request(output),
            chosen.resolved_table,
            report_progress=tell,
            render_report=render_release_report,
        )
        made = build_certificate(result.release, evaluation=result.evaluation)
        found = _build_result_context(result.release, result.evaluation, made) | {"kept": keep}
        return JobOutcome(results=found, document=made if keep else None, file=output)

    return JobWork(
        kind="anonymize",
        name=f"{'anonymize' if keep else 'try to anonymize'} {chosen.name}",
        stages=ANONYMIZATION_STAGES if keep else ANONYMIZATION_STAGES[:-1],
        charging_stage="writing" if keep else None,
        run=run_publication,
        form=fields,
    )


def find_release_number(page: Page, outcome: JobOutcome) -> int | None:
    """Return the ledger's number of the release that a job published, or None."""
    if outcome.file is None:
        return None
    found = reversed(page.context.curators.ledger.list_releases())
    there = ((each.id, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found)
    return next((each for each, target in there if target is not None and target.file == outcome.file), None)


def _parse_form(page: Page, fields: Mapping[str, str]) -> PublishForm:
    policy = page.context.curators.policy
    tables = list_publishable_tables(policy)
    name = fields.get("table", "")
    return PublishForm(policy=policy, name=name if name in tables else tables[0], fields=fields)


def build_template_context(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the context of the page without a release: the possible and the current choices."""
    chosen = _parse_form(page, fields)
    return {
        "tables": list_publishable_tables(chosen.policy),
        "table": chosen.name,
        "columns": chosen.column_choices,
        "sensitive": chosen.sensitive_columns,
        "fields": {each: fields.get(each, "") for each in FORM_FIELDS},
        "diversities": DIVERSITIES,
        "distances": DISTANCES,
        "methods": RECODINGS,
        "objectives": OBJECTIVES,
        "formats": FORMATS,
        "drawn": f"{Randomness().draw_bits(64):016x}",
        "releases": list_available_releases(page),
        "found": None,
        "ended": "",
        "progress": None,
        "number": None,
    }


def list_available_releases(page: Page) -> list[tuple[int, str, str]]:
    """Return number, name and description of the published releases whose files still exist."""
    found = page.context.curators.ledger.list_releases()
    there = [(each, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found]
    return [
        (each.id, each.name, each.description)
        for each, target in reversed(there)
        if target is not None and target.file.is_file()
    ]


def _build_result_context(
    release: Release, trial: AttackEvaluation, certificate: Mapping[str, object]
) -> dict[str, object]:
    """Return what the page shows of a release, without the release itself."""
    quasi = enumerate(release.source.quasi)
    return {
        "figures": list_figures(release),
        "columns": [
            (name, release.describe_level(place), format_examples(release, place) or "–")
            for place, name in quasi
        ],
        "risks": risks(release),
        "picture": _draw_risks(release),
        "models": [(model.name, model.belief, ", ".join(model.not_stopped)) for model in release.goal.models],
        "verdict": [text for text, _ in describe_verdict(trial)],
        "warnings": list(release.warnings),
        "certificate": json.dumps(certificate, indent=2, ensure_ascii=False),
    }


def _draw_risks(release: Release) -> str:
    before, after = class_risk_to_json(release.classes_before), class_risk_to_json(release.classes)
    rows = [
        BarRow(
            name=name,
            bars=(
                Bar(share=before[figure], color=GRAY, label=format_percent(before[figure])),
                Bar(share=after[figure], color=VERMILLION, label=format_percent(after[figure])),
            ),
        )
        for figure, name in RISK_FIGURES.items()
    ]
    legend = {"before": GRAY, "after": VERMILLION}
    return draw_bars(
        rows, title="risk of being matched to a row", bar_height=14, legend=legend, width=BAR_LENGTH
    )
