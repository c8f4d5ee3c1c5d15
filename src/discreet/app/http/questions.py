"""Routes of queries: plan, ask, and ask on made-up people.

Plan and dummy are free. A query is charged once: the same query again is free, and the same request under the
same Idempotency-Key is answered with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Response

from discreet.app.answers import Answer
from discreet.app.http.bodies import Question
from discreet.app.http.describing import FILES, Key, Wanted
from discreet.app.http.door import HttpDoor
from discreet.app.http.entering import Asking, Door
from discreet.app.http.replies import Form, answered, refusal, sent
from discreet.app.proposals import Proposal
from discreet.app.users.attempts import Reply
from discreet.core.errors import BudgetError, EngineFault, RequestError

router = APIRouter(prefix="/api", tags=["questions"])
ASKING = CapacityLimiter(64)
"""Queries wait in threads of their own, so that they do not block other routes."""
T = TypeVar("T")


@router.post("/plan")
async def plan(body: Question, caller: Asking, door: Door) -> dict[str, object]:
    """Return what a question would cost and how wrong its answer may be. Free; reads no data."""
    analyst = caller.asks_as
    with door.place(analyst):
        proposal = await to_thread.run_sync(lambda: planned(door, analyst, body))
    return proposal.as_object()


@router.post("/ask", response_class=Response, responses=FILES)
async def ask(
    body: Question, caller: Asking, door: Door, form: Wanted = Form.JSON, key: Key = None
) -> Response:
    """Answer a question and charge it."""
    analyst, request = caller.asks_as, [body.model_dump(), form.value]

    def work() -> Reply:
        return replied(door, lambda: asked(door, analyst, body), form)

    def once() -> Reply:
        with door.place(analyst):
            return door.attempts.once(caller.user.name, key, request, work)

    return sent(await to_thread.run_sync(once, limiter=ASKING))


@router.post("/dummy", response_class=Response, responses=FILES)
async def dummy(body: Question, caller: Asking, door: Door, form: Wanted = Form.JSON) -> Response:
    """Answer a question on people made up from the policy: free, and about nobody."""
    with door.place(caller.asks_as):
        answer = await to_thread.run_sync(lambda: door.dummies.ask(body.sql, body.spending))
    return sent(answered(answer, form, dummy=True))


def planned(door: HttpDoor, analyst: str, body: Question) -> Proposal:
    return door.curators.plan(analyst, body.sql, **body.spending)


def asked(door: HttpDoor, analyst: str, body: Question) -> Answer:
    return door.curators.ask(analyst, planned(door, analyst, body))


def replied(door: HttpDoor, ask: Callable[[], Answer], form: Form) -> Reply:
    """Return the reply to a query. An engine fault is charged, so it is a reply; a refusal is raised."""
    answer = counted(door, ask)
    return refusal(answer) if isinstance(answer, EngineFault) else answered(answer, form)


def counted(door: HttpDoor, ask: Callable[[], T]) -> T | EngineFault:
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
        door.metrics.count("discreet_questions_total", outcome=outcome)
    return found
