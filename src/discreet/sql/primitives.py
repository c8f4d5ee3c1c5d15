"""Primitives: the integer aggregates per group, of known sensitivity, from which measures are computed.

    count             the rows, or those where x is not NULL: all, if the policy declares no nulls
    distinct count    distinct values, or people; one person adds at most as many as their rows
    sum               x in steps of its grid
    centred sum       2x - (low + high) in steps
    centred squares   2 y**2 - w**2 for centred y in [-w, w]

Each aggregate (`sql.aggregates`) says which of them it needs; one that several measures need is computed and
charged once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.core.sql_quoting import quote_identifier
from discreet.mechanisms.sensitivity import ContributionBounds, Sensitivity
from discreet.sql import exact_numbers, expression_sql
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.expression_types import Type, choose_grid_step, get_grid_bounds
from discreet.sql.let_bindings import bind_parts
from discreet.sql.refusal import refuse_query
from discreet.sql.relational_algebra import PERSON

WIDEST = 1 << 40
WIDEST_SQUARED = 1 << 25
SMALL = 1 << 18  # the sum over fewer than 2**44 rows, more than can be read in hours, stays below 2**62


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The aggregation of a primitive: a function with its constants, over rows that satisfy a condition."""

    function: str
    argument: Expression | None = None
    condition: Expression | None = None
    constants: tuple[Fraction, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A bounded expression in whole steps of size `step`, from `low` to `high`."""

    argument: Expression
    step: Fraction
    low: int
    high: int

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def steps_sql(self) -> str:
        return compile_steps(self.argument, self.step, self.low, self.high)

    @property
    def sum_sql(self) -> str:
        """SQL of the sum, in 64 bits if no readable number of rows overflows them, else in 128 bits.

        Without statistics DuckDB would always sum in 128 bits, which takes twice the time.
        """
        name = "sum_no_overflow" if max(abs(self.low), abs(self.high)) <= SMALL else "sum"
        return f"{name}({self.steps_sql})"

    @property
    def centred_sql(self) -> str:
        return f"(2 * {self.steps_sql} - {self.low + self.high})"

    def describe(self, function: str, condition: Expression | None) -> Meaning:
        """Return the meaning of a function of it over the rows that satisfy the condition."""
        constants = (self.step, Fraction(self.low), Fraction(self.high))
        return Meaning(function=function, argument=self.argument, condition=condition, constants=constants)


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """One integer per group: the SQL of its aggregate, and the sensitivity to one person.

    With row weights it is in units of `unit / weight_denominator`. `meaning` says what is aggregated,
    independently of the names that a query gives to tables and columns: the function, its constants, and the
    expressions that it reads.
    """

    aggregate_sql: str
    meaning: Meaning = field(repr=False, compare=False)
    sensitivity: Sensitivity
    unit: Fraction = Fraction(1)
    weight_denominator: int = 1

    def __post_init__(self) -> None:
        """Raise a sensitivity of 0 (a sum of zeros) to one step: noise needs a positive scale."""
        if self.sensitivity.l1 == 0:
            object.__setattr__(self, "sensitivity", Sensitivity(l1=1, squared_l2=1))


def choose_grid(argument: Expression, *, is_squared: bool = False) -> Grid:
    """Return the grid on which a bounded number, or its square, is summed."""
    kind = argument.type
    if kind.low is None or kind.high is None:
        refuse_query("an aggregate needs bounds.", "Declare low and high in the policy.")
    step, most = choose_grid_step(kind), WIDEST_SQUARED // 2 if is_squared else WIDEST
    if not (isinstance(argument, Column) and argument.is_clamped):
        step = _coarsen_step(step, kind, most)
    low, high = get_grid_bounds(kind, step)
    if max(abs(low), abs(high)) > WIDEST:
        refuse_query(
            "an aggregate's bounds are too wide for its grid.",
            "Declare narrower bounds or a coarser resolution.",
        )
    return Grid(argument=argument, step=step, low=low, high=high)


def _coarsen_step(step: Fraction, kind: Type, max_steps: int) -> Fraction:
    """Return a step of at most 1 with which the bounds are at most `max_steps`; rows are rounded to it."""
    assert kind.max_magnitude is not None
    while step * 10 <= 1 and kind.max_magnitude / step > max_steps:
        step *= 10
    return step


@dataclass(frozen=True, kw_only=True)
class PrimitiveBuilder:
    """Builds the primitives of one query; `is_ungrouped` if it has no GROUP BY."""

    contribution: ContributionBounds
    is_ungrouped: bool
    weight_denominator: int = 1

    def build_count(
        self, argument: Expression | None = None, condition: Expression | None = None
    ) -> Primitive:
        """Return the count of rows that satisfy `condition` and in which `argument` is not NULL."""
        nullable = argument is not None and argument.type.is_nullable
        inner = expression_sql.compile_operand(argument) if argument is not None and nullable else "*"
        text = f"count({inner}){compile_filter(condition)}"
        meaning = Meaning(function="count", argument=argument if nullable else None, condition=condition)
        return self._build(text, meaning, self.contribution.count_sensitivity(one_cell=self.is_ungrouped))

    def build_distinct_count(self, argument: Expression, condition: Expression | None = None) -> Primitive:
        """Return the count of distinct values."""
        text = f"count(DISTINCT {expression_sql.compile_operand(argument)}){compile_filter(condition)}"
        meaning = Meaning(function="distinct count", argument=argument, condition=condition)
        return self._build(text, meaning, self.contribution.count_sensitivity(one_cell=self.is_ungrouped))

    def build_people_count(self, condition: Expression | None = None) -> Primitive:
        """Return the count of people; without groups a person counts once, however many their rows are."""
        text = f"count(DISTINCT {quote_identifier(PERSON)}){compile_filter(condition)}"
        contribution = self.contribution
        if self.is_ungrouped:
            contribution = ContributionBounds(rows=1, relation=contribution.relation)
        meaning = Meaning(function="people", condition=condition)
        return self._build(text, meaning, contribution.count_sensitivity(one_cell=self.is_ungrouped))

    def build_sum(self, grid: Grid, condition: Expression | None = None) -> Primitive:
        """Return the sum of the grid's argument, in steps."""
        text = expression_sql.compile_clamped_sum(f"{grid.sum_sql}{compile_filter(condition)}")
        moved = self.contribution.sum_sensitivity(low=grid.low, high=grid.high, one_cell=self.is_ungrouped)
        return self._build(text, grid.describe("sum", condition), moved, grid.step)

    def build_centred_sum(self, grid: Grid, condition: Expression | None = None) -> Primitive:
        """Return the sum of 2x - (low + high), in half steps."""
        # sum(2x - c) is 2 sum(x) - c count(x), which avoids arithmetic on every row. Never count(*): a NULL
        # that the policy rules out would move it by c, beyond the sensitivity
        where = compile_filter(condition)
        rows = f"CAST(count({grid.steps_sql}){where} AS HUGEINT)"
        text = expression_sql.compile_clamped_sum(
            f"2 * {grid.sum_sql}{where} - {grid.low + grid.high} * {rows}"
        )
        moved = self.contribution.centred_sum_sensitivity(
            low=grid.low, high=grid.high, one_cell=self.is_ungrouped
        )
        return self._build(text, grid.describe("centred sum", condition), moved, grid.step / 2)

    def build_centred_squares(self, grid: Grid, condition: Expression | None = None) -> Primitive:
        """Return the sum of 2 y**2 - w**2 for centred y in [-w, w]: again centred, in [-w**2, w**2]."""
        if grid.width > WIDEST_SQUARED:
            refuse_query(
                "a variance of so wide a range does not fit.",
                "Declare narrower bounds or a coarser resolution.",
            )
        square = bind_parts(lambda x: f"(2 * {x} * {x} - {grid.width**2})", grid.centred_sql)
        text = expression_sql.compile_clamped_sum(f"sum({square}){compile_filter(condition)}")
        moved = self.contribution.sum_sensitivity(
            low=-(grid.width**2), high=grid.width**2, one_cell=self.is_ungrouped
        )
        return self._build(text, grid.describe("centred squares", condition), moved, grid.step**2)

    def _build(
        self, text: str, meaning: Meaning, moved: Sensitivity, unit: Fraction = Fraction(1)
    ) -> Primitive:
        weighed = Sensitivity(
            l1=moved.l1 * self.weight_denominator, squared_l2=moved.squared_l2 * self.weight_denominator**2
        )
        return Primitive(
            aggregate_sql=text,
            meaning=meaning,
            sensitivity=weighed,
            unit=unit,
            weight_denominator=self.weight_denominator,
        )


def compile_filter(condition: Expression | None) -> str:
    """Return the FILTER clause of an aggregate call; empty without a condition."""
    return "" if condition is None else f" FILTER (WHERE {expression_sql.compile_value(condition)})"


def compile_steps(argument: Expression, step: Fraction, low: int, high: int) -> str:
    """Return the SQL of a bounded expression as a whole number of steps, clamped to its bounds."""
    kind = argument.type
    if isinstance(argument, Column) and argument.is_clamped and kind.step == step:
        return quote_identifier(argument.name)
    value = expression_sql.compile_operand(argument)
    if not (kind.is_exact and kind.step == step) and not (kind.is_integral and step == 1):
        value = (
            f"round({exact_numbers.convert_to_double(value, kind)} * {step.denominator} / {step.numerator})"
        )

    def nearer(x: str) -> str:
        # not greatest and least: they would turn NULL into a bound
        return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"

    return f"CAST({bind_parts(nearer, value)} AS BIGINT)"
