"""Private selection of values: MEDIAN, QUANTILE, MIN, MAX and MODE, from how often each value occurs.

The exponential mechanism selects each group's value; `sql.aggregates.quantile` and `mode` say which one, and
argue its sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.sql_quoting import quote_identifier
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile, ValueCounts
from discreet.mechanisms.sampling import Integers
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.aggregates.selection import SelectedAggregate, SelectionBudget
from discreet.sql.contribution_bounding import BoundedQuery
from discreet.sql.expression_tree import Column
from discreet.sql.key_domains import find_declared_column
from discreet.sql.primitives import Grid
from discreet.sql.query import Query
from discreet.sql.refusal import refuse_query


@dataclass(frozen=True, kw_only=True)
class ValueSelection:
    """A statement that counts values per group, and the mechanism that selects one value for each group."""

    statement: str
    mechanism: Quantile | Exponential
    guarantee: PureDP
    grid: Grid | None
    domain: tuple[str, ...]

    def select_value(self, values: Integers, counts: Integers, random: Randomness) -> int:
        """Return the selected value in grid steps, or its index in the domain."""
        if isinstance(self.mechanism, Quantile):
            picked = self.mechanism.release(Exact(ValueCounts(values, counts)), random).value
            return picked if self.grid is None else min(picked, self.grid.high)
        scores = np.zeros(len(self.domain), np.int64)
        scores[values] = counts
        return self.mechanism.release(Exact(scores), random).value


def plan_value_selection(
    measure: SelectedAggregate,
    grid: Grid | None,
    epsilon: Fraction,
    bounding: BoundedQuery,
    question: Query,
    policy: Policy,
) -> ValueSelection:
    """Return the statement and the mechanism for one measure that selects a value."""
    relation = bounding.contribution.relation
    budget = SelectionBudget(
        epsilon=epsilon,
        rows=bounding.contribution.rows * bounding.contribution.groups,
        relation=relation,
        has_groups=bool(question.keys),
    )
    domain: tuple[str, ...] = ()
    if measure.needs_declared_values:
        domain = _require_declared_values(measure, question, policy)
        value_sql = _compile_place(measure, domain)
    else:
        assert grid is not None
        value_sql = grid.steps_sql
    return ValueSelection(
        statement=_compile_value_counts(value_sql, measure, question),
        mechanism=measure.build_mechanism(budget, grid),
        guarantee=PureDP(epsilon=epsilon, relation=relation),
        grid=grid,
        domain=domain,
    )


def _compile_place(measure: SelectedAggregate, domain: tuple[str, ...]) -> str:
    """Return the SQL of a value's place among the declared ones."""
    places = " ".join(
        f"WHEN {expression_sql.format_literal(value)} THEN {place}" for place, value in enumerate(domain)
    )
    assert measure.argument is not None
    return f"CASE {expression_sql.compile_value(measure.argument)} {places} END"


def _compile_value_counts(value_sql: str, measure: SelectedAggregate, question: Query) -> str:
    """Return the SQL of group keys, value and its number of rows; rows without a value are left out."""
    keys = [
        f"{expression_sql.compile_value(key)} AS {quote_identifier(column.name)}"
        for column, key in question.keys
    ]
    outputs = ", ".join([*keys, f"{value_sql} AS v", "count(*) AS n"])
    condition = "" if measure.condition is None else f" AND {expression_sql.compile_value(measure.condition)}"
    names = ", ".join([*(quote_identifier(column.name) for column, _ in question.keys), "v"])
    source = compiled.compile_rows(question.rows)
    groups = expression_sql.format_column_positions(len(keys) + 1)
    inner = (
        f"SELECT {outputs} FROM ({source}) AS s WHERE ({value_sql}) IS NOT NULL{condition} GROUP BY {groups}"
    )
    return f"SELECT * FROM ({inner}) AS g ORDER BY {names}"


def _require_declared_values(measure: SelectedAggregate, question: Query, policy: Policy) -> tuple[str, ...]:
    argument = measure.argument
    origin = find_declared_column(argument, question.rows, policy) if isinstance(argument, Column) else None
    if origin is None or origin.values is None:
        refuse_query(
            f"{measure.name.upper()} needs a column of declared values.",
            "Declare values in the policy, or GROUP BY and COUNT.",
        )
    return origin.values
