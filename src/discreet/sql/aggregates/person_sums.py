"""Sums and means of one person's rows, in a subquery that groups by the person: exact, and not released.

A floating-point sum would depend on the order of rows, so whole steps are summed. A DOUBLE without bounds has
no steps: it is summed in the order of ranks, which depend on the person's own rows alone.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.core.sql_quoting import quote_identifier
from discreet.sql import exact_numbers, expression_sql
from discreet.sql.aggregates.base import SupportsPersonTotals
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import (
    MOST_STEPS,
    ZERO,
    Bound,
    Family,
    Type,
    choose_grid_step,
    get_grid_bounds,
    make_double_type,
    make_number_type,
)
from discreet.sql.function_sql import replace_infinities
from discreet.sql.primitives import compile_filter, compile_steps
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import RANK
from discreet.sql.row_sources import RowScope

WIDEST = 1 << 53  # beyond this a double no longer represents every whole number
MORE_ROUNDINGS = 8
HALF_ULP = Fraction(1, 2**52)


class PersonSum(SupportsPersonTotals):
    """Base of SUM and AVG as totals of one person's rows."""

    @classmethod
    def resolve_person_total(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> SupportsPersonTotals:
        total = super().resolve_person_total(node, written, scope, condition)
        if total.argument is None or total.argument.type.family is not Family.NUMBER:
            refuse_query(
                f"«{format_snippet(written)}» needs a number.", "Name a column of type integer or decimal."
            )
        return total

    @property
    def person_total_may_be_null(self) -> bool:
        assert self.argument is not None
        kind = self.argument.type
        return super().person_total_may_be_null or not (kind.is_bounded or kind.is_exact)  # it may overflow


# -- Types --------------------------------------------------------------------------------------------------


def infer_person_mean_type(kind: Type, max_rows: int) -> Type:
    """Return the type of a person's mean, a DOUBLE."""
    return _widen_by_rounding(*_get_summed_bounds(kind), max_rows)


def infer_person_sum_type(kind: Type, max_rows: int) -> Type:
    """Return the type of a person's sum: that of exact numbers is exact."""
    low, high = _get_summed_bounds(kind)
    if low is not None and high is not None:
        low, high = max_rows * min(low, ZERO), max_rows * max(high, ZERO)
    if kind.is_exact:
        reach = None if kind.max_magnitude is None else max_rows * kind.max_magnitude
        total = make_number_type(low, high, kind.step, numeric=kind.numeric, magnitude=reach)
        if total.is_exact:
            return total
    if low is None or kind.step is None or kind.is_exact or kind.max_steps >= WIDEST:
        return _widen_by_rounding(low, high, max_rows)
    # summed in whole steps
    found = make_double_type(low, high) if kind.step == 1 else _widen_by_rounding(low, high, max_rows)
    return replace(found, step=kind.step)


def _get_summed_bounds(kind: Type) -> tuple[Bound, Bound]:
    """Return the bounds of the summed values: a DOUBLE is first rounded to a grid, and may move slightly."""
    if kind.low is None or kind.high is None:
        return None, None
    if kind.is_exact:
        return kind.low, kind.high
    step = choose_grid_step(kind)
    low, high = get_grid_bounds(kind, step)
    return min(kind.low, low * step), max(kind.high, high * step)


def _widen_by_rounding(low: Bound, high: Bound, max_rows: int) -> Type:
    """Return a DOUBLE type with room for one rounding per row, up to `max_rows`, and those of conversions."""
    if low is None or high is None:
        return make_double_type()
    slack = max(abs(low), abs(high)) * (max_rows + MORE_ROUNDINGS) * HALF_ULP
    return make_double_type(low - slack, high + slack)


# -- SQL ----------------------------------------------------------------------------------------------------


def compile_person_sum(
    argument: Expression, condition: Expression | None, max_rows: int, *, is_mean: bool
) -> str:
    """Return the SQL of a person's sum or mean, which does not depend on the order of rows."""
    kind, where = argument.type, compile_filter(condition)
    step = choose_grid_step(kind)
    low, high = get_grid_bounds(kind, step) if kind.is_bounded else (-WIDEST, WIDEST)
    exactly = kind.is_exact and max_rows * kind.max_steps < MOST_STEPS
    if not exactly and max(-low, high) >= WIDEST:
        inner = exact_numbers.convert_to_double(expression_sql.compile_operand(argument), kind)
        call = "avg" if is_mean else "sum"
        return replace_infinities(f"{call}({inner} ORDER BY {quote_identifier(RANK)}){where}")
    # steps have 64 bits, but an exact number of up to 38 digits may need more
    narrow = kind.is_bounded and max(-low, high) < exact_numbers.MOST_INTEGER
    inner = compile_steps(argument, step, low, high) if narrow else expression_sql.compile_operand(argument)
    total = f"sum({inner}){where}"
    if not is_mean and (exactly or step == 1):
        reach = max_rows * (kind.max_steps if exactly else max(-low, high))
        return f"CAST({total} AS BIGINT)" if reach < 1 << 62 else total
    mean = f" / (count({inner}){where})" if is_mean else ""
    return f"(CAST({total} AS DOUBLE) * {step.numerator} / {step.denominator}{mean})"
