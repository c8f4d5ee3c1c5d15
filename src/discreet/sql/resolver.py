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
from discreet.sql.joins import is_outer, join_source
from discreet.sql.person_totals import total_per_person
from discreet.sql.post_processing import add_outer_select, resolve_aggregate
from discreet.sql.query import Query
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Rows
from discreet.sql.row_sources import RowScope, RowSource, apply_where, project_rows, scan_table
from discreet.sql.select_clauses import resolve_group_keys
from discreet.sql.sql_names import fold_case, make_internal_name

MOST_TABLES = 16
MOST_SELECTS = 60
UNORDERED = ("having", "order", "limit")


@dataclass(frozen=True)
class _CommonTable:
    """A common table expression (WITH), and the ones before it, which it may refer to."""

    select: exp.Select
    visible_tables: Mapping[str, _CommonTable]


Commons = Mapping[str, _CommonTable]


@dataclass
class _Resolver:
    policy: Policy
    aliases: set[str] = field(default_factory=set)
    tables: int = 0
    selects: int = 0

    def resolve_select(self, select: exp.Select, alias: str, common_tables: Commons) -> RowSource | Query:
        """Return rows, or a query if the SELECT aggregates over people."""
        self.selects += 1
        if self.selects > MOST_SELECTS:
            refuse_query("the question has too many subqueries.", f"Use at most {MOST_SELECTS}.")
        common_tables = _collect_common_tables(select, common_tables)
        source = select.args.get("from_")
        if source is None:
            refuse_query("the question reads no table.", "Add FROM.")
        name, first = self._resolve_source(source.this, common_tables)
        if isinstance(first, Query):
            if select.args.get("joins"):
                _refuse_join()
            return add_outer_select(select, first, name)
        scope, node = self._resolve_joins(select, name, first, common_tables)
        return _resolve_over_rows(select, scope, apply_where(node, select.args.get("where"), scope), alias)

    def _resolve_joins(
        self, select: exp.Select, name: str, first: RowSource, common_tables: Commons
    ) -> tuple[RowScope, Rows]:
        sources, node = {name: first}, first.node
        for join in select.args.get("joins") or []:
            other, right = self._resolve_source(join.this, common_tables)
            if isinstance(right, Query):
                _refuse_join()
            if fold_case(other) in map(fold_case, sources):
                refuse_query(
                    f"{format_snippet(other)} appears twice in FROM.",
                    "Give each an alias: FROM t AS a JOIN t AS b.",
                )
            node = join_source(sources, node, join, (other, right))
            sources[other] = right.make_optional() if is_outer(join) else right
        return RowScope(sources), node

    def _resolve_source(self, node: exp.Expression, common_tables: Commons) -> tuple[str, RowSource | Query]:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            alias = node.alias or "subquery"
            return alias, self.resolve_select(
                node.this, make_internal_name(self.aliases, alias), common_tables
            )
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            tables = ", ".join(self.policy.tables)
            refuse_query(f"«{format_snippet(node)}» is no table of the policy.", f"There are {tables}.")
        alias = node.alias or node.name
        known = common_tables.get(fold_case(node.name))
        if known is not None:
            return alias, self.resolve_select(
                known.select, make_internal_name(self.aliases, alias), known.visible_tables
            )
        self.tables += 1
        if self.tables > MOST_TABLES:
            refuse_query("the question reads too many tables.", f"Read at most {MOST_TABLES}.")
        return alias, scan_table(self.policy, node.name, make_internal_name(self.aliases, alias))


def resolve_query(select: exp.Select, policy: Policy) -> Query:
    """Return the query of a SELECT, or raise a refusal."""
    found = _Resolver(policy).resolve_select(select, "question", {})
    if isinstance(found, RowSource):
        if select.args.get("group") is not None:
            refuse_query(
                "the question would show rows.",
                "Put the SELECT that groups by person into FROM, and aggregate over it.",
            )
        refuse_query(
            "the question would show rows.", "Aggregate: SELECT COUNT(*) …, AVG(x) …, with GROUP BY."
        )
    return found


def _collect_common_tables(select: exp.Select, common_tables: Commons) -> Commons:
    written = select.args.get("with_")
    own: set[str] = set()
    for each in written.expressions if written is not None else []:
        name = fold_case(each.alias)
        if not isinstance(each.this, exp.Select):
            refuse_query(f"WITH {format_snippet(each.alias)} is no SELECT.", "Write WITH name AS (SELECT …).")
        if name in own:
            refuse_query(f"WITH names {format_snippet(each.alias)} twice.", "Give each a name of its own.")
        own.add(name)
        common_tables = {**common_tables, name: _CommonTable(each.this, common_tables)}
    return common_tables


def _resolve_over_rows(select: exp.Select, scope: RowScope, node: Rows, alias: str) -> RowSource | Query:
    own = [*select.expressions, select.args.get("having"), select.args.get("order")]
    aggregates = any(each is not None and each.find(exp.AggFunc) for each in own)
    if select.args.get("group") is None and not aggregates:
        if any(select.args.get(part) for part in UNORDERED):
            refuse_query("HAVING, ORDER BY and LIMIT need an aggregate.", "Aggregate first.")
        return project_rows(select, scope, node, alias)
    keys = resolve_group_keys(select, scope.has_column)
    others = [key for key in keys if scope.find_person_source(key) is None]
    if len(others) < len(keys):
        if any(select.args.get(part) for part in ("order", "limit")):
            refuse_query("a subquery of totals per person has no ORDER BY or LIMIT.", "Aggregate them first.")
        return total_per_person(select, scope, node, alias, others)
    return resolve_aggregate(select, scope, node, keys)


def _refuse_join() -> NoReturn:
    refuse_query(
        "an answer cannot be joined with rows.", "Ask for both separately, and join the answers outside."
    )
