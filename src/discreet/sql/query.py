"""A resolved query: the private aggregate over rows, and the post-processing of the released table."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.sql.aggregates.base import Aggregate
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.relational_algebra import Rows

Total = tuple[Column, str, Expression | None]


@dataclass(frozen=True, kw_only=True)
class PostProcessingStage:
    """One post-processing SELECT over released rows: outputs, filter, order, limit; its aggregates are free.

    With `totals` or `keys` it groups the rows first; the keys become columns g0, g1 ….
    """

    outputs: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    totals: tuple[Total, ...] = ()
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Query:
    """One private aggregate over rows (keys k0, k1 …, measures m0, m1 …) and its post-processing SELECTs."""

    rows: Rows
    keys: tuple[tuple[Column, Expression], ...]
    measures: tuple[tuple[Column, Aggregate], ...]
    post_processing: tuple[PostProcessingStage, ...]
