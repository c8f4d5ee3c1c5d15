"""Aggregates that select a value: the exponential mechanism chooses it from how often each value occurs.

No noise is added to the value itself, so there is no interval: what an error in ranks means in values depends
on data that are not released. `sql.value_selection` writes the statement that counts the values of each group
and runs the mechanism that an aggregate of this kind names.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

from discreet.core.neighbor_relations import Relation
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile
from discreet.sql.aggregates.base import Aggregate, Decomposition, RankError
from discreet.sql.primitives import Grid, Primitive
from discreet.sql.released_schema import MeasureForm, OpaqueMeasure

REMARK = "How far that is in values depends on the data."


@dataclass(frozen=True, kw_only=True)
class SelectionBudget:
    """Epsilon of one selection, and the most rows that one person can move over all groups together."""

    epsilon: Fraction
    rows: int
    relation: Relation
    has_groups: bool


class SelectedAggregate(Aggregate):
    """An aggregate whose value is selected from a grid, or from the declared values of a column."""

    selects_value = True
    needs_declared_values: ClassVar[bool] = False
    """True if it selects one of the values that the policy declares, and not a number of a grid."""

    def describe_form(self, decomposition: Decomposition, primitives: Mapping[str, Primitive]) -> MeasureForm:
        return OpaqueMeasure(has_interval=False)

    @abstractmethod
    def build_mechanism(self, budget: SelectionBudget, grid: Grid | None) -> Quantile | Exponential:
        """Return the mechanism that selects the value of each group."""

    @abstractmethod
    def bound_selection_error(
        self, mechanism: Quantile | Exponential, values: int, confidence: float
    ) -> RankError:
        """Return the error in rows of a value selected from `values` declared ones."""


def format_row_count(rows: float) -> str:
    """Return a number of rows in words, rounded up.

    >>> format_row_count(0.2), format_row_count(1200.5)
    ('a row', '1,201 rows')
    """
    most = ceil(rows)
    return "a row" if most == 1 else f"{most:,} rows"
