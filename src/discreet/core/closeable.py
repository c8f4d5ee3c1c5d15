"""Resources that are held open for a while: a connection, a store, a ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Self


class Closeable(ABC):
    """A context manager that calls `close` when it exits.

    An error of the block is not replaced by one of `close`: an engine that is gone can often not be closed,
    and the fault that it caused is what has to be reported.
    """

    @abstractmethod
    def close(self) -> None:
        """Release the resource."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(Exception):
            self.close()
