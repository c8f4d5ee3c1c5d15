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
from discreet.mechanisms.grouped import Grouped
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.sampling import Integers
from discreet.sql.accuracy import traced
from discreet.sql.answer import estimate, keys_of, measured, shown_values
from discreet.sql.estimates import Released
from discreet.sql.expressions import Column
from discreet.sql.needs import Output
from discreet.sql.plan import Plan
from discreet.sql.values import Counted

Key = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Truth:
    """True values of an answer's measure columns, by the keys of their groups.

    The values are left out of its repr.
    """

    keys: tuple[str, ...]
    columns: Mapping[str, Mapping[Key, object]] = field(repr=False)

    def beside(self, answer: pa.Table) -> dict[str, list[object]]:
        """Return the true value of each row of an answer, by column; None if a row has none."""
        rows = answer.to_pylist()
        return {
            name: [values.get(tuple(row[key] for key in self.keys)) for row in rows]
            for name, values in self.columns.items()
        }


def truth(plan: Plan, engine: Engine) -> Truth:
    """Return the true values of a plan's measures: count, without adding noise."""
    shown = _shown_keys(plan)
    if shown is None:
        return Truth(keys=(), columns={})
    counts = engine.count(plan.statement).secret
    groups = _groups(plan, counts)
    exact = {
        name: Released(
            numbers=counts[name].to_numpy().astype(np.int64, copy=False),
            noise=_Nothing(),
            parts=each.primitive.parts,
        )
        for name, each in plan.vectors.items()
    }

    def values(output: Output) -> list[object]:
        if output.column in plan.counted:
            return _picked(plan, plan.counted[output.column], engine, groups)
        found: list[object] = measured(estimate(output, exact, plan.confidence, raw=True).values).to_pylist()
        return found

    columns = {name: dict(zip(groups, values(output), strict=True)) for name, output in traced(plan).items()}
    return Truth(keys=shown, columns=columns)


@dataclass(frozen=True)
class _Nothing:
    """Noise of width zero."""

    def half_width(self, confidence: float) -> int:
        return 0


def _shown_keys(plan: Plan) -> tuple[str, ...] | None:
    """Return the answer's names of the group keys; None if it does not show all of them."""
    found = {column.name: column.name for column, _ in plan.question.keys}
    for stage in plan.question.after:
        if stage.totals or stage.keys:
            return None
        renamed = {
            expression.name: name for name, expression in stage.outputs if isinstance(expression, Column)
        }
        if any(name not in renamed for name in found.values()):
            return None
        found = {key: renamed[name] for key, name in found.items()}
    return tuple(found.values())


def _groups(plan: Plan, table: pa.Table) -> list[Key]:
    columns = [each.to_pylist() for each in keys_of(plan, table).values()]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _picked(plan: Plan, counted: Counted, engine: Engine, groups: Sequence[Key]) -> list[object]:
    table = engine.count(counted.statement).secret
    values, counts = (table[name].to_numpy().astype(np.int64, copy=False) for name in ("v", "n"))
    held: dict[Key, list[int]] = {}
    for place, key in enumerate(_groups(plan, table)):
        held.setdefault(key, []).append(place)
    return [_true(counted, values[held[key]], counts[held[key]]) if key in held else None for key in groups]


def _true(counted: Counted, values: Integers, counts: Integers) -> object:
    if not isinstance(counted.mechanism, Quantile):
        return shown_values(counted, [int(values[counts.argmax()])])[0].as_py()
    wanted = replace(counted.mechanism, offset=0)
    starts, _, distances = wanted.runs(Grouped(values, counts))
    # every second run is a value that occurs in a row; the others lie between two such values
    nearest = int(starts[1::2][distances[1::2].argmin()])
    return shown_values(counted, [nearest])[0].as_py()
