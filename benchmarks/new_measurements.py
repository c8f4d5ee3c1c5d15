"""Which statements of a session need a measurement that no earlier statement made, from their text alone.

Measurement the keys, the predicate as a set of conditions and one primitive (a count, or a sum of an
            expression) of a GROUP BY over the table; AVG needs a sum and a count. Aliases, order, limits, the
            order of conditions and everything around the GROUP BY are no part of it.
Derived     a measurement whose keys are computed from the keys of an earlier one, and whose further
            conditions read only these, is a sum of its cells. Errors are not looked at, nor whether bounding
            allows it.

A store that measures only what is asked, at the same epsilon for each statement, is charged for those that
are new in the second sense; the number of statements over theirs is about the most that it saves. The text is
read more coarsely than the product reads it, which may see further equalities (COUNT(*) FILTER and a CASE,
BETWEEN and two comparisons).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp as sql

from benchmarks.pmw_cache import resolve_key, strip_tables

COUNTS = ("COUNT(*)", "COUNT(1)", "SUM(1)")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One primitive for the groups of one set of keys, under some conditions."""

    keys: frozenset[str]
    conditions: frozenset[str]
    primitive: str

    def can_add_up_to(self, other: Measurement) -> bool:
        """Return whether another measurement is a sum of cells of this one."""
        further = other.conditions - self.conditions
        return (
            self.primitive == other.primitive
            and self.conditions <= other.conditions
            and all(key in self.keys or _find_columns(key) <= self.keys for key in other.keys)
            and all(_find_columns(condition) <= self.keys for condition in further)
        )


def count_new(statements: Sequence[str], table: str, *, derives: bool) -> int:
    """Return how many statements need a measurement that earlier ones do not have, or do not add up to."""
    known: set[Measurement] = set()
    new = 0
    for statement in statements:
        needed = set(find_measurements(statement, table))
        if derives:
            new += not all(any(each.can_add_up_to(wanted) for each in known) for wanted in needed)
        else:
            new += not needed <= known
        known |= needed
    return new


def find_measurements(statement: str, table: str) -> Iterator[Measurement]:
    """Yield the measurements that a statement is computed from."""
    for select in sqlglot.parse_one(statement, read="duckdb").find_all(sql.Select):
        source = select.args.get("from_") or select.args.get("from")
        if source is None or not isinstance(source.this, sql.Table) or source.this.name != table:
            continue
        keys, where = _read_keys(select), select.args.get("where")
        conditions = _split_conditions(where.this) if where else frozenset()
        for aggregate in select.find_all(sql.AggFunc):
            if isinstance(aggregate.this, sql.AggFunc):  # SUM(COUNT(*)) OVER () is computed from the counts
                continue
            for primitive in _list_primitives(aggregate):
                yield Measurement(keys=keys, conditions=conditions, primitive=primitive)


def _read_keys(select: sql.Select) -> frozenset[str]:
    """Return the keys; of ROLLUP, CUBE and GROUPING SETS all of them, whose totals are sums."""
    group = select.args.get("group")
    if group is None:
        return frozenset()
    if group.find(sql.Rollup, sql.Cube, sql.GroupingSets):
        return frozenset(_normalize(column) for column in group.find_all(sql.Column))
    return frozenset(_normalize(resolve_key(key, select)) for key in group.expressions)


def _split_conditions(predicate: Any) -> frozenset[str]:
    bare = predicate.unnest()
    parts = bare.flatten() if isinstance(bare, sql.And) else [bare]
    return frozenset(_normalize(part.unnest()) for part in parts)


def _list_primitives(aggregate: sql.AggFunc) -> list[str]:
    if isinstance(aggregate, sql.Avg):
        return [f"SUM({_normalize(aggregate.this)})", "COUNT(*)"]
    whole = aggregate.parent if isinstance(aggregate.parent, sql.Filter) else aggregate
    text = _normalize(whole)
    return ["COUNT(*)" if text in COUNTS else text]


def _normalize(expression: Any) -> str:
    bare = expression.copy()
    for identifier in bare.find_all(sql.Identifier):
        identifier.set("quoted", False)
    return strip_tables(bare)


@cache
def _find_columns(text: str) -> frozenset[str]:
    return frozenset(column.name for column in sqlglot.parse_one(text, read="duckdb").find_all(sql.Column))
