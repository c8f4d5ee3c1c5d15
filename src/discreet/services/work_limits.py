"""Time and memory limits of a plan, in total and for one person's rows, from text and policy alone.

Estimate    for the declared rows, as if no filter removed any, by the engine's cost model: reading tables,
            joining them, computing on the result, grouping, and planning the statement. A table that declares
            no number of rows is assumed to have a million. A constant that is computed of an answer, before
            rows are compared with it, has an allowance of its own.
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
from typing import TYPE_CHECKING, Generic, TypeVar

from discreet.core.policy import Policy
from discreet.core.table_entry import ASSUMED_ROWS
from discreet.engines import statement_timeout
from discreet.engines.engine_spec import CostModel
from discreet.services.addresses import parse_engine_address
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import find_scans
from discreet.sql.worst_case_work import Work, measure_person_work, measure_total_work

if TYPE_CHECKING:
    from discreet.sql.planner import CorePlan, QueryPlan

T = TypeVar("T")
BOUNDING_PASSES = 5
PERSON_SHARE = 0.05
LONGEST_PERSON_TIME = 16.0
"""Seconds up to which a fixed time is lengthened so that one person takes a small part of it."""
CONSTANT_SECONDS, CONSTANT_ALLOWANCE = 1.0, 2.0
"""The most processor time of a constant's query between two measurements, and what is reserved for it."""
SINGLE_CORE_FACTOR = 4
"""One person's rows may be processed by a single core, and may be the slowest ones."""
TYPICAL_TEXT_LENGTH = 32
STATEMENT_MEMORY = 256 * 2**20
"""Bytes that a statement may use in the engine with the smallest limit."""
QUOTED_TEXT = re.compile(r"'(?:[^']|'')*'")
SMALLER_QUERY_HINT = (
    "Join fewer tables, total one side per person first, or declare a smaller rows_per_person"
)


@dataclass(frozen=True, kw_only=True)
class LateResult(Generic[T]):
    """A result that missed its fixed time and leaves at the next one."""

    value: T


@dataclass(frozen=True, kw_only=True)
class WorkLimits:
    """Limits of plans under a policy; `slack` multiplies every time."""

    policy: Policy
    slack: float = 1.0

    @property
    def cost_model(self) -> CostModel:
        return parse_engine_address(self.policy.engine).cost_model

    def estimate_seconds(self, plan: QueryPlan) -> float:
        """Return an upper bound on the seconds that a plan takes on the declared rows."""
        constants = len(plan.split.constants) * CONSTANT_ALLOWANCE if plan.cores else 0.0
        return constants + sum(map(self._estimate_core_seconds, plan.executed_cores))

    def _estimate_core_seconds(self, plan: CorePlan) -> float:
        tables = find_scans(plan.question.rows)
        rows = sum(self.policy.tables[each.table].expected_rows for each in tables)
        passes = len(tables) + len(plan.value_selections)
        groups = plan.group_count or (1 if not plan.question.keys else ASSUMED_ROWS // 10)
        a_row = self._get_seconds_per_row(plan)
        everybody = measure_total_work(plan, self.policy, text_length=TYPICAL_TEXT_LENGTH)
        return (
            rows * passes * a_row
            + groups * (1 + len(plan.outputs)) * self.cost_model.per_group
            + self._estimate_work_seconds(everybody)
            + _measure_statement_length(plan) * self.cost_model.per_statement_character
        )

    def _get_seconds_per_row(self, plan: CorePlan) -> float:
        if self.policy.is_read_only:
            return self.cost_model.per_row_in_place
        # prepared rows whose contributions the statement bounds itself are read several times
        return self.cost_model.per_row * (BOUNDING_PASSES if plan.bounding.is_bounded_in_statement else 1)

    def _estimate_work_seconds(self, work: Work) -> float:
        costs = self.cost_model
        return (
            work.rows * costs.per_row
            + work.calls * costs.per_call
            + work.characters * costs.per_text_character
        )

    def compute_fixed_time(self, plan: QueryPlan) -> float:
        """Return the seconds from the start of a question to the time its answer leaves."""
        seconds, needed = self.cost_model.minimum, self.estimate_seconds(plan)
        alone, _ = self.estimate_person_work(plan)
        if alone <= PERSON_SHARE * LONGEST_PERSON_TIME:
            needed = max(needed, alone / PERSON_SHARE)
        while seconds < needed:
            seconds *= 2
        return seconds * self.slack

    def estimate_person_work(self, plan: QueryPlan) -> tuple[float, int]:
        """Return the most seconds and bytes that one person's rows can take."""
        found = [self._estimate_person_core(core) for core in plan.executed_cores]
        return sum(seconds for seconds, _ in found), max((memory for _, memory in found), default=0)

    def _estimate_person_core(self, plan: CorePlan) -> tuple[float, int]:
        work = measure_person_work(plan, self.policy, case_growth=self.cost_model.case_growth)
        seconds = SINGLE_CORE_FACTOR * self._estimate_work_seconds(work)
        if plan.partition_selection is not None or plan.value_selections:
            # Each row may be a group or a value of its own, and noise is drawn for each.
            seconds += plan.question.rows.rows * self.cost_model.per_group
        return seconds, work.memory

    def require_within_limits(self, plan: QueryPlan) -> None:
        """Refuse a plan that may not end in time, or in which one person may take too much of the time."""
        longest = statement_timeout.DEFAULT_SECONDS * max(1.0, self.slack)
        given = self.compute_fixed_time(plan)
        seconds, memory = self.estimate_person_work(plan)
        if seconds > PERSON_SHARE * given:
            refuse_query(
                f"one person's rows could take {_format_seconds(seconds)} s of the {given:g} s that the "
                f"question is given, and at most {PERSON_SHARE:.0%} of them are allowed.",
                f"{SMALLER_QUERY_HINT}; the custodian can lengthen times with discreet serve --slack.",
            )
        if given > longest:
            refuse_query(
                f"the declared rows could take {_format_seconds(given)} s, and a statement is stopped after "
                f"{longest:g} s.",
                f"{SMALLER_QUERY_HINT}, or the table's most_rows in the policy.",
            )
        if memory > PERSON_SHARE * STATEMENT_MEMORY:
            refuse_query(
                f"one person's rows could take {memory / 2**20:,.0f} MiB of memory, and at most "
                f"{PERSON_SHARE * STATEMENT_MEMORY / 2**20:.0f} MiB are allowed.",
                f"{SMALLER_QUERY_HINT}, or leave out columns of long text.",
            )


def _measure_statement_length(plan: CorePlan) -> int:
    """Return the length of a plan's statements without string literals, of which there may be thousands."""
    statements = (plan.statement, *(each.statement for each in plan.value_selections.values()))
    return sum(len(QUOTED_TEXT.sub("", each)) for each in statements)


def _format_seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"
