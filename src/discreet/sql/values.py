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

from discreet.core.guarantees import PureDP
from discreet.core.policy import Policy
from discreet.core.randomness import Randomness
from discreet.core.relations import Relation
from discreet.core.values import Exact
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.grouped import Grouped
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.sampling import Integers
from discreet.sql import compile as compiled
from discreet.sql import emit
from discreet.sql.aggregates import Measure
from discreet.sql.bound import Bounding
from discreet.sql.domains import declared_column
from discreet.sql.emit import quoted
from discreet.sql.expressions import Column
from discreet.sql.primitives import Grid
from discreet.sql.refusal import refuse
from discreet.sql.resolve import Question

PROBABILITIES = {"median": Fraction(1, 2), "min": Fraction(0), "max": Fraction(1)}
INSIDE = 0.95  # probability with which a released MIN or MAX lies within the range of the data


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A statement that counts values per group, and the mechanism that selects one value for each group."""

    statement: str
    mechanism: Quantile | Exponential
    guarantee: PureDP
    on: Grid | None
    domain: tuple[str, ...]

    def pick(self, values: Integers, counts: Integers, random: Randomness) -> int:
        """Return the selected value in grid steps, or its index in the domain."""
        if isinstance(self.mechanism, Quantile):
            picked = self.mechanism.release(Exact(Grouped(values, counts)), random).value
            return picked if self.on is None else min(picked, self.on.high)
        scores = np.zeros(len(self.domain), np.int64)
        scores[values] = counts
        return self.mechanism.release(Exact(scores), random).value


def counted(
    measure: Measure,
    on: Grid | None,
    epsilon: Fraction,
    bounding: Bounding,
    question: Question,
    policy: Policy,
) -> Counted:
    """Return the statement and the mechanism for one measure that selects a value."""
    rows = bounding.contribution.rows * bounding.contribution.groups
    relation = bounding.contribution.relation
    guarantee = PureDP(epsilon=epsilon, relation=relation)
    if measure.function == "mode":
        domain = _domain(measure, question, policy)
        mechanism = Exponential(epsilon=epsilon, sensitivity=rows, relation=relation)
        places = " ".join(f"WHEN {emit.literal(value)} THEN {place}" for place, value in enumerate(domain))
        assert measure.argument is not None
        text = f"CASE {emit.value(measure.argument)} {places} END"
        statement = _statement(text, measure, question)
        return Counted(statement=statement, mechanism=mechanism, guarantee=guarantee, on=None, domain=domain)
    assert on is not None
    probability = PROBABILITIES.get(measure.function, measure.probability)
    top, bottom = probability.numerator, probability.denominator
    spread = Fraction(bottom, 2 * max(top, bottom - top))
    reduced = epsilon * spread if relation is Relation.VALUE and question.keys else epsilon
    quantile = Quantile(
        epsilon=reduced,
        low=on.low,
        high=max(on.high, on.low + 1),  # a grid of one value is no choice
        probability=probability,
        rows_per_person=rows,
        relation=relation,
    )
    if measure.function in ("min", "max"):
        quantile = quantile.inward(INSIDE)
    statement = _statement(on.text, measure, question)
    return Counted(statement=statement, mechanism=quantile, guarantee=guarantee, on=on, domain=())


def _statement(text: str, measure: Measure, question: Question) -> str:
    """Return the SQL of group keys, value and its number of rows; rows without a value are left out."""
    keys = [f"{emit.value(key)} AS {quoted(column.name)}" for column, key in question.keys]
    outputs = ", ".join([*keys, f"{text} AS v", "count(*) AS n"])
    condition = "" if measure.condition is None else f" AND {emit.value(measure.condition)}"
    names = ", ".join([*(quoted(column.name) for column, _ in question.keys), "v"])
    source = compiled.rows(question.rows)
    groups = emit.places(len(keys) + 1)
    inner = f"SELECT {outputs} FROM ({source}) AS s WHERE ({text}) IS NOT NULL{condition} GROUP BY {groups}"
    return f"SELECT * FROM ({inner}) AS g ORDER BY {names}"


def _domain(measure: Measure, question: Question, policy: Policy) -> tuple[str, ...]:
    argument = measure.argument
    origin = declared_column(argument, question.rows, policy) if isinstance(argument, Column) else None
    if origin is None or origin.values is None:
        refuse(
            "MODE needs a column of declared values.", "Declare values in the policy, or GROUP BY and COUNT."
        )
    return origin.values
