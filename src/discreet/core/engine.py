"""Engine: what counts rows. It knows SQL and files; it knows no privacy.

An engine is opened over named sources and shut off from everything else: no file, network, extension or
setting can be reached through the text that it is asked to run. What it counts comes back as `Exact`.
A failure after opening is an `EngineFault` with a constant text; the details are the custodian's.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import pyarrow as pa

from discreet.core.values import Exact


class Engine(Protocol):
    """Counts inside the data's own system; a context manager that lets go of the data at its end."""

    def count(self, sql: str) -> Exact[pa.Table]:
        """The rows of one SELECT: grouped counts and integer sums."""

    def close(self) -> None:
        """Let go of the data."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
