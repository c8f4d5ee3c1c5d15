"""Bounding contributions: where a person's rows are cut, decided from text and policy alone.

by rank      the prepared store ranks each person's rows, so keeping the first R is a filter. One person then
             has at most R rows in all groups together.
by question  where a filter would waste the ranked rows, or where the policy bounds groups and the promise has
             a tail: bounding comes after the filter, as `keeping` says. Under tail 0 noise is scaled to L1,
             in which C groups of R rows and any C R rows are the same, so rank serves. Which rows are kept
             is the same however they are found, which is what each engine does best. Where nothing is
             prepared the rows that are asked for are put in order, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.core.policy import Policy
from discreet.core.relations import Relation
from discreet.mechanisms.sensitivity import Contribution
from discreet.sql.resolve import Question
from discreet.sql.tree import KEY, LINK, Bounded, Filter, People, Project, Rows, Scan


@dataclass(frozen=True, kw_only=True)
class Bounding:
    """A question whose rows are bounded, what one person can then contribute, and how it is done."""

    question: Question
    contribution: Contribution
    rule: str


def bound(question: Question, policy: Policy, relation: Relation, *, by_groups: bool = True) -> Bounding:
    """The same question with every person's rows bounded; in each group too where that makes a difference."""
    scan = _chain(question.rows)
    if scan is None or scan.people is not People.COLUMN:
        rule = "a person is one row" if question.rows.people is People.ROW else "by rank"
        contribution = Contribution(rows=question.rows.rows, relation=relation)
        return Bounding(question=question, contribution=contribution, rule=rule)
    table = policy.tables[scan.table]
    groups = table.groups_per_person if question.keys and by_groups else None
    by_rank = groups is None and not _filters(question.rows)
    if by_rank and not policy.in_place:
        contribution = Contribution(rows=scan.rows, relation=relation)
        return Bounding(question=question, contribution=contribution, rule="by rank")
    most = table.rows_per_person if groups is not None else scan.rows
    keys = tuple(key for _, key in question.keys)
    bounded = Bounded(
        source=_unbounded(question.rows, ranked=groups is not None or not policy.in_place),
        most=most,
        groups=groups,
        keys=keys,
        sorts=not policy.embedded,
    )
    contribution = Contribution(rows=most, groups=groups or 1, relation=relation)
    rule = "by rank" if by_rank else "by question"
    return Bounding(question=replace(question, rows=bounded), contribution=contribution, rule=rule)


def _chain(node: Rows) -> Scan | None:
    """The one table under filters and projections alone."""
    while isinstance(node, Filter | Project):
        node = node.source
    return node if isinstance(node, Scan) else None


def _filters(node: Rows) -> bool:
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            return True
        node = node.source
    return False


def _unbounded(node: Rows, *, ranked: bool) -> Rows:
    if isinstance(node, Filter | Project):
        return replace(node, source=_unbounded(node.source, ranked=ranked))
    assert isinstance(node, Scan)
    return replace(node, kept=None) if ranked else _unranked(node)


def _unranked(node: Scan) -> Scan:
    """Without the keys of links, which no question about one table needs, and which are found by rank."""
    pairs = zip(node.stored, node.columns, strict=True)
    shown = [(name, column) for name, column in pairs if not name.startswith((KEY, LINK))]
    stored, columns = (tuple(each) for each in zip(*shown, strict=True)) if shown else ((), ())
    return replace(node, kept=None, ranked=False, stored=stored, columns=columns)
