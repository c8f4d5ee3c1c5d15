"""The Attack screen: belief about one named record, before and after each way of publishing.

Custodian only, as it is computed on real data. Responses are not stored by the browser, and the person is
sent in a body, which neither a log nor the browser's history keeps. The attack runs as a job; see
`job_progress`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Response

from discreet.belief.wording import format_count, format_percent, format_percent_up
from discreet.core.column_entry import Column, ColumnType, Role
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.policy import Policy
from discreet.core.table_entry import Table
from discreet.http.console.job_progress import (
    build_job_context,
    cancel_page_job,
    find_page_job,
    wait_for_progress,
)
from discreet.http.console.page import BAR_LENGTH, CustodianPage, Page, redirect_to
from discreet.rendering.charts import draw_changes
from discreet.services.progress import ProgressCallback
from discreet.services.record_evaluation import (
    BeliefAfterRelease,
    RecordEvaluation,
    RecordRequest,
    attack_record,
    list_attackable_tables,
    list_quasi_identifiers,
    list_sensitive_columns,
)
from discreet.services.serving.job import Job, JobOutcome, JobWork

router = APIRouter(include_in_schema=False)
KNOWN_PREFIX = "known:"
JOB_KIND, JOB_PATH = "record", "/attack/work/"
ATTACK_STAGES = ("looking the person up", "making", "asking privately")
NOTICE = "What is found here is computed on real data: not for publication."


@router.get("/attack")
def show_attack(page: CustodianPage, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    return page.render(
        "attack.html", _build_template_context(page, {} if table is None else {"table": table})
    )


@router.post("/attack")
async def start_attack(page: CustodianPage) -> Response:
    fields = dict(await page.read_form())
    try:
        job = await to_thread.run_sync(_start_job, page, fields)
    except DiscreetError as error:
        return page.render_error("attack.html", error, _build_template_context(page, fields))
    await wait_for_progress(job)
    return redirect_to(f"{JOB_PATH}{job.id}")


@router.get("/attack/work/{name}")
async def show_attack_job(name: str, page: CustodianPage) -> Response:
    """Show the progress of an attack, or its result."""
    job = await wait_for_progress(find_page_job(page.context.jobs, name, JOB_KIND))
    return await to_thread.run_sync(_render_job, page, job)


@router.post("/attack/work/{name}")
async def cancel_attack(name: str, page: CustodianPage) -> Response:
    await page.read_form()
    job, refusal = cancel_page_job(page.context.jobs, name, JOB_KIND)
    if refusal is not None:
        return page.render_error("attack.html", refusal, _build_template_context(page, job.form))
    return redirect_to("/attack")


def _render_job(page: Page, job: Job) -> Response:
    around = _build_template_context(page, job.form)
    if job.failure is not None:
        return page.render_error("attack.html", job.failure, around)
    return page.render("attack.html", around | build_job_context(job, f"{JOB_PATH}{job.id}"))


def _start_job(page: Page, fields: Mapping[str, str]) -> Job:
    return page.context.jobs.submit(page.user_name, _build_attack_work(page, fields))


def _build_attack_work(page: Page, fields: Mapping[str, str]) -> JobWork:
    curators, named = page.context.curators, _parse_target_record(page.context.curators.policy, fields)

    def run_attack(tell: ProgressCallback, folder: Path) -> JobOutcome:
        with curators.open_engine() as engine:
            return JobOutcome(
                results=_build_result_context(attack_record(curators.policy, engine, named, tell))
            )

    name = f"attack on one record of {named.table}"
    return JobWork(kind=JOB_KIND, name=name, stages=ATTACK_STAGES, run=run_attack, form=fields)


def _parse_target_record(policy: Policy, fields: Mapping[str, str]) -> RecordRequest:
    name = fields.get("table", "")
    if name not in list_attackable_tables(policy):
        raise RequestError("attack: this table cannot be attacked here.", hint="Choose a listed table.")
    # an empty field of the form keeps the default of the request
    typed = {each: text for each in RecordRequest.model_fields if (text := fields.get(each, "").strip())}
    columns = policy.tables[name].columns
    known = {each: fields.get(KNOWN_PREFIX + each, "").strip() for each in columns}
    person = {each: value for each, value in known.items() if value}
    return RecordRequest.model_validate({**typed, "person": person})


def _build_template_context(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    policy = page.context.curators.policy
    tables = list_attackable_tables(policy)
    chosen = fields.get("table", "")
    name = chosen if chosen in tables else next(iter(tables), None)
    table = None if name is None else policy.tables[name]
    return {
        "tables": tables,
        "table": name,
        "known": []
        if table is None
        else [_build_form_field(each, table, fields) for each in list_quasi_identifiers(table)],
        "keys": []
        if table is None
        else [_build_form_field(each, table, fields) for each in _list_identifiers(table)],
        "secrets": [] if table is None else list_sensitive_columns(table),
        "fields": {each: fields.get(each, "") for each in RecordRequest.model_fields},
        "notice": NOTICE,
        "found": None,
        "ended": "",
        "progress": None,
    }


def _list_identifiers(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.role is Role.IDENTIFIER]


def _build_form_field(name: str, table: Table, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the form field of a column that identifies the person, with the value entered so far."""
    return {
        "name": KNOWN_PREFIX + name,
        "column": name,
        "value": fields.get(KNOWN_PREFIX + name, ""),
        "choices": _list_choices(table.columns[name]),
    }


def _list_choices(column: Column) -> tuple[str, ...]:
    return ("true", "false") if column.type is ColumnType.BOOLEAN else column.values or ()


def _build_result_context(trial: RecordEvaluation) -> dict[str, object]:
    """Return what the page shows of an attack, without the data that it was computed from."""
    return {
        "claim": trial.claim,
        "person": trial.person,
        "truth": trial.truth,
        "prior": trial.prior,
        "picture": _draw_beliefs(trial),
        "lines": [_describe_observation(trial, each) for each in trial.beliefs],
    }


def _describe_observation(trial: RecordEvaluation, observation: BeliefAfterRelease) -> tuple[str, str, str]:
    """Return a way of publishing, what the attacker learns from it, and the change in belief."""
    if observation.matching_rows is None:
        told = (
            "a count that uses up the whole promise; whatever it had been, at most "
            f"{format_percent_up(trial.promised_cap)}"
        )
    elif observation.matching_rows == 0:
        told = "no row fits the person"
    else:
        fits = "fits" if observation.matching_rows == 1 else "fit"
        rows = format_count(observation.matching_rows, "row", "rows")
        told = f"{rows} {fits} the person, {observation.rows_with_value:,} with the value"
    return (
        observation.release,
        told,
        f"{format_percent(trial.prior)} → {format_percent(observation.posterior)}",
    )


def _draw_beliefs(trial: RecordEvaluation) -> str:
    return draw_changes(
        [(each.release, trial.prior, each.posterior) for each in trial.beliefs],
        title=f"belief; the line is the promised cap of {format_percent_up(trial.promised_cap)}",
        bar_height=14,
        width=BAR_LENGTH,
        cap=trial.promised_cap,
    )
