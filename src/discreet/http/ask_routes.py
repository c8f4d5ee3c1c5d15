"""Routes of queries: plan, ask, and ask on made-up people.

Plan and dummy are free. A query is charged once: the same query again is free, and the same request under the
same Idempotency-Key is answered with the same bytes.
"""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Response

from discreet.core.errors import EngineFault
from discreet.http.app_context import QUERY_LIMITER, Context
from discreet.http.authentication import AskingCaller
from discreet.http.openapi import FILE_RESPONSES, FormatParameter, IdempotencyKeyHeader
from discreet.http.request_bodies import QuestionBodies, QuestionBody
from discreet.http.responses import (
    ResponseFormat,
    build_answer_response,
    build_error_response,
    to_http_response,
)
from discreet.services.plan_batches import PlanBatch
from discreet.services.plans import Plan
from discreet.services.users.idempotency_keys import StoredResponse

router = APIRouter(prefix="/api", tags=["questions"])


@router.post("/plan")
async def plan_question(
    body: QuestionBody | QuestionBodies, caller: AskingCaller, context: Context
) -> dict[str, object]:
    """Return what a question would cost and how wrong its answer may be. Free; reads no data.

    A list of questions is planned together: one price, in which equal measurements count once.
    """
    analyst = caller.analyst

    def plan() -> Plan | PlanBatch:
        if isinstance(body, QuestionBody):
            return context.plan(analyst, body.request)
        return context.plan_batch(analyst, [each.request for each in body])

    with context.reserve_query_slot(analyst):
        proposal = await to_thread.run_sync(plan)
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
        answer = context.ask(analyst, body.request)
        if isinstance(answer, EngineFault):
            return build_error_response(answer)
        return build_answer_response(answer, response_format)

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
        answer = await to_thread.run_sync(lambda: context.dummies.ask(body.request))
    return to_http_response(build_answer_response(answer, response_format, is_made_up=True))
