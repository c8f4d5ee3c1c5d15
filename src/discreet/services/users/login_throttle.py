"""Login throttle: after a few failed logins, each further failure doubles the time until the next login.

Failures are counted by name and network (`get_client_network`: an IPv6 /64 is one network, because a machine
can use any of its addresses), so that an attacker elsewhere cannot lock a user out; and by network alone, so
that trying many names does not help. Unknown names count like known ones. A login that is being checked
counts as failed, so that trying many at once does not help either.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from discreet.services.network_addresses import get_client_network

FREE_FAILURES = 5
FREE_FAILURES_PER_NETWORK = 50
FIRST_PAUSE_SECONDS = 15.0
MAX_PAUSE_SECONDS = 900.0
PENDING_PAUSE_SECONDS = 1.0
FORGET_AFTER_SECONDS = 3_600.0
MAX_TRACKED_KEYS = 10_000
FailureKey = tuple[str, ...]


@dataclass
class _Failures:
    count: int = 0
    last: float = 0.0


@dataclass
class LoginThrottle:
    """Failed logins of the last hour; `clock` is in seconds."""

    clock: Callable[[], float] = time.monotonic
    _failures: dict[FailureKey, _Failures] = field(default_factory=dict)
    _pending: Counter[FailureKey] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get_wait_seconds(self, name: str, client_address: str) -> float:
        """Return the seconds until the next login with this name and address is checked."""
        with self._lock:
            return self._get_longest_wait(_get_failure_keys(name, client_address))

    @contextmanager
    def track_login(self, name: str, client_address: str) -> Iterator[float]:
        """Yield the seconds to wait; if 0, count one pending login while the context is open."""
        keys = _get_failure_keys(name, client_address)
        with self._lock:
            seconds = self._get_longest_wait(keys)
            counted = Counter(keys if seconds == 0 else ())
            self._pending += counted
        try:
            yield seconds
        finally:
            with self._lock:
                self._pending -= counted

    def record_failure(self, name: str, client_address: str) -> None:
        with self._lock:
            if len(self._failures) >= MAX_TRACKED_KEYS:
                self._forget_older_half()
            for key in _get_failure_keys(name, client_address):
                found = self._failures.setdefault(key, _Failures())
                if self.clock() - found.last > FORGET_AFTER_SECONDS:
                    found.count = 0
                found.count, found.last = found.count + 1, self.clock()

    def record_success(self, name: str, client_address: str) -> None:
        with self._lock:
            self._failures.pop(_get_failure_keys(name, client_address)[0], None)

    def _get_longest_wait(self, keys: tuple[FailureKey, FailureKey]) -> float:
        return max(
            self._get_remaining_wait(keys[0], FREE_FAILURES),
            self._get_remaining_wait(keys[1], FREE_FAILURES_PER_NETWORK),
        )

    def _get_remaining_wait(self, key: FailureKey, free_failures: int) -> float:
        found = self._failures.get(key) or _Failures()
        if found.count < free_failures:
            return PENDING_PAUSE_SECONDS if found.count + self._pending[key] >= free_failures else 0.0
        pause = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(found.count - free_failures, 20))
        return max(0.0, found.last + pause - self.clock())

    def _forget_older_half(self) -> None:
        """Forget the older half of the failures, so that memory is bounded."""
        oldest = sorted(self._failures, key=lambda key: self._failures[key].last)
        for key in oldest[: MAX_TRACKED_KEYS // 2]:
            del self._failures[key]


def _get_failure_keys(name: str, client_address: str) -> tuple[FailureKey, FailureKey]:
    """Return the keys that failures are counted by: name with network, and network alone."""
    network = get_client_network(client_address)
    return (name, network), (network,)
