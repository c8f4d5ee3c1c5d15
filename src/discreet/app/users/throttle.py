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

from discreet.app.listening import client_network

FREE = 5
FREE_OF_PLACE = 50
PAUSE = 15.0
LONGEST = 900.0
MOMENT = 1.0
FORGOTTEN = 3_600.0
MOST = 10_000
Key = tuple[str, ...]


@dataclass
class _Failures:
    count: int = 0
    last: float = 0.0


@dataclass
class Throttle:
    """Failed logins of the last hour; `clock` is in seconds."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[Key, _Failures] = field(default_factory=dict)
    _trying: Counter[Key] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, name: str, place: str) -> float:
        """Return the seconds until a login of that name from that address is checked again."""
        with self._guard:
            return self._longest(_keys(name, place))

    @contextmanager
    def trying(self, name: str, place: str) -> Iterator[float]:
        """Yield the seconds to wait; if 0, count one pending login while the context is open."""
        keys = _keys(name, place)
        with self._guard:
            seconds = self._longest(keys)
            counted = Counter(keys if seconds == 0 else ())
            self._trying += counted
        try:
            yield seconds
        finally:
            with self._guard:
                self._trying -= counted

    def failed(self, name: str, place: str) -> None:
        with self._guard:
            if len(self._failed) >= MOST:
                self._forget()
            for key in _keys(name, place):
                found = self._failed.setdefault(key, _Failures())
                if self.clock() - found.last > FORGOTTEN:
                    found.count = 0
                found.count, found.last = found.count + 1, self.clock()

    def succeeded(self, name: str, place: str) -> None:
        with self._guard:
            self._failed.pop(_keys(name, place)[0], None)

    def _longest(self, keys: tuple[Key, Key]) -> float:
        return max(self._left(keys[0], FREE), self._left(keys[1], FREE_OF_PLACE))

    def _left(self, key: Key, free: int) -> float:
        found = self._failed.get(key) or _Failures()
        if found.count < free:
            return MOMENT if found.count + self._trying[key] >= free else 0.0
        pause = min(LONGEST, PAUSE * 2.0 ** min(found.count - free, 20))
        return max(0.0, found.last + pause - self.clock())

    def _forget(self) -> None:
        """Forget the older half of the failures, so that memory is bounded."""
        oldest = sorted(self._failed, key=lambda key: self._failed[key].last)
        for key in oldest[: MOST // 2]:
            del self._failed[key]


def _keys(name: str, place: str) -> tuple[Key, Key]:
    """Return the keys that failures are counted by: name with network, and network alone."""
    network = client_network(place)
    return (name, network), (network,)
