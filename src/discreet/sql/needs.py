"""What each measure of a question is made of: primitives, each asked for once, or counted values.

Parts       `sql.primitives` has the list. A measure that is counted by values (MEDIAN and its kin) has none.
Public      a mean needs no count where the policy declares the number of rows and nothing changes it.
Shared      SUM(x) beside AVG(x) is made of the mean's parts; equal primitives are one.
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
    """One measure: what it is computed from."""

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
        """The names under which its parts, or its counted values, are paid for."""
        return self.parts or (self.column,)


def read(question: Question, reader: Reader, policy: Policy) -> tuple[dict[str, Primitive], list[Output]]:
    """Which primitives the measures need, each once."""
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
    # sums last: one whose mean is asked too is made of the mean's parts
    for column, measure in sorted(question.measures, key=lambda each: each[1].function == "sum"):
        outputs[column.name] = needs.of(column.name, measure, outputs.values())
    return primitives, [outputs[column.name] for column, _ in question.measures]


@dataclass(frozen=True, kw_only=True)
class _Needs:
    """What a measure is made of; `use` makes sure that a primitive is asked for."""

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
    """The parts of AVG(x), where it is asked beside SUM(x)."""
    for each in known:
        same = (each.measure.argument, each.measure.condition) == (measure.argument, measure.condition)
        if same and each.measure.function == "avg" and each.known_rows is None:
            return each.parts
    return ()


def _public_rows(question: Question, policy: Policy) -> int | None:
    """The number of rows where it is public: a person is a row, nothing is filtered, joined or grouped."""
    rows = question.rows
    scan = scans(rows)[0]
    table = policy.tables[scan.table]
    whole = rows is scan and not question.keys and table.person == "row"
    nulls = any(column.nulls for column in table.columns.values())
    return table.rows if whole and not nulls else None
