"""Group commit: one commit for all waiting threads of a process, in the order in which they arrived.

Turn        While one thread commits, others arrive and wait. The next one writes for all of them, in order of
            arrival, in one transaction: a disk that syncs 200 times a second takes many more charges than
            200, and no thread is overtaken.
Isolation   Each write has its own savepoint: a refused one leaves no trace and hinders no other.
Durable     No thread continues before the commit of its write has returned.
Failed      A transaction that fails, fails for every thread in it, because decisions in it depend on each
            other's writes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from discreet.accounting.ledger_storage import SqlTransaction

MOST = 128
T = TypeVar("T")


@dataclass
class _PendingWrite(Generic[T]):
    """A pending write, and its result."""

    work: Callable[[SqlTransaction], T]
    done: bool = False
    value: T | None = None
    error: Exception | None = None

    def run(self, rows: SqlTransaction, *, is_alone: bool) -> None:
        """Write, behind a savepoint where others write too, and roll back to it on failure."""
        if is_alone:
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
                raise error from None  # the whole transaction is lost
        rows.execute("RELEASE SAVEPOINT one")


@dataclass
class GroupCommit:
    """A queue of writes, of which `most` at a time run in one `transaction`."""

    transaction: Callable[[], AbstractContextManager[SqlTransaction]]
    most: int = MOST
    _waiting: deque[_PendingWrite[Any]] = field(default_factory=deque)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def write(self, work: Callable[[SqlTransaction], T]) -> T:
        """Return the result of `work`, once the commit that holds it has returned."""
        own = _PendingWrite(work)
        self._waiting.append(own)
        with self._turn:
            while not own.done:
                count = min(self.most, len(self._waiting))
                self._commit_batch([self._waiting.popleft() for _ in range(count)])
        if own.error is not None:
            raise own.error
        return cast("T", own.value)

    def _commit_batch(self, batch: Sequence[_PendingWrite[Any]]) -> None:
        try:
            with self.transaction() as rows:
                for each in batch:
                    each.run(rows, is_alone=len(batch) == 1)
        except Exception as error:
            for each in batch:
                each.error = error
        except BaseException:
            self._waiting.extendleft(reversed(batch))  # the next thread takes them over
            raise
        for each in batch:
            each.done = True
