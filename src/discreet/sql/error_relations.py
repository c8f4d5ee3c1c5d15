"""Errors through a query: SELECT, joins, GROUP BY, windows, set operations, common table expressions.

The query is read as `sqlglot` qualifies it, and *rewritten* while it is read: each SELECT gets further
outputs, from which the intervals are computed afterwards (`sql.error_intervals`): numbers of cells, weights,
the parts of ratios, ends of boxes. What DuckDB does not need for the last output it does not compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count

from sqlglot import exp

from discreet.sql.error_aggregates import (
    SELECTED_ROWS,
    RowFacts,
    evaluate_aggregate,
    evaluate_window,
    make_group_region,
)
from discreet.sql.error_expressions import DERIVED, evaluate
from discreet.sql.error_groups import inline_windows, is_grouped, list_group_keys
from discreet.sql.error_scopes import (
    CannotFollowError,
    Relation,
    Source,
    find_equations,
    scan_released,
)
from discreet.sql.noisy_regions import Region, RegionKind
from discreet.sql.noisy_values import EXACT, Exact, Linear, Noisy, Term, Value, map_expressions, to_sql
from discreet.sql.released_schema import ReleasedSchema

COMPANION = "_discreet_e"
SELECTED = "{clause} selects rows by noisy values"


@dataclass(kw_only=True)
class SelectContext:
    """The columns that expressions of one SELECT may read; of a grouped one, its keys and aggregates."""

    analyzer: QueryAnalyzer
    source: Source
    scope: int
    environment: Mapping[str, Relation]
    outputs: dict[str, Value] = field(default_factory=dict)
    keys: Mapping[exp.Expression, Value] | None = None
    rows: RowFacts
    has_sets: bool = False

    def resolve(self, node: exp.Expression) -> Value | None:
        """Return the value of a column, group key, aggregate, window or subquery; None of anything else."""
        if self.keys is not None and node in self.keys:
            return self.keys[node]
        found: Value | None = None
        if isinstance(node, exp.Column):
            found = self._resolve_column(node)
        elif isinstance(node, exp.Subquery):
            found = self.analyzer.analyze_scalar(node, self.environment)
        elif isinstance(node, exp.Query):
            raise CannotFollowError(DERIVED)
        elif isinstance(node, exp.Window):
            found = evaluate_window(node, self, self.rows)
        elif isinstance(node, exp.Filter):
            found = self._resolve_aggregate(node.this, node.expression.this)
        elif isinstance(node, exp.AggFunc | exp.WithinGroup):
            found = self._resolve_aggregate(node, None)
        return found

    def _resolve_column(self, node: exp.Column) -> Value:
        if not node.table and node.name in self.outputs:
            return self.outputs[node.name]
        found = self.source.columns.get((node.table, node.name))
        if found is None:
            raise CannotFollowError(DERIVED)
        if self.keys is not None and isinstance(found, Exact) and self.source.facts.selected:
            return Noisy(reason=SELECTED_ROWS)  # which of a group's rows it comes from, noise decides
        if self.keys is not None and isinstance(found, Noisy):
            return Noisy(reason=DERIVED)
        return found

    def _resolve_aggregate(self, node: exp.Expression, condition: exp.Expression | None) -> Value:
        if self.keys is None:
            raise CannotFollowError(DERIVED)
        inner = replace(self, keys=None, rows=self.source.facts, outputs={})
        facts = self.source.facts
        if condition is not None and isinstance(evaluate(condition, inner), Noisy):
            return Noisy(reason=SELECTED_ROWS)
        if not isinstance(node, exp.AggFunc):
            values = [evaluate(each, inner) for each in node.find_all(exp.Column)]
            noisy = facts.selected or facts.has_noisy_order or any(isinstance(each, Noisy) for each in values)
            return Noisy(reason=DERIVED) if noisy else EXACT

        def wrap(call: exp.Expression) -> exp.Expression:
            if condition is None:
                return call
            return exp.Filter(this=call, expression=exp.Where(this=condition.copy()))

        origins = [each.origin for each in self.keys.values() if isinstance(each, Exact)]
        make = make_group_region(
            self.scope, facts, [] if self.has_sets else origins, has_keys=bool(self.keys)
        )
        if condition is None:
            return evaluate_aggregate(node, inner, facts, wrap, make)

        def make_part(region: Region) -> Region:
            key = condition.sql("duckdb")
            part = Region(kind=RegionKind.PART, scope=self.scope, base=region, key=key)
            group = make(region)
            is_subcube = group.is_subcube and fixes_keys(condition, inner)
            return replace(group, kind=RegionKind.GROUP, scope=self.scope, base=part, is_subcube=is_subcube)

        return evaluate_aggregate(node, inner, facts, wrap, make_part)


class QueryAnalyzer:
    """Reads one query over released tables, and rewrites it."""

    def __init__(self, schemas: Mapping[str, ReleasedSchema]) -> None:
        self._schemas = schemas
        self._numbers = count(1)
        self._names = count()
        self.kept_companions: set[str] = set()
        """Companions of both sides of a UNION: these stay in pairs."""

    def analyze(self, node: exp.Expression, environment: Mapping[str, Relation]) -> Relation:
        """Return what is known of a query's output columns."""
        known = dict(environment)
        with_ = node.args.get("with_")
        if with_ is not None:
            if with_.args.get("recursive"):
                raise CannotFollowError(DERIVED)
            for each in with_.expressions:
                _refuse_column_list(each)
                known[each.alias] = self.analyze(each.this, known)
        if isinstance(node, exp.Subquery):
            return self.analyze(node.this, known)
        if isinstance(node, exp.Select):
            return self._analyze_select(node, known)
        if isinstance(node, exp.SetOperation):
            return self._analyze_union(node, known)
        raise CannotFollowError(DERIVED)

    def analyze_scalar(self, node: exp.Subquery, environment: Mapping[str, Relation]) -> Value:
        """Return the value of a subquery in an expression."""
        inner = node.this.copy()
        relation = self.analyze(inner, environment)
        value = next(iter(relation.outputs.values()))
        if relation.facts.selected:
            if isinstance(value, Exact):
                return Noisy(reason=SELECTED_ROWS)
            value = replace(value, chosen=relation.facts.selected)
        if isinstance(value, Exact):
            return EXACT
        cuts = ("order", "limit", "offset", "distinct", "qualify")
        if not isinstance(inner, exp.Select) or any(inner.args.get(each) is not None for each in cuts):
            return Noisy(reason=DERIVED, chosen=value.chosen)

        def select(expression: exp.Expression) -> exp.Expression:
            copy = inner.copy()
            copy.set("expressions", [expression.copy()])
            return exp.Subquery(this=copy)

        return replace(map_expressions(value, select), measure=None)

    # -- SELECT ---------------------------------------------------------------------------------------------

    def _analyze_select(self, node: exp.Select, environment: Mapping[str, Relation]) -> Relation:
        if any(node.args.get(each) for each in ("laterals", "pivots", "connect", "match", "sample")):
            raise CannotFollowError(DERIVED)
        inline_windows(node)
        scope = next(self._numbers)
        source = self._read_from(node, environment)
        context = SelectContext(
            analyzer=self, source=source, scope=scope, environment=environment, rows=source.facts
        )
        where = node.args.get("where")
        if where is not None:
            noisy = isinstance(evaluate(where.this, context), Noisy)
            fixes = source.facts.is_subcube and fixes_keys(where.this, context)
            facts = replace(source.facts, is_whole=False, is_subcube=fixes)
            if noisy and not facts.selected:
                facts = replace(facts, selected=SELECTED.format(clause="WHERE"))
            source = replace(source, facts=facts)
            context = replace(context, source=source, rows=facts)
        if is_grouped(node):
            context = self._group_rows(node, context)
            having = node.args.get("having")
            if having is not None and isinstance(evaluate(having.this, context), Noisy):
                selected = context.rows.selected or SELECTED.format(clause="HAVING")
                context = replace(context, rows=replace(context.rows, selected=selected))
        outputs = {each.alias_or_name: self._evaluate_output(each, context) for each in node.expressions}
        if len(outputs) < len(node.expressions):
            raise CannotFollowError("two columns have the same name")
        return self._finish_select(node, context, outputs)

    def _evaluate_output(self, node: exp.Expression, context: SelectContext) -> Value:
        try:
            return evaluate(node, context)
        except CannotFollowError as reason:
            return Noisy(reason=str(reason))

    def _group_rows(self, node: exp.Select, context: SelectContext) -> SelectContext:
        keys, has_sets = list_group_keys(node)
        facts, noisy = context.source.facts, ""
        values = {key: evaluate(key, context) for key in keys}
        if any(isinstance(each, Noisy) for each in values.values()):
            noisy = SELECTED.format(clause="GROUP BY")
            values = {
                key: each if isinstance(each, Exact) else Noisy(reason=DERIVED)
                for key, each in values.items()
            }
        selected = facts.selected or noisy
        source = replace(context.source, facts=replace(facts, selected=selected))
        origins = [each.origin for each in values.values() if isinstance(each, Exact)]
        make = make_group_region(context.scope, facts, origins, has_keys=bool(keys))
        groups = frozenset() if has_sets else frozenset(make(cell) for cell in facts.disjoint)
        rows = RowFacts(
            scope=context.scope,
            disjoint=groups,
            selected=selected,
            is_incomplete=facts.is_incomplete,
            has_noisy_order=facts.has_noisy_order,
        )
        return replace(context, source=source, keys=values, rows=rows, has_sets=has_sets)

    def _finish_select(self, node: exp.Select, context: SelectContext, outputs: dict[str, Value]) -> Relation:
        source, facts = context.source, context.rows
        selected = facts.selected
        last = replace(context, outputs=outputs)
        qualify = node.args.get("qualify")
        if qualify is not None and isinstance(evaluate(qualify.this, last), Noisy):
            selected = selected or SELECTED.format(clause="QUALIFY")
        noisy_order = source.facts.has_noisy_order or self._has_noisy_order(node, last)
        limited = any(node.args.get(each) is not None for each in ("limit", "offset"))
        if limited and noisy_order:
            selected = selected or SELECTED.format(clause="ORDER BY … LIMIT")
        noisy = any(isinstance(each, Noisy) for each in outputs.values())
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:  # keeps the first row of each
            noisy = noisy or noisy_order or isinstance(evaluate(distinct.args["on"], last), Noisy)
        if distinct is not None and noisy:
            selected = selected or SELECTED.format(clause="DISTINCT")
            outputs = {
                name: each if isinstance(each, Exact) else Noisy(reason=DERIVED)
                for name, each in outputs.items()
            }
        limited = limited or any(node.args.get(each) is not None for each in ("qualify", "distinct"))
        keeps_rows = not limited and context.keys is None
        is_whole = keeps_rows and node.args.get("where") is None and source.facts.is_whole
        return Relation(
            outputs=outputs,
            unique=_find_unique_outputs(node, context),
            facts=replace(
                facts,
                selected=selected,
                is_whole=is_whole,
                is_subcube=keeps_rows and source.facts.is_subcube,
                has_noisy_order=noisy_order,
            ),
            bound=source.bound if not context.has_sets else (*source.bound, *source.bound),
            project=self._make_projection(node),
        )

    def _has_noisy_order(self, node: exp.Expression, context: SelectContext) -> bool:
        order = node.args.get("order")
        by = [] if order is None else order.expressions
        if any(isinstance(each.this, exp.Var) for each in by):  # ORDER BY ALL
            return any(isinstance(each, Noisy) for each in context.outputs.values())
        return any(isinstance(evaluate(each.this, context), Noisy) for each in by)

    def _make_projection(self, node: exp.Select):  # type: ignore[no-untyped-def]
        known: dict[str, str] = {}

        def project(expression: exp.Expression) -> str:
            text = expression.sql("duckdb")
            if text not in known:
                known[text] = f"{COMPANION}{next(self._names)}"
                node.append("expressions", exp.alias_(expression.copy(), known[text], quoted=True))
            return known[text]

        return project

    # -- FROM -----------------------------------------------------------------------------------------------

    def _read_from(self, node: exp.Select, environment: Mapping[str, Relation]) -> Source:
        from_ = node.args.get("from_")
        if from_ is None:
            return Source(columns={}, unique=(frozenset(),), facts=RowFacts(scope=0, disjoint=frozenset()))
        source = self._read_table(from_.this, environment)
        for join in node.args.get("joins") or []:
            if join.args.get("using"):
                raise CannotFollowError(DERIVED)
            other = self._read_table(join.this, environment)
            condition = join.args.get("on")
            joined = Source(
                columns={**source.columns, **other.columns},
                unique=(),
                facts=RowFacts(scope=0, disjoint=frozenset()),
            )
            context = SelectContext(
                analyzer=self, source=joined, scope=0, environment=environment, rows=joined.facts
            )
            noisy = condition is not None and isinstance(evaluate(condition, context), Noisy)
            selected = SELECTED.format(clause="JOIN") if noisy else ""
            equal = find_equations(condition, source, other)
            source = source.join(other, join, selected, equal=equal)
        return source

    def _read_table(self, node: exp.Expression, environment: Mapping[str, Relation]) -> Source:
        if any(node.args.get(each) for each in ("joins", "pivots", "sample", "laterals")):
            raise CannotFollowError(DERIVED)
        _refuse_column_list(node)
        alias, scope = node.alias_or_name, next(self._numbers)
        if isinstance(node, exp.Subquery):
            return self.analyze(node.this, environment).to_source(alias, scope, is_copy=False)
        if isinstance(node, exp.Table) and node.name in environment:
            return environment[node.name].to_source(alias, scope, is_copy=True)
        if isinstance(node, exp.Table) and node.name in self._schemas:
            return scan_released(self._schemas[node.name], alias, scope)
        raise CannotFollowError(DERIVED)

    # -- Set operations -------------------------------------------------------------------------------------

    def _analyze_union(self, node: exp.SetOperation, environment: Mapping[str, Relation]) -> Relation:
        left, right = (self.analyze(each, environment) for each in (node.this, node.expression))
        if node.args.get("by_name") or len(left.outputs) != len(right.outputs):
            raise CannotFollowError(DERIVED)
        names, scope = list(left.outputs), next(self._numbers)
        selected = left.facts.selected or right.facts.selected
        pairs = zip(left.outputs.values(), right.outputs.values(), strict=True)
        noisy = any(isinstance(each, Noisy) for pair in pairs for each in pair)
        is_plain = isinstance(node, exp.Union) and not node.args.get("distinct")
        if not is_plain:
            if noisy:
                selected = selected or SELECTED.format(clause="UNION")
            outputs: dict[str, Value] = {
                name: Noisy(reason=DERIVED) if isinstance(one, Noisy) or isinstance(other, Noisy) else EXACT
                for name, one, other in zip(names, left.outputs.values(), right.outputs.values(), strict=True)
            }
        else:
            outputs = {name: self._unite(left, right, name, place, scope) for place, name in enumerate(names)}
        noisy_order = left.facts.has_noisy_order or right.facts.has_noisy_order
        facts = RowFacts(
            scope=scope,
            disjoint=frozenset(
                _take_side(region, scope, side)
                for side, relation in enumerate((left, right))
                for region in relation.facts.disjoint
            ),
            selected=selected,
            is_incomplete=left.facts.is_incomplete or right.facts.is_incomplete,
        )
        source = Source(columns={}, unique=(), facts=facts)
        context = SelectContext(
            analyzer=self, source=source, scope=0, environment=environment, outputs=outputs, rows=facts
        )
        noisy_order = noisy_order or self._has_noisy_order(node, context)
        if noisy_order and any(node.args.get(each) is not None for each in ("limit", "offset")):
            facts = replace(facts, selected=selected or SELECTED.format(clause="ORDER BY … LIMIT"))
        return Relation(
            outputs=outputs,
            unique=(),
            facts=replace(facts, has_noisy_order=noisy_order),
            bound=(*left.bound, *right.bound),
            project=self._make_union_projection(left, right),
        )

    def _make_union_projection(self, left: Relation, right: Relation) -> Callable[[exp.Expression], str]:
        """Return the function that adds a column to both sides of a union, at the same place."""
        known: dict[str, str] = {}

        def project(expression: exp.Expression) -> str:
            if isinstance(expression, exp.Column):
                return expression.name
            if (text := expression.sql("duckdb")) not in known:
                known[text] = left.project(expression.copy())
                self.kept_companions |= {known[text], right.project(expression.copy())}
            return known[text]

        return project

    def _unite(self, left: Relation, right: Relation, name: str, place: int, scope: int) -> Value:
        """Return the value of a column of UNION ALL: linear, with the terms of either side or none."""
        values = [left.outputs[name], list(right.outputs.values())[place]]
        if all(isinstance(each, Exact) for each in values):
            return EXACT
        plain = exp.column(name, quoted=True)
        forms = [each.linear if isinstance(each, Noisy) else Linear(value=plain, terms=()) for each in values]
        chosen = next((each.chosen for each in values if isinstance(each, Noisy) and each.chosen), "")
        if forms[0] is None or forms[1] is None:
            reason = next((each.reason for each in values if isinstance(each, Noisy) and each.reason), "")
            return Noisy(reason=reason or DERIVED)
        terms: list[Term] = []
        for form, own, other in ((forms[0], left, right), (forms[1], right, left)):
            for term in form.terms:
                if not isinstance(term.weight, Fraction):
                    return Noisy(reason=DERIVED)
                shown = own.project(to_sql(term.count))
                hidden = other.project(_make_zero(next(self._numbers)))
                self.kept_companions |= {shown, hidden}
                region = _take_side(term.region, scope, int(own is right))
                count = exp.column(shown if own is left else hidden, quoted=True)
                terms.append(replace(term, region=region, count=count))
        return Noisy(
            parts=(
                Linear(
                    value=plain,
                    terms=tuple(terms),
                    is_whole=forms[0].is_whole and forms[1].is_whole,
                    may_be_null=forms[0].may_be_null or forms[1].may_be_null,
                ),
            ),
            chosen=chosen,
        )


def fixes_keys(node: exp.Expression, context: SelectContext) -> bool:
    """Return True for a condition that keys have constant values, such as k0 = 'a' AND k1 = 3."""
    if isinstance(node, exp.Paren):
        return fixes_keys(node.this, context)
    if isinstance(node, exp.And):
        return fixes_keys(node.this, context) and fixes_keys(node.expression, context)
    if not isinstance(node, exp.EQ | exp.NullSafeEQ) or node.expression.find(exp.Column, exp.Query):
        return False
    value = context.resolve(node.this) if isinstance(node.this, exp.Column) else None
    return isinstance(value, Exact) and value.origin is not None


def _take_side(region: Region, scope: int, side: int) -> Region:
    return Region(kind=RegionKind.SIDE, scope=scope, base=region, offset=side)


def _make_zero(number: int) -> exp.Expression:
    """Return 0, written differently for each number, so that each has a column of its own."""
    return exp.Mul(this=to_sql(Fraction(0)), expression=exp.Literal.number(str(1 + number)))


def _refuse_column_list(node: exp.Expression) -> None:
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        raise CannotFollowError(DERIVED)


def _find_unique_outputs(node: exp.Select, context: SelectContext) -> tuple[frozenset[str], ...]:
    """Return sets of output columns in which all rows differ."""
    shown: dict[exp.Expression, str] = {each.unalias(): each.alias_or_name for each in node.expressions}
    if context.keys is not None:
        if context.has_sets or any(key not in shown for key in context.keys):
            return ()
        return (frozenset(shown[key] for key in context.keys),)
    names = {(each.table, each.name): alias for each, alias in shown.items() if isinstance(each, exp.Column)}
    return tuple(
        frozenset(names[column] for column in unique)
        for unique in context.source.unique
        if unique <= names.keys()
    )
