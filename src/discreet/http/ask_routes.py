"""Routes of queries: plan, ask, and ask on made-up people.

Plan and dummy are free. A query is charged once: the same query again is free, and the same request under the
same Idempotency-Key is answered with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Response

from discreet.core.errors import BudgetError, EngineFault, RequestError
from discreet.http.app_context import AppContext
from discreet.http.authentication import AskingCaller, Context
from discreet.http.openapi import FILE_RESPONSES, FormatParameter, IdempotencyKeyHeader
from discreet.http.request_bodies import QuestionBody
from discreet.http.responses import (
    ResponseFormat,
    build_answer_response,
    build_error_response,
    to_http_response,
)
from discreet.services.answers import Answer
from discreet.services.plans import Plan
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(prefix="/api", tags=["questions"])
QUERY_LIMITER = CapacityLimiter(64)
"""Queries wait in threads of their own, so that they do not block other routes."""
T = TypeVar("T")


@router.post("/plan")
async def plan_question(body: QuestionBody, caller: AskingCaller, context: Context) -> dict[str, object]:
    """Return what a question would cost and how wrong its answer may be. Free; reads no data."""
    analyst = caller.analyst
    with context.reserve_query_slot(analyst):
        proposal = await to_thread.run_sync(lambda: plan_for_analyst(context, analyst, body))
    return proposal.to_json()


@router.post("/ask", response_class=Response, responses=FILE_RESPONSES)
async def ask_question(
    body: QuestionBody,
    caller: AskingCaller,
    context: Context,
    response_format: FormatParameter = ResponseFormat.JSON,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Answer a question and charge it."""
    analyst, request = caller.analyst, [body.model_dump(), response_format.value]

    def compute_response() -> StoredResponse:
        return build_ask_response(context, lambda: ask_for_analyst(context, analyst, body), response_format)

    def run_or_replay() -> StoredResponse:
        with context.reserve_query_slot(analyst):
            return context.idempotency_keys.run_or_replay(
                caller.user.name, idempotency_key, request, compute_response
            )

    return to_http_response(await to_thread.run_sync(run_or_replay, limiter=QUERY_LIMITER))


@router.post("/dummy", response_class=Response, responses=FILE_RESPONSES)
async def ask_made_up_data(
    body: QuestionBody,
    caller: AskingCaller,
    context: Context,
    response_format: FormatParameter = ResponseFormat.JSON,
) -> Response:
    """Answer a question on people made up from the policy: free, and about nobody."""
    with context.reserve_query_slot(caller.analyst):
        answer = await to_thread.run_sync(lambda: context.dummies.ask(body.sql, body.spending))
    return to_http_response(build_answer_response(answer, response_format, is_made_up=True))


def plan_for_analyst(context: AppContext, analyst: str, body: QuestionBody) -> Plan:
    return context.curators.plan(analyst, body.sql, **body.spending)


def ask_for_analyst(context: AppContext, analyst: str, body: QuestionBody) -> Answer:
    return context.curators.ask(analyst, plan_for_analyst(context, analyst, body))


def build_ask_response(
    context: AppContext, ask: Callable[[], Answer], response_format: ResponseFormat
) -> StoredResponse:
    """Return the reply to a query. An engine fault is charged, so it is a reply; a refusal is raised."""
    answer = count_outcome(context, ask)
    return (
        build_error_response(answer)
        if isinstance(answer, EngineFault)
        else build_answer_response(answer, response_format)
    )


def count_outcome(context: AppContext, ask: Callable[[], T]) -> T | EngineFault:
    """Return the answer or the engine fault, and count the outcome in the metrics."""
    outcome = "refused"
    try:
        found = ask()
        outcome = "answered"
    except EngineFault as fault:
        outcome = "fault"
        return fault
    except BudgetError:
        outcome = "budget"
        raise
    except RequestError:
        raise
    finally:
        context.metrics.increment("discreet_questions_total", outcome=outcome)
    return found
