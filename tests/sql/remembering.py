"""An engine that counts each statement once, for questions that are run many times on the same tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.values import Exact


@dataclass(frozen=True)
class Remembering:
    """An engine that counts each statement once."""

    engine: Engine
    known: dict[str, Exact[pa.Table]] = field(default_factory=dict)

    def count(self, sql: str) -> Exact[pa.Table]:
        if sql not in self.known:
            self.known[sql] = self.engine.count(sql)
        return self.known[sql]

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
