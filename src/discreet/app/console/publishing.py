"""The Publish screen: a table, what its columns are, the models that a release has to meet; the release.

It runs as `discreet anonymize` does: the release is searched for, judged and attacked before anything is
written, entered in the ledger before there is a file, and refused in one sentence where that cannot be. What
is shown of it is computed on real data, and is the custodian's; the certificate may leave.

Files       stand in a folder of their own beside the policy, under a name that the form brought: sent twice,
            a form publishes once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import FileResponse

from discreet.app.colours import OTHERS, SUSPECTED
from discreet.app.console.publish_form import (
    DISTANCES,
    DIVERSITIES,
    FIELDS,
    FORMATS,
    RECODINGS,
    Chosen,
    in_words,
    publishable,
)
from discreet.app.console.rendering import Page, decided
from discreet.app.drawings import Bar, BarRow, bars
from discreet.app.http.errors import MissingError
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
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.randomness import Randomness
from discreet.engines.faults import guarded
from discreet.engines.publishing import Target

router = APIRouter(include_in_schema=False)
FOLDER = "releases"
NARROW = 220
"""How wide bars are, so that they can be read on a phone."""
DRAWN = re.compile(r"[0-9a-f]{16}")
PARTS = {"certificate": "certificate.json", "report": "report.html"}
FIGURES = {
    "prosecutor_highest": "highest risk",
    "marketer": "average risk",
    "at_risk": "people above 20%",
}
Deciding = Annotated[Page, Depends(decided)]


@router.get("/publish")
def show(page: Deciding, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    return page.shown("publish.html", _around(page, {} if table is None else {"table": table}))


@router.post("/publish")
async def publish(page: Deciding) -> Response:
    fields = await page.form()
    do = fields.get("do", "show")
    try:
        around = _around(page, fields)
    except DiscreetError as error:
        return page.refused("publish.html", error, _around(page, {}))
    if do not in ("try", "publish"):
        return page.shown("publish.html", around)
    try:
        found = await to_thread.run_sync(lambda: guarded(lambda: _done(page, fields, keep=do == "publish")))
    except DiscreetError as error:
        return page.refused("publish.html", error, around, in_words)
    return page.shown("publish.html", around | {"found": found, "releases": _releases(page)})


@router.get("/publish/{number}/{part}")
def file(number: int, part: str, page: Deciding) -> Response:
    """The file of a release, its certificate or its report."""
    for each in page.door.curators.ledger.releases():
        target = _target(each.certificate)
        if each.id != number or target is None:
            continue
        path = target.beside(PARTS[part]) if part in PARTS else target.file
        if part in (*PARTS, "table") and path.is_file():
            return FileResponse(path, filename=path.name, content_disposition_type="attachment")
    raise MissingError("There is no such file of a release.", hint="The Publish screen lists them.")


def _done(page: Page, fields: Mapping[str, str], *, keep: bool) -> dict[str, object]:
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


def _around(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
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
        "releases": _releases(page),
        "found": None,
    }


def _releases(page: Page) -> list[tuple[int, str, str]]:
    """What was published and is still there."""
    found = page.door.curators.ledger.releases()
    there = [(each, _target(each.certificate)) for each in found]
    return [
        (each.id, each.name, each.description)
        for each, target in reversed(there)
        if target is not None and target.file.is_file()
    ]


def _target(written: Mapping[str, object]) -> Target | None:
    path = written.get("path")
    return Target(file=Path(path), table=str(written.get("inner") or "")) if isinstance(path, str) else None


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
