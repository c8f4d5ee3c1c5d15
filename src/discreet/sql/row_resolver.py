"""Resolve what is below an aggregation: FROM, JOIN, WHERE and subqueries whose rows are those of people.

A subquery selects and computes on rows, or totals them per person (`person_totals`). A subquery that groups
by anything else is an answer; it has no place here, and `statement_splitting` makes it a core of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from discreet.core.policy import Policy
from discreet.sql.aggregate_calls import aggregates_rows
from discreet.sql.joins import is_outer, join_source
from discreet.sql.person_totals import total_per_person
from discreet.sql.query_validation import validate_query
from discreet.sql.refusal import format_snippet, refuse_query
from discreet.sql.relational_algebra import Rows
from discreet.sql.row_sources import RowScope, RowSource, apply_where, project_rows, scan_table
from discreet.sql.select_clauses import resolve_group_keys
from discreet.sql.sql_names import fold_case, make_internal_name

MOST_TABLES = 16
MOST_SELECTS = 60
UNORDERED = ("having", "order", "limit")


@dataclass(kw_only=True)
class CommonTable:
    """A common table expression (WITH), and the ones before it, which it may refer to.

    `name` is its name in the post-processing query, and `released` what it becomes there once something
    refers to it.
    """

    name: str
    query: exp.Expr
    alias: exp.Expr
    visible_tables: Mapping[str, CommonTable]
    released: exp.Expr | None = None


Commons = Mapping[str, CommonTable]


@dataclass
class RowResolver:
    """Resolves the rows of one aggregation; internal names are unique within it."""

    policy: Policy
    aliases: set[str] = field(default_factory=set)
    tables: int = 0
    selects: int = 0

    def resolve_from(self, select: exp.Select, common_tables: Commons) -> tuple[RowScope, Rows]:
        """Return the scope of FROM with its joins, and the rows that WHERE leaves."""
        self.selects += 1
        if self.selects > MOST_SELECTS:
            refuse_query("the question has too many subqueries.", f"Use at most {MOST_SELECTS}.")
        name, first = self._resolve_source(select.args["from_"].this, common_tables)
        sources, node = {name: first}, first.node
        for join in select.args.get("joins") or []:
            other, right = self._resolve_source(join.this, common_tables)
            if fold_case(other) in map(fold_case, sources):
                refuse_query(
                    f"{format_snippet(other)} appears twice in FROM.",
                    "Give each an alias: FROM t AS a JOIN t AS b.",
                )
            node = join_source(sources, node, join, (other, right))
            sources[other] = right.make_optional() if is_outer(join) else right
        scope = RowScope(sources)
        return scope, apply_where(node, select.args.get("where"), scope)

    def resolve_rows(self, select: exp.Select, alias: str, common_tables: Commons) -> RowSource:
        """Return the rows of a subquery, or its totals per person; refuse an answer."""
        common_tables = collect_common_tables(select, common_tables)
        if select.args.get("from_") is None:
            refuse_query("the question reads no table.", "Add FROM.")
        scope, node = self.resolve_from(select, common_tables)
        if not aggregates_rows(select):
            if any(select.args.get(part) for part in UNORDERED):
                refuse_query("HAVING, ORDER BY and LIMIT need an aggregate.", "Aggregate first.")
            return project_rows(select, scope, node, alias)
        keys = resolve_group_keys(select, scope.has_column)
        others = [key for key in keys if scope.find_person_source(key) is None]
        if len(others) == len(keys):
            refuse_join_of_answer()
        if any(select.args.get(part) for part in ("order", "limit")):
            refuse_query("a subquery of totals per person has no ORDER BY or LIMIT.", "Aggregate them first.")
        return total_per_person(select, scope, node, alias, others)

    def _resolve_source(self, node: exp.Expr, common_tables: Commons) -> tuple[str, RowSource]:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            alias = node.alias or "subquery"
            return alias, self.resolve_rows(node.this, make_internal_name(self.aliases, alias), common_tables)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            tables = ", ".join(self.policy.tables)
            refuse_query(f"«{format_snippet(node)}» is no table of the policy.", f"There are {tables}.")
        alias = node.alias or node.name
        known = common_tables.get(fold_case(node.name))
        if known is not None:
            validate_query(known.alias)
            validate_query(known.query)
            if not isinstance(known.query, exp.Select):
                refuse_query(
                    f"WITH {format_snippet(node.name)} is no SELECT.", "Write WITH name AS (SELECT …)."
                )
            return alias, self.resolve_rows(
                known.query, make_internal_name(self.aliases, alias), known.visible_tables
            )
        self.tables += 1
        if self.tables > MOST_TABLES:
            refuse_query("the question reads too many tables.", f"Read at most {MOST_TABLES}.")
        return alias, scan_table(self.policy, node.name, make_internal_name(self.aliases, alias))


def refuse_join_of_answer() -> NoReturn:
    """Refuse an answer beside rows of people."""
    refuse_query(
        "an answer cannot be joined with rows.",
        "Aggregate the rows too, in a subquery of their own, and join both answers.",
    )


def collect_common_tables(query: exp.Expr, common_tables: Commons) -> Commons:
    """Return the common tables that are visible in a query: those outside, and its own."""
    written = query.args.get("with_")
    own: set[str] = set()
    for each in written.expressions if written is not None else []:
        name = fold_case(each.alias)
        if name in own:
            refuse_query(f"WITH names {format_snippet(each.alias)} twice.", "Give each a name of its own.")
        own.add(name)
        made = CommonTable(
            name=each.alias, query=each.this, alias=each.args["alias"], visible_tables=common_tables
        )
        common_tables = {**common_tables, name: made}
    return common_tables
