"""When an answer leaves: a time that plan and policy fix, so that how long the engine took tells nothing.

Class       The time is estimated from what is declared (rows of the tables, groups, joins, values that are
            picked) and rounded up to a power of two of the shortest one: coarse, and the same for every data.
            A table that declares no number of rows is taken to have a million.
Early       An answer that is ready waits. So does a fault.
Late        An overrun is a fault: the answer is withheld, the charge stays, the analyst is suspended, as its
            lateness might tell of the data. The way out is the custodian's: a larger `slack`.
Free        A stored answer and a refusal do not wait: whether there is one is the analyst's own doing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from discreet.core.errors import EngineFault
from discreet.core.policy import Policy
from discreet.sql.plan import Plan
from discreet.sql.tree import scans

SHORTEST = 0.25
ASSUMED_ROWS = 1_000_000
SECONDS_A_ROW = 2e-7
SECONDS_A_GROUP = 2e-5
SETTLING = 0.1
T = TypeVar("T")


class Overrun(Exception):  # noqa: N818  (it becomes a fault)
    """The work took longer than its deadline."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Deadlines under a policy; `slack` makes all of them longer."""

    policy: Policy
    slack: float = 1.0

    def seconds(self, plan: Plan) -> float:
        """How long after it was begun the answer of a plan leaves."""
        tables = scans(plan.question.rows)
        rows = sum(self.policy.tables[each.table].rows or ASSUMED_ROWS for each in tables)
        passes = len(tables) + len(plan.counted)
        groups = plan.groups or (1 if not plan.question.keys else ASSUMED_ROWS // 10)
        estimate = rows * passes * SECONDS_A_ROW + groups * (1 + len(plan.outputs)) * SECONDS_A_GROUP
        shortest = SHORTEST
        while shortest < estimate:
            shortest *= 2
        return shortest * self.slack

    def timely(self, plan: Plan, work: Callable[[], T]) -> T:
        """Do the work; an answer that is late is withheld."""
        most, began = self.seconds(plan), time.monotonic()
        done = work()
        if time.monotonic() - began > most:
            raise Overrun(f"no answer within {most:g} s; a larger --slack allows more")
        return done

    def padded(self, plan: Plan, ask: Callable[[], T]) -> T:
        """Let what comes of asking leave at its time."""
        leaves = time.monotonic() + self.seconds(plan) + SETTLING
        try:
            answer = ask()
        except EngineFault:
            _wait_until(leaves)
            raise
        _wait_until(leaves)
        return answer


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
