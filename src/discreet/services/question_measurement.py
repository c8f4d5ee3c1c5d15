"""Measure what a question lacks: those cores first whose answers are constants of others' conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.engines.released_queries import query_released_tables
from discreet.services.found_measurements import FoundMeasurements
from discreet.services.work_limits import CONSTANT_SECONDS
from discreet.sql.plan_execution import compute_constants, measure_cores
from discreet.sql.planner import QueryPlan
from discreet.sql.released_constants import find_open_constants
from discreet.sql.releases import MeasuredCore, MeasuredCores


def compute_constant(sql: str, released: Mapping[str, pa.Table]) -> pa.Table:
    """Return the answer of a constant's query; it has less time than an answer, since others wait for it."""
    return query_released_tables(sql, released, seconds=CONSTANT_SECONDS)


def measure_missing(
    plan: QueryPlan,
    found: FoundMeasurements,
    engine: Engine,
    random: Randomness,
    policy: Policy,
) -> MeasuredCores:
    """Return the released measurements that were missing, with the constants that rows were compared with."""
    plan = found.fill_plan(plan)
    released: dict[str, MeasuredCore] = {}
    done: set[str] = set()
    while True:
        ready = [
            core for core in plan.cores if core.table not in done and not find_open_constants(core.question)
        ]
        names = [name for core in ready for name in core.charged_names if name in found.missing]
        for table, each in measure_cores(plan, engine, random, names).items():
            released[table] = replace(each, constants=plan.constants)
        done |= {core.table for core in ready}
        if not plan.open_constants:
            return released
        known = replace(found, cores=tuple(core for core in plan.cores if core.table in done))
        values = compute_constants(plan, known.combine_available(released), compute_constant)
        plan = plan.fill_constants(values, policy)
