"""An engine that counts each statement once, for questions that are run many times on the same tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from discreet.core.engine import Closeable, Engine
from discreet.core.exact_values import Exact


@dataclass(frozen=True)
class Remembering(Closeable):
    """An engine that counts each statement once."""

    engine: Engine
    known: dict[str, Exact[pa.Table]] = field(default_factory=dict)

    def count(self, sql: str) -> Exact[pa.Table]:
        if sql not in self.known:
            self.known[sql] = self.engine.count(sql)
        return self.known[sql]

    def close(self) -> None:
        self.engine.close()
