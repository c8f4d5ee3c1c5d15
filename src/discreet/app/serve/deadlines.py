"""When an answer leaves: a time that plan and policy fix, so that how long the engine took tells nothing.

Class       The time is estimated from what is declared (rows of the tables, groups, joins, values that are
            picked) and the engine's pace, and rounded up to a power of two of the shortest one: coarse, and
            the same for every data. A table that declares no number of rows is taken to have a million.
Pace        at least five times what ten million rows took on two quiet cores (`benchmarks/RESULTS.md`).
Early       What is ready waits, an answer or a fault, and is settled in the ledger afterwards: whoever plans
            the same question or reads the ledger meanwhile, at this server or another, sees it under way.
Late        An overrun is a fault: the answer is withheld, the charge stays, the analyst is suspended, as its
            lateness might tell of the data. The way out is the custodian's: a larger `slack`.
Free        A stored answer and a refusal do not wait: whether there is one is the analyst's own doing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from discreet.app.addresses import engine_of
from discreet.core.policy import Policy
from discreet.sql.plan import Plan
from discreet.sql.tree import scans

ASSUMED_ROWS = 1_000_000
TIMES = 5
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds that an engine takes: the least, for a row and for a group; `in_place` for rows unprepared.

    Prepared rows of people that a question bounds itself are read several times.
    """

    shortest: float
    row: float
    group: float
    in_place: float = 0.0

    def a_row(self, plan: Plan, *, in_place: bool) -> float:
        return self.in_place if in_place else self.row * (TIMES if plan.bounding.bounds_itself else 1)


PACES = {
    "duckdb": Pace(shortest=0.25, row=2e-7, group=2e-5),
    "postgresql": Pace(shortest=0.5, row=2e-6, group=5e-5, in_place=1e-5),
}
SPARK = Pace(shortest=8.0, row=4e-6, group=1e-4, in_place=1e-5)


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
        pace = PACES.get(engine_of(self.policy.engine).scheme, SPARK)
        a_row = pace.a_row(plan, in_place=self.policy.in_place)
        estimate = rows * passes * a_row + groups * (1 + len(plan.outputs)) * pace.group
        shortest = pace.shortest
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

    def padded(self, plan: Plan, work: Callable[[], T]) -> T:
        """Let what comes of the work be there at its time, and no sooner."""
        ready = time.monotonic() + self.seconds(plan)
        try:
            return self.timely(plan, work)
        finally:
            time.sleep(max(0.0, ready - time.monotonic()))
