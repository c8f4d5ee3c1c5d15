"""One commit for everybody who waits: the threads of a process write in the order in which they came.

Turn        While one commits, others arrive and wait. Who has the turn next settles all of them, in order of
            arrival, in one transaction: a disk that is written through 200 times a second takes many more
            charges than 200, and nobody is overtaken.
Apart       Each stands behind a savepoint: who is refused leaves no trace and hinders nobody.
Durable     Nobody goes on before the commit that holds what he wrote has returned.
Failed      A transaction that fails, fails for everybody in it: what was decided by looking at the others'
            writing stands or falls with it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from discreet.accounting.storage import Rows

MOST = 128
T = TypeVar("T")


@dataclass
class _Waiting(Generic[T]):
    """Something to write, and what came of it."""

    work: Callable[[Rows], T]
    done: bool = False
    value: T | None = None
    error: Exception | None = None

    def attempt(self, rows: Rows, *, alone: bool) -> None:
        """Write, behind a savepoint where others write too, and go back to it where it fails."""
        if alone:
            self.value = self.work(rows)
            return
        rows.execute("SAVEPOINT one")
        try:
            self.value = self.work(rows)
        except Exception as error:
            self.error = error
            try:
                rows.execute("ROLLBACK TO SAVEPOINT one")
            except Exception:
                raise error from None  # the whole transaction is gone
        rows.execute("RELEASE SAVEPOINT one")


@dataclass
class GroupCommit:
    """Runs what threads write, `most` of them at a time in one `transaction`."""

    transaction: Callable[[], AbstractContextManager[Rows]]
    most: int = MOST
    _waiting: deque[_Waiting[Any]] = field(default_factory=deque)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def write(self, work: Callable[[Rows], T]) -> T:
        own = _Waiting(work)
        self._waiting.append(own)
        with self._turn:
            while not own.done:
                count = min(self.most, len(self._waiting))
                self._settle([self._waiting.popleft() for _ in range(count)])
        if own.error is not None:
            raise own.error
        return cast("T", own.value)

    def _settle(self, together: Sequence[_Waiting[Any]]) -> None:
        try:
            with self.transaction() as rows:
                for each in together:
                    each.attempt(rows, alone=len(together) == 1)
        except Exception as error:
            for each in together:
                each.error = error
        except BaseException:
            self._waiting.extendleft(reversed(together))  # whoever is next takes them over
            raise
        for each in together:
            each.done = True
