"""Contribution bounding: how each person's rows are limited, decided from text and policy alone.

by rank      the prepared store ranks each person's rows, so keeping the first R is a filter. One person then
             has at most R rows in all groups together.
by question  if a filter would waste the ranked rows, or if the policy bounds groups and the promise has a
             tail: rows are truncated after the filter; see `row_truncation`. With tail 0 noise is scaled to
             L1, in which C groups of R rows and any C R rows are the same, so rank suffices. The same rows
             are kept whichever way the engine finds them. Without a prepared store only the selected rows are
             sorted.
by weight    all selected rows count, and the rows of a person who has more than R count for R in total; see
             `row_weighting`. This is the expectation of choosing R of them at random. It answers aggregates
             that are linear in rows, over declared groups: COUNT, SUM, AVG, VARIANCE and STDDEV. Used if the
             policy says so, and by default without a prepared store. Totals and noise are 64-bit numbers, of
             which the weights take 15 bits: if numbers are so large that the rest may not suffice, rows are
             truncated instead. It suffices for 2**30 rows at the bounds in a group, and for noise of 2**13
             times one person's contribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.core.policy import Bounds, Policy
from discreet.core.relations import Relation
from discreet.mechanisms.sensitivity import Contribution
from discreet.sql.aggregates import Measure
from discreet.sql.primitives import grid
from discreet.sql.resolve import Question
from discreet.sql.tree import KEY, LINK, Bounded, Filter, Order, People, Project, Rows, Scan, Weighted
from discreet.sql.weighing import PARTS

LINEAR = ("count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
LARGEST, FEWEST = 1 << 34, 1 << 18


@dataclass(frozen=True, kw_only=True)
class Bounding:
    """A query with bounded rows, the most that one person can then contribute, and the bounding rule.

    With row weights, counts are in units of 1 / `weight_denominator`.
    """

    question: Question
    contribution: Contribution
    rule: str
    parts: int = 1

    @property
    def bounds_itself(self) -> bool:
        """True if the query's own statement bounds contributions, rather than the prepared store."""
        return isinstance(self.question.rows, Bounded | Weighted)

    @property
    def sentence(self) -> str:
        """Sentence with the rule and the most that one person's rows count for."""
        rows, groups = self.contribution.rows, self.contribution.groups
        most = f"{rows:,} row{'s' if rows > 1 else ''}"
        if self.question.rows.people is not People.COLUMN:
            return self.rule
        if self.parts > 1:
            return f"{self.rule}: all rows count, those of one person for at most {most} in total"
        return f"{self.rule}: at most {most} per person" + (
            f" in each of {groups:,} groups" if groups > 1 else ""
        )


def bound(
    question: Question, policy: Policy, relation: Relation, *, by_groups: bool = True, declared: bool = False
) -> Bounding:
    """Return the query with every person's rows bounded; also in each group if that reduces noise.

    Without declared groups partition selection counts people, so rows are truncated, not weighted.
    """
    scan = _chain(question.rows)
    if scan is None or scan.people is not People.COLUMN:
        rule = "a person is one row" if question.rows.people is People.ROW else "by rank"
        contribution = Contribution(rows=question.rows.rows, relation=relation)
        return Bounding(question=question, contribution=contribution, rule=rule)
    table = policy.tables[scan.table]
    groups = table.groups_per_person if question.keys and by_groups else None
    if groups is None and declared and _weighs(question, scan, policy):
        return _by_weight(question, scan, policy, relation)
    by_rank = groups is None and not _filters(question.rows)
    if by_rank and not policy.in_place:
        contribution = Contribution(rows=scan.rows, relation=relation)
        return Bounding(question=question, contribution=contribution, rule="by rank")
    most = table.rows_per_person if groups is not None else scan.rows
    keys = tuple(key for _, key in question.keys)
    bounded = Bounded(
        source=_unbounded(question.rows, _order(policy, groups is not None)),
        most=most,
        groups=groups,
        keys=keys,
        sorts=not policy.embedded,
    )
    contribution = Contribution(rows=most, groups=groups or 1, relation=relation)
    rule = "by rank" if by_rank else "by question"
    return Bounding(question=replace(question, rows=bounded), contribution=contribution, rule=rule)


def _weighs(question: Question, scan: Scan, policy: Policy) -> bool:
    linear = all(measure.function in LINEAR for _, measure in question.measures)
    asked = policy.bounding is Bounds.WEIGHTS or (policy.bounding is None and policy.in_place)
    if not (asked and linear):
        return False
    largest = max((_largest(measure) for _, measure in question.measures), default=1)
    return max(scan.rows, FEWEST) * largest <= LARGEST


def _largest(measure: Measure) -> int:
    """Return the most that one row can add to any primitive of the measure."""
    if measure.function == "count" or measure.argument is None:
        return 1
    on = grid(measure.argument)
    squares = 0 if measure.function in ("sum", "avg") else on.width**2
    return max(abs(on.low), abs(on.high), on.width, squares, 1)


def _by_weight(question: Question, scan: Scan, policy: Policy, relation: Relation) -> Bounding:
    weighted = Weighted(
        source=_unbounded(question.rows, Order.NONE if policy.in_place else Order.RANKED),
        most=scan.rows,
        sorts=not policy.embedded,
    )
    return Bounding(
        question=replace(question, rows=weighted),
        contribution=Contribution(rows=scan.rows, relation=relation),
        rule="by weight",
        parts=PARTS,
    )


def _order(policy: Policy, ranked: bool) -> Order:
    return Order.RANKED if ranked or not policy.in_place else Order.HASHED


def _chain(node: Rows) -> Scan | None:
    """Return the scan below filters and projections only; None if there is a join or a subquery total."""
    while isinstance(node, Filter | Project):
        node = node.source
    return node if isinstance(node, Scan) else None


def _filters(node: Rows) -> bool:
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            return True
        node = node.source
    return False


def _unbounded(node: Rows, order: Order) -> Rows:
    if isinstance(node, Filter | Project):
        return replace(node, source=_unbounded(node.source, order))
    assert isinstance(node, Scan)
    return replace(node, kept=None) if order is Order.RANKED else _unranked(node, order)


def _unranked(node: Scan, order: Order) -> Scan:
    """Return the scan without link columns: a query of one table needs none, and they depend on ranks."""
    pairs = zip(node.stored, node.columns, strict=True)
    shown = [(name, column) for name, column in pairs if not name.startswith((KEY, LINK))]
    stored, columns = (tuple(each) for each in zip(*shown, strict=True)) if shown else ((), ())
    return replace(node, kept=None, order=order, stored=stored, columns=columns)
