"""The Ask screen: an editor beside the schema, a plan before budget is spent, the answer with a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyio import to_thread
from fastapi import APIRouter, Response

from discreet.belief.wording import format_number
from discreet.core.column_entry import Column
from discreet.core.engine_faults import run_guarded
from discreet.core.errors import DiscreetError, EngineFault
from discreet.core.policy import Policy, TrueValues
from discreet.http.app_context import QUERY_LIMITER
from discreet.http.console.page import CHART_WIDTH, LoggedInPage, Page
from discreet.http.http_errors import ForbiddenError
from discreet.http.request_bodies import QuestionBody
from discreet.http.responses import ResponseFormat, build_answer_response, to_http_response
from discreet.rendering.answer_chart import draw_answer_chart
from discreet.rendering.charts import chart_to_svg
from discreet.services.answers import Answer, format_cell
from discreet.services.plans import Plan
from discreet.services.question_request import QuestionRequest
from discreet.services.request_fields import make_request
from discreet.services.users import Role
from discreet.sql.true_values import TrueMeasures, compute_true_values

router = APIRouter(include_in_schema=False)
MAX_ROWS = 200
COST_FIELDS = ("epsilon", "within")
FORM_FIELDS = ("sql", "way", "amount", "least_rows", "released", "beside")
RELEASED_CHOICES = (
    ("", "is used where it is precise enough"),
    ("free", "is all that is used, free"),
    ("fresh", "is measured anew"),
)


@router.get("/ask")
def show_ask(page: LoggedInPage) -> Response:
    return page.render("ask.html", _build_template_context(page, {}))


@router.post("/ask")
async def submit_question(page: LoggedInPage) -> Response:
    """Plan, try, answer or export the query of the form."""
    fields = await page.read_form()
    form, around = fields.get("do", ""), _build_template_context(page, fields)
    is_export = form in [each.value for each in ResponseFormat]
    if is_export:
        fields = _forget_fresh(fields)
    try:
        question, analyst = _parse_question(fields), _require_analyst(page)
        found = await to_thread.run_sync(
            _choose_action(page, form or "plan", analyst, question), limiter=QUERY_LIMITER
        )
    except DiscreetError as error:
        return page.render_error("ask.html", error, around)
    if isinstance(found, EngineFault):
        return page.render_error("ask.html", found, around)
    if isinstance(found, Plan):
        return page.render("ask.html", around | {"proposal": found, "change": found.belief_change})
    if is_export:
        return to_http_response(build_answer_response(found, ResponseFormat(form)))
    dummy = form == "dummy"
    around["fields"] = _list_form_fields(_forget_fresh(fields))
    beside = None
    if not dummy and fields.get("beside") == "on" and can_see_true_values(page):
        try:
            beside = await to_thread.run_sync(
                lambda: _measure_true_values(page, analyst, question), limiter=QUERY_LIMITER
            )
        except DiscreetError as error:
            return page.render_error(
                "ask.html", error, around | _build_answer_context(found) | {"dummy": False}
            )
    return page.render("ask.html", around | _build_answer_context(found, beside) | {"dummy": dummy})


def _list_form_fields(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields.get(name, "") for name in FORM_FIELDS}


def _forget_fresh(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields for an export or the next question, neither of which pays for fresh noise again."""
    return {**fields, "released": ""} if fields.get("released") == "fresh" else fields


def _choose_action(
    page: Page, button: str, analyst: str, question: QuestionRequest
) -> Callable[[], Plan | Answer | EngineFault]:
    """Return the action of a button: plan, try on made-up people, or ask."""
    context = page.context
    works: dict[str, Callable[[], Plan | Answer | EngineFault]] = {
        "plan": lambda: context.plan(analyst, question),
        "dummy": lambda: context.dummies.ask(question),
    }
    work = works.get(button, lambda: context.ask(analyst, question))

    def run_action() -> Plan | Answer | EngineFault:
        with context.reserve_query_slot(analyst):
            return work()

    return run_action


def can_see_true_values(page: Page) -> bool:
    """Return True if the policy lets this user see an answer without noise."""
    return page.context.curators.policy.true_values is TrueValues.CUSTODIAN and page.is_custodian


def _measure_true_values(page: Page, analyst: str, question: QuestionRequest) -> TrueMeasures:
    """Return the answer without noise; it is computed outside the curators and stored nowhere."""
    made = page.context.plan(analyst, question).query_plan
    with page.context.curators.open_engine() as engine:
        return run_guarded(lambda: compute_true_values(made, engine))


def _require_analyst(page: Page) -> str:
    """Return the analyst whose share is charged, or raise if the user may not ask."""
    caller = page.required_caller
    if caller.user.role is Role.AUDITOR:
        raise ForbiddenError("An auditor reads, and cannot ask.")
    return caller.analyst


def _explain_refusal(page: Page) -> str:
    """Return the reason why this user cannot ask, or an empty text."""
    try:
        _require_analyst(page)
    except ForbiddenError as error:
        return f"{error.message} {error.hint}".strip()
    return ""


def _parse_question(fields: Mapping[str, str]) -> QuestionRequest:
    """Return the question of the form, whose `way` says what `amount` is; empty fields are left out."""
    way = fields.get("way", "epsilon")
    given = {
        name: fields[name].strip()
        for name in FORM_FIELDS
        if name in QuestionBody.model_fields and name in fields
    }
    if way in COST_FIELDS:
        given[way] = fields.get("amount", "").strip().lstrip("±")
    released = fields.get("released", "")
    if released in {value for value, _ in RELEASED_CHOICES} - {""}:
        given[released] = "on"
    body = make_request(QuestionBody, **{"sql": ""} | {name: text for name, text in given.items() if text})
    return body.request


def _build_template_context(page: Page, fields: Mapping[str, str]) -> dict[str, object]:
    policy, cannot_ask = page.context.curators.policy, _explain_refusal(page)
    return {
        "tables": _describe_tables(policy),
        "may_ask": not cannot_ask,
        "cannot_ask": cannot_ask,
        "fields": _list_form_fields(fields),
        "released": RELEASED_CHOICES,
        "may_see_truth": can_see_true_values(page),
        "usual": policy.epsilon,
        "proposal": None,
        "answer": None,
    }


def _build_answer_context(answer: Answer, true_values: TrueMeasures | None = None) -> dict[str, object]:
    names, true = (
        answer.table.column_names,
        {} if true_values is None else true_values.align_with(answer.table),
    )
    rows = [
        [
            (
                format_cell(answer, name, place, value),
                _format_true_value(true[name][place]) if name in true else None,
            )
            for name, value in zip(names, row, strict=True)
        ]
        for place, row in enumerate(answer.rows[:MAX_ROWS])
    ]
    return {"answer": answer, "rows": rows, "picture": _draw_answer(answer), "truths": sorted(true)}


def _format_true_value(value: object) -> str:
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


def _draw_answer(answer: Answer) -> str | None:
    """Return the answer as SVG, or None without a measure or with a single bar."""
    try:
        return (
            chart_to_svg(draw_answer_chart(answer, width=CHART_WIDTH)) if answer.table.num_rows > 1 else None
        )
    except DiscreetError:
        return None


def _describe_tables(policy: Policy) -> dict[str, list[tuple[str, str]]]:
    return {
        name: [(column, _describe_column(facts)) for column, facts in table.columns.items()]
        for name, table in policy.tables.items()
    }


def _describe_column(column: Column) -> str:
    said = column.role.value if column.role.value == "identifier" else column.type.value
    if column.low is not None:
        said += f", {column.low} to {column.high}"
    if column.values:
        said += ": " + ", ".join(column.values[:8]) + ("…" if len(column.values) > 8 else "")
    return said
