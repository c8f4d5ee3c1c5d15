"""From one SELECT to a question: rows, group keys, measures, and what is done with the released table.

A question has a private core, one aggregate over rows; everything around it works on what was released, so it
costs nothing: arithmetic over aggregates, HAVING, ORDER BY, LIMIT, and outer queries over the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.core.policy import Policy
from discreet.sql.aggregates import Measure, is_aggregate, measure
from discreet.sql.expressions import Column, Expression
from discreet.sql.refusal import Refusal, refuse, shown
from discreet.sql.rows import Named, RowScope, filtered, joined, per_person, projected, scan
from discreet.sql.scalars import scalar
from discreet.sql.tree import Rows
from discreet.sql.types import Family, number

PARTS = {
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "with_",
    "kind",
    "hint",
}
AGGREGATES_AFTER: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
}


@dataclass(frozen=True, kw_only=True)
class After:
    """One SELECT over released rows: outputs, filter, order, limit; aggregates are free there."""

    outputs: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    limit: int | None = None
    totals: tuple[tuple[Column, str, Expression | None], ...] = ()
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of the rows, and what is done with the answer."""

    rows: Rows
    keys: tuple[tuple[Column, Expression], ...]
    measures: tuple[tuple[Column, Measure], ...]
    after: tuple[After, ...]


@dataclass
class _Resolver:
    policy: Policy
    common: dict[str, exp.Select] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)

    def select(self, select: exp.Select, alias: str) -> Named | Question:
        """Rows, or a question where it aggregates over people."""
        self._shape(select)
        outer = dict(self.common)
        for each in (select.args.get("with_") or exp.With()).expressions:
            if not isinstance(each.this, exp.Select):
                refuse(f"WITH {shown(each.alias)} is no SELECT.", "Write WITH name AS (SELECT …).")
            self.common[each.alias.lower()] = each.this
        try:
            sources, node = self._from(select)
            if isinstance(sources, Question):
                return after_release(select, sources)
            scope = RowScope(sources)
            assert node is not None
            return self._over_rows(select, scope, filtered(node, select.args.get("where"), scope), alias)
        finally:
            self.common = outer

    def _over_rows(self, select: exp.Select, scope: RowScope, node: Rows, alias: str) -> Named | Question:
        group = select.args.get("group")
        own = [*select.expressions, select.args.get("having"), select.args.get("order")]
        if group is None and not any(each is not None and each.find(exp.AggFunc) for each in own):
            if any(select.args.get(part) for part in ("having", "order", "limit")):
                refuse("rows are neither ordered nor limited: a question aggregates.", "Aggregate first.")
            return projected(select, scope, node, alias)
        keys = _group_keys(select, group)
        if len(keys) == 1 and scope.person_of(keys[0]) is not None:
            if any(select.args.get(part) for part in ("having", "order", "limit")):
                refuse(
                    "totals per person are neither filtered, ordered nor limited inside.", "Filter outside."
                )
            return per_person(select, scope, node, alias)
        return aggregate(select, scope, node, keys)

    def _from(self, select: exp.Select) -> tuple[dict[str, Named] | Question, Rows | None]:
        source = select.args.get("from_")
        if source is None:
            refuse("the question reads no table.", "Add FROM.")
        alias, named = self._source(source.this)
        if isinstance(named, Question):
            if select.args.get("joins"):
                refuse("an answer cannot be joined with rows.", "Ask it alone, and join outside.")
            return named, None
        sources: dict[str, Named] = {alias: named}
        node = named.node
        for join in select.args.get("joins") or []:
            other, right = self._source(join.this)
            if isinstance(right, Question):
                refuse("an answer cannot be joined with rows.", "Ask it alone, and join outside.")
            if other.lower() in {each.lower() for each in sources}:
                refuse(
                    f"{shown(other)} stands twice in FROM.", "Give each an alias: FROM t AS a JOIN t AS b."
                )
            node = joined(sources, node, join, (other, right))
            sources[other] = right
        return sources, node

    def _source(self, node: exp.Expression) -> tuple[str, Named | Question]:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            alias = node.alias or "subquery"
            return alias, self.select(node.this, self._unique(alias))
        if (
            not isinstance(node, exp.Table)
            or not isinstance(node.this, exp.Identifier)
            or node.args.get("db")
        ):
            refuse(
                f"«{shown(node)}» is no table of the policy.", f"There are {', '.join(self.policy.tables)}."
            )
        extra = [part for part, given in node.args.items() if given and part not in ("this", "alias")]
        if extra:
            refuse(f"«{shown(node)}» is more than a table.", "Name the table alone.")
        alias = node.alias or node.name
        if node.name.lower() in self.common:
            inner = self.common.pop(node.name.lower())
            try:
                return alias, self.select(inner, self._unique(alias))
            finally:
                self.common[node.name.lower()] = inner
        return alias, scan(self.policy, node.name, self._unique(alias))

    def _unique(self, alias: str) -> str:
        """An internal name that no other part of the question has."""
        name, place = alias, 2
        while name in self.aliases:
            name, place = f"{alias}#{place}", place + 1
        self.aliases.add(name)
        return name

    def _shape(self, select: exp.Select) -> None:
        for part, given in select.args.items():
            if given and part not in PARTS:
                hint = "Use GROUP BY." if part == "distinct" else "docs/sql.md lists what can be asked."
                refuse(f"{part.rstrip('_').upper()} is not answered.", hint)
        if select.args.get("kind") or select.args.get("hint"):
            refuse("SELECT takes no hints.", "Leave them out.")


def resolve(select: exp.Select, policy: Policy) -> Question:
    """The question that a SELECT asks, or a refusal."""
    found = _Resolver(policy).select(select, "question")
    if isinstance(found, Named):
        refuse("the question would show rows.", "Aggregate: SELECT COUNT(*) …, AVG(x) …, with GROUP BY.")
    return found


def _group_keys(select: exp.Select, group: exp.Group | None) -> list[exp.Expression]:
    """The expressions of GROUP BY; places and aliases stand for what SELECT says."""
    if group is None:
        return []
    if any(group.args.get(part) for part in ("grouping_sets", "cube", "rollup", "totals")):
        refuse("GROUPING SETS, CUBE and ROLLUP are not answered.", "Ask one GROUP BY at a time.")
    named = {each.alias.lower(): each.this for each in select.expressions if isinstance(each, exp.Alias)}
    if group.args.get("all"):
        plain = [each.this if isinstance(each, exp.Alias) else each for each in select.expressions]
        return [each for each in plain if not each.find(exp.AggFunc, exp.WithinGroup)]
    keys: list[exp.Expression] = []
    for each in group.expressions:
        if isinstance(each, exp.Literal) and not each.is_string:
            place = int(each.this) if str(each.this).isdigit() else 0
            if not 1 <= place <= len(select.expressions):
                refuse(f"GROUP BY {shown(each)} names no column of SELECT.", "Count from 1.")
            each = select.expressions[place - 1]  # noqa: PLW2901
            keys.append(each.this if isinstance(each, exp.Alias) else each)
        elif isinstance(each, exp.Column) and not each.table and each.name.lower() in named:
            keys.append(named[each.name.lower()])
        else:
            keys.append(each)
    return keys


@dataclass
class _ReleasedScope:
    """Over one aggregate: group keys and aggregate calls become columns of the released table."""

    rows: RowScope
    keys: list[tuple[exp.Expression, Column, Expression]]
    measures: list[tuple[Column, Measure]] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)

    def everything(self) -> list[tuple[str, Expression]]:
        refuse("SELECT * over groups has no meaning.", "Name the columns.")

    def column(self, node: exp.Column) -> Expression:
        if not node.table and node.name.lower() in self.aliases:
            return self.aliases[node.name.lower()]
        return refuse(
            f"«{shown(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as AVG.",
        )

    def other(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._measured(measure(node, self.rows))
        for written, column, _ in self.keys:
            if node == written:
                return column
        if isinstance(node, exp.Column) and self.rows.person_of(node) is None:
            try:
                wanted = self.rows.column(node)
            except Refusal:  # an alias of SELECT; `column` says what is wrong otherwise
                return None
            return next((column for _, column, expression in self.keys if expression == wanted), None)
        return None

    def _measured(self, found: Measure) -> Column:
        for column, known in self.measures:
            if known == found:
                return column
        kind = (
            found.argument.type if found.argument and found.function in ("min", "max", "mode") else number()
        )
        column = Column(name=f"m{len(self.measures)}", type=replace(kind, low=None, high=None, step=None))
        self.measures.append((column, found))
        return column


def aggregate(select: exp.Select, scope: RowScope, node: Rows, keys: list[exp.Expression]) -> Question:
    """The private core, and the SELECT around its aggregates."""
    key_columns = []
    for place, each in enumerate(keys):
        expression = scalar(each, scope)
        key_columns.append((each, Column(name=f"k{place}", type=expression.type), expression))
    released = _ReleasedScope(scope, key_columns)
    after = _after(select, released)
    if not released.measures:
        refuse("the question aggregates nothing.", "Add COUNT(*), SUM(x), AVG(x) ….")
    return Question(
        rows=node,
        keys=tuple((column, expression) for _, column, expression in key_columns),
        measures=tuple(released.measures),
        after=(after,),
    )


def _after(select: exp.Select, scope: _ReleasedScope | _AnswerScope) -> After:
    outputs: list[tuple[str, Expression]] = []
    for place, projection in enumerate(select.expressions):
        if isinstance(projection, exp.Star):
            outputs += scope.everything()
            continue
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias or (inner.name if isinstance(inner, exp.Column) else shown(inner, 40).lower())
        expression = scalar(inner, scope)
        taken = {each for each, _ in outputs}
        outputs.append((name if name not in taken else f"{name}_{place + 1}", expression))
    scope.aliases.update({name.lower(): expression for name, expression in outputs})
    having = select.args.get("having")
    condition = scalar(having.this, scope) if having is not None else None
    if condition is not None and condition.type.family not in (Family.BOOLEAN, Family.NULL):
        refuse("HAVING needs a condition.", "Compare an aggregate with something.")
    return After(
        outputs=tuple(outputs), having=condition, order=_order(select, scope, outputs), limit=_limit(select)
    )


def _order(
    select: exp.Select, scope: _ReleasedScope | _AnswerScope, outputs: list[tuple[str, Expression]]
) -> tuple[tuple[Expression, bool], ...]:
    order = select.args.get("order")
    found: list[tuple[Expression, bool]] = []
    for each in order.expressions if order is not None else []:
        by = each.this
        if isinstance(by, exp.Literal) and str(by.this).isdigit():
            place = int(by.this)
            if not 1 <= place <= len(outputs):
                refuse(f"ORDER BY {place} names no column of SELECT.", "Count from 1.")
            found.append((outputs[place - 1][1], bool(each.args.get("desc"))))
        else:
            found.append((scalar(by, scope), bool(each.args.get("desc"))))
    return tuple(found)


def _limit(select: exp.Select) -> int | None:
    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.expression
    if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
        refuse("LIMIT needs a whole number.", "Write LIMIT 10.")
    return int(count.this)


# -- Outer queries over an answer ---------------------------------------------------------------------------


@dataclass
class _AnswerScope:
    """Over a released table: its columns by name, and free aggregates."""

    columns: Mapping[str, Column]
    keys: list[tuple[exp.Expression, Expression]] = field(default_factory=list)
    totals: list[tuple[Column, str, Expression | None]] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)
    inside: bool = False

    def everything(self) -> list[tuple[str, Expression]]:
        return list(self.columns.items())

    def column(self, node: exp.Column) -> Expression:
        if node.name.lower() in self.columns:
            return self.columns[node.name.lower()]
        if node.name.lower() in self.aliases:
            return self.aliases[node.name.lower()]
        return refuse(f"the answer has no column {shown(node)}.", f"It has {', '.join(self.columns)}.")

    def other(self, node: exp.Expression) -> Expression | None:
        function = AGGREGATES_AFTER.get(type(node))
        if function is None:
            return None
        argument = None if isinstance(node.this, exp.Star) else scalar(node.this, self)
        column = Column(name=f"t{len(self.totals)}", type=number())
        self.totals.append((column, function, argument))
        return column


def after_release(select: exp.Select, question: Question) -> Question:
    """An outer SELECT over a question: post-processing, free of charge."""
    inner = question.after[-1]
    columns = {name.lower(): Column(name=name, type=expression.type) for name, expression in inner.outputs}
    scope = _AnswerScope(columns)
    keys = _group_keys(select, select.args.get("group"))
    expressions = tuple(scalar(each, scope) for each in keys)
    where = select.args.get("where")
    if where is not None:
        kept = After(outputs=tuple(columns.items()), having=scalar(where.this, scope))
        question = replace(question, after=(*question.after, kept))
    after = replace(_after(select, scope), totals=tuple(scope.totals), keys=expressions)
    return replace(question, after=(*question.after, after))
