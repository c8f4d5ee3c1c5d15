"""The Bounds screen: learn the bounds of a column, or the frequent values of a category, privately.

Custodian only: what is learned belongs into the policy. A plan is free and reads no data; learning is charged
and runs as a job, see `job_progress`. The page shows the policy's entries, and a button writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import APIRouter, Response

from discreet.core.column_entry import BOUNDS, ColumnType, Role
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.policy import Policy
from discreet.http.bounds_job import BOUNDS_KIND, build_bounds_work
from discreet.http.console.job_progress import (
    build_job_context,
    cancel_page_job,
    find_page_job,
    wait_for_progress,
)
from discreet.http.console.page import CustodianPage, Page, redirect_to
from discreet.services.bounds.bounds_request import BoundsRequest
from discreet.services.bounds.learn_bounds import plan_bounds
from discreet.services.policies import resolve_analyst
from discreet.services.request_fields import make_request
from discreet.services.serving.job import Job

router = APIRouter(include_in_schema=False)
TEMPLATE, JOB_PATH = "bounds.html", "/bounds/work/"
OPTIONAL_FIELDS = ("epsilon", "false_positives", "origin")


@router.get("/bounds")
def show_bounds(page: CustodianPage) -> Response:
    return page.render(TEMPLATE, _build_template_context(page, {}))


@router.post("/bounds")
async def submit_bounds_form(page: CustodianPage) -> Response:
    """Show the plan of the form, or start its job."""
    fields = dict(await page.read_form())
    around = _build_template_context(page, fields)
    try:
        request = _parse_form(page.context.curators.policy, fields)
        if fields.get("do") != "learn":
            return page.render(
                TEMPLATE, around | await to_thread.run_sync(_build_plan_context, page, request, fields)
            )
        job = await to_thread.run_sync(_start_job, page, request, fields)
    except DiscreetError as error:
        return page.render_error(TEMPLATE, error, around)
    await wait_for_progress(job)
    return redirect_to(f"{JOB_PATH}{job.id}")


@router.get("/bounds/work/{name}")
async def show_bounds_job(name: str, page: CustodianPage) -> Response:
    """Show the progress of a job, or what it has learned."""
    job = await wait_for_progress(find_page_job(page.context.jobs, name, BOUNDS_KIND))
    around = _build_template_context(page, job.form)
    if job.failure is not None:
        return page.render_error(TEMPLATE, job.failure, around)
    return page.render(TEMPLATE, around | build_job_context(job, f"{JOB_PATH}{job.id}"))


@router.post("/bounds/work/{name}")
async def submit_bounds_job(name: str, page: CustodianPage) -> Response:
    """Write what a job has learned into the policy, or cancel it."""
    fields = await page.read_form()
    if fields.get("do") == "write":
        return await _write_learned(page, find_page_job(page.context.jobs, name, BOUNDS_KIND))
    job, refusal = cancel_page_job(page.context.jobs, name, BOUNDS_KIND)
    if refusal is not None:
        return page.render_error(TEMPLATE, refusal, _build_template_context(page, job.form))
    return redirect_to("/bounds")


async def _write_learned(page: Page, job: Job) -> Response:
    """Write the entries of a finished job into the policy's file, which is then served."""
    found: Any = {} if job.outcome is None else job.outcome.results
    table, column, entries = (found.get(name, "") for name in ("table", "column", "policy"))
    try:
        if not entries:
            raise RequestError("bounds: there is nothing to write.", hint="Learn it with another epsilon.")
        await to_thread.run_sync(page.context.setup.write_learned, table, column, entries)
    except DiscreetError as error:
        around = _build_template_context(page, job.form)
        return page.render_error(TEMPLATE, error, around | build_job_context(job, f"{JOB_PATH}{job.id}"))
    return redirect_to(f"/check?{urlencode({'saved': table})}")


def _start_job(page: Page, request: BoundsRequest, fields: Mapping[str, str]) -> Job:
    work = build_bounds_work(page.context, request, fields.get("analyst") or None, fields)
    return page.context.jobs.submit(page.user_name, work)


def _build_plan_context(page: Page, request: BoundsRequest, fields: Mapping[str, str]) -> dict[str, object]:
    analyst = resolve_analyst(page.context.curators.policy, fields.get("analyst") or None)
    return {"plan": plan_bounds(page.context.curators.for_analyst(analyst), request)}


def _parse_form(policy: Policy, fields: Mapping[str, str]) -> BoundsRequest:
    named = fields.get("column", "")
    if named not in _list_columns(policy):
        raise RequestError("bounds: this column cannot be learned here.", hint="Choose a listed column.")
    table, _, column = named.partition(".")
    # an empty field of the form keeps the default of the request
    typed = {each: text for each in OPTIONAL_FIELDS if (text := fields.get(each, "").strip())}
    values = policy.tables[table].columns[column].type is ColumnType.CATEGORY
    return make_request(BoundsRequest, table=table, column=column, values=values, **typed)


def _list_columns(policy: Policy) -> list[str]:
    """List the columns that have no bounds or values yet; those of categories need a promise with a tail."""
    has_tail = policy.promise is not None and policy.promise.tail > 0
    return [
        f"{name}.{column}"
        for name, table in policy.tables.items()
        if table.person != "none"
        for column, facts in table.columns.items()
        if facts.role is not Role.IDENTIFIER and column != table.person_column
        if facts.low is None and facts.values is None
        if facts.type in BOUNDS or (facts.type is ColumnType.CATEGORY and has_tail)
    ]


def _build_template_context(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    policy = page.context.curators.policy
    return {
        "columns": _list_columns(policy),
        "analysts": list(policy.analysts),
        "fields": {name: fields.get(name, "") for name in ("column", "analyst", *OPTIONAL_FIELDS)},
        **dict.fromkeys(("progress", "ended", "plan", "found")),
    }
