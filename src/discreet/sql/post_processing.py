"""Post-processing: the SELECT around an aggregate, and outer queries over an answer. It costs nothing.

Nothing here reads rows: an expression consists of group keys, of aggregates that are charged, and of columns
of an inner answer. Anything else is refused during planning, so that the engine does not fail after the
charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.sql.aggregate_calls import is_aggregate
from discreet.sql.aggregates import find_answer_total, resolve_measure
from discreet.sql.aggregates.base import Aggregate
from discreet.sql.expression_tree import Column, Expression, find_columns
from discreet.sql.expression_types import to_shown_type
from discreet.sql.query import PostProcessingStage, Query, Total
from discreet.sql.refusal import Refusal, format_snippet, refuse_query, suggest_names
from discreet.sql.relational_algebra import Rows
from discreet.sql.row_sources import RowScope
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar
from discreet.sql.select_clauses import resolve_clauses, resolve_group_keys
from discreet.sql.sql_names import fold_case

# -- Around one aggregate -----------------------------------------------------------------------------------


@dataclass
class _GroupScope:
    """Scope in which group keys and aggregate calls become columns of the released table."""

    row_scope: RowScope
    keys: list[tuple[Column, Expression]]
    measures: list[tuple[Column, Aggregate]] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)

    def expand_star(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        refuse_query(
            f"«{format_snippet(star)}» over groups has no meaning.", "Name the keys and the aggregates."
        )

    def resolve_column(self, node: exp.Column) -> Expression:
        if not node.table and fold_case(node.name) in self.aliases:
            return self.aliases[fold_case(node.name)]
        return refuse_query(
            f"«{format_snippet(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as AVG.",
        )

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._add_measure(resolve_measure(node, self.row_scope))
        try:
            wanted = resolve_scalar(node, self.row_scope) if self.keys else None
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return next((column for column, key in self.keys if key == wanted), None)

    def _add_measure(self, found: Aggregate) -> Column:
        for column, known in self.measures:
            if known == found:
                return column
        column = Column(name=f"m{len(self.measures)}", type=found.result_type)
        self.measures.append((column, found))
        return column


def resolve_aggregate(select: exp.Select, scope: RowScope, node: Rows, keys: list[exp.Expression]) -> Query:
    """Return the query of a SELECT that aggregates over rows: its private core and its post-processing."""
    found: list[tuple[Column, Expression]] = []
    for each in keys:
        key = resolve_scalar(each, scope)
        if next(find_columns(key), None) is None:
            refuse_query(f"GROUP BY «{format_snippet(each)}» is a constant.", "Leave it out.")
        if key not in [known for _, known in found]:
            found.append((Column(name=f"k{len(found)}", type=to_shown_type(key.type)), key))
    groups = _GroupScope(scope, found)
    after = resolve_clauses(select, groups)
    if not groups.measures:
        refuse_query("the question aggregates nothing.", "Add COUNT(*), SUM(x), AVG(x) ….")
    return Query(rows=node, keys=tuple(found), measures=tuple(groups.measures), post_processing=(after,))


# -- Over an answer -----------------------------------------------------------------------------------------


@dataclass
class _AnswerScope:
    """Scope of the columns of an inner answer, by name."""

    alias: str
    columns: Mapping[str, Column]
    aliases: dict[str, Expression] = field(default_factory=dict)

    def has_column(self, name: str) -> bool:
        return fold_case(name) in self.columns

    def expand_star(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        if isinstance(star, exp.Column):
            self._require_alias(star)
        return [(column.name, column) for column in self.columns.values()]

    def resolve_column(self, node: exp.Column) -> Expression:
        self._require_alias(node)
        if self.has_column(node.name):
            return self.columns[fold_case(node.name)]
        if not node.table and fold_case(node.name) in self.aliases:
            return self.aliases[fold_case(node.name)]
        names = [column.name for column in self.columns.values()]
        return refuse_query(
            f"the answer has no column {format_snippet(node)}.", suggest_names(node.name, names)
        )

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        return None

    def _require_alias(self, node: exp.Column) -> None:
        if node.table and fold_case(node.table) != fold_case(self.alias):
            refuse_query(
                f"there is no table {format_snippet(node.table)} in FROM.",
                suggest_names(node.table, [self.alias]),
            )


@dataclass
class _TotalScope:
    """Scope of an aggregate over an answer: group keys, and free aggregates of its columns."""

    answer: _AnswerScope
    keys: list[Expression]
    totals: list[Total] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)

    def expand_star(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        refuse_query(
            f"«{format_snippet(star)}» over groups has no meaning.", "Name the keys and the aggregates."
        )

    def resolve_column(self, node: exp.Column) -> Expression:
        if not node.table and fold_case(node.name) in self.aliases:
            return self.aliases[fold_case(node.name)]
        self.answer.resolve_column(node)
        return refuse_query(
            f"«{format_snippet(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as MAX.",
        )

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._add_total(node)
        try:
            wanted = resolve_scalar(node, self.answer) if self.keys else None
        except Refusal:  # as in `_GroupScope.resolve_special`
            return None
        if wanted is None or wanted not in self.keys:
            return None
        return Column(name=f"g{self.keys.index(wanted)}", type=to_shown_type(wanted.type))

    def _add_total(self, node: exp.Expression) -> Column:
        found, argument = find_answer_total(node), None
        if not found.counts_answer_rows(node):
            argument = resolve_scalar(node.this, self.answer)
            found.check_answer_argument(argument, node)
        for known, of, what in self.totals:
            if (of, what) == (found.name, argument):
                return known
        column = Column(name=f"t{len(self.totals)}", type=found.infer_answer_total_type(argument))
        self.totals.append((column, found.name, argument))
        return column


def add_outer_select(select: exp.Select, question: Query, alias: str) -> Query:
    """Return the query with an outer SELECT appended to its post-processing."""
    inner = {
        fold_case(name): Column(name=name, type=to_shown_type(expression.type))
        for name, expression in question.post_processing[-1].outputs
    }
    answer, stages = _AnswerScope(alias, inner), list(question.post_processing)
    where = select.args.get("where")
    if where is not None:
        outputs = tuple(answer.expand_star(exp.Star()))
        stages.append(
            PostProcessingStage(outputs=outputs, having=resolve_condition(where.this, answer, "WHERE"))
        )
    keys = [resolve_scalar(each, answer) for each in resolve_group_keys(select, answer.has_column)]
    if any(next(find_columns(key), None) is None for key in keys):
        refuse_query("GROUP BY names a constant.", "Leave it out.")
    own = [*select.expressions, select.args.get("having"), select.args.get("order")]
    if not keys and not any(each is not None and each.find(exp.AggFunc) for each in own):
        if select.args.get("having") is not None:
            refuse_query("HAVING needs GROUP BY or an aggregate.", "Use WHERE.")
        stages.append(resolve_clauses(select, answer))
    else:
        groups = _TotalScope(answer, keys)
        after = resolve_clauses(select, groups)
        stages.append(replace(after, totals=tuple(groups.totals), keys=tuple(keys)))
    return replace(question, post_processing=tuple(stages))
