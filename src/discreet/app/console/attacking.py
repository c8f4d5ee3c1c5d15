"""The Attack screen: belief about one named record, before and after each way of publishing.

Custodian only, as it is computed on real data. Responses are not stored by the browser, and the person is
sent in a body, which neither a log nor the browser's history keeps. The attack runs as a job; see
`job_progress`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response

from discreet.app.colours import OTHERS, SUSPECTED
from discreet.app.console.logins import elsewhere
from discreet.app.console.rendering import SHORT, Page, decided
from discreet.app.console.working import cancelled, come_to, followed, job_of
from discreet.app.drawings import Bar, BarRow, bars
from discreet.app.progress import Tell
from discreet.app.serve.job import Job, Outcome, Work
from discreet.belief.wording import format_count, format_percent, format_percent_up
from discreet.core.errors import DiscreetError, RequestError
from discreet.core.policy import Column, ColumnType, Policy, Role, Table

if TYPE_CHECKING:
    from discreet.app.trials.record_trial import Named, RecordTrial, Seen

router = APIRouter(include_in_schema=False)
KNOWN = "known:"
KIND, HERE = "record", "/attack/work/"
STAGES = ("looking the person up", "making", "asking privately")
NOTICE = "What is found here is computed on real data: not for publication."
Deciding = Annotated[Page, Depends(decided)]


@router.get("/attack")
def show(page: Deciding, table: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    return page.shown("attack.html", _around(page, {} if table is None else {"table": table}))


@router.post("/attack")
async def attack(page: Deciding) -> Response:
    fields = dict(await page.form())
    try:
        job = await to_thread.run_sync(_begun, page, fields)
    except DiscreetError as error:
        return page.refused("attack.html", error, _around(page, fields))
    await followed(job)
    return elsewhere(f"{HERE}{job.id}")


@router.get("/attack/work/{name}")
async def follow(name: str, page: Deciding) -> Response:
    """Show the progress of an attack, or its result."""
    job = await followed(job_of(page, name, KIND))
    return await to_thread.run_sync(_come_to, page, job)


@router.post("/attack/work/{name}")
async def cancel(name: str, page: Deciding) -> Response:
    job, refusal = await cancelled(page, name, KIND)
    if refusal is not None:
        return page.refused("attack.html", refusal, _around(page, job.form))
    return elsewhere("/attack")


def _come_to(page: Page, job: Job) -> Response:
    around = _around(page, job.form)
    if job.failure is not None:
        return page.refused("attack.html", job.failure, around)
    return page.shown("attack.html", around | come_to(job, f"{HERE}{job.id}"))


def _begun(page: Page, fields: Mapping[str, str]) -> Job:
    return page.door.jobs.start(page.user, _work(page, fields))


def _work(page: Page, fields: Mapping[str, str]) -> Work:
    from discreet.app.trials.record_trial import attack_record  # slow to import

    curators, named = page.door.curators, _named(page.door.curators.policy, fields)

    def do(tell: Tell, folder: Path) -> Outcome:
        with curators.engine() as engine:
            return Outcome(found=_shown(attack_record(curators.policy, engine, named, tell)))

    name = f"attack on one record of {named.table}"
    return Work(kind=KIND, name=name, stages=STAGES, do=do, form=fields)


def _named(policy: Policy, fields: Mapping[str, str]) -> Named:
    from discreet.app.trials.record_trial import Named, attackable

    name = fields.get("table", "")
    if name not in attackable(policy):
        raise RequestError("attack: this table cannot be attacked here.", hint="Choose a listed table.")
    k = fields.get("k", "").strip() or "5"
    if not (k.isascii() and k.isdigit() and 2 <= int(k[:9]) <= 10**6):
        raise RequestError("attack: k must be a whole number of at least 2.", hint="Write 5.")
    columns = policy.tables[name].columns
    known = {each: fields.get(KNOWN + each, "").strip() for each in columns}
    return Named(
        table=name,
        person={each: value for each, value in known.items() if value},
        column=fields.get("column", ""),
        value=fields.get("value", "").strip() or None,
        k=int(k),
    )


def _around(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    from discreet.app.trials.record_trial import attackable, known_of, secrets_of

    policy = page.door.curators.policy
    tables = attackable(policy)
    chosen = fields.get("table", "")
    name = chosen if chosen in tables else next(iter(tables), None)
    table = None if name is None else policy.tables[name]
    return {
        "tables": tables,
        "table": name,
        "known": [] if table is None else [_field(each, table, fields) for each in known_of(table)],
        "keys": [] if table is None else [_field(each, table, fields) for each in _keys_of(table)],
        "secrets": [] if table is None else secrets_of(table),
        "fields": {each: fields.get(each, "") for each in ("column", "value", "k")},
        "notice": NOTICE,
        "found": None,
        "ended": "",
        "progress": None,
    }


def _keys_of(table: Table) -> list[str]:
    return [name for name, column in table.columns.items() if column.role is Role.IDENTIFIER]


def _field(name: str, table: Table, fields: Mapping[str, str]) -> dict[str, object]:
    """Return the form field of a column that identifies the person, with the value entered so far."""
    return {
        "name": KNOWN + name,
        "column": name,
        "value": fields.get(KNOWN + name, ""),
        "choices": _choices(table.columns[name]),
    }


def _choices(column: Column) -> tuple[str, ...]:
    return ("true", "false") if column.type is ColumnType.BOOLEAN else column.values or ()


def _shown(found: RecordTrial) -> dict[str, object]:
    """Return what the page shows of an attack, without the data that it was computed from."""
    return {
        "claim": found.claim,
        "person": found.person,
        "truth": found.truth,
        "prior": found.prior,
        "picture": _picture(found),
        "lines": [_line(found, each) for each in found.seen],
    }


def _line(found: RecordTrial, seen: Seen) -> tuple[str, str, str]:
    """Return a way of publishing, what the attacker learns from it, and the change in belief."""
    if seen.rows is None:
        told = (
            "a count that uses up the whole promise; whatever it had been, at most "
            f"{format_percent_up(found.cap)}"
        )
    elif seen.rows == 0:
        told = "no row fits the person"
    else:
        fits = "fits" if seen.rows == 1 else "fit"
        told = f"{format_count(seen.rows, 'row', 'rows')} {fits} the person, {seen.having:,} with the value"
    return seen.what, told, f"{format_percent(found.prior)} → {format_percent(seen.posterior)}"


def _picture(found: RecordTrial) -> str:
    rows = [
        BarRow(
            name=each.what,
            bars=(
                Bar(share=found.prior, colour=OTHERS, said=format_percent(found.prior)),
                Bar(share=each.posterior, colour=SUSPECTED, said=format_percent(each.posterior)),
            ),
        )
        for each in found.seen
    ]
    return bars(
        rows,
        title=f"belief; the line is the promised cap of {format_percent_up(found.cap)}",
        thick=14,
        width=SHORT,
        cap=found.cap,
        legend={"before": OTHERS, "after": SUSPECTED},
    )
