"""The Data screen: bring a table in, by upload or by pointing at it, and say in a form what it holds.

Custodian only. The form is previewed without data, checked against the data before it is saved, and saved
into the policy's file, which is then served; see `services.policy_setup`. Analysts are answered once the
custodian has accepted the data on the Check screen.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from discreet.core.errors import DiscreetError
from discreet.http.console.page import CustodianPage, Page, redirect_to
from discreet.http.console.table_check import describe_table_check
from discreet.http.console.table_form_fields import build_form_context, parse_form_fields
from discreet.http.csrf import require_csrf_field
from discreet.http.streamed_bodies import FORM_PATH, PREVIEW_PATH, UPLOAD_PATH
from discreet.http.uploads import UploadReader
from discreet.services.check.acceptance import list_unaccepted
from discreet.services.check.check_report import TableCheck
from discreet.services.policy_setup.table_form import TableForm, TableFormError
from discreet.services.policy_setup.uploads import MAX_UPLOAD_BYTES, UPLOAD_SUFFIXES

router = APIRouter(include_in_schema=False)
TEMPLATE, FORM_TEMPLATE = "data.html", "table.html"


@router.get("/data")
def show_data(page: CustodianPage) -> Response:
    return page.render(TEMPLATE, _build_data_context(page))


@router.post(UPLOAD_PATH)
async def upload_file(page: CustodianPage) -> Response:
    """Store a file beside the policy, and go on to its form."""
    session, request = page.required_caller.session, page.request
    require_token = partial(require_csrf_field, request, page.context.sessions, session)
    try:
        reader = UploadReader(
            request.headers.get("content-type", ""), page.context.setup.folder, require_token
        )
        path = await reader.read(request.stream())
    except DiscreetError as error:
        return page.render_error(TEMPLATE, error, await to_thread.run_sync(_build_data_context, page))
    source = path.relative_to(page.context.setup.folder).as_posix()
    return redirect_to(f"/data/new?{urlencode({'source': source})}")


@router.get("/data/new")
def show_new_table(page: CustodianPage, source: str = "") -> Response:
    """Show the form of a table that is not in the policy yet."""
    try:
        drafts = page.context.setup.draft_source(source)
    except DiscreetError as error:
        return page.render_error(TEMPLATE, error, _build_data_context(page))
    if len(drafts) > 1:
        inner = [draft.source_table.source for draft in drafts]
        return page.render(TEMPLATE, _build_data_context(page) | {"inner": inner})
    form = page.context.setup.make_new_form(drafts[0])
    return page.render(FORM_TEMPLATE, _build_form_context(page, form) | {"person": drafts[0].person})


@router.get("/data/table/{name}")
def show_table(name: str, page: CustodianPage) -> Response:
    """Show the form of a table of the policy."""
    form = page.context.setup.make_table_form(name)
    return page.render(FORM_TEMPLATE, _build_form_context(page, form))


@router.post(FORM_PATH)
async def submit_table(page: CustodianPage) -> Response:
    """Check the data against the form, or save it; a refused form keeps what was typed."""
    fields = await page.read_form()
    form = parse_form_fields(fields)
    context = page.context
    try:
        if fields.get("do") == "save":
            await to_thread.run_sync(context.setup.save_form, form)
            return redirect_to(f"/check?{urlencode({'saved': form.table})}")
        found = await to_thread.run_sync(context.check_form, form)
    except DiscreetError as error:
        around = await to_thread.run_sync(partial(_build_form_context, page, form, error=error))
        return page.render_error(FORM_TEMPLATE, error, around)
    around = await to_thread.run_sync(partial(_build_form_context, page, form, check=found))
    return page.render(FORM_TEMPLATE, around)


@router.post(PREVIEW_PATH)
async def preview_table(page: CustodianPage) -> Response:
    """Return the noise of answers under the form, as JSON, without reading data."""
    form = parse_form_fields(await page.read_form())
    found = await to_thread.run_sync(page.context.setup.preview_noise, form)
    return JSONResponse({"sentence": found.sentence})


def _build_data_context(page: Page) -> dict[str, object]:
    served, problem = page.context.served, ""
    try:
        sources = page.context.setup.list_sources()
    except DiscreetError as error:
        sources, problem = None, error.message
    missing = [] if served.is_empty else _list_unaccepted(page)
    declared = {table.source for table in served.policy.tables.values()}
    folder = page.context.setup.folder
    return {
        "is_empty": served.is_empty,
        "tables": [
            {"name": name, "columns": len(table.columns), "accepted": name not in missing}
            for name, table in served.policy.tables.items()
        ],
        "missing": missing,
        "sources": sources,
        "free_files": [each for each in sources.files if str(folder / each) not in declared]
        if sources
        else [],
        "free_tables": [each for each in sources.tables if each not in declared] if sources else [],
        "source_problem": problem,
        "suffixes": ",".join(UPLOAD_SUFFIXES),
        "most_bytes": MAX_UPLOAD_BYTES,
        "inner": None,
    }


def _list_unaccepted(page: Page) -> list[str]:
    curators = page.context.curators
    return list_unaccepted(curators.ledger, curators.table_states)


def _build_form_context(
    page: Page,
    form: TableForm,
    *,
    error: DiscreetError | None = None,
    check: TableCheck | None = None,
) -> dict[str, object]:
    setup = page.context.setup
    problems = error.by_field if isinstance(error, TableFormError) else {}
    return build_form_context(form, problems, None if check is None else describe_table_check(check)) | {
        "preview": setup.preview_noise(form).sentence,
        "person": None,
    }
