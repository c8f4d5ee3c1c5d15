"""Post-processing: the SELECT around an aggregate, and outer queries over an answer. It costs nothing.

Nothing here reads rows: an expression consists of group keys, of aggregates that are charged, and of columns
of an inner answer. Anything else is refused during planning, so that the engine does not fail after the
charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.sql.aggregates import Measure, is_aggregate, measure
from discreet.sql.clauses import clauses, group_keys
from discreet.sql.expressions import Column, Expression, columns
from discreet.sql.names import folded
from discreet.sql.question import After, Question, Total
from discreet.sql.refusal import Refusal, known_names, refuse, shown
from discreet.sql.rows import RowScope
from discreet.sql.scalars import condition, scalar
from discreet.sql.tree import Rows
from discreet.sql.types import Bound, Family, Type, as_double, number

MOST_SHOWN = 1 << 53
TOTALS: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Median: "median",
}


# -- Around one aggregate -----------------------------------------------------------------------------------


@dataclass
class _Groups:
    """Scope in which group keys and aggregate calls become columns of the released table."""

    rows: RowScope
    keys: list[tuple[Column, Expression]]
    measures: list[tuple[Column, Measure]] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)

    def everything(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        refuse(f"«{shown(star)}» over groups has no meaning.", "Name the keys and the aggregates.")

    def column(self, node: exp.Column) -> Expression:
        if not node.table and folded(node.name) in self.aliases:
            return self.aliases[folded(node.name)]
        return refuse(
            f"«{shown(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as AVG.",
        )

    def other(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._measured(measure(node, self.rows))
        try:
            wanted = scalar(node, self.rows) if self.keys else None
        except Refusal:  # an alias, or made of aggregates: its parts are resolved, and refused, one by one
            return None
        return next((column for column, key in self.keys if key == wanted), None)

    def _measured(self, found: Measure) -> Column:
        for column, known in self.measures:
            if known == found:
                return column
        kind, argument = number(step=_step(found)), found.argument
        picked = argument is not None and found.function in ("min", "max", "mode")
        if picked and argument is not None and argument.type.family is not Family.NUMBER:
            kind = replace(argument.type, nullable=True)
        column = Column(name=f"m{len(self.measures)}", type=kind)
        self.measures.append((column, found))
        return column


def _step(found: Measure) -> Bound:
    """Return step 1 for measures whose values are whole numbers, else None."""
    if found.function in ("count", "count_distinct"):
        return Fraction(1)
    picked = found.argument is not None and found.function in ("sum", "min", "max", "median", "quantile")
    return Fraction(1) if picked and found.argument.type.step == 1 else None  # type: ignore[union-attr]


def _shown(kind: Type) -> Type:
    """Return the type of a key in a released table: exact if the shown number determines its steps."""
    tells = not kind.exact or kind.step == 1 or kind.most_steps < MOST_SHOWN
    return kind if tells else as_double(kind)


def aggregate(select: exp.Select, scope: RowScope, node: Rows, keys: list[exp.Expression]) -> Question:
    """Return the query of a SELECT that aggregates over rows: its private core and its post-processing."""
    found: list[tuple[Column, Expression]] = []
    for each in keys:
        key = scalar(each, scope)
        if next(columns(key), None) is None:
            refuse(f"GROUP BY «{shown(each)}» is a constant.", "Leave it out.")
        if key not in [known for _, known in found]:
            found.append((Column(name=f"k{len(found)}", type=_shown(key.type)), key))
    groups = _Groups(scope, found)
    after = clauses(select, groups)
    if not groups.measures:
        refuse("the question aggregates nothing.", "Add COUNT(*), SUM(x), AVG(x) ….")
    return Question(rows=node, keys=tuple(found), measures=tuple(groups.measures), after=(after,))


# -- Over an answer -----------------------------------------------------------------------------------------


@dataclass
class _Answer:
    """Scope of the columns of an inner answer, by name."""

    alias: str
    columns: Mapping[str, Column]
    aliases: dict[str, Expression] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return folded(name) in self.columns

    def everything(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        if isinstance(star, exp.Column):
            self._require_alias(star)
        return [(column.name, column) for column in self.columns.values()]

    def column(self, node: exp.Column) -> Expression:
        self._require_alias(node)
        if self.has(node.name):
            return self.columns[folded(node.name)]
        if not node.table and folded(node.name) in self.aliases:
            return self.aliases[folded(node.name)]
        names = [column.name for column in self.columns.values()]
        return refuse(f"the answer has no column {shown(node)}.", known_names(node.name, names))

    def other(self, node: exp.Expression) -> Expression | None:
        return None

    def _require_alias(self, node: exp.Column) -> None:
        if node.table and folded(node.table) != folded(self.alias):
            refuse(f"there is no table {shown(node.table)} in FROM.", known_names(node.table, [self.alias]))


@dataclass
class _Totals:
    """Scope of an aggregate over an answer: group keys, and free aggregates of its columns."""

    answer: _Answer
    keys: list[Expression]
    totals: list[Total] = field(default_factory=list)
    aliases: dict[str, Expression] = field(default_factory=dict)

    def everything(self, star: exp.Expression) -> list[tuple[str, Expression]]:
        refuse(f"«{shown(star)}» over groups has no meaning.", "Name the keys and the aggregates.")

    def column(self, node: exp.Column) -> Expression:
        if not node.table and folded(node.name) in self.aliases:
            return self.aliases[folded(node.name)]
        self.answer.column(node)
        return refuse(
            f"«{shown(node)}» is neither grouped by nor aggregated.",
            "Put it into GROUP BY, or into an aggregate such as MAX.",
        )

    def other(self, node: exp.Expression) -> Expression | None:
        if is_aggregate(node):
            return self._total(node)
        try:
            wanted = scalar(node, self.answer) if self.keys else None
        except Refusal:  # as in `_GroupScope.resolve_special`
            return None
        if wanted is None or wanted not in self.keys:
            return None
        return Column(name=f"g{self.keys.index(wanted)}", type=_shown(wanted.type))

    def _total(self, node: exp.Expression) -> Column:
        function = TOTALS.get(type(node))
        if function is None or isinstance(node.this, exp.Distinct):
            refuse(
                f"«{shown(node)}» is not answered over an answer.",
                "Use COUNT, SUM, AVG, MIN, MAX or MEDIAN of its columns.",
            )
        argument, kind = None, number(step=Fraction(1) if function == "count" else None)
        if function != "count" or not (node.this is None or isinstance(node.this, exp.Star)):
            argument = scalar(node.this, self.answer)
            if function in ("sum", "avg", "median") and argument.type.family is not Family.NUMBER:
                refuse(f"«{shown(node)}» needs a number.", "Name a column that is one.")
            if function in ("min", "max") and argument.type.family is not Family.NUMBER:
                kind = replace(argument.type, nullable=True)
            if function in ("sum", "min", "max") and argument.type.step == 1:
                kind = number(step=Fraction(1))
        for known, of, what in self.totals:
            if (of, what) == (function, argument):
                return known
        column = Column(name=f"t{len(self.totals)}", type=kind)
        self.totals.append((column, function, argument))
        return column


def after_release(select: exp.Select, question: Question, alias: str) -> Question:
    """Return the query with an outer SELECT appended to its post-processing."""
    inner = {
        folded(name): Column(name=name, type=_shown(expression.type))
        for name, expression in question.after[-1].outputs
    }
    answer, stages = _Answer(alias, inner), list(question.after)
    where = select.args.get("where")
    if where is not None:
        outputs = tuple(answer.everything(exp.Star()))
        stages.append(After(outputs=outputs, having=condition(where.this, answer, "WHERE")))
    keys = [scalar(each, answer) for each in group_keys(select, answer.has)]
    if any(next(columns(key), None) is None for key in keys):
        refuse("GROUP BY names a constant.", "Leave it out.")
    own = [*select.expressions, select.args.get("having"), select.args.get("order")]
    if not keys and not any(each is not None and each.find(exp.AggFunc) for each in own):
        if select.args.get("having") is not None:
            refuse("HAVING needs GROUP BY or an aggregate.", "Use WHERE.")
        stages.append(clauses(select, answer))
    else:
        groups = _Totals(answer, keys)
        after = clauses(select, groups)
        stages.append(replace(after, totals=tuple(groups.totals), keys=tuple(keys)))
    return replace(question, after=tuple(stages))
