"""The state that all routes share: curators, users and their sessions, jobs, metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from discreet.app.http.errors import CrowdedError
from discreet.app.http.metrics import Metrics
from discreet.app.serve.curators import Curators
from discreet.app.serve.dummies import Dummies
from discreet.app.serve.jobs import Jobs
from discreet.app.users import UserBook, UserStorage
from discreet.app.users.attempts import Attempts
from discreet.app.users.sessions import Sessions
from discreet.app.users.throttle import Throttle
from discreet.app.users.tokens import Tokens
from discreet.app.users.wishes import Wishes

MOST_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class HttpDoor:
    """The shared state; `uses_tls` if clients connect by TLS, `host_names` are the server's allowed names."""

    curators: Curators
    file: UserStorage
    jobs: Jobs
    secure: bool = False
    names: tuple[str, ...] = ()
    policy_file: Path | None = None
    metrics: Metrics = field(default_factory=Metrics)
    throttle: Throttle = field(default_factory=Throttle)
    _waiting: Counter[str] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def users(self) -> UserBook:
        return UserBook(self.file)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.file)

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.file)

    @cached_property
    def wishes(self) -> Wishes:
        return Wishes(self.file)

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self.file)

    @cached_property
    def dummies(self) -> Dummies:
        return Dummies(self.curators.policy)

    @contextmanager
    def place(self, analyst: str) -> Iterator[None]:
        """Hold one of the analyst's query slots, so that one analyst cannot occupy all threads."""
        with self._guard:
            if self._waiting[analyst] >= MOST_AT_ONCE:
                raise CrowdedError(
                    f"ask: {MOST_AT_ONCE} questions are already waiting.", hint="Ask again later."
                )
            self._waiting[analyst] += 1
        try:
            yield
        finally:
            with self._guard:
                self._waiting[analyst] -= 1

    def close(self) -> None:
        self.jobs.close()
        if "dummies" in self.__dict__:  # do not create them only to close them
            self.dummies.close()
