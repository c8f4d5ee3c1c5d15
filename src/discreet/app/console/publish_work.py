"""What the Publish screen shows and does: the form around, the release that is found, its picture."""

from __future__ import annotations

import json
import re
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
from discreet.app.console.rendering import NARROW, Page
from discreet.app.drawings import Bar, BarRow, bars
from discreet.app.publishing.anonymizing import published
from discreet.app.publishing.certificates import certificate
from discreet.app.publishing.door import OBJECTIVES
from discreet.app.publishing.release import Release
from discreet.app.publishing.risk import of_classes
from discreet.app.publishing.risk import rows as risks
from discreet.app.publishing.view import examples, figures
from discreet.app.trials.trial import Trial
from discreet.app.trials.verdicts import verdict
from discreet.belief.wording import percent
from discreet.core.errors import RequestError
from discreet.core.randomness import Randomness
from discreet.engines.publishing import Target

FOLDER = "releases"
DRAWN = re.compile(r"[0-9a-f]{16}")
FIGURES = {
    "prosecutor_highest": "highest risk",
    "marketer": "average risk",
    "at_risk": "people above 20%",
}


def done(page: Page, fields: Mapping[str, str], *, keep: bool) -> dict[str, object]:
    """Find a release and try it; `keep` writes it. What the page says of it."""
    chosen = _chosen(page, fields)
    output = _output(page, fields, chosen) if keep else None
    try:
        release, trial, written = published(chosen.request(output), chosen.named, lambda *_: None)
    except BaseException:
        if output is not None and not any(output.parent.iterdir()):
            output.parent.rmdir()
        raise
    return _told(release, trial) | {"kept": bool(written)}


def _output(page: Page, fields: Mapping[str, str], chosen: Chosen) -> Path:
    """A file in a folder that nobody had before."""
    drawn, policy = fields.get("drawn", ""), page.door.policy_file
    if policy is None or not DRAWN.fullmatch(drawn):
        raise RequestError("publish: there is no place for a release.", hint="Open the page again.")
    folder = policy.absolute().parent / FOLDER / drawn
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise RequestError(
            "publish: this was published already.",
            hint="It is listed below; open the page again for another.",
        ) from None
    except OSError as error:
        raise RequestError(
            f"publish: {folder.parent} cannot be written: {error.strerror}.", hint="Make it writable."
        ) from None
    return folder / f"{chosen.name}.{chosen.format}"


def _chosen(page: Page, fields: Mapping[str, str]) -> Chosen:
    policy = page.door.curators.policy
    tables = publishable(policy)
    name = fields.get("table", "")
    return Chosen(policy=policy, name=name if name in tables else tables[0], fields=fields)


def around(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    """The page without a release: what may be chosen, and what was."""
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
        "drawn": f"{Randomness().bits(64):016x}",
        "releases": releases(page),
        "found": None,
    }


def releases(page: Page) -> list[tuple[int, str, str]]:
    """What was published and is still there."""
    found = page.door.curators.ledger.releases()
    there = [(each, Target.recorded(each.certificate)) for each in found]
    return [
        (each.id, each.name, each.description)
        for each, target in reversed(there)
        if target is not None and target.file.is_file()
    ]


def _told(release: Release, trial: Trial) -> dict[str, object]:
    """What the page says of a release, without the release."""
    quasi = enumerate(release.subject.quasi)
    return {
        "figures": figures(release),
        "columns": [(name, release.how(place), examples(release, place) or "–") for place, name in quasi],
        "risks": risks(release),
        "picture": _picture(release),
        "models": [(model.name, model.belief, ", ".join(model.not_stopped)) for model in release.goal.models],
        "verdict": [text for text, _ in verdict(trial)],
        "warnings": list(release.warnings),
        "certificate": json.dumps(certificate(release, trial=trial), indent=2, ensure_ascii=False),
    }


def _picture(release: Release) -> str:
    before, after = of_classes(release.before), of_classes(release.classes)
    rows = [
        BarRow(
            name=name,
            bars=(
                Bar(share=before[figure], colour=OTHERS, said=percent(before[figure])),
                Bar(share=after[figure], colour=SUSPECTED, said=percent(after[figure])),
            ),
        )
        for figure, name in FIGURES.items()
    ]
    legend = {"before": OTHERS, "after": SUSPECTED}
    return bars(rows, title="risk of being matched to a row", thick=14, legend=legend, width=NARROW)
