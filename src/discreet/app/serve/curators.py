"""One promise, one ledger, one store, and a curator for each analyst who asks.

Apart       Analysts have engines of their own, so that one does not wait for another.
In turn     One analyst's questions are answered one after the other, from whichever door they come. So a
            question that is asked twice at once waits for its first answer; and how long one took cannot be
            told from when another was answered. Over several servers the ledger sees to the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import pyarrow as pa

from discreet.accounting.ledger import Ledger
from discreet.app import fault_log
from discreet.app.answers import Answer
from discreet.app.books import asking, opened
from discreet.app.curator import Curator
from discreet.app.engines import opener
from discreet.app.proposals import Proposal
from discreet.app.serve.deadlines import Deadlines
from discreet.core.closing import Closing
from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.policy import Policy
from discreet.engines.duckdb import run_released


class Curators(Closing):
    """Hands out curators; a context manager that closes them all."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        engine: Callable[[], Engine],
        deadlines: Deadlines | None = None,
    ) -> None:
        self.policy, self.ledger, self.deadlines = policy, ledger, deadlines
        self._open_engine = engine
        self._made: dict[str, Curator] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._making = threading.Lock()

    @classmethod
    def under(
        cls,
        policy: Policy,
        *,
        deadlines: Deadlines | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Self:
        """Open the ledger and prepare the store, once for all; without deadlines, answers do not wait."""
        ledger = opened(policy)
        try:
            with fault_log.kept(policy.ledger):
                engine = opener(policy, progress=progress)
        except BaseException:
            ledger.close()
            raise
        _load()
        return cls(policy, ledger, engine, deadlines)

    def of(self, analyst: str) -> Curator:
        """The curator of one analyst: what it plans is free, and needs no turn."""
        with self._making:
            if analyst not in self._made:
                who, engine = asking(self.policy, analyst), self._open_engine()
                self._turns[analyst] = threading.Lock()
                self._made[analyst] = Curator(self.policy, ledger=self.ledger, engine=engine, analyst=who)
            return self._made[analyst]

    def engine(self) -> Engine:
        """One more engine over the same tables, for what the custodian looks at; its taker closes it.

        No analyst waits for it, so that none can tell how long it took.
        """
        return self._open_engine()

    @contextmanager
    def turn(self, analyst: str) -> Iterator[Curator]:
        """The same, while nobody else asks in this analyst's name."""
        curator = self.of(analyst)
        with self._turns[analyst]:
            yield curator

    def ask(self, analyst: str, proposal: Proposal, wanted: Callable[[], bool] = lambda: True) -> Answer:
        """The answer to a proposal, at its time; one that is not `wanted` when its turn comes is left."""
        with self.turn(analyst) as curator:
            if not wanted():
                raise RequestError("ask: this was cancelled before anything was charged.", hint="Ask again.")
            if (deadlines := self.deadlines) is None:
                return curator.ask(proposal)
            return curator.ask(proposal, watched=lambda work: deadlines.padded(proposal.plan, work))

    def close(self) -> None:
        for curator in self._made.values():
            curator.close()
        self.ledger.close()


def _load() -> None:
    """What the first answer needs takes longer to load than its deadline leaves: it would be a fault."""
    run_released("SELECT n FROM released", {"released": pa.table({"n": [0]})})
