"""COUNT(*), COUNT(x), COUNT_IF(p), COUNT(DISTINCT x): numbers of rows, of distinct values, of people.

Measures     one count: of rows, of rows in which x is not NULL, or of distinct values. If the policy declares
             that x has no NULLs, COUNT(x) is COUNT(*), so that the two are released and charged once.
Sensitivity  one person with at most R rows moves counts by R over all groups together, by 2 R under
             replace-one, where the rows may leave one group for another. Distinct values move no further: a
             row adds at most one. People without groups: by 1.
Estimate     the noisy count, rounded to a whole number. Where it is shown as itself, a negative one is shown
             as 0, and its interval is that of the count as shown; everything computed from it keeps the sign.
Error        the half-width of the noise, from the plan alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from discreet.sql import expression_sql
from discreet.sql.aggregates.base import (
    Aggregate,
    Decomposer,
    Decomposition,
    PlannedNoise,
    SupportsAnswerTotals,
    SupportsPersonTotals,
    describe_single_primitive,
)
from discreet.sql.conditional_arguments import split_condition
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import Type, make_integer_type, make_number_type
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive
from discreet.sql.primitives import Primitive, compile_filter
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.released_schema import MeasureForm
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import build_call, resolve_condition, resolve_scalar


class _CountingAggregate(SupportsPersonTotals):
    """Base of counts of rows and of distinct values: one primitive, which is the count itself."""

    is_whole_count = True

    @property
    def result_type(self) -> Type:
        return make_number_type(step=Fraction(1))

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        return estimate_count(released[0], confidence, raw=raw)

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        (name,) = decomposition.primitive_names
        return describe_single_primitive(name, primitives[name], is_whole=True)

    def bound_error(self, decomposition: Decomposition, noise: PlannedNoise) -> Fraction | None:
        return bound_rounded_error(noise)

    @property
    def person_total_may_be_null(self) -> bool:
        return False


class Count(_CountingAggregate, SupportsAnswerTotals):
    """`COUNT(*)`, `COUNT(x)`, `COUNT_IF(p)`."""

    name = "count"
    sql_names = ("COUNT(*)", "COUNT(x)", "COUNT_IF(p)")
    nodes = (exp.Count, exp.CountIf)
    parts = ("this", "big_int")
    documentation = (
        "The number of rows, of rows in which x is not NULL, or of rows where a condition holds. Where it is "
        "shown as itself, a negative one is shown as 0, unless the question is asked with `--raw`; in all "
        "that is computed from it, and in HAVING and ORDER BY, it keeps its sign, so that sums over many "
        "groups are right on average."
    )
    example = "SELECT sex, COUNT(*) AS n, COUNT_IF(age >= 65) AS old FROM census GROUP BY sex"
    is_linear = True
    answer_nodes = (exp.Count,)

    @classmethod
    def resolve(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> Aggregate:
        if isinstance(node, exp.CountIf):
            return cls(condition=_resolve_count_if(node, scope, condition))
        if _counts_rows(node):
            return cls(condition=condition)
        if isinstance(node.this, exp.Distinct):
            return CountDistinct.resolve(node, written, scope, condition)
        return super().resolve(node, written, scope, condition)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        argument, condition = self.argument, self.condition
        if argument is not None:
            argument, condition = split_condition(argument, condition, ignores_zero=False)
        count = decomposer.builder.build_count(argument, condition)
        return Decomposition(primitive_names=(decomposer.add_primitive(count),))

    def describe_error_unit(self, column: str, *, is_in_rows: bool) -> str:
        return "rows"

    @classmethod
    def has_person_total(cls, node: exp.Expression) -> bool:
        return not isinstance(node.this, exp.Distinct) or len(node.this.expressions) == 1

    @classmethod
    def resolve_person_total(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> SupportsPersonTotals:
        if isinstance(node, exp.CountIf):
            return cls(condition=_resolve_count_if(node, scope, condition))
        if _counts_rows(node):
            return cls(condition=condition)
        if isinstance(node.this, exp.Distinct):
            argument = resolve_scalar(node.this.expressions[0], scope)
            return CountDistinct(argument=argument, condition=condition)
        return super().resolve_person_total(node, written, scope, condition)

    def infer_person_total_type(self, max_rows: int) -> Type:
        every = self.argument is None and self.condition is None  # a group has at least one row
        return make_integer_type(1 if every else 0, max_rows)

    def compile_person_total(self, max_rows: int) -> str:
        inner = "*" if self.argument is None else expression_sql.compile_operand(self.argument)
        return f"count({inner}){compile_filter(self.condition)}"

    @classmethod
    def counts_answer_rows(cls, node: exp.Expression) -> bool:
        return _counts_rows(node)

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        return make_number_type(step=Fraction(1))


@dataclass(frozen=True, kw_only=True, repr=False)
class CountDistinct(_CountingAggregate):
    """`COUNT(DISTINCT x)`; of the person column it counts people."""

    name = "count_distinct"
    sql_names = ("COUNT(DISTINCT x)",)
    documentation = (
        "The number of distinct values; of the person column, the number of people. DISTINCT is allowed in "
        "no other aggregate."
    )
    example = "SELECT COUNT(DISTINCT patient) AS patients, COUNT(DISTINCT clinic) AS clinics FROM visits"

    counts_people: bool = False

    @classmethod
    def resolve(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> Aggregate:
        distinct = node.this.expressions
        if len(distinct) != 1:
            refuse_query(
                f"«{format_snippet(written)}» is not answered.", "Use DISTINCT only in COUNT(DISTINCT x)."
            )
        if scope.find_person_source(distinct[0]) is not None:
            return cls(condition=condition, counts_people=True)
        return cls(argument=resolve_scalar(distinct[0], scope), condition=condition)

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        if self.counts_people:
            count = decomposer.builder.build_people_count(self.condition)
        else:
            assert self.argument is not None
            count = decomposer.builder.build_distinct_count(self.argument, self.condition)
        return Decomposition(primitive_names=(decomposer.add_primitive(count),))

    def infer_person_total_type(self, max_rows: int) -> Type:
        return make_integer_type(0, max_rows)

    def compile_person_total(self, max_rows: int) -> str:
        assert self.argument is not None
        inner = expression_sql.compile_operand(self.argument)
        return f"count(DISTINCT {inner}){compile_filter(self.condition)}"


def _counts_rows(node: exp.Expression) -> bool:
    """Return True for COUNT(*) and COUNT()."""
    return node.this is None or isinstance(node.this, exp.Star)


def _resolve_count_if(node: exp.CountIf, scope: RowScope, filter_condition: Expression | None) -> Expression:
    """Return the condition that COUNT_IF counts, combined with a FILTER condition."""
    found = resolve_condition(node.this, scope, "COUNT_IF")
    return found if filter_condition is None else build_call("and", [filter_condition, found], node)


def estimate_count(primitive: ReleasedPrimitive, confidence: float, *, raw: bool = False) -> Estimate:
    """Return the estimate of a count, a whole number; its interval is nonnegative unless `raw`.

    The interval is that of the count as shown, and so at least as wide on the upper side as the noise:
    clipped on both sides, a count far below 0 would be shown as 0 ± 0.
    """
    low, high = primitive.get_interval(confidence)
    if not raw:
        low, high = np.maximum(low, 0), high + np.maximum(-primitive.values, 0)
    return Estimate(values=primitive.rounded_values, low=low, high=high)


def bound_rounded_error(noise: PlannedNoise) -> Fraction:
    """Return the error of a number that is one primitive; whole numbers in parts are rounded."""
    rounded = Fraction(1, 2) if noise.units[0] == 1 and noise.is_rounded else 0
    return noise.half_widths[0] * noise.units[0] + rounded
