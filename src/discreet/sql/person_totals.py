"""Totals per person: a subquery that groups by the person column, alone or with other keys.

The result has one row per person, or one per person and key, so a person has no more rows than before. Its
values are exact and are not released.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.sql.aggregate_calls import is_aggregate
from discreet.sql.aggregates import resolve_person_total
from discreet.sql.expression_tree import Column, Expression
from discreet.sql.refusal import Refusal, format_snippet, refuse_query
from discreet.sql.relational_algebra import Filter, PersonTotals, Project, Rows, Total
from discreet.sql.row_sources import RowScope, RowSource, SubqueryColumns
from discreet.sql.scalar_expressions import resolve_condition, resolve_scalar
from discreet.sql.sql_names import fold_case


@dataclass
class _PersonGroups:
    """Scope in which keys and aggregates become columns of one row per person."""

    row_scope: RowScope
    max_rows: int
    alias: str
    keys: list[tuple[Column, Expression]] = field(default_factory=list)
    totals: list[tuple[Column, Total]] = field(default_factory=list)
    outputs_by_name: dict[str, Expression] = field(default_factory=dict)

    def add_key(self, node: exp.Expression) -> None:
        key = resolve_scalar(node, self.row_scope)
        if key not in [known for _, known in self.keys]:
            name, clamped = f"{self.alias}.k{len(self.keys)}", isinstance(key, Column) and key.is_clamped
            column = Column(name=name, type=key.type, is_scaled=key.type.is_exact, is_clamped=clamped)
            self.keys.append((column, key))

    def resolve_column(self, node: exp.Column) -> Expression:
        if not node.table and fold_case(node.name) in self.outputs_by_name:
            return self.outputs_by_name[fold_case(node.name)]
        return refuse_query(
            f"«{format_snippet(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY beside the person, or into an aggregate such as MIN.",
        )

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._add_total(node)
        try:
            wanted = resolve_scalar(node, self.row_scope) if self.keys else None
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return next((column for column, key in self.keys if key == wanted), None)

    def _add_total(self, node: exp.Expression) -> Column:
        found = resolve_person_total(node, self.row_scope)
        total = (found.name, found.argument, found.condition)
        for column, known in self.totals:
            if known == total:
                return column
        kind = replace(
            found.infer_person_total_type(self.max_rows), is_nullable=found.person_total_may_be_null
        )
        clamped = isinstance(found.argument, Column) and found.argument.is_clamped and found.keeps_clamping
        name = f"{self.alias}.t{len(self.totals)}"
        column = Column(name=name, type=kind, is_scaled=kind.is_exact, is_clamped=clamped)
        self.totals.append((column, total))
        return column


def total_per_person(
    select: exp.Select, scope: RowScope, node: Rows, alias: str, keys: list[exp.Expression]
) -> RowSource:
    """Return the rows of a subquery that groups by the person and `keys`."""
    groups, outputs = _PersonGroups(scope, node.rows, f"{alias}#totals"), SubqueryColumns(alias, {}, [])
    for key in keys:
        groups.add_key(key)
    expressions: list[Expression] = []
    for projection in select.expressions:
        taken = outputs.take_projection(projection, scope)
        if taken is not None:
            name, inner = taken
            expressions.append(outputs.add_column(name, resolve_scalar(inner, groups)))
            groups.outputs_by_name.setdefault(fold_case(name), expressions[-1])
    having = select.args.get("having")
    only = None if having is None else resolve_condition(having.this, groups, "HAVING")
    rows: Rows = PersonTotals(source=node, keys=tuple(groups.keys), totals=tuple(groups.totals))
    if only is not None:
        rows = Filter(source=rows, condition=only)
    columns = tuple(outputs.columns.values())
    return outputs.build_source(Project(source=rows, columns=columns, expressions=tuple(expressions)))
