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
from discreet.sql.expressions import Column
from discreet.sql.primitives import Grid, Primitive, Reader, grid
from discreet.sql.question import Question
from discreet.sql.tree import scans

BY_VALUES = ("median", "quantile", "min", "max", "mode")


@dataclass(frozen=True, kw_only=True)
class Output:
    """One measure and the primitives that it is computed from."""

    column: str
    measure: Measure
    parts: tuple[str, ...] = ()
    on: Grid | None = None
    known_rows: int | None = None

    @property
    def by_values(self) -> bool:
        return self.measure.function in BY_VALUES

    @property
    def paid(self) -> tuple[str, ...]:
        """Names under which its primitives, or its selected value, are charged."""
        return self.parts or (self.column,)


def read(question: Question, reader: Reader, policy: Policy) -> tuple[dict[str, Primitive], list[Output]]:
    """Return the distinct primitives of a query by name, and its measures in terms of them."""
    primitives: dict[str, Primitive] = {}

    def use(primitive: Primitive) -> str:
        for name, known in primitives.items():
            if known == primitive:
                return name
        name = f"p{len(primitives)}"
        primitives[name] = primitive
        return name

    needs = _Needs(reader=reader, use=use, public=_public_rows(question, policy))
    outputs: dict[str, Output] = {}
    # sums come last, so that a sum can reuse the primitives of a mean of the same column
    for column, measure in sorted(question.measures, key=lambda each: each[1].function == "sum"):
        outputs[column.name] = needs.of(column.name, measure, outputs.values())
    return primitives, [outputs[column.name] for column, _ in question.measures]


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """Decomposes single measures; `add_primitive` registers a primitive and returns its name."""

    reader: Reader
    use: Callable[[Primitive], str]
    public: int | None

    def of(self, column: str, measure: Measure, known: Iterable[Output]) -> Output:
        function, argument = measure.function, measure.argument
        if function in ("count", "count_distinct"):
            count = self.reader.count if function == "count" else self.reader.distinct
            return Output(column=column, measure=measure, parts=(self.use(count(measure)),))
        if function == "mode" or argument is None:
            return Output(column=column, measure=measure)
        on = grid(argument, squared=function.startswith(("var", "stddev")))
        if function in BY_VALUES:
            return Output(column=column, measure=measure, on=on)
        if function == "sum":
            parts = _parts_of_mean(measure, known) or (self.use(self.reader.total(measure, on)),)
            return Output(column=column, measure=measure, parts=parts, on=on)
        return self._of_moments(column, measure, on)

    def _of_moments(self, column: str, measure: Measure, on: Grid) -> Output:
        centred = self.use(self.reader.centred(measure, on))
        whole = isinstance(measure.argument, Column) and measure.condition is None
        if measure.function == "avg" and self.public is not None and whole:
            return Output(column=column, measure=measure, parts=(centred,), on=on, known_rows=self.public)
        rows = Measure(function="count", argument=measure.argument, condition=measure.condition)
        parts: tuple[str, ...] = (centred, self.use(self.reader.count(rows)))
        if measure.function != "avg":
            parts = (*parts, self.use(self.reader.squares(measure, on)))
        return Output(column=column, measure=measure, parts=parts, on=on)


def _parts_of_mean(measure: Measure, known: Iterable[Output]) -> tuple[str, ...]:
    """Return the primitives of AVG(x) if the query has one for the same x and condition."""
    for each in known:
        same = (each.measure.argument, each.measure.condition) == (measure.argument, measure.condition)
        if same and each.measure.function == "avg" and each.known_rows is None:
            return each.parts
    return ()


def _public_rows(question: Question, policy: Policy) -> int | None:
    """Return the declared number of rows if each person is one row and nothing filters, joins or groups."""
    rows = question.rows
    scan = scans(rows)[0]
    table = policy.tables[scan.table]
    whole = rows is scan and not question.keys and table.person == "row"
    nulls = any(column.nulls for column in table.columns.values())
    return table.rows if whole and not nulls else None
