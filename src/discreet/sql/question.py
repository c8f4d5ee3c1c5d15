"""A question: what is asked of the rows, and what is done with the table that is released."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.sql.aggregates import Measure
from discreet.sql.expressions import Column, Expression
from discreet.sql.tree import Rows

Total = tuple[Column, str, Expression | None]


@dataclass(frozen=True, kw_only=True)
class After:
    """One SELECT over released rows: outputs, filter, order, limit; aggregates are free there.

    With `totals` or `keys` it works on one row for each group, where the keys are columns g0, g1 ….
    """

    outputs: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    totals: tuple[Total, ...] = ()
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """One private aggregate over rows, its keys k0, k1 … and measures m0, m1 …, and the SELECTs around it."""

    rows: Rows
    keys: tuple[tuple[Column, Expression], ...]
    measures: tuple[tuple[Column, Measure], ...]
    after: tuple[After, ...]
