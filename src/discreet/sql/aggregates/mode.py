"""MODE(x): the commonest of the declared values.

Measures     how often each declared value occurs in the group; the exponential mechanism selects one.
Sensitivity  over all groups together one person with at most R rows moves the counts by R in each direction:
             the mechanism is charged for that.
Estimate     the selected value.
Error        how much commoner another value may be, in rows, from the plan alone.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile
from discreet.sql.aggregates.base import Aggregate, Decomposer, Decomposition, RankError
from discreet.sql.aggregates.selection import REMARK, SelectedAggregate, SelectionBudget, format_row_count
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Family, Type, make_number_type
from discreet.sql.primitives import Grid


class Mode(SelectedAggregate):
    """`MODE(x)`, `MODE() WITHIN GROUP (ORDER BY x)`."""

    name = "mode"
    sql_names = ("MODE",)
    nodes = (exp.Mode,)
    documentation = (
        "The commonest of the values that the policy declares for a column, or one nearly as common."
    )
    example = "SELECT MODE(drug) AS commonest FROM prescriptions"
    needs_declared_values = True

    @classmethod
    def resolve_within_group(
        cls,
        node: exp.WithinGroup,
        argument: Expression,
        condition: Expression | None,
        *,
        is_descending: bool,
    ) -> Aggregate | None:
        return cls(argument=argument, condition=condition) if node.this.this is None else None

    @property
    def result_type(self) -> Type:
        assert self.argument is not None
        if self.argument.type.family is Family.NUMBER:
            return make_number_type()
        return replace(self.argument.type, is_nullable=True)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        return Decomposition()

    def build_mechanism(self, budget: SelectionBudget, grid: Grid | None) -> Quantile | Exponential:
        return Exponential(epsilon=budget.epsilon, sensitivity=budget.rows, relation=budget.relation)

    def bound_selection_error(
        self, mechanism: Quantile | Exponential, values: int, confidence: float
    ) -> RankError:
        assert isinstance(mechanism, Exponential)
        rows = mechanism.shortfall(values, confidence)
        return RankError(
            rows=rows, description=f"no value is more than {format_row_count(rows)} commoner", remark=REMARK
        )
