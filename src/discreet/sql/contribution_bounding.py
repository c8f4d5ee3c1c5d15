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

from discreet.core.neighbor_relations import Relation
from discreet.core.policy import ContributionBounding, Policy
from discreet.mechanisms.sensitivity import ContributionBounds
from discreet.sql.query import Query
from discreet.sql.relational_algebra import (
    KEY,
    LINK,
    Filter,
    PrivacyUnit,
    Project,
    RowOrder,
    Rows,
    Scan,
    TruncatedRows,
    WeightedRows,
)
from discreet.sql.row_weighting import PARTS

LARGEST, FEWEST = 1 << 34, 1 << 18


@dataclass(frozen=True, kw_only=True)
class BoundedQuery:
    """A query with bounded rows, the most that one person can then contribute, and the bounding rule.

    With row weights, counts are in units of 1 / `weight_denominator`.
    """

    question: Query
    contribution: ContributionBounds
    rule: str
    weight_denominator: int = 1

    @property
    def is_bounded_in_statement(self) -> bool:
        """True if the query's own statement bounds contributions, rather than the prepared store."""
        return isinstance(self.question.rows, TruncatedRows | WeightedRows)

    @property
    def description(self) -> str:
        """Sentence with the rule and the most that one person's rows count for."""
        rows, groups = self.contribution.rows, self.contribution.groups
        most = f"{rows:,} row{'s' if rows > 1 else ''}"
        if self.question.rows.people is not PrivacyUnit.COLUMN:
            return self.rule
        if self.weight_denominator > 1:
            return f"{self.rule}: all rows count, those of one person for at most {most} in total"
        return f"{self.rule}: at most {most} per person" + (
            f" in each of {groups:,} groups" if groups > 1 else ""
        )


def bound_contributions(
    question: Query,
    policy: Policy,
    relation: Relation,
    *,
    bounds_groups: bool = True,
    has_declared_groups: bool = False,
) -> BoundedQuery:
    """Return the query with every person's rows bounded; also in each group if that reduces noise.

    Without declared groups partition selection counts people, so rows are truncated, not weighted.
    """
    scan = _find_single_scan(question.rows)
    if scan is None or scan.people is not PrivacyUnit.COLUMN:
        rule = "a person is one row" if question.rows.people is PrivacyUnit.ROW else "by rank"
        contribution = ContributionBounds(rows=question.rows.rows, relation=relation)
        return BoundedQuery(question=question, contribution=contribution, rule=rule)
    table = policy.tables[scan.table]
    groups = table.groups_per_person if question.keys and bounds_groups else None
    if groups is None and has_declared_groups and _can_weight_rows(question, scan, policy):
        return _bound_by_weight(question, scan, policy, relation)
    by_rank = groups is None and not _has_filter(question.rows)
    if by_rank and not policy.is_read_only:
        contribution = ContributionBounds(rows=scan.rows, relation=relation)
        return BoundedQuery(question=question, contribution=contribution, rule="by rank")
    most = table.rows_per_person if groups is not None else scan.rows
    keys = tuple(key for _, key in question.keys)
    bounded = TruncatedRows(
        source=_remove_truncation(question.rows, _choose_order(policy, groups is not None)),
        max_rows=most,
        max_groups=groups,
        keys=keys,
        uses_sorting=not policy.is_embedded,
    )
    contribution = ContributionBounds(rows=most, groups=groups or 1, relation=relation)
    rule = "by rank" if by_rank else "by question"
    return BoundedQuery(question=replace(question, rows=bounded), contribution=contribution, rule=rule)


def _can_weight_rows(question: Query, scan: Scan, policy: Policy) -> bool:
    linear = all(measure.is_linear for _, measure in question.measures)
    asked = policy.bounding is ContributionBounding.WEIGHTS or (
        policy.bounding is None and policy.is_read_only
    )
    if not (asked and linear):
        return False
    largest = max((measure.max_row_contribution for _, measure in question.measures), default=1)
    return max(scan.rows, FEWEST) * largest <= LARGEST


def _bound_by_weight(question: Query, scan: Scan, policy: Policy, relation: Relation) -> BoundedQuery:
    weighted = WeightedRows(
        source=_remove_truncation(question.rows, RowOrder.NONE if policy.is_read_only else RowOrder.RANKED),
        max_rows=scan.rows,
        uses_sorting=not policy.is_embedded,
    )
    return BoundedQuery(
        question=replace(question, rows=weighted),
        contribution=ContributionBounds(rows=scan.rows, relation=relation),
        rule="by weight",
        weight_denominator=PARTS,
    )


def _choose_order(policy: Policy, needs_rank: bool) -> RowOrder:
    return RowOrder.RANKED if needs_rank or not policy.is_read_only else RowOrder.HASHED


def _find_single_scan(node: Rows) -> Scan | None:
    """Return the scan below filters and projections only; None if there is a join or a subquery total."""
    while isinstance(node, Filter | Project):
        node = node.source
    return node if isinstance(node, Scan) else None


def _has_filter(node: Rows) -> bool:
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            return True
        node = node.source
    return False


def _remove_truncation(node: Rows, order: RowOrder) -> Rows:
    if isinstance(node, Filter | Project):
        return replace(node, source=_remove_truncation(node.source, order))
    assert isinstance(node, Scan)
    return replace(node, row_limit=None) if order is RowOrder.RANKED else _remove_link_columns(node, order)


def _remove_link_columns(node: Scan, order: RowOrder) -> Scan:
    """Return the scan without link columns: a query of one table needs none, and they depend on ranks."""
    pairs = zip(node.stored, node.columns, strict=True)
    shown = [(name, column) for name, column in pairs if not name.startswith((KEY, LINK))]
    stored, columns = (tuple(each) for each in zip(*shown, strict=True)) if shown else ((), ())
    return replace(node, row_limit=None, order=order, stored=stored, columns=columns)
