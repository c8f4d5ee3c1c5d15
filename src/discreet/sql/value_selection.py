"""Private selection of values: MEDIAN, QUANTILE, MIN, MAX and MODE, from how often each value occurs.

The exponential mechanism selects each group's value. Over all groups together one person moves the scores by
R rows in total under presence. Under value, R rows leave and R rows arrive, possibly in another group; so
with groups a quantile b / a is charged for 2 max(b, a - b) R, its sensitivity when the rows move between
groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact_values import Exact
from discreet.core.guarantees import PureDP
from discreet.core.neighbor_relations import Relation
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.sampling import Integers
from discreet.mechanisms.value_counts import ValueCounts
from discreet.sql import expression_sql
from discreet.sql import sql_compiler as compiled
from discreet.sql.aggregates import Measure
from discreet.sql.contribution_bounding import BoundedQuery
from discreet.sql.expression_sql import quote_identifier
from discreet.sql.expression_tree import Column
from discreet.sql.key_domains import find_declared_column
from discreet.sql.primitives import Grid
from discreet.sql.refusal import refuse_query
from discreet.sql.resolver import Query

PROBABILITIES = {"median": Fraction(1, 2), "min": Fraction(0), "max": Fraction(1)}
INSIDE = 0.95  # probability with which a released MIN or MAX lies within the range of the data


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
    measure: Measure,
    grid: Grid | None,
    epsilon: Fraction,
    bounding: BoundedQuery,
    question: Query,
    policy: Policy,
) -> ValueSelection:
    """Return the statement and the mechanism for one measure that selects a value."""
    rows = bounding.contribution.rows * bounding.contribution.groups
    relation = bounding.contribution.relation
    guarantee = PureDP(epsilon=epsilon, relation=relation)
    if measure.function == "mode":
        domain = _require_declared_values(measure, question, policy)
        mechanism = Exponential(epsilon=epsilon, sensitivity=rows, relation=relation)
        places = " ".join(
            f"WHEN {expression_sql.format_literal(value)} THEN {place}" for place, value in enumerate(domain)
        )
        assert measure.argument is not None
        text = f"CASE {expression_sql.compile_value(measure.argument)} {places} END"
        statement = _compile_value_counts(text, measure, question)
        return ValueSelection(
            statement=statement, mechanism=mechanism, guarantee=guarantee, grid=None, domain=domain
        )
    assert grid is not None
    probability = PROBABILITIES.get(measure.function, measure.probability)
    top, bottom = probability.numerator, probability.denominator
    spread = Fraction(bottom, 2 * max(top, bottom - top))
    reduced = epsilon * spread if relation is Relation.VALUE and question.keys else epsilon
    quantile = Quantile(
        epsilon=reduced,
        low=grid.low,
        high=max(grid.high, grid.low + 1),  # a grid of one value is no choice
        probability=probability,
        rows_per_person=rows,
        relation=relation,
    )
    if measure.function in ("min", "max"):
        quantile = quantile.aim_inward(INSIDE)
    statement = _compile_value_counts(grid.steps_sql, measure, question)
    return ValueSelection(statement=statement, mechanism=quantile, guarantee=guarantee, grid=grid, domain=())


def _compile_value_counts(value_sql: str, measure: Measure, question: Query) -> str:
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


def _require_declared_values(measure: Measure, question: Query, policy: Policy) -> tuple[str, ...]:
    argument = measure.argument
    origin = find_declared_column(argument, question.rows, policy) if isinstance(argument, Column) else None
    if origin is None or origin.values is None:
        refuse_query(
            "MODE needs a column of declared values.", "Declare values in the policy, or GROUP BY and COUNT."
        )
    return origin.values
