"""The Ask screen: an editor beside the schema, a plan before budget is spent, the answer with a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Response
from pydantic import ValidationError

from discreet.app.answers import Answer
from discreet.app.ask_view import cell, change
from discreet.app.console.rendering import NARROW, Page, entered
from discreet.app.http.bodies import Question
from discreet.app.http.entering import Caller
from discreet.app.http.errors import ForbiddenError
from discreet.app.http.questions import ASKING, asked, counted, planned
from discreet.app.http.replies import Form, answered, sent
from discreet.app.proposals import Proposal
from discreet.app.users import Role
from discreet.belief.wording import format_number
from discreet.core.errors import DiscreetError, EngineFault, InvalidParameterError
from discreet.core.number_checks import parse_number
from discreet.core.policy import Column, Policy, TrueValues
from discreet.engines.engine_faults import run_guarded
from discreet.sql.true_values import TrueMeasures, compute_true_values

router = APIRouter(include_in_schema=False)
MOST_ROWS = 200
WAYS = ("epsilon", "within")
FIELDS = ("sql", "way", "amount", "least_rows", "beside")
Entered = Annotated[Page, Depends(entered)]


@router.get("/ask")
def ask(page: Entered) -> Response:
    return page.shown("ask.html", _around(page, {}))


@router.post("/ask")
async def answer(page: Entered) -> Response:
    """Plan, try, answer or export the query of the form."""
    fields = await page.form()
    around = _around(page, fields)
    try:
        question, analyst = _question(fields), _asker(page)
        found = await to_thread.run_sync(
            _done(page, fields.get("do", "plan"), analyst, question), limiter=ASKING
        )
    except DiscreetError as error:
        return page.refused("ask.html", error, around)
    if isinstance(found, EngineFault):
        return page.refused("ask.html", found, around)
    if isinstance(found, Proposal):
        return page.shown("ask.html", around | {"proposal": found, "change": change(found)})
    form = fields.get("do", "")
    if form in [each.value for each in Form]:
        return sent(answered(found, Form(form)))
    dummy = fields.get("do") == "dummy"
    beside = None
    if not dummy and fields.get("beside") == "on" and sees_true_values(page):
        try:
            beside = await to_thread.run_sync(lambda: _truth(page, analyst, question), limiter=ASKING)
        except DiscreetError as error:
            return page.refused("ask.html", error, around | _shown(found) | {"dummy": False})
    return page.shown("ask.html", around | _shown(found, beside) | {"dummy": dummy})


def _done(
    page: Page, do: str, analyst: str, question: Question
) -> Callable[[], Proposal | Answer | EngineFault]:
    """Return the action of a button: plan, try on made-up people, or ask."""
    door = page.door
    works: dict[str, Callable[[], Proposal | Answer | EngineFault]] = {
        "plan": lambda: planned(door, analyst, question),
        "dummy": lambda: door.dummies.ask(question.sql, question.spending),
    }
    work = works.get(do, lambda: counted(door, lambda: asked(door, analyst, question)))

    def done() -> Proposal | Answer | EngineFault:
        with door.place(analyst):
            return work()

    return done


def sees_true_values(page: Page) -> bool:
    """Return True if the policy lets this user see an answer without noise."""
    policy, caller = page.door.curators.policy, page.caller
    allowed = policy.true_values is TrueValues.CUSTODIAN
    return allowed and caller is not None and caller.user.role is Role.CUSTODIAN


def _truth(page: Page, analyst: str, question: Question) -> TrueMeasures:
    """Return the answer without noise; it is computed outside the curators and stored nowhere."""
    made = planned(page.door, analyst, question).plan
    with page.door.curators.engine() as engine:
        return run_guarded(lambda: compute_true_values(made, engine))


def _asker(page: Page) -> str:
    """Return the analyst whose share is charged, or raise if the user may not ask."""
    caller = page.caller
    assert isinstance(caller, Caller)
    if caller.user.role is Role.AUDITOR:
        raise ForbiddenError("An auditor reads, and cannot ask.")
    return caller.asks_as


def _why_not(page: Page) -> str:
    """Return the reason why this user cannot ask, or an empty text."""
    try:
        _asker(page)
    except ForbiddenError as error:
        return f"{error.message} {error.hint}".strip()
    return ""


def _question(fields: Mapping[str, str]) -> Question:
    way, amount = fields.get("way", "epsilon"), fields.get("amount", "").strip().lstrip("±")
    cost: dict[str, object] = {}
    if amount and way in WAYS:
        cost = {way: amount if amount.endswith("%") else parse_number(way, amount)}
    rows = fields.get("least_rows", "").strip()
    if rows:
        cost["least_rows"] = rows
    try:
        return Question.model_validate({"sql": fields.get("sql", ""), **cost})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidParameterError(f"{first['loc'][0]}: {first['msg']}.") from None


def _around(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    policy, cannot_ask = page.door.curators.policy, _why_not(page)
    return {
        "tables": _schema(policy),
        "may_ask": not cannot_ask,
        "cannot_ask": cannot_ask,
        "fields": {name: fields.get(name, "") for name in FIELDS},
        "may_see_truth": sees_true_values(page),
        "usual": policy.epsilon,
        "proposal": None,
        "answer": None,
    }


def _shown(answer: Answer, beside: TrueMeasures | None = None) -> dict[str, object]:
    names, true = answer.table.column_names, {} if beside is None else beside.align_with(answer.table)
    rows = [
        [
            (cell(answer, name, place, value), _plainly(true[name][place]) if name in true else None)
            for name, value in zip(names, row, strict=True)
        ]
        for place, row in enumerate(answer.rows[:MOST_ROWS])
    ]
    return {"answer": answer, "rows": rows, "picture": _picture(answer), "truths": sorted(true)}


def _plainly(value: object) -> str:
    """Return a true value as text, or a dash where no row has one."""
    if value is None:
        return "–"
    return (
        format_number(value, 5)
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def _picture(answer: Answer) -> str | None:
    """Return the answer as SVG, or None without a measure or with a single bar."""
    from discreet.app.ask_chart import answer_picture  # slow to import
    from discreet.app.charts import as_svg

    try:
        return as_svg(answer_picture(answer, width=NARROW)) if answer.table.num_rows > 1 else None
    except DiscreetError:
        return None


def _schema(policy: Policy) -> dict[str, list[tuple[str, str]]]:
    return {
        name: [(column, _described(facts)) for column, facts in table.columns.items()]
        for name, table in policy.tables.items()
    }


def _described(column: Column) -> str:
    said = column.role.value if column.role.value == "identifier" else column.type.value
    if column.low is not None:
        said += f", {column.low} to {column.high}"
    if column.values:
        said += ": " + ", ".join(column.values[:8]) + ("…" if len(column.values) > 8 else "")
    return said
