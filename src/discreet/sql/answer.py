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
from discreet.core.randomness import Randomness
from discreet.core.values import Exact
from discreet.mechanisms.group_selection import Groups
from discreet.mechanisms.sampling import Integers
from discreet.sql import estimates
from discreet.sql.estimates import Estimate, Released
from discreet.sql.plan import Output, Plan
from discreet.sql.types import Family, Type
from discreet.sql.values import Counted

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


def answer(plan: Plan, engine: Engine, random: Randomness, afterwards: Afterwards) -> Release:
    """Return the answer: count, release, estimate, and post-process the released table."""
    counts = engine.count(plan.statement)
    places = _shown_groups(plan, counts, random)
    released = {
        name: vector.released(vector.noise.release_many(_column(counts, name, places), random).value)
        for name, vector in plan.vectors.items()
    }
    keys = _keys(plan, counts, places)
    columns: dict[str, Any] = dict(keys)
    for output in plan.outputs:
        if output.column in plan.counted:
            columns[output.column] = _picked(plan.counted[output.column], plan, engine, keys, random)
            columns[f"{output.column}.low"] = columns[f"{output.column}.high"] = pa.nulls(
                len(columns[output.column]), pa.float64()
            )
        else:
            columns |= _with_ends(output, estimate(output, released, plan.confidence, raw=plan.raw))
    return _split(_clip_counts(plan, afterwards(plan.after, {"released": pa.table(columns)})))


def shape(plan: Plan, afterwards: Afterwards) -> Release:
    """Return an answer without rows, from the plan alone: its columns, types and which have intervals."""
    nothing = np.empty(0, np.int64)
    released = {name: each.released(nothing) for name, each in plan.vectors.items()}
    columns: dict[str, Any] = {key.name: pa.array([], _key_type(key.type)) for key, _ in plan.question.keys}
    for output in plan.outputs:
        if output.column in plan.counted:
            columns[output.column] = shown_values(plan.counted[output.column], [])
            columns[f"{output.column}.low"] = columns[f"{output.column}.high"] = pa.array([], pa.float64())
        else:
            columns |= _with_ends(output, estimate(output, released, plan.confidence, raw=plan.raw))
    return _split(_clip_counts(plan, afterwards(plan.after, {"released": pa.table(columns)})))


def estimate(
    output: Output, released: Mapping[str, Released], confidence: float, *, raw: bool = False
) -> Estimate:
    """Return the measure's value and interval in every group."""
    parts, function, on = [released[name] for name in output.parts], output.measure.function, output.on
    if on is None:
        return estimates.count(parts[0], confidence, raw=raw)
    if function == "sum":
        if len(parts) == 1:
            return estimates.total(parts[0], on.step, confidence)
        return estimates.total_of_mean(parts[0], parts[1], on, confidence)
    if function == "avg":
        rows = parts[1] if output.known_rows is None else output.known_rows
        return estimates.mean(parts[0], rows, on, confidence)
    sample, root = function.endswith("_samp"), function.startswith("stddev")
    return estimates.variance(tuple(parts), on, confidence, sample=sample, root=root)


def _clip_counts(plan: Plan, table: pa.Table) -> pa.Table:
    """Clip negative counts to 0, unless the plan is `raw`."""
    if plan.raw:
        return table
    counts = {output.column for output in plan.outputs if output.parts and output.on is None}
    for name, column in plan.errors.measures.items():
        if column in counts and name in table.column_names:
            shown = pc.max_element_wise(table[name], pa.scalar(0, table[name].type), skip_nulls=False)
            table = table.set_column(table.column_names.index(name), name, shown)
    return table


def _key_type(kind: Type) -> pa.DataType:
    broken = kind.family is Family.NUMBER and not kind.shows_integer
    return pa.float64() if broken else KEYS[kind.family]


def _with_ends(output: Output, found: Estimate) -> dict[str, pa.Array]:
    return {
        output.column: measured(found.values),
        f"{output.column}.low": measured(found.low),
        f"{output.column}.high": measured(found.high),
    }


def measured(values: np.ndarray[Any, Any]) -> pa.Array:
    """Return the values of a measure as an array; NaN, "unknown", becomes NULL."""
    return pa.array(values, from_pandas=True)


def _column(counts: Exact[pa.Table], name: str, places: Integers | None) -> Exact[Integers]:
    numbers = counts.secret[name].to_numpy().astype(np.int64, copy=False)
    return Exact(numbers if places is None else numbers[places])


def _shown_groups(plan: Plan, counts: Exact[pa.Table], random: Randomness) -> Integers | None:
    """Return the indices of privately selected groups; None if the policy declares the groups."""
    if plan.selection is None:
        return None
    people = _column(counts, "people", None).secret
    groups = Exact(Groups(keys=np.arange(people.size), people=people))
    # back in the order of the statement, which is that of the keys
    return np.sort(plan.selection.release(groups, random).value.keys)


def _keys(plan: Plan, counts: Exact[pa.Table], places: Integers | None) -> dict[str, pa.ChunkedArray]:
    """Return the keys of the released groups: declared by the policy, or selected privately."""
    table = counts.secret if places is None else counts.secret.take(pa.array(places))
    return keys_of(plan, table)


def keys_of(plan: Plan, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the key columns of a table of counts."""
    return {column.name: _plain(table[column.name]) for column, _ in plan.question.keys}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _picked(
    counted: Counted, plan: Plan, engine: Engine, keys: Mapping[str, pa.ChunkedArray], random: Randomness
) -> pa.Array:
    """Return one value per group, by the exponential mechanism over that group's counts."""
    table = engine.count(counted.statement).secret
    values, counts = (table[name].to_numpy().astype(np.int64, copy=False) for name in ("v", "n"))
    names = [column.name for column, _ in plan.question.keys]
    if not names:
        return shown_values(counted, [counted.pick(values, counts, random)])
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(zip(*(_plain(table[name]).to_pylist() for name in names), strict=True)):
        found.setdefault(key, []).append(place)
    picked = []
    for key in zip(*(keys[name].to_pylist() for name in names), strict=True):
        where = np.array(found.get(key, []), dtype=np.int64)
        picked.append(counted.pick(values[where], counts[where], random))
    return shown_values(counted, picked)


def shown_values(counted: Counted, picked: list[int]) -> pa.Array:
    """Return selected indices as values of the grid or of the domain."""
    if counted.on is None:
        return pa.array([counted.domain[place] for place in picked], pa.array(counted.domain).type)
    if counted.on.step == 1:
        return pa.array(picked, pa.int64())
    return pa.array([float(place * counted.on.step) for place in picked], pa.float64())


def _split(table: pa.Table) -> Release:
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
