"""The job of the Publish screen: search for a release, and the contexts that its page is rendered with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from discreet.app.colours import OTHERS, SUSPECTED
from discreet.app.console.publish_form import (
    DISTANCES,
    DIVERSITIES,
    FIELDS,
    FORMATS,
    RECODINGS,
    Chosen,
    publishable,
)
from discreet.app.console.rendering import SHORT, Page
from discreet.app.drawings import Bar, BarRow, bars
from discreet.app.http.works import OF_ANONYMIZATION
from discreet.app.progress import Tell
from discreet.app.publishing.anonymize_command import find_and_publish
from discreet.app.publishing.anonymize_options import build_anonymizer
from discreet.app.publishing.anonymize_validation import OBJECTIVES
from discreet.app.publishing.release import Release
from discreet.app.publishing.release_certificate import build_certificate
from discreet.app.publishing.release_risk import class_risk_to_json
from discreet.app.publishing.release_risk import list_risk_rows as risks
from discreet.app.publishing.release_view import format_examples, list_figures
from discreet.app.serve.job import Outcome, Work
from discreet.app.trials.trial import Trial
from discreet.app.trials.verdicts import verdict
from discreet.belief.wording import format_percent
from discreet.core.randomness import Randomness
from discreet.engines.duckdb_publisher import ReleaseTarget

FIGURES = {
    "prosecutor_highest": "highest risk",
    "marketer": "average risk",
    "at_risk": "people above 20%",
}


def work(page: Page, fields: Mapping[str, str]) -> Work:
    """Return work that finds and attacks a release, and writes it if the form says publish."""
    chosen, keep = _chosen(page, fields), fields.get("do") == "publish"
    # raises what can be refused before the job starts
    build_anonymizer(chosen.request(None), chosen.named, lambda _: None)

    def do(tell: Tell, folder: Path) -> Outcome:
        output = folder / f"{chosen.name}.{chosen.format}" if keep else None
        release, trial, _ = find_and_publish(chosen.request(output), chosen.named, tell)
        made = build_certificate(release, evaluation=trial)
        found = _told(release, trial, made) | {"kept": keep}
        return Outcome(found=found, document=made if keep else None, file=output)

    return Work(
        kind="anonymize",
        name=f"{'anonymize' if keep else 'try to anonymize'} {chosen.name}",
        stages=OF_ANONYMIZATION if keep else OF_ANONYMIZATION[:-1],
        binding="writing" if keep else None,
        do=do,
        form=fields,
    )


def number_of(page: Page, outcome: Outcome) -> int | None:
    """Return the ledger's number of the release that a job published, or None."""
    if outcome.file is None:
        return None
    found = reversed(page.door.curators.ledger.list_releases())
    there = ((each.id, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found)
    return next((each for each, target in there if target is not None and target.file == outcome.file), None)


def _chosen(page: Page, fields: Mapping[str, str]) -> Chosen:
    policy = page.door.curators.policy
    tables = publishable(policy)
    name = fields.get("table", "")
    return Chosen(policy=policy, name=name if name in tables else tables[0], fields=fields)


def around(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the context of the page without a release: the possible and the current choices."""
    chosen = _chosen(page, fields)
    return {
        "tables": publishable(chosen.policy),
        "table": chosen.name,
        "columns": chosen.columns,
        "sensitive": chosen.sensitive,
        "fields": {each: fields.get(each, "") for each in FIELDS},
        "diversities": DIVERSITIES,
        "distances": DISTANCES,
        "methods": RECODINGS,
        "objectives": OBJECTIVES,
        "formats": FORMATS,
        "drawn": f"{Randomness().draw_bits(64):016x}",
        "releases": releases(page),
        "found": None,
        "ended": "",
        "progress": None,
        "number": None,
    }


def releases(page: Page) -> list[tuple[int, str, str]]:
    """Return number, name and description of the published releases whose files still exist."""
    found = page.door.curators.ledger.list_releases()
    there = [(each, ReleaseTarget.from_ledger_entry(each.certificate)) for each in found]
    return [
        (each.id, each.name, each.description)
        for each, target in reversed(there)
        if target is not None and target.file.is_file()
    ]


def _told(release: Release, trial: Trial, made: Mapping[str, object]) -> dict[str, object]:
    """Return what the page shows of a release, without the release itself."""
    quasi = enumerate(release.source.quasi)
    return {
        "figures": list_figures(release),
        "columns": [
            (name, release.describe_level(place), format_examples(release, place) or "–")
            for place, name in quasi
        ],
        "risks": risks(release),
        "picture": _picture(release),
        "models": [(model.name, model.belief, ", ".join(model.not_stopped)) for model in release.goal.models],
        "verdict": [text for text, _ in verdict(trial)],
        "warnings": list(release.warnings),
        "certificate": json.dumps(made, indent=2, ensure_ascii=False),
    }


def _picture(release: Release) -> str:
    before, after = class_risk_to_json(release.classes_before), class_risk_to_json(release.classes)
    rows = [
        BarRow(
            name=name,
            bars=(
                Bar(share=before[figure], colour=OTHERS, said=format_percent(before[figure])),
                Bar(share=after[figure], colour=SUSPECTED, said=format_percent(after[figure])),
            ),
        )
        for figure, name in FIGURES.items()
    ]
    legend = {"before": OTHERS, "after": SUSPECTED}
    return bars(rows, title="risk of being matched to a row", thick=14, legend=legend, width=SHORT)
