"""Execute a plan: the engine counts, mechanisms release, and the rest is arithmetic on released numbers.

Negative counts keep their sign in that arithmetic. Counts that are shown unchanged are clipped to 0 at the
end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.engine import Engine
from discreet.core.errors import RequestError
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.partition_selection import GroupCounts
from discreet.mechanisms.sampling import Integers
from discreet.sql.error_intervals import ReleasedLaws, compute_intervals, hide_companions
from discreet.sql.expression_types import Family, Type
from discreet.sql.interval_columns import build_interval_columns, build_ratio_columns
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.noisy_columns import ColumnNoise
from discreet.sql.released_constants import read_value
from discreet.sql.released_schema import RELEASED
from discreet.sql.released_table_types import build_released_schema, fit_released_table
from discreet.sql.releases import MeasuredCore, PostProcessor, Release
from discreet.sql.value_selection import ValueSelection

if TYPE_CHECKING:
    from discreet.sql.planner import CorePlan, DecomposedMeasure, QueryPlan

KEYS = {
    Family.NUMBER: pa.int64(),
    Family.TEXT: pa.string(),
    Family.BOOLEAN: pa.bool_(),
    Family.DATE: pa.date32(),
    Family.TIMESTAMP: pa.timestamp("us"),
    Family.NULL: pa.string(),
}
ENDS = ("low", "high")


def execute_plan(plan: QueryPlan, engine: Engine, random: Randomness, post_process: PostProcessor) -> Release:
    """Return the answer: count, release, estimate, and post-process the released table."""
    return compute_answer(plan, measure_cores(plan, engine, random), post_process, engine)


def measure_cores(
    plan: QueryPlan, engine: Engine, random: Randomness, names: Collection[str] | None = None
) -> dict[str, MeasuredCore]:
    """Return the released measurements of the cores of a plan by released table, or those of given names."""
    return {
        core.table: measure_core(core, engine, random, names)
        for core in plan.executed_cores
        if names is None or {*names} & {*core.charged_names}
    }


def compute_constants(
    plan: QueryPlan, measured: Mapping[str, MeasuredCore], post_process: PostProcessor
) -> dict[str, Decimal | None]:
    """Return the values of the constants of a plan that follow from what was released of some cores.

    One that cannot be computed is NULL: what was released is charged, and the rest of the plan follows.
    """
    found: dict[str, Decimal | None] = {}
    for name, constant in plan.split.constants.items():
        charged = [core for core in plan.cores if core.table in constant.cores]
        if name in plan.constants or any(core.table not in measured for core in charged):
            continue
        tables = _build_core_tables(plan, charged, measured, post_process)
        try:
            found[name] = read_value(post_process(constant.sql, tables))
        except RequestError:
            found[name] = None
    return found


def build_empty_constant(plan: QueryPlan, name: str, post_process: PostProcessor) -> pa.Table:
    """Return the answer of a constant's query over nothing, from the plan alone: its type."""
    measured = {core.table: _build_empty_core(core) for core in plan.cores}
    tables = _build_core_tables(plan, plan.cores, measured, post_process)
    return post_process(plan.split.constants[name].sql, tables)


def measure_core(
    core: CorePlan, engine: Engine, random: Randomness, names: Collection[str] | None = None
) -> MeasuredCore:
    """Return the released measurements of a core, or those of the given names."""
    wanted = [*core.noisy_primitives, *core.value_selections] if names is None else names
    primitives = [name for name in core.noisy_primitives if name in wanted]
    counts = engine.count(core.compile_counts(primitives))
    places = _select_partitions(core, counts, random)
    released = {}
    for name in primitives:
        vector = core.noisy_primitives[name]
        exact = _get_counts(counts, name, places)
        released[name] = vector.to_released(vector.mechanism.release_many(exact, random).value)
    keys = _get_released_keys(core, counts, places)
    picked = {
        column: _select_values(selection, core, engine, keys, random)
        for column, selection in core.value_selections.items()
        if column in wanted
    }
    return MeasuredCore(keys=keys, primitives=released, selected_values=picked)


def compute_answer(
    plan: QueryPlan,
    measured: Mapping[str, MeasuredCore],
    post_process: PostProcessor,
    engine: Engine | None = None,
) -> Release:
    """Return the answer that follows from released measurements; it reads no rows of people, and is free.

    `engine` reads public tables, if there are any in the query.
    """
    tables: dict[str, pa.Table]
    if plan.question is not None:
        tables = {RELEASED: build_released_table(plan, plan.core, measured[plan.core.table])}
    else:
        tables = _build_tables(plan, measured, post_process, engine)
    found = post_process(plan.error_plan.query, tables)
    chosen_from = {
        RELEASED if plan.question is not None else core.table: core.shown_cells for core in plan.cores
    }
    laws = ReleasedLaws.from_schemas(
        plan.released_schemas,
        {
            each.name: max(tables[each.name].num_rows, chosen_from.get(each.name, 0))
            for each in plan.released_schemas
        },
    )
    answer = hide_companions(plan.error_plan, found)
    return Release(
        table=answer if plan.raw else _clip_counts(answer, _list_counts(plan)),
        intervals=compute_intervals(plan.error_plan, found, laws, plan.confidence),
        interval_kinds=plan.column_errors.interval_kinds,
    )


def _build_tables(
    plan: QueryPlan,
    measured: Mapping[str, MeasuredCore],
    post_process: PostProcessor,
    engine: Engine | None,
) -> dict[str, pa.Table]:
    """Return all tables that the post-processing of a plan reads: released, declared and public ones."""
    tables = _build_core_tables(plan, plan.cores, measured, post_process)
    return tables | {name: public.read(engine) for name, public in plan.split.public_tables.items()}


def _build_core_tables(
    plan: QueryPlan,
    cores: Iterable[CorePlan],
    measured: Mapping[str, MeasuredCore],
    post_process: PostProcessor,
) -> dict[str, pa.Table]:
    """Return the tables of all cores: of those that were measured as released, of others without rows."""
    tables = {name: build_released_schema(core).empty_table() for name, core in plan.split.cores.items()}
    for core in cores:
        table = build_released_table(plan, core, measured[core.table])
        fitted = fit_released_table(table, plan.split.cores[core.table])
        for name in table.column_names:
            if name not in fitted.column_names:  # what intervals are computed from
                fitted = fitted.append_column(name, table[name])
        tables[core.table] = fitted
    if not plan.split.returns_no_rows:
        for name, groups in plan.split.declared_groups.items():
            tables[name] = fit_released_table(post_process(groups, {}), plan.split.cores[name])
    return tables


def build_released_table(plan: QueryPlan, core: CorePlan, measured: MeasuredCore) -> pa.Table:
    """Return the released table of a core: keys, measures, and what intervals are computed from."""
    columns: dict[str, Any] = dict(measured.keys)
    name = RELEASED if plan.question is not None else core.table
    wanted = plan.error_plan.released_columns.get(name, frozenset())
    primitives = {each: noisy.primitive for each, noisy in core.noisy_primitives.items()}
    for output in core.outputs:
        shown = replace(output, column=output.column.removeprefix(core.prefix))
        if output.column in measured.selected_values:
            values = columns[shown.column] = measured.selected_values[output.column]
            columns |= {f"{shown.column}.{end}": pa.nulls(len(values), pa.float64()) for end in ENDS}
            continue

        def estimate_at(confidence: float, is_raw: bool, output: DecomposedMeasure = output) -> Estimate:
            return estimate_measure(output, measured.primitives, confidence, raw=plan.raw or is_raw)

        confidence = core.find_confidence(output, plan.confidence)
        found = estimate_at(confidence, False)
        columns[shown.column] = values_to_array(found.values, output.measure.result_type)
        columns |= build_interval_columns(
            shown.column,
            wanted,
            estimate_at,
            confidence=confidence,
            rows=max(len(found.values), core.shown_cells),
            box_measures=plan.error_plan.box_measure_count,
        )
        columns |= build_ratio_columns(shown, wanted, measured.primitives, primitives)
    return pa.table(columns)


def build_empty_release(plan: QueryPlan, post_process: PostProcessor) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    measured = {core.table: _build_empty_core(core) for core in plan.cores}
    return compute_answer(plan, measured, post_process)


def _build_empty_core(core: CorePlan) -> MeasuredCore:
    nothing = np.empty(0, np.int64)
    return MeasuredCore(
        keys={
            key.name: pa.chunked_array([pa.array([], _get_key_type(key.type))])
            for key, _ in core.question.keys
        },
        primitives={name: each.to_released(nothing) for name, each in core.noisy_primitives.items()},
        selected_values={
            column: decode_selected_values(selection, [])
            for column, selection in core.value_selections.items()
        },
    )


def estimate_measure(
    output: DecomposedMeasure,
    released: Mapping[str, ReleasedPrimitive],
    confidence: float,
    *,
    raw: bool = False,
) -> Estimate:
    """Return the measure's value and interval in every group."""
    parts = [released[name] for name in output.primitive_names]
    return output.measure.estimate(output, parts, confidence, raw=raw)


def _list_counts(plan: QueryPlan) -> list[str]:
    """Return the columns that show a count unchanged."""
    counts = {output.column for output in plan.outputs if output.measure.is_whole_count}
    names = [name for name, column in plan.column_errors.measures.items() if column in counts]
    if plan.question is not None:
        return names
    return [*names, *(name for name, noise in plan.column_noise.items() if noise is ColumnNoise.COUNT)]


def _clip_counts(table: pa.Table, names: Collection[str]) -> pa.Table:
    """Clip negative values of some columns to 0."""
    for name in names:
        if name in table.column_names and pa.types.is_integer(table[name].type):
            shown = pc.max_element_wise(table[name], pa.scalar(0, table[name].type), skip_nulls=False)
            table = table.set_column(table.column_names.index(name), name, shown)
    return table


def _get_key_type(kind: Type) -> pa.DataType:
    broken = kind.family is Family.NUMBER and not kind.shows_integer
    return pa.float64() if broken else KEYS[kind.family]


def values_to_array(values: np.ndarray[Any, Any], kind: Type) -> pa.Array:
    """Return the values of a measure of that type as an array; NaN, "unknown", becomes NULL."""
    found = pa.array(values, from_pandas=True)
    return found.cast(pa.bool_()) if kind.family is Family.BOOLEAN else found


def _get_counts(counts: Exact[pa.Table], name: str, places: Integers | None) -> Exact[Integers]:
    numbers = counts.secret[name].to_numpy().astype(np.int64, copy=False)
    return Exact(numbers if places is None else numbers[places])


def _select_partitions(core: CorePlan, counts: Exact[pa.Table], random: Randomness) -> Integers | None:
    """Return the indices of privately selected groups; None if the policy declares the groups."""
    if core.partition_selection is None:
        return None
    people = _get_counts(counts, "people", None).secret
    groups = Exact(GroupCounts(keys=np.arange(people.size), people=people))
    # back in the order of the statement, which is that of the keys
    return np.sort(core.partition_selection.release(groups, random).value.keys)


def _get_released_keys(
    core: CorePlan, counts: Exact[pa.Table], places: Integers | None
) -> dict[str, pa.ChunkedArray]:
    """Return the keys of the released groups: declared by the policy, or selected privately."""
    table = counts.secret if places is None else counts.secret.take(pa.array(places))
    return get_key_columns(core, table)


def get_key_columns(core: CorePlan, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the key columns of a table of counts."""
    return {column.name: _decode_dictionary(table[column.name]) for column, _ in core.question.keys}


def _decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _select_values(
    selection: ValueSelection,
    core: CorePlan,
    engine: Engine,
    keys: Mapping[str, pa.ChunkedArray],
    random: Randomness,
) -> pa.Array:
    """Return one value per group, by the exponential mechanism over that group's counts."""
    table = engine.count(selection.statement).secret
    values, counts = (table[name].to_numpy().astype(np.int64, copy=False) for name in ("v", "n"))
    names = [column.name for column, _ in core.question.keys]
    if not names:
        return decode_selected_values(selection, [selection.select_value(values, counts, random)])
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(
        zip(*(_decode_dictionary(table[name]).to_pylist() for name in names), strict=True)
    ):
        found.setdefault(key, []).append(place)
    picked = []
    for key in zip(*(keys[name].to_pylist() for name in names), strict=True):
        where = np.array(found.get(key, []), dtype=np.int64)
        picked.append(selection.select_value(values[where], counts[where], random))
    return decode_selected_values(selection, picked)


def decode_selected_values(selection: ValueSelection, picked: list[int]) -> pa.Array:
    """Return selected indices as values of the grid or of the domain."""
    if selection.grid is None:
        return pa.array([selection.domain[place] for place in picked], pa.array(selection.domain).type)
    if selection.grid.step == 1:
        return pa.array(picked, pa.int64())
    return pa.array([float(place * selection.grid.step) for place in picked], pa.float64())
