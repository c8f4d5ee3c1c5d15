"""How often a login may fail: after a few times, each further one is waited for, twice as long as the last.

Counted by name and by the network it comes from (`client_network`: an IPv6 /64 is one, because one machine
can take any address of it), so that a stranger elsewhere cannot lock somebody out, and by the network alone,
so that trying many names does not help. Whether a name exists makes no difference. While one is tried it
counts as one that fails, so that trying many at once does not help either.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from discreet.app.listening import client_network

FREE, FREE_OF_PLACE = 5, 50
PAUSE, LONGEST = 15.0, 900.0
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
    """Failures of the last hour; `clock` is in seconds."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[Key, _Failures] = field(default_factory=dict)
    _trying: Counter[Key] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, name: str, place: str) -> float:
        """For how many seconds no login of that name from that place is looked at."""
        with self._guard:
            return self._longest(_keys(name, place))

    @contextmanager
    def trying(self, name: str, place: str) -> Iterator[float]:
        """The same; where there is nothing to wait for, a login is tried within."""
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
        """The oldest half goes, long before memory does."""
        oldest = sorted(self._failed, key=lambda key: self._failed[key].last)
        for key in oldest[: MOST // 2]:
            del self._failed[key]


def _keys(name: str, place: str) -> tuple[Key, Key]:
    """Return what failures are counted by: name and network, and the network alone."""
    network = client_network(place)
    return (name, network), (network,)
