"""Decompose the measures of a query into primitives, each computed and charged once.

Primitives  `sql.primitives` lists them. A measure that selects a value (MEDIAN, MODE …) has none.
Public      a mean needs no count if the policy declares the number of rows and the query does not change it.
Shared      SUM(x) beside AVG(x) is computed from the primitives of the mean; equal primitives are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discreet.core.policy import Policy
from discreet.sql.aggregates import Measure
from discreet.sql.expression_tree import Column
from discreet.sql.primitives import Grid, Primitive, PrimitiveBuilder, choose_grid
from discreet.sql.query import Query
from discreet.sql.relational_algebra import find_scans

BY_VALUES = ("median", "quantile", "min", "max", "mode")


@dataclass(frozen=True, kw_only=True)
class DecomposedMeasure:
    """One measure and the primitives that it is computed from."""

    column: str
    measure: Measure
    primitive_names: tuple[str, ...] = ()
    grid: Grid | None = None
    public_rows: int | None = None

    @property
    def selects_value(self) -> bool:
        return self.measure.function in BY_VALUES

    @property
    def charged_names(self) -> tuple[str, ...]:
        """Names under which its primitives, or its selected value, are charged."""
        return self.primitive_names or (self.column,)


def decompose_measures(
    question: Query, builder: PrimitiveBuilder, policy: Policy
) -> tuple[dict[str, Primitive], list[DecomposedMeasure]]:
    """Return the distinct primitives of a query by name, and its measures in terms of them."""
    primitives: dict[str, Primitive] = {}

    def use(primitive: Primitive) -> str:
        for name, known in primitives.items():
            if known == primitive:
                return name
        name = f"p{len(primitives)}"
        primitives[name] = primitive
        return name

    needs = _Decomposer(builder=builder, add_primitive=use, public_rows=_find_public_rows(question, policy))
    outputs: dict[str, DecomposedMeasure] = {}
    # sums come last, so that a sum can reuse the primitives of a mean of the same column
    for column, measure in sorted(question.measures, key=lambda each: each[1].function == "sum"):
        outputs[column.name] = needs.decompose(column.name, measure, outputs.values())
    return primitives, [outputs[column.name] for column, _ in question.measures]


@dataclass(frozen=True, kw_only=True)
class _Decomposer:
    """Decomposes single measures; `add_primitive` registers a primitive and returns its name."""

    builder: PrimitiveBuilder
    add_primitive: Callable[[Primitive], str]
    public_rows: int | None

    def decompose(
        self, column: str, measure: Measure, known: Iterable[DecomposedMeasure]
    ) -> DecomposedMeasure:
        function, argument = measure.function, measure.argument
        if function in ("count", "count_distinct"):
            count = self.builder.build_count if function == "count" else self.builder.build_distinct_count
            return DecomposedMeasure(
                column=column, measure=measure, primitive_names=(self.add_primitive(count(measure)),)
            )
        if function == "mode" or argument is None:
            return DecomposedMeasure(column=column, measure=measure)
        on = choose_grid(argument, is_squared=function.startswith(("var", "stddev")))
        if function in BY_VALUES:
            return DecomposedMeasure(column=column, measure=measure, grid=on)
        if function == "sum":
            parts = _find_mean_primitives(measure, known) or (
                self.add_primitive(self.builder.build_sum(measure, on)),
            )
            return DecomposedMeasure(column=column, measure=measure, primitive_names=parts, grid=on)
        return self._decompose_moments(column, measure, on)

    def _decompose_moments(self, column: str, measure: Measure, grid: Grid) -> DecomposedMeasure:
        centred = self.add_primitive(self.builder.build_centred_sum(measure, grid))
        whole = isinstance(measure.argument, Column) and measure.condition is None
        if measure.function == "avg" and self.public_rows is not None and whole:
            return DecomposedMeasure(
                column=column,
                measure=measure,
                primitive_names=(centred,),
                grid=grid,
                public_rows=self.public_rows,
            )
        rows = Measure(function="count", argument=measure.argument, condition=measure.condition)
        parts: tuple[str, ...] = (centred, self.add_primitive(self.builder.build_count(rows)))
        if measure.function != "avg":
            parts = (*parts, self.add_primitive(self.builder.build_centred_squares(measure, grid)))
        return DecomposedMeasure(column=column, measure=measure, primitive_names=parts, grid=grid)


def _find_mean_primitives(measure: Measure, known: Iterable[DecomposedMeasure]) -> tuple[str, ...]:
    """Return the primitives of AVG(x) if the query has one for the same x and condition."""
    for each in known:
        same = (each.measure.argument, each.measure.condition) == (measure.argument, measure.condition)
        if same and each.measure.function == "avg" and each.public_rows is None:
            return each.primitive_names
    return ()


def _find_public_rows(question: Query, policy: Policy) -> int | None:
    """Return the declared number of rows if each person is one row and nothing filters, joins or groups."""
    rows = question.rows
    scan = find_scans(rows)[0]
    table = policy.tables[scan.table]
    whole = rows is scan and not question.keys and table.person == "row"
    nulls = any(column.nulls for column in table.columns.values())
    return table.rows if whole and not nulls else None
