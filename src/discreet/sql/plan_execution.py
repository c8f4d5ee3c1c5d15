"""Execute a plan: the engine counts, mechanisms release, and the rest is arithmetic on released numbers.

Negative counts keep their sign in that arithmetic. Counts that are shown unchanged are clipped to 0 at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.engine import Engine
from discreet.core.exact_values import Exact
from discreet.core.randomness import Randomness
from discreet.mechanisms.partition_selection import GroupCounts
from discreet.mechanisms.sampling import Integers
from discreet.sql.expression_types import Family, Type
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.planner import DecomposedMeasure, QueryPlan
from discreet.sql.value_selection import ValueSelection

KEYS = {
    Family.NUMBER: pa.int64(),
    Family.TEXT: pa.string(),
    Family.BOOLEAN: pa.bool_(),
    Family.DATE: pa.date32(),
    Family.TIMESTAMP: pa.timestamp("us"),
    Family.NULL: pa.string(),
}
Afterwards = Callable[[str, Mapping[str, pa.Table]], pa.Table]


@dataclass(frozen=True, kw_only=True)
class Release:
    """The requested columns, and the intervals of those that are measures."""

    table: pa.Table
    intervals: Mapping[str, tuple[list[float | None], list[float | None]]]


def execute_plan(plan: QueryPlan, engine: Engine, random: Randomness, post_process: Afterwards) -> Release:
    """Return the answer: count, release, estimate, and post-process the released table."""
    counts = engine.count(plan.statement)
    places = _select_partitions(plan, counts, random)
    released = {
        name: vector.to_released(vector.noise.release_many(_get_counts(counts, name, places), random).value)
        for name, vector in plan.noisy_primitives.items()
    }
    keys = _get_released_keys(plan, counts, places)
    columns: dict[str, Any] = dict(keys)
    for output in plan.outputs:
        if output.column in plan.value_selections:
            columns[output.column] = _select_values(
                plan.value_selections[output.column], plan, engine, keys, random
            )
            columns[f"{output.column}.low"] = columns[f"{output.column}.high"] = pa.nulls(
                len(columns[output.column]), pa.float64()
            )
        else:
            columns |= _build_interval_columns(
                output, estimate_measure(output, released, plan.confidence, raw=plan.raw)
            )
    return _split_intervals(
        _clip_counts(plan, post_process(plan.post_processing, {"released": pa.table(columns)}))
    )


def build_empty_release(plan: QueryPlan, post_process: Afterwards) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    nothing = np.empty(0, np.int64)
    released = {name: each.to_released(nothing) for name, each in plan.noisy_primitives.items()}
    columns: dict[str, Any] = {
        key.name: pa.array([], _get_key_type(key.type)) for key, _ in plan.question.keys
    }
    for output in plan.outputs:
        if output.column in plan.value_selections:
            columns[output.column] = decode_selected_values(plan.value_selections[output.column], [])
            columns[f"{output.column}.low"] = columns[f"{output.column}.high"] = pa.array([], pa.float64())
        else:
            columns |= _build_interval_columns(
                output, estimate_measure(output, released, plan.confidence, raw=plan.raw)
            )
    return _split_intervals(
        _clip_counts(plan, post_process(plan.post_processing, {"released": pa.table(columns)}))
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


def _clip_counts(plan: QueryPlan, table: pa.Table) -> pa.Table:
    """Clip negative counts to 0, unless the plan is `raw`."""
    if plan.raw:
        return table
    counts = {output.column for output in plan.outputs if output.measure.is_whole_count}
    for name, column in plan.column_errors.measures.items():
        if column in counts and name in table.column_names:
            shown = pc.max_element_wise(table[name], pa.scalar(0, table[name].type), skip_nulls=False)
            table = table.set_column(table.column_names.index(name), name, shown)
    return table


def _get_key_type(kind: Type) -> pa.DataType:
    broken = kind.family is Family.NUMBER and not kind.shows_integer
    return pa.float64() if broken else KEYS[kind.family]


def _build_interval_columns(output: DecomposedMeasure, found: Estimate) -> dict[str, pa.Array]:
    return {
        output.column: values_to_array(found.values, output.measure.result_type),
        f"{output.column}.low": pa.array(found.low, from_pandas=True),
        f"{output.column}.high": pa.array(found.high, from_pandas=True),
    }


def values_to_array(values: np.ndarray[Any, Any], kind: Type) -> pa.Array:
    """Return the values of a measure of that type as an array; NaN, "unknown", becomes NULL."""
    found = pa.array(values, from_pandas=True)
    return found.cast(pa.bool_()) if kind.family is Family.BOOLEAN else found


def _get_counts(counts: Exact[pa.Table], name: str, places: Integers | None) -> Exact[Integers]:
    numbers = counts.secret[name].to_numpy().astype(np.int64, copy=False)
    return Exact(numbers if places is None else numbers[places])


def _select_partitions(plan: QueryPlan, counts: Exact[pa.Table], random: Randomness) -> Integers | None:
    """Return the indices of privately selected groups; None if the policy declares the groups."""
    if plan.partition_selection is None:
        return None
    people = _get_counts(counts, "people", None).secret
    groups = Exact(GroupCounts(keys=np.arange(people.size), people=people))
    # back in the order of the statement, which is that of the keys
    return np.sort(plan.partition_selection.release(groups, random).value.keys)


def _get_released_keys(
    plan: QueryPlan, counts: Exact[pa.Table], places: Integers | None
) -> dict[str, pa.ChunkedArray]:
    """Return the keys of the released groups: declared by the policy, or selected privately."""
    table = counts.secret if places is None else counts.secret.take(pa.array(places))
    return get_key_columns(plan, table)


def get_key_columns(plan: QueryPlan, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the key columns of a table of counts."""
    return {column.name: _decode_dictionary(table[column.name]) for column, _ in plan.question.keys}


def _decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _select_values(
    selection: ValueSelection,
    plan: QueryPlan,
    engine: Engine,
    keys: Mapping[str, pa.ChunkedArray],
    random: Randomness,
) -> pa.Array:
    """Return one value per group, by the exponential mechanism over that group's counts."""
    table = engine.count(selection.statement).secret
    values, counts = (table[name].to_numpy().astype(np.int64, copy=False) for name in ("v", "n"))
    names = [column.name for column, _ in plan.question.keys]
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


def _split_intervals(table: pa.Table) -> Release:
    """Return the requested columns and, separately, their interval bounds."""
    names = set(table.column_names)
    measured = [name for name in table.column_names if {f"{name}.low", f"{name}.high"} <= names]
    companions = {f"{name}.{end}" for name in measured for end in ("low", "high")}
    return Release(
        table=table.select([name for name in table.column_names if name not in companions]),
        intervals={
            name: (table[f"{name}.low"].to_pylist(), table[f"{name}.high"].to_pylist()) for name in measured
        },
    )
