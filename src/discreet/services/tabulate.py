"""Tables of counts: all combinations of columns, marginals, or the ranges of an ordered column.

A plain table has noise on every combination, and may be a measurement of the store (`count_measurements`).
Marginals and ranges are workloads: the measurement strategy
with the least expected error is chosen before anything is charged, and all answers are consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import product

import numpy as np
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.guarantees import PureDP, ZeroConcentratedDP
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mechanisms import get_mechanism_name as mechanism_name
from discreet.mining.attributes import DEFAULT_BINS, Attribute, Cut
from discreet.mining.schema import Schema
from discreet.mining.tabulation import contingency, workloads
from discreet.mining.tabulation.contingency import ContingencyPlan
from discreet.mining.tabulation.workloads import Workload, WorkloadPlan, get_declared_table, list_range_ends
from discreet.services.count_measurements import find_count_measurement
from discreet.services.count_publication import Publication, resolve_budget
from discreet.services.count_requests import TabulateRequest
from discreet.services.curator import Curator

ALL = "all"
Labels = dict[str, list[str]]


def plan_table_release(curator: Curator, request: TabulateRequest) -> Publication:
    """Return the publication of a request; reads no data."""
    epsilon, guarantee = resolve_budget(curator, "tabulate", request.epsilon, request.delta)
    _require_one_kind(request)
    measurement = None
    if request.ranges is None and not request.marginals:
        kind, expected, plan, work = _plan_table(curator.policy, request, guarantee)
        if isinstance(plan, ContingencyPlan):
            measurement = find_count_measurement(plan, curator.policy, curator.promise, epsilon)
    else:
        kind, expected, plan, work = _plan_workload_table(curator.policy, request, guarantee)
    return Publication(
        verb="tabulate",
        kind=kind,
        table=request.table,
        ledger_text=f"tabulate {request.table} {_format_options(request)}",
        terms=request.model_dump() | {"epsilon": epsilon},
        epsilon=epsilon,
        delta=request.delta,
        guarantee=guarantee,
        plan_summary=expected,
        plan=plan,
        compute_rows=work,
        measurement=measurement,
    )


PlannedTable = tuple[
    str, dict[str, object], ContingencyPlan | WorkloadPlan, Callable[[Engine, Randomness], pa.Table]
]


def _plan_table(
    policy: Policy, request: TabulateRequest, guarantee: PureDP | ZeroConcentratedDP
) -> PlannedTable:
    bins = dict.fromkeys(request.columns, DEFAULT_BINS) | dict(request.bins)
    plan = contingency.plan_contingency(
        policy, request.table, request.columns, guarantee, bins=bins, logarithmic=request.logarithmic
    )

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        return contingency.release_contingency(plan, policy, engine, random).to_arrow()

    expected: dict[str, object] = {
        "columns": list(request.columns),
        "cells": plan.possible.size,
        "mechanism": mechanism_name(type(plan.noise)),
        "error95": plan.error95,
    }
    kind = "differentially private " + ("histogram" if len(request.columns) == 1 else "contingency table")
    return kind, expected, plan, compute_rows


def _plan_workload_table(
    policy: Policy, request: TabulateRequest, guarantee: PureDP | ZeroConcentratedDP
) -> PlannedTable:
    columns = [*request.columns, *([request.ranges] if request.ranges else [])]
    bins = dict.fromkeys(columns, DEFAULT_BINS) | dict(request.bins)
    declared = get_declared_table(policy, request.table)
    schema = Schema.from_table(declared, features=columns, bins=bins, logarithmic=request.logarithmic)
    workload, labels = (
        _build_ranges(schema) if request.ranges else _build_marginals(schema, request.marginals)
    )
    plan = workloads.plan_workload(
        policy, request.table, columns, workload, guarantee, bins=bins, logarithmic=request.logarithmic
    )

    def compute_rows(engine: Engine, random: Randomness) -> pa.Table:
        found = workloads.answer_workload(plan, policy, engine, random)
        return pa.table(labels | {"count": found.answers.round(1), "deviation": plan.deviations.round(2)})

    kind = "differentially private " + ("ranges" if request.ranges else "marginals")
    return kind, _summarize_plan(plan, columns), plan, compute_rows


def _build_ranges(schema: Schema) -> tuple[Workload, Labels]:
    """Return the workload of every range of the last column, per combination of the others, and labels."""
    *others, last = schema.attributes
    if not last.is_ordered:
        raise RequestError(
            f"tabulate: {last.name} has no order, so it has no ranges.", hint="Name a number or a date."
        )
    workload = Workload.from_ranges(
        last.regular_bins, has_missing_bin=last.has_missing_bin, outer_shape=[each.bins for each in others]
    )
    rows = [
        (*combination, *_format_range_ends(last, *ends))
        for combination in product(*(each.labels for each in others))
        for ends in list_range_ends(last.regular_bins)
    ]
    names = [*(each.name for each in others), f"{last.name}.from", f"{last.name}.to"]
    return workload, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _format_range_ends(attribute: Attribute, first: int, after: int) -> tuple[str, str]:
    """Return the first and last value of a range of bins, formatted as in the policy."""
    assert attribute.bounds is not None
    low = attribute.bounds[0] if first == 0 else attribute.cuts[first - 1]
    if after > len(attribute.cuts):
        high = attribute.bounds[1]
    else:
        cut = attribute.cuts[after - 1]
        high = cut - timedelta(days=1) if isinstance(cut, date) else cut - (attribute.step or 0)
    return _format_bound(low), _format_bound(high)


def _format_bound(end: Cut) -> str:
    return end.isoformat() if isinstance(end, date) else f"{float(end):.12g}"


def _build_marginals(schema: Schema, sets: Sequence[Sequence[str]]) -> tuple[Workload, Labels]:
    """Return the workload of every cell of each marginal, and labels; `ALL` marks a summed-out column."""
    places = {each.name: place for place, each in enumerate(schema.attributes)}
    shape = [each.bins for each in schema.attributes]
    workload = Workload.from_marginals(shape, [[places[name] for name in each] for each in sets])
    rows = [
        combination
        for each in sets
        for combination in product(
            *(known.labels if known.name in each else (ALL,) for known in schema.attributes)
        )
    ]
    return workload, dict(zip(places, map(list, zip(*rows, strict=True)), strict=True))


def _summarize_plan(plan: WorkloadPlan, columns: Sequence[str]) -> dict[str, object]:
    return {
        "columns": list(columns),
        "questions": len(plan.workload.questions),
        "strategy": plan.strategy.name,
        "mechanism": mechanism_name(type(plan.noise)),
        "errors": {name: error if np.isfinite(error) else None for name, error in plan.errors.items()},
    }


def _require_one_kind(request: TabulateRequest) -> None:
    if request.ranges is not None and request.marginals:
        raise RequestError("tabulate: ranges and marginals exclude each other.", hint="Give one of them.")
    named = {name for each in request.marginals for name in each}
    if request.marginals and not named <= set(request.columns):
        raise RequestError("tabulate: a marginal names a column that is not in columns.", hint="Add it.")
    if not request.columns and request.ranges is None:
        raise RequestError("tabulate: no column is named.", hint='Name some: `columns="sex,income"`.')
    for name in request.bins:
        if name not in request.columns and name != request.ranges:
            raise RequestError(
                f"tabulate: bins are given for {name}, which is not counted.", hint="Leave it out."
            )


def _format_options(request: TabulateRequest) -> str:
    """Return the options of a request as text for the ledger entry."""
    parts = [f"--columns {','.join(request.columns)}"] if request.columns and not request.marginals else []
    parts += [f"--ranges {request.ranges}"] if request.ranges else []
    return " ".join([*parts, *(f"--marginal {','.join(each)}" for each in request.marginals)])
