"""True values of a query's measures, without noise: the clamped and bounded quantities themselves.

They are for the custodian only, if the policy allows it, and must not be released, stored or logged.

Matching    Groups are matched by their keys, so that each true value is shown next to the released value of
            the same group, whatever HAVING, ORDER BY and LIMIT do to the released rows. If an answer does not
            show every key, or aggregates groups, its rows are not groups, and no true values are shown.
Selected    the true MEDIAN, QUANTILE, MIN and MAX is the row's value nearest to the requested rank, the true
            MODE the commonest value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from discreet.core.engine import Engine
from discreet.mechanisms.combined_noise import CombinedNoise
from discreet.mechanisms.linear_combinations import LinearCombination
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.mechanisms.sampling import Integers
from discreet.sql.accuracy import find_measures_by_column
from discreet.sql.expression_tree import Column
from discreet.sql.interval_estimates import ReleasedPrimitive
from discreet.sql.measure_decomposition import DecomposedMeasure
from discreet.sql.plan_execution import (
    decode_selected_values,
    estimate_measure,
    get_key_columns,
    values_to_array,
)
from discreet.sql.planner import QueryPlan
from discreet.sql.value_selection import ValueSelection

Key = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class TrueMeasures:
    """True values of an answer's measure columns, by the keys of their groups.

    The values are left out of its repr.
    """

    keys: tuple[str, ...]
    columns: Mapping[str, Mapping[Key, object]] = field(repr=False)

    def align_with(self, answer: pa.Table) -> dict[str, list[object]]:
        """Return the true value of each row of an answer, by column; None if a row has none."""
        rows = answer.to_pylist()
        return {
            name: [values.get(tuple(row[key] for key in self.keys)) for row in rows]
            for name, values in self.columns.items()
        }


def compute_true_values(plan: QueryPlan, engine: Engine) -> TrueMeasures:
    """Return the true values of a plan's measures: count, without adding noise."""
    shown = _find_shown_keys(plan)
    if shown is None:  # or it is more than one aggregation
        return TrueMeasures(keys=(), columns={})
    counts = engine.count(plan.statement).secret
    groups = _list_group_keys(plan, counts)
    exact = {
        name: ReleasedPrimitive(
            numbers=counts[name].to_numpy().astype(np.int64, copy=False),
            noise=CombinedNoise(error=LinearCombination(())),
            weight_denominator=each.primitive.weight_denominator,
        )
        for name, each in plan.noisy_primitives.items()
    }

    def values(output: DecomposedMeasure) -> list[object]:
        if output.column in plan.value_selections:
            return _select_true_values(plan, plan.value_selections[output.column], engine, groups)
        estimate = estimate_measure(output, exact, plan.confidence, raw=True)
        found: list[object] = values_to_array(estimate.values, output.measure.result_type).to_pylist()
        return found

    columns = {
        name: dict(zip(groups, values(output), strict=True))
        for name, output in find_measures_by_column(plan).items()
    }
    return TrueMeasures(keys=shown, columns=columns)


def _find_shown_keys(plan: QueryPlan) -> tuple[str, ...] | None:
    """Return the answer's names of the group keys; None if it does not show all of them."""
    if plan.question is None:
        return None
    found = {column.name: column.name for column, _ in plan.question.keys}
    for stage in plan.question.post_processing:
        if stage.totals or stage.keys:
            return None
        renamed = {
            expression.name: name for name, expression in stage.outputs if isinstance(expression, Column)
        }
        if any(name not in renamed for name in found.values()):
            return None
        found = {key: renamed[name] for key, name in found.items()}
    return tuple(found.values())


def _list_group_keys(plan: QueryPlan, table: pa.Table) -> list[Key]:
    columns = [each.to_pylist() for each in get_key_columns(plan.core, table).values()]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _select_true_values(
    plan: QueryPlan, selection: ValueSelection, engine: Engine, groups: Sequence[Key]
) -> list[object]:
    table = engine.count(selection.statement).secret
    values, counts = (table[name].to_numpy().astype(np.int64, copy=False) for name in ("v", "n"))
    held: dict[Key, list[int]] = {}
    for place, key in enumerate(_list_group_keys(plan, table)):
        held.setdefault(key, []).append(place)
    return [
        _find_true_value(selection, values[held[key]], counts[held[key]]) if key in held else None
        for key in groups
    ]


def _find_true_value(selection: ValueSelection, values: Integers, counts: Integers) -> object:
    if not isinstance(selection.mechanism, Quantile):
        return decode_selected_values(selection, [int(values[counts.argmax()])])[0].as_py()
    wanted = replace(selection.mechanism, offset=0)
    starts, _, distances = wanted.candidate_runs(ValueCounts(values, counts))
    # every second run is a value that occurs in a row; the others lie between two such values
    nearest = int(starts[1::2][distances[1::2].argmin()])
    return decode_selected_values(selection, [nearest])[0].as_py()
