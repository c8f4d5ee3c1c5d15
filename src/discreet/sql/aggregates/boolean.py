"""BOOL_OR(p), BOOL_AND(p): whether a condition holds in some row, or in every row, of a group.

Measures     H, the rows that settle the matter (p true for BOOL_OR, p false for BOOL_AND), and N, the rows in
             which p is not NULL; no N if the policy declares the number of rows and the query does not change
             it. Both are counts: COUNT_IF(p) and COUNT(p) of the same rows share them.
Sensitivity  that of a count. The boolean itself can turn with a single row, whatever the size of the group,
             so it is not what noise is added to. H and N count rows: one person with at most R rows moves
             each by at most R over all groups together under presence. Under replace-one R rows leave and R
             arrive, in the same group or in another, and each may settle the matter or not: 2 R over all
             groups, R in a single cell, where H lies between 0 and R before and after.
Estimate     a decision, which is post-processing. With h and k the half-widths of the noise of H and N at
             confidences that hold jointly: settled (TRUE for BOOL_OR, FALSE for BOOL_AND) where H > h; else
             the opposite where N > k; else NULL: there may be no row at all, and SQL's value is then NULL.
Error        no interval, and no ±. At the stated confidence the answer is right where no row settles the
             matter, since noise alone exceeds h too rarely; and where more than 2 h rows do, since then H > h
             unless the noise is below −h. In between either answer may be given. This follows from the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import ClassVar, NoReturn

import numpy as np
from sqlglot import exp

from discreet.sql import expression_sql
from discreet.sql.aggregates.base import (
    Aggregate,
    Decomposer,
    Decomposition,
    PlannedNoise,
    RankError,
    SupportsAnswerTotals,
    SupportsPersonTotals,
    refuse_distinct,
)
from discreet.sql.expression_tree import Expression
from discreet.sql.expression_types import BOOLEAN, Family, Type
from discreet.sql.interval_estimates import Estimate, ReleasedPrimitive, split_confidence
from discreet.sql.primitives import Primitive, compile_filter
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.released_schema import MeasureForm, OpaqueMeasure
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import build_call, resolve_condition


class _Decision(SupportsPersonTotals, SupportsAnswerTotals):
    """Base of BOOL_OR and BOOL_AND: one row whose condition is `settling_value` settles the matter."""

    is_linear = True
    keeps_values = True
    settling_value: ClassVar[bool]

    @classmethod
    def resolve(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> Aggregate:
        refuse_distinct(node, written)
        return cls(argument=resolve_condition(node.this, scope, cls.sql_names[0]), condition=condition)

    @property
    def predicate(self) -> Expression:
        """The argument, which is a condition."""
        assert self.argument is not None
        return self.argument

    @property
    def result_type(self) -> Type:
        return BOOLEAN

    # -- Measurement ----------------------------------------------------------------------------------------

    def decompose(self, decomposer: Decomposer) -> Decomposition:
        builder = decomposer.builder
        settling = decomposer.add_primitive(builder.build_count(condition=self._settling_rows))
        has_all_rows = self.condition is None and not self.predicate.type.is_nullable
        if decomposer.public_rows is not None and has_all_rows:
            return Decomposition(primitive_names=(settling,), public_rows=decomposer.public_rows)
        rows = decomposer.add_primitive(builder.build_count(self.predicate, self.condition))
        return Decomposition(primitive_names=(settling, rows))

    @property
    def _settling_rows(self) -> Expression:
        """Condition of the rows that settle the matter, FILTER included; NULL settles nothing."""
        call = exp.Anonymous(this=self.sql_names[0])  # named if its types were wrong, which they are not
        found = self.predicate if self.settling_value else build_call("not", [self.predicate], call)
        return found if self.condition is None else build_call("and", [self.condition, found], call)

    # -- Estimate and error ---------------------------------------------------------------------------------

    def estimate(
        self,
        decomposition: Decomposition,
        released: Sequence[ReleasedPrimitive],
        confidence: float,
        *,
        raw: bool = False,
    ) -> Estimate:
        lows = [each.get_interval(split_confidence(confidence, len(released)))[0] for each in released]
        is_settled = lows[0] > 0
        has_rows = np.full(is_settled.shape, True) if decomposition.public_rows else lows[-1] > 0
        values = np.where(is_settled, float(self.settling_value), float(not self.settling_value))
        unknown = np.full(values.shape, np.nan)
        return Estimate(values=np.where(is_settled | has_rows, values, np.nan), low=unknown, high=unknown)

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        return OpaqueMeasure(has_interval=False)

    def bound_row_error(self, noise: PlannedNoise) -> RankError | None:
        rows = floor(2 * noise.half_widths[0]) + 1
        word = str(self.settling_value).lower()
        enough = "one is" if rows == 1 else f"at least {rows:,} rows are"
        why = f"right where no row is {word}, or {enough}"
        return RankError(rows=rows, description=why, is_decision=True)

    def describe_error_unit(self, column: str, *, is_in_rows: bool) -> str:
        return f"rows from which {column} is right"

    def refuse_tolerance(self, tolerance: object) -> NoReturn:
        refuse_query(
            f"{self.sql_names[0]} is true or false, so it cannot be {tolerance}.",
            "Ask with epsilon; the plan says from how many rows on the answer is right.",
        )

    # -- Per person, and over an answer ---------------------------------------------------------------------

    @classmethod
    def resolve_person_total(
        cls, node: exp.Expression, written: exp.Expression, scope: RowScope, condition: Expression | None
    ) -> SupportsPersonTotals:
        return cls(argument=resolve_condition(node.this, scope, cls.sql_names[0]), condition=condition)

    def infer_person_total_type(self, max_rows: int) -> Type:
        return self.predicate.type

    def compile_person_total(self, max_rows: int) -> str:
        # FALSE comes before TRUE, and NULL is left out: every engine's dialect has this already
        extreme = "max" if self.settling_value else "min"
        return f"{extreme}({expression_sql.ordering_operand(self.predicate)}){compile_filter(self.condition)}"

    @classmethod
    def infer_answer_total_type(cls, argument: Expression | None) -> Type:
        return BOOLEAN

    @classmethod
    def check_answer_argument(cls, argument: Expression, node: exp.Expression) -> None:
        if argument.type.family not in (Family.BOOLEAN, Family.NULL):
            refuse_query(f"«{format_snippet(node)}» needs a condition.", "Compare it with something.")


class BoolOr(_Decision):
    """`BOOL_OR(p)`."""

    name = "bool_or"
    sql_names = ("BOOL_OR",)
    nodes = (exp.LogicalOr,)
    documentation = (
        "TRUE if a condition holds in some row, by a noisy count of those rows; NULL if there may be no "
        "rows. It has no ±: the plan and the answer say from how many rows on it is right. A single row "
        "cannot be seen: that is what the promise is about."
    )
    example = "SELECT sex, BOOL_OR(age >= 90) AS has_old FROM census GROUP BY sex"
    settling_value = True
    answer_nodes = (exp.LogicalOr,)


class BoolAnd(_Decision):
    """`BOOL_AND(p)`; DuckDB has no `EVERY`."""

    name = "bool_and"
    sql_names = ("BOOL_AND",)
    nodes = (exp.LogicalAnd,)
    documentation = (
        "TRUE if a condition fails in no row, by a noisy count of the rows where it fails; otherwise as "
        "BOOL_OR. There is no EVERY, as in DuckDB."
    )
    example = "SELECT sex, BOOL_AND(hours >= 10) AS all_work FROM census GROUP BY sex"
    settling_value = False
    answer_nodes = (exp.LogicalAnd,)
