"""The Publish screen: a table, what its columns are, the models that a release has to meet; the release.

It runs as `discreet anonymize` does: the release is searched for, judged and attacked before anything is
written, entered in the ledger before there is a file, and refused in one sentence where that cannot be. What
is shown of it is computed on real data, and is the custodian's; the certificate may leave.

Files       stand in a folder of their own beside the policy, under a name that the form brought: sent twice,
            a form publishes once.
"""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import FileResponse

from discreet.app.console.rendering import Page, decided
from discreet.app.http.errors import MissingError
from discreet.core.errors import DiscreetError
from discreet.engines.faults import guarded
from discreet.engines.publishing import Target

router = APIRouter(include_in_schema=False)
PARTS = {"certificate": "certificate.json", "report": "report.html"}
Deciding = Annotated[Page, Depends(decided)]


@router.get("/publish")
def show(page: Deciding, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    from discreet.app.console.publish_work import around  # what it needs takes a second to load

    return page.shown("publish.html", around(page, {} if table is None else {"table": table}))


@router.post("/publish")
async def publish(page: Deciding) -> Response:
    fields = dict(await page.form())
    return await to_thread.run_sync(lambda: _published(page, fields))


def _published(page: Page, fields: dict[str, str]) -> Response:
    from discreet.app.console.publish_form import in_words
    from discreet.app.console.publish_work import around, done, releases

    do, facts = fields.get("do", "show"), {}
    try:
        facts = around(page, fields)
        if do not in ("try", "publish"):
            return page.shown("publish.html", facts)
        found = guarded(lambda: done(page, fields, keep=do == "publish"))
    except DiscreetError as error:
        return page.refused("publish.html", error, facts or around(page, {}), in_words)
    return page.shown("publish.html", facts | {"found": found, "releases": releases(page)})


@router.get("/publish/{number}/{part}")
def file(number: int, part: str, page: Deciding) -> Response:
    """The file of a release, its certificate or its report."""
    for each in page.door.curators.ledger.releases():
        target = Target.recorded(each.certificate)
        if each.id != number or target is None:
            continue
        path = target.beside(PARTS[part]) if part in PARTS else target.file
        if part in (*PARTS, "table") and path.is_file():
            return FileResponse(path, filename=path.name, content_disposition_type="attachment")
    raise MissingError("There is no such file of a release.", hint="The Publish screen lists them.")
