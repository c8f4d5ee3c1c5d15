"""MEDIAN, QUANTILE_CONT, PERCENTILE_CONT, MIN, MAX: a value of the declared range, selected by its rank.

Measures     how often each value of the grid occurs in the group; the exponential mechanism selects the value
             whose rank is near the quantile's.
Sensitivity  over all groups together one person with at most R rows moves the scores by R under presence.
             Under replace-one R rows leave and R arrive, possibly in another group: with groups a quantile
             b / a is charged for 2 max(b, a − b) R, its sensitivity when the rows move between groups.
Estimate     the selected value. MIN and MAX aim a little inward, so that with probability 0.95 the value lies
             within the range of the data.
Error        in ranks, from the plan alone: a number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NoReturn

from sqlglot import exp

from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile as QuantileMechanism
from discreet.sql import expression_sql
from discreet.sql.aggregates.base import (
    HALF,
    Aggregate,
    Decomposer,
    Decomposition,
    NumericAggregate,
    RankError,
    SupportsAnswerTotals,
    SupportsPersonTotals,
    refuse_non_number,
)
from discreet.sql.aggregates.selection import REMARK, SelectedAggregate, SelectionBudget, format_row_count
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Family, Type, make_number_type
from discreet.sql.primitives import Grid, choose_grid, compile_filter
from discreet.sql.query_literals import parse_fraction
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import resolve_scalar

INSIDE = 0.95  # probability with which a released MIN or MAX lies within the range of the data


class _RankedAggregate(NumericAggregate, SelectedAggregate):
    """Base of quantiles, MIN and MAX: `rank` is the quantile's probability."""

    aims_inward: ClassVar[bool] = False

    @property
    def rank(self) -> Fraction:
        """Probability of the quantile that is selected."""
        return HALF

    @property
    def rank_name(self) -> str:
        """The rank in words."""
        return f"{float(100 * self.rank):g}% of all rows"

    @property
    def result_type(self) -> Type:
        return make_number_type(step=Fraction(1) if self.number.type.step == 1 else None)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        return Decomposition(grid=choose_grid(self.number))

    def build_mechanism(self, budget: SelectionBudget, grid: Grid | None) -> QuantileMechanism | Exponential:
        assert grid is not None
        top, bottom = self.rank.numerator, self.rank.denominator
        spread = Fraction(bottom, 2 * max(top, bottom - top))
        moves_between_groups = budget.relation is Relation.VALUE and budget.has_groups
        found = QuantileMechanism(
            epsilon=budget.epsilon * spread if moves_between_groups else budget.epsilon,
            low=grid.low,
            high=max(grid.high, grid.low + 1),  # a grid of one value is no choice
            probability=self.rank,
            rows_per_person=budget.rows,
            relation=budget.relation,
        )
        return found.aim_inward(INSIDE) if self.aims_inward else found

    def bound_selection_error(
        self, mechanism: QuantileMechanism | Exponential, values: int, confidence: float
    ) -> RankError:
        assert isinstance(mechanism, QuantileMechanism)
        rows = mechanism.rank_error(confidence) + abs(mechanism.offset)
        return RankError(
            rows=rows,
            description=f"its rank is within {format_row_count(rows)} of {self.rank_name}",
            probability=self.rank,
            remark=REMARK,
        )

    def refuse_tolerance(self, tolerance: object) -> NoReturn:
        refuse_query(
            f"how far {self.name.upper()} is off in values depends on how dense they are, so {tolerance} "
            "cannot be promised for it.",
            'Give the error in ranks: `within="2%"` `least_rows=100`; or ask with epsilon.',
        )


class _Extreme(_RankedAggregate, SupportsPersonTotals, SupportsAnswerTotals):
    """Base of MIN and MAX: of one person's rows, and over an answer, they take values of any type."""

    aims_inward = True
    keeps_clamping = True
    keeps_values = True

    def infer_person_total_type(self, max_rows: int) -> Type:
        return self.number.type

    def compile_person_total(self, max_rows: int) -> str:
        return f"{self.name}({expression_sql.ordering_operand(self.number)}){compile_filter(self.condition)}"

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        assert argument is not None
        if argument.type.family is Family.NUMBER:
            return make_number_type(step=Fraction(1) if argument.type.step == 1 else None)
        return replace(argument.type, is_nullable=True)


class Minimum(_Extreme):
    """`MIN(x)`."""

    name = "min"
    sql_names = ("MIN",)
    nodes = (exp.Min,)
    documentation = "A value near the lowest of a number with bounds, selected by its rank."
    example = "SELECT sex, MIN(age) AS youngest FROM census GROUP BY sex"
    rank = Fraction(0)
    rank_name = "the lowest row"
    answer_nodes = (exp.Min,)


class Maximum(_Extreme):
    """`MAX(x)`."""

    name = "max"
    sql_names = ("MAX",)
    nodes = (exp.Max,)
    documentation = "A value near the highest of a number with bounds, selected by its rank."
    example = "SELECT sex, MAX(age) AS oldest FROM census GROUP BY sex"
    rank = Fraction(1)
    rank_name = "the highest row"
    answer_nodes = (exp.Max,)


class Median(_RankedAggregate, SupportsAnswerTotals):
    """`MEDIAN(x)`."""

    name = "median"
    sql_names = ("MEDIAN",)
    nodes = (exp.Median,)
    documentation = "A value near the middle of a number with bounds, selected by its rank."
    example = "SELECT sex, MEDIAN(hours) AS hours FROM census GROUP BY sex"
    rank_name = "the middle"
    answer_nodes = (exp.Median,)

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        return make_number_type()

    @classmethod
    def check_answer_argument(cls, argument: Expression, node: exp.Expression) -> None:
        refuse_non_number(argument, node)


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(_RankedAggregate):
    """`QUANTILE_CONT(x, p)`, `QUANTILE(x, p)`, `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)`."""

    name = "quantile"
    sql_names = ("QUANTILE_CONT", "PERCENTILE_CONT")
    nodes = (exp.PercentileCont, exp.Quantile)
    parts = ("this", "expression", "quantile")
    documentation = (
        "A value near a quantile of a number with bounds, selected by its rank. Its probability is a "
        "constant from 0 to 1, of four digits at most. To see the spread in values, ask for several."
    )
    example = (
        "SELECT QUANTILE_CONT(hours, 0.9) AS high, "
        "PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY hours) AS low FROM census"
    )

    probability: Fraction = HALF

    @property
    def rank(self) -> Fraction:
        return self.probability

    @classmethod
    def resolve(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> Aggregate:
        probability = _parse_probability(node.args.get("quantile") or node.expression, node)
        argument = cls.check_argument(resolve_scalar(node.this, scope), node.this, written)
        return cls(argument=argument, condition=condition, probability=probability)

    @classmethod
    def resolve_within_group(
        cls,
        node: exp.WithinGroup,
        argument: Expression,
        condition: Expression | None,
        *,
        is_descending: bool,
    ) -> Aggregate | None:
        if not isinstance(node.this, exp.PercentileCont) or node.this.expression is not None:
            return None
        probability = _parse_probability(node.this.this, node)
        argument = cls.check_argument(argument, node.expression.expressions[0].this, node)
        return cls(
            argument=argument,
            condition=condition,
            probability=1 - probability if is_descending else probability,
        )


def _parse_probability(node: exp.Expression | None, written: exp.Expression) -> Fraction:
    value = parse_fraction(node)
    if value is None or not 0 <= value <= 1 or value.denominator > 10_000:
        refuse_query(
            f"«{format_snippet(written)}» needs a constant from 0 to 1.",
            "Use four digits at most: 0.9, 0.9975.",
        )
    return value
