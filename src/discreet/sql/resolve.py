"""Resolve one SELECT into a query: rows, group keys, measures, and post-processing of the released table.

A query has a private core, one aggregate over rows. Everything around it is post-processing of the released
table and costs nothing: arithmetic over aggregates, HAVING, ORDER BY, LIMIT, and outer queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from discreet.core.policy import Policy
from discreet.sql.clauses import group_keys
from discreet.sql.joins import is_outer, joined
from discreet.sql.names import folded
from discreet.sql.question import After, Question
from discreet.sql.refusal import refuse, shown
from discreet.sql.released import after_release, aggregate
from discreet.sql.rows import Named, RowScope, filtered, projected, scan
from discreet.sql.totals import per_person
from discreet.sql.tree import Rows

__all__ = ["After", "Question", "resolve"]

MOST_TABLES = 16
MOST_SELECTS = 60
UNORDERED = ("having", "order", "limit")


@dataclass(frozen=True)
class _Common:
    """A common table expression (WITH), and the ones before it, which it may refer to."""

    select: exp.Select
    before: Mapping[str, _Common]


Commons = Mapping[str, _Common]


@dataclass
class _Resolver:
    policy: Policy
    aliases: set[str] = field(default_factory=set)
    tables: int = 0
    selects: int = 0

    def select(self, select: exp.Select, alias: str, common: Commons) -> Named | Question:
        """Return rows, or a query if the SELECT aggregates over people."""
        self.selects += 1
        if self.selects > MOST_SELECTS:
            refuse("the question has too many subqueries.", f"Use at most {MOST_SELECTS}.")
        common = _with(select, common)
        source = select.args.get("from_")
        if source is None:
            refuse("the question reads no table.", "Add FROM.")
        name, first = self._source(source.this, common)
        if isinstance(first, Question):
            if select.args.get("joins"):
                _refuse_join()
            return after_release(select, first, name)
        scope, node = self._joined(select, name, first, common)
        return _over_rows(select, scope, filtered(node, select.args.get("where"), scope), alias)

    def _joined(self, select: exp.Select, name: str, first: Named, common: Commons) -> tuple[RowScope, Rows]:
        sources, node = {name: first}, first.node
        for join in select.args.get("joins") or []:
            other, right = self._source(join.this, common)
            if isinstance(right, Question):
                _refuse_join()
            if folded(other) in map(folded, sources):
                refuse(
                    f"{shown(other)} appears twice in FROM.", "Give each an alias: FROM t AS a JOIN t AS b."
                )
            node = joined(sources, node, join, (other, right))
            sources[other] = right.possibly_absent() if is_outer(join) else right
        return RowScope(sources), node

    def _source(self, node: exp.Expression, common: Commons) -> tuple[str, Named | Question]:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            alias = node.alias or "subquery"
            return alias, self.select(node.this, self._internal(alias), common)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            tables = ", ".join(self.policy.tables)
            refuse(f"«{shown(node)}» is no table of the policy.", f"There are {tables}.")
        alias = node.alias or node.name
        known = common.get(folded(node.name))
        if known is not None:
            return alias, self.select(known.select, self._internal(alias), known.before)
        self.tables += 1
        if self.tables > MOST_TABLES:
            refuse("the question reads too many tables.", f"Read at most {MOST_TABLES}.")
        return alias, scan(self.policy, node.name, self._internal(alias))

    def _internal(self, alias: str) -> str:
        """Return a name without dots that is unique in the query, even if the engine ignores case."""
        plain = "".join(each for each in folded(alias) if each.isascii() and (each.isalnum() or each == "_"))
        name, place = plain or "subquery", 2
        while name in self.aliases:
            name, place = f"{plain}#{place}", place + 1
        self.aliases.add(name)
        return name


def resolve(select: exp.Select, policy: Policy) -> Question:
    """Return the query of a SELECT, or raise a refusal."""
    found = _Resolver(policy).select(select, "question", {})
    if isinstance(found, Named):
        if select.args.get("group") is not None:
            refuse(
                "the question would show rows.",
                "Put the SELECT that groups by person into FROM, and aggregate over it.",
            )
        refuse("the question would show rows.", "Aggregate: SELECT COUNT(*) …, AVG(x) …, with GROUP BY.")
    return found


def _with(select: exp.Select, common: Commons) -> Commons:
    written = select.args.get("with_")
    own: set[str] = set()
    for each in written.expressions if written is not None else []:
        name = folded(each.alias)
        if not isinstance(each.this, exp.Select):
            refuse(f"WITH {shown(each.alias)} is no SELECT.", "Write WITH name AS (SELECT …).")
        if name in own:
            refuse(f"WITH names {shown(each.alias)} twice.", "Give each a name of its own.")
        own.add(name)
        common = {**common, name: _Common(each.this, common)}
    return common


def _over_rows(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> Named | Question:
    own = [*select.expressions, select.args.get("having"), select.args.get("order")]
    aggregates = any(each is not None and each.find(exp.AggFunc) for each in own)
    if select.args.get("group") is None and not aggregates:
        if any(select.args.get(part) for part in UNORDERED):
            refuse("HAVING, ORDER BY and LIMIT need an aggregate.", "Aggregate first.")
        return projected(select, scope, node, alias)
    keys = group_keys(select, scope.has)
    others = [key for key in keys if scope.person_of(key) is None]
    if len(others) < len(keys):
        if any(select.args.get(part) for part in ("order", "limit")):
            refuse("a subquery of totals per person has no ORDER BY or LIMIT.", "Aggregate them first.")
        return per_person(select, scope, node, alias, others)
    return aggregate(select, scope, node, keys)


def _refuse_join() -> NoReturn:
    refuse("an answer cannot be joined with rows.", "Ask for both separately, and join the answers outside.")
