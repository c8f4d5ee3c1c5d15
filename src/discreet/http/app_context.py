"""The state that all routes share: curators, users and their sessions, jobs, metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from anyio import CapacityLimiter
from fastapi import Depends, Request

from discreet.core.errors import BudgetError, EngineFault, RequestError
from discreet.http.http_errors import NotFoundError, TooManyRequestsError
from discreet.http.metrics import Metrics
from discreet.services.answers import Answer
from discreet.services.check.check import run_check
from discreet.services.check.check_report import DataCheck, TableCheck
from discreet.services.check.check_request import CheckFields
from discreet.services.plan_batches import PlanBatch
from discreet.services.plans import Plan
from discreet.services.policy_setup.policy_setup import PolicySetup
from discreet.services.policy_setup.table_form import TableForm
from discreet.services.question_request import QuestionRequest
from discreet.services.release_files import find_release_target
from discreet.services.serving.dummy_answers import DummyAnswers
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import UserAccounts, UserStorage
from discreet.services.users.api_tokens import ApiTokens
from discreet.services.users.budget_requests import BudgetRequest, BudgetRequests
from discreet.services.users.idempotency_keys import IdempotencyKeys
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.sessions import Logins, Sessions

if TYPE_CHECKING:
    from discreet.services.serving.curators import Curators
    from discreet.services.serving.served_policy import ServedPolicy

MAX_PENDING_QUERIES = 8
QUERY_LIMITER = CapacityLimiter(64)
"""Queries wait in threads of their own, so that they do not block other routes."""
RELEASES_HINT = "GET /api/releases lists them."


@dataclass(frozen=True, kw_only=True)
class AppContext:
    """The shared state; `uses_tls` if clients connect by TLS, `host_names` are the server's allowed names."""

    served: ServedPolicy
    user_storage: UserStorage
    jobs: JobQueue
    uses_tls: bool = False
    host_names: tuple[str, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    _pending_queries: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _check_lock: threading.Lock = field(default_factory=threading.Lock)
    _dummies: dict[int, DummyAnswers] = field(default_factory=dict)

    @property
    def curators(self) -> Curators:
        """The curators that serve now; raises `NoDataError` as long as there is no policy."""
        return self.served.curators

    @property
    def policy_file(self) -> Path | None:
        """The file of the policy."""
        return self.served.path

    @cached_property
    def users(self) -> UserAccounts:
        return UserAccounts(self.user_storage)

    @cached_property
    def setup(self) -> PolicySetup:
        return PolicySetup(self.served)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.user_storage)

    @cached_property
    def logins(self) -> Logins:
        return Logins(
            users=self.users,
            sessions=self.sessions,
            throttle=self.throttle,
            count_outcome=lambda outcome: self.metrics.increment("discreet_logins_total", outcome=outcome),
        )

    @cached_property
    def tokens(self) -> ApiTokens:
        return ApiTokens(self.user_storage)

    @cached_property
    def budget_requests(self) -> BudgetRequests:
        return BudgetRequests(self.user_storage)

    @cached_property
    def idempotency_keys(self) -> IdempotencyKeys:
        return IdempotencyKeys(self.user_storage)

    @property
    def dummies(self) -> DummyAnswers:
        """Answers about people who are made up from the policy that is served now."""
        policy = self.curators.policy
        with self._lock:
            if id(policy) not in self._dummies:
                self._close_dummies()
                self._dummies[id(policy)] = DummyAnswers(policy)
            return self._dummies[id(policy)]

    @contextmanager
    def reserve_query_slot(self, analyst: str) -> Iterator[None]:
        """Hold one of the analyst's query slots, so that one analyst cannot occupy all threads."""
        with self._lock:  # a count and not a semaphore: one too many is refused, not kept waiting
            if self._pending_queries[analyst] >= MAX_PENDING_QUERIES:
                raise TooManyRequestsError(
                    f"ask: {MAX_PENDING_QUERIES} questions are already waiting.", hint="Ask again later."
                )
            self._pending_queries[analyst] += 1
        try:
            yield
        finally:
            with self._lock:
                self._pending_queries[analyst] -= 1

    def plan(self, analyst: str, question: QuestionRequest, *, verb: str = "plan") -> Plan:
        """Return the proposal for an analyst's question: free, and without reading data."""
        return self.curators.plan(analyst, question, verb=verb)

    def plan_batch(self, analyst: str, questions: Sequence[QuestionRequest]) -> PlanBatch:
        """Return the plan of several of an analyst's questions together, as `plan` does."""
        return self.curators.plan_batch(analyst, questions, verb="plan")

    def ask(self, analyst: str, question: QuestionRequest) -> Answer | EngineFault:
        """Return the answer to an analyst's question, and count the outcome in the metrics.

        An engine fault is charged, so it is returned like an answer; a refusal is raised.
        """
        outcome = "refused"
        try:
            answer = self.curators.ask(analyst, self.plan(analyst, question, verb="ask"))
            outcome = "answered"
        except EngineFault as fault:
            outcome = "fault"
            return fault
        except BudgetError:
            outcome = "budget"
            raise
        finally:
            self.metrics.increment("discreet_questions_total", outcome=outcome)
        return answer

    def check_data(self, request: CheckFields) -> DataCheck:
        """Check the data for the custodian, one check at a time, as each reads whole tables."""
        with self._check_lock:
            return run_check(self.curators.policy, request, ledger=self.curators.ledger)

    def check_form(self, form: TableForm) -> TableCheck:
        """Check the data against a form that is not saved, for the custodian; one check at a time."""
        with self._check_lock:
            return self.setup.check_form(form)

    def request_budget(self, analyst: str, share: float, reason: str) -> BudgetRequest:
        """Create an analyst's request for a larger share of the promise."""
        if analyst not in self.curators.policy.analysts:
            raise RequestError(
                "budget: this policy has one analyst, who has the whole promise.",
                hint="A larger promise is the custodian's decision, in the policy.",
            )
        return self.budget_requests.create(analyst, Fraction(str(share)), reason)

    def grant_budget(self, number: int, taken_from: str | None) -> BudgetRequest:
        """Grant a budget request, out of the unassigned budget or out of another analyst's share."""
        policy, set_shares = self.curators.policy, self.curators.ledger.set_shares
        return self.budget_requests.grant(number, policy, set_shares, taken_from)

    def find_release_file(self, number: int) -> str:
        """Return the path of an open release's file, with the table's name if it is a database."""
        target = find_release_target(self.curators.ledger, number)
        if target is None:
            raise NotFoundError(f"Release {number} has no file here.", hint=RELEASES_HINT)
        return target.source

    def close(self) -> None:
        self.jobs.close()
        with self._lock:
            self._close_dummies()

    def _close_dummies(self) -> None:
        for each in self._dummies.values():
            each.close()
        self._dummies.clear()


def get_app_context(request: Request) -> AppContext:
    """Return the state that the application was created with."""
    return cast("AppContext", request.app.state.context)


Context = Annotated[AppContext, Depends(get_app_context)]
