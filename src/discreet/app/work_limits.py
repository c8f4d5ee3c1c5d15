"""Time and memory limits of a plan, in total and for one person's rows, from text and policy alone.

Estimate    for the declared rows, as if no filter removed any, by the engine's cost model: reading tables,
            joining them, computing on the result, grouping, and planning the statement. A table that declares
            no number of rows is assumed to have a million.
Cost model  at least five times what ten million rows took on two idle cores (`benchmarks/RESULTS.md`).
Fixed time  the estimate, rounded up to a power of two times the minimum: coarse, and independent of the data.
            The answer leaves at that time; see the query timeouts of the server.
One person  at most PERSON_SHARE of that time and of a statement's memory, with the longest texts that a store
            holds and one core. Otherwise the person's presence could decide whether the question ends in
            time. Short times are lengthened for this, up to LONGEST_PERSON_TIME; beyond that the question is
            refused before anything is charged. This also holds without a server: there, a person could reach
            the engine's own limit.
Longest     a plan that would exceed the statement timeout is refused as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.app.addresses import engine_of
from discreet.core.policy import ASSUMED_ROWS, Policy
from discreet.engines import statement_timeout
from discreet.sql.planner import Plan
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import find_scans
from discreet.sql.worst_case_work import Work, measure_person_work, measure_total_work

T = TypeVar("T")
TIMES = 5
PART = 0.05
LONGEST_FOR_ONE = 16.0
"""Seconds up to which a fixed time is lengthened so that one person takes a small part of it."""
ALONE = 4
"""One person's rows may be processed by a single core, and may be the slowest ones."""
USUAL_TEXT = 32
MEMORY = 256 * 2**20
"""Bytes that a statement may use in the engine with the smallest limit."""
QUOTED = re.compile(r"'(?:[^']|'')*'")
FEWER = "Join fewer tables, total one side per person first, or declare a smaller rows_per_person"


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds that an engine takes: the minimum, per row, per group, per call on a row, per text character.

    `per_statement_character` is per character of the statement without quoted texts: two hundred sums take
    longer to plan than to compute.
    `per_row_in_place` is for unprepared rows. Prepared rows whose contributions the statement bounds itself
    are read several times. `case_growth` is how many characters a change of case may make of one.
    """

    shortest: float
    row: float
    group: float
    call: float
    character: float
    statement: float
    in_place: float = 0.0
    case_growth: int = 3

    def a_row(self, plan: Plan, *, in_place: bool) -> float:
        return (
            self.in_place if in_place else self.row * (TIMES if plan.bounding.is_bounded_in_statement else 1)
        )

    def seconds(self, work: Work) -> float:
        return work.rows * self.row + work.calls * self.call + work.characters * self.character


PACES = {
    "duckdb": Pace(
        shortest=0.25, row=2e-7, group=2e-5, call=2e-8, character=5e-9, statement=4e-5, case_growth=1
    ),
    "postgresql": Pace(
        shortest=0.5, row=2e-6, group=5e-5, call=5e-7, character=1e-8, statement=5e-5, in_place=1e-5
    ),
}
SPARK = Pace(shortest=8.0, row=4e-6, group=1e-4, call=4e-7, character=1e-8, statement=1e-4, in_place=1e-5)


@dataclass(frozen=True, kw_only=True)
class Late(Generic[T]):
    """A result that missed its fixed time and leaves at the next one."""

    value: T


@dataclass(frozen=True, kw_only=True)
class WorkLimits:
    """Limits of plans under a policy; `slack` multiplies every time."""

    policy: Policy
    slack: float = 1.0

    @property
    def pace(self) -> Pace:
        return PACES.get(engine_of(self.policy.engine).scheme, SPARK)

    def estimate(self, plan: Plan) -> float:
        """Return an upper bound on the seconds that a plan takes on the declared rows."""
        tables = find_scans(plan.question.rows)
        rows = sum(self.policy.tables[each.table].expected_rows for each in tables)
        passes = len(tables) + len(plan.value_selections)
        groups = plan.group_count or (1 if not plan.question.keys else ASSUMED_ROWS // 10)
        a_row = self.pace.a_row(plan, in_place=self.policy.is_read_only)
        everybody = measure_total_work(plan, self.policy, text_length=USUAL_TEXT)
        return (
            rows * passes * a_row
            + groups * (1 + len(plan.outputs)) * self.pace.group
            + self.pace.seconds(everybody)
            + _statement_length(plan) * self.pace.statement
        )

    def fixed_time(self, plan: Plan) -> float:
        """Return the seconds from the start of a question to the time its answer leaves."""
        seconds, needed = self.pace.shortest, self.estimate(plan)
        alone, _ = self.one_person(plan)
        if alone <= PART * LONGEST_FOR_ONE:
            needed = max(needed, alone / PART)
        while seconds < needed:
            seconds *= 2
        return seconds * self.slack

    def one_person(self, plan: Plan) -> tuple[float, int]:
        """Return the most seconds and bytes that one person's rows can take."""
        work = measure_person_work(plan, self.policy, case_growth=self.pace.case_growth)
        seconds = ALONE * self.pace.seconds(work)
        if plan.partition_selection is not None or plan.value_selections:
            # Each row may be a group or a value of its own, and noise is drawn for each.
            seconds += plan.question.rows.rows * self.pace.group
        return seconds, work.memory

    def require(self, plan: Plan) -> None:
        """Refuse a plan that may not end in time, or in which one person may take too much of the time."""
        longest = statement_timeout.DEFAULT_SECONDS * max(1.0, self.slack)
        given = self.fixed_time(plan)
        seconds, memory = self.one_person(plan)
        if seconds > PART * given:
            refuse_query(
                f"one person's rows could take {_brief(seconds)} s of the {given:g} s that the question is "
                f"given, and at most {PART:.0%} of them are allowed.",
                f"{FEWER}; the custodian can lengthen times with --slack.",
            )
        if given > longest:
            refuse_query(
                f"the declared rows could take {_brief(given)} s, and a statement is stopped after "
                f"{longest:g} s.",
                f"{FEWER}, or the table's most_rows in the policy.",
            )
        if memory > PART * MEMORY:
            refuse_query(
                f"one person's rows could take {memory / 2**20:,.0f} MiB of memory, and at most "
                f"{PART * MEMORY / 2**20:.0f} MiB are allowed.",
                f"{FEWER}, or leave out columns of long text.",
            )


def _statement_length(plan: Plan) -> int:
    """Return the total length of a plan's statements without quoted texts, which may number thousands."""
    statements = (plan.statement, *(each.statement for each in plan.value_selections.values()))
    return sum(len(QUOTED.sub("", each)) for each in statements)


def _brief(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
