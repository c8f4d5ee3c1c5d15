"""The state that all routes share: curators, users and their sessions, jobs, metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from discreet.http.http_errors import TooManyRequestsError
from discreet.http.metrics import Metrics
from discreet.services.serving.curators import Curators
from discreet.services.serving.dummy_answers import DummyAnswers
from discreet.services.serving.job_queue import JobQueue
from discreet.services.users import UserAccounts, UserStorage
from discreet.services.users.api_tokens import ApiTokens
from discreet.services.users.budget_requests import BudgetRequests
from discreet.services.users.idempotency_keys import IdempotencyKeys
from discreet.services.users.login_throttle import LoginThrottle
from discreet.services.users.sessions import Sessions

MAX_PENDING_QUERIES = 8


@dataclass(frozen=True, kw_only=True)
class AppContext:
    """The shared state; `uses_tls` if clients connect by TLS, `host_names` are the server's allowed names."""

    curators: Curators
    user_storage: UserStorage
    jobs: JobQueue
    uses_tls: bool = False
    host_names: tuple[str, ...] = ()
    policy_file: Path | None = None
    metrics: Metrics = field(default_factory=Metrics)
    throttle: LoginThrottle = field(default_factory=LoginThrottle)
    _pending_queries: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def users(self) -> UserAccounts:
        return UserAccounts(self.user_storage)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.user_storage)

    @cached_property
    def tokens(self) -> ApiTokens:
        return ApiTokens(self.user_storage)

    @cached_property
    def budget_requests(self) -> BudgetRequests:
        return BudgetRequests(self.user_storage)

    @cached_property
    def idempotency_keys(self) -> IdempotencyKeys:
        return IdempotencyKeys(self.user_storage)

    @cached_property
    def dummies(self) -> DummyAnswers:
        return DummyAnswers(self.curators.policy)

    @contextmanager
    def reserve_query_slot(self, analyst: str) -> Iterator[None]:
        """Hold one of the analyst's query slots, so that one analyst cannot occupy all threads."""
        with self._lock:
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

    def close(self) -> None:
        self.jobs.close()
        if "dummies" in self.__dict__:  # do not create them only to close them
            self.dummies.close()
