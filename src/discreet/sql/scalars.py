"""Scalar expressions: translate sqlglot's nodes into our typed expression tree.

A node that is not listed here is refused. The caller resolves column names: `Scope.resolve_column`.

An interval whose bounds are longer than BITS bits is dropped: otherwise nested subqueries, each of which
squares a column of the one before, would take longer to plan than to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Protocol

from sqlglot import exp

from discreet.sql.constants import NOTHING, beside, constant, numeral, whole_number
from discreet.sql.expressions import Call, Expression
from discreet.sql.functions import FUNCTIONS
from discreet.sql.intervals import PARTS, UNITS, Mistyped
from discreet.sql.nulls import may_be_null
from discreet.sql.refusal import refuse, shown
from discreet.sql.types import DIGITS, Bound, Family, Type, as_double

BITS = 256

BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.EQ: "equal",
    exp.NEQ: "unequal",
    exp.LT: "less",
    exp.LTE: "at_most",
    exp.GT: "more",
    exp.GTE: "at_least",
    exp.And: "and",
    exp.Or: "or",
    exp.Nullif: "nullif",
}
UNARY: dict[type[exp.Expression], str] = {
    exp.Neg: "negate",
    exp.Not: "not",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
}
SEVERAL: dict[type[exp.Expression], str] = {
    exp.Least: "least",
    exp.Greatest: "greatest",
    exp.Coalesce: "coalesce",
}
PART_NODES: dict[type[exp.Expression], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dow",
    exp.Hour: "hour",
    exp.Minute: "minute",
}
CASTS = {
    "integer": ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    "number": ("DOUBLE", "FLOAT"),
    "date": ("DATE",),
    "text": ("VARCHAR", "TEXT", "CHAR"),
    "boolean": ("BOOLEAN",),
}


class Scope(Protocol):
    """Resolution of the names in an expression."""

    def column(self, node: exp.Column) -> Expression:
        """Return the expression that a column name refers to, or raise a refusal."""

    def other(self, node: exp.Expression) -> Expression | None:
        """Return the expression of a node with a meaning in this scope only (a group key, an aggregate)."""


def scalar(node: exp.Expression, scope: Scope) -> Expression:
    """Return the typed expression of a node."""
    known = scope.other(node)
    if known is not None:
        return known
    if isinstance(node, exp.Paren):
        return scalar(node.this, scope)
    if isinstance(node, exp.Column):
        return scope.column(node)
    found = constant(node)
    if found is not None:
        return found
    build = _builder(node)
    if build is None:
        refuse(f"{node.key.upper()} in «{shown(node)}» is not allowed here.", _place(node))
    return build(node, scope)


def condition(node: exp.Expression, scope: Scope, clause: str) -> Expression:
    """Return the expression of a condition, or refuse one that is not boolean."""
    found = scalar(node, scope)
    if found.type.family not in (Family.BOOLEAN, Family.NULL):
        refuse(f"{clause} needs a condition; «{shown(node)}» is none.", "Compare it with something.")
    return found


def call(
    name: str, arguments: list[Expression], node: exp.Expression, options: tuple[str, ...] = ()
) -> Expression:
    """Return a typed call, or refuse one whose arguments have the wrong types."""
    try:
        kind = FUNCTIONS[name].typed(tuple(each.type for each in arguments), options)
    except Mistyped as mismatch:
        refuse(f"«{shown(node)}» {mismatch}.", "CAST one side, or compare values of one kind.")
    kind = _moderate(kind)
    kind = replace(kind, nullable=may_be_null(name, [each.type for each in arguments], kind))
    return Call(function=name, arguments=tuple(arguments), type=kind, options=options)


def _moderate(kind: Type) -> Type:
    if any(_is_long(end) for end in (kind.low, kind.high)):
        return replace(as_double(kind), low=None, high=None)
    return kind


def _is_long(end: Bound) -> bool:
    return end is not None and max(end.numerator.bit_length(), end.denominator.bit_length()) > BITS


def _builder(node: exp.Expression) -> Callable[[exp.Expression, Scope], Expression] | None:
    kind = type(node)
    if kind in BINARY:
        return _binary
    if kind in UNARY:
        return lambda n, s: call(UNARY[kind], [scalar(n.this, s)], n)
    if kind in SEVERAL:
        return lambda n, s: call(SEVERAL[kind], [scalar(each, s) for each in (n.this, *n.expressions)], n)
    if kind in PART_NODES:
        return lambda n, s: call("part", [scalar(_plain_date(n.this), s)], n, (PART_NODES[kind],))
    return OTHERS.get(kind)


def _binary(node: exp.Expression, scope: Scope) -> Expression:
    left, right = scalar(node.this, scope), scalar(node.expression, scope)
    return call(BINARY[type(node)], [beside(left, right), beside(right, left)], node)


LONGEST_PATTERN = 1_000


def _require_short_pattern(node: exp.Expression) -> None:
    written = node.expression
    if isinstance(written, exp.Literal) and len(str(written.this)) > LONGEST_PATTERN:
        refuse(
            "the pattern of a LIKE is too long.", f"Use a pattern of at most {LONGEST_PATTERN:,} characters."
        )


def _like(node: exp.Expression, scope: Scope) -> Expression:
    _require_short_pattern(node)
    matched = call("like", [scalar(node.this, scope), scalar(node.expression, scope)], node)
    return call("not", [matched], node) if node.args.get("negate") else matched


def _like_any_case(node: exp.Expression, scope: Scope) -> Expression:
    _require_short_pattern(node)
    sides = [call("lower", [scalar(each, scope)], node) for each in (node.this, node.expression)]
    matched = call("like", sides, node)
    return call("not", [matched], node) if node.args.get("negate") else matched


def _left(node: exp.Expression, scope: Scope) -> Expression:
    if whole_number(node.expression, most=10**6) is None:
        refuse(f"«{shown(node)}» needs a whole number.", "Write LEFT(x, 3).")
    return call("substr", [scalar(node.this, scope), numeral("1"), scalar(node.expression, scope)], node)


def _between(node: exp.Expression, scope: Scope) -> Expression:
    tested, low, high = (scalar(node.args[name], scope) for name in ("this", "low", "high"))
    return call("between", [tested, beside(low, tested), beside(high, tested)], node)


def _in(node: exp.Expression, scope: Scope) -> Expression:
    if not node.expressions:
        refuse(f"«{shown(node)}» compares with nothing.", "List the values: x IN (1, 2, 3).")
    tested = scalar(node.this, scope)
    values = [beside(scalar(each, scope), tested) for each in node.expressions]
    return call("in", [tested, *values], node)


def _is(node: exp.Expression, scope: Scope) -> Expression:
    if not isinstance(node.expression, exp.Null):
        refuse(f"«{shown(node)}» is not answered.", "Use IS NULL or IS NOT NULL.")
    return call("is_null", [scalar(node.this, scope)], node)


def _case(node: exp.Expression, scope: Scope) -> Expression:
    parts = [(scalar(each.this, scope), scalar(each.args["true"], scope)) for each in node.args["ifs"]]
    otherwise = _otherwise(node.args.get("default"), scope)
    if node.this is None:
        return call("case", [*chain(*parts), otherwise], node)
    tested = scalar(node.this, scope)
    for when, _ in parts:
        tested = beside(tested, when)
    compared = [(beside(when, tested), then) for when, then in parts]
    return call("switch", [tested, *chain(*compared), otherwise], node)


def _if(node: exp.Expression, scope: Scope) -> Expression:
    parts = [scalar(node.this, scope), scalar(node.args["true"], scope)]
    return call("case", [*parts, _otherwise(node.args.get("false"), scope)], node)


def _otherwise(node: exp.Expression | None, scope: Scope) -> Expression:
    return NOTHING if node is None else scalar(node, scope)


def _round(node: exp.Expression, scope: Scope) -> Expression:
    written = node.args.get("decimals")
    before = isinstance(written, exp.Neg)
    digits = 0 if written is None else whole_number(written.this if before else written, most=9)
    if digits is None:
        refuse(f"«{shown(node)}» rounds to digits that are no constant.", "Use ROUND(x, -9) to ROUND(x, 9).")
    places = (f"{'-' if before else ''}{digits}",) if digits else ()
    return call("round", [scalar(node.this, scope)], node, places)


def _substring(node: exp.Expression, scope: Scope) -> Expression:
    arguments = [node.args.get(name) for name in ("this", "start", "length")]
    return call("substr", [scalar(each, scope) for each in arguments if each is not None], node)


def _extract(node: exp.Expression, scope: Scope) -> Expression:
    return _date_part(str(node.this.name), node.expression, node, scope)


def _date_part(part: str, of: exp.Expression, node: exp.Expression, scope: Scope) -> Expression:
    name = {"dayofweek": "dow"}.get(part.lower(), part.lower())
    if name not in PARTS:
        refuse(f"the date part {shown(part)} is not answered.", f"Use one of {', '.join(PARTS)}.")
    return call("part", [scalar(of, scope)], node, (name,))


def _plain_date(node: exp.Expression) -> exp.Expression:
    """Return the argument of YEAR, MONTH … without the conversion in which sqlglot wraps it."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def _truncate(node: exp.Expression, scope: Scope) -> Expression:
    unit = str(node.args["unit"].name).lower()
    if unit not in UNITS:
        refuse(f"truncating to {shown(unit)} is not answered.", f"Use one of {', '.join(UNITS)}.")
    return call("truncate", [scalar(node.this, scope)], node, (unit,))


def _cast(node: exp.Expression, scope: Scope) -> Expression:
    to, value = node.args["to"], scalar(node.this, scope)
    wanted = to.this.name
    if wanted == "DECIMAL":
        return _decimal(node, to, value)
    target = next((name for name, kinds in CASTS.items() if wanted in kinds), None)
    if target is None:
        names = ", ".join(["DECIMAL", *(kind for kinds in CASTS.values() for kind in kinds)])
        refuse(f"casting to {wanted} is not answered.", f"Use one of {names}.")
    return call("cast", [value], node, (target,))


def _decimal(node: exp.Expression, to: exp.Expression, value: Expression) -> Expression:
    """Return a cast to DECIMAL, by default DECIMAL(18, 3); DECIMAL(p) has no decimal places."""
    written = [whole_number(each.this, most=DIGITS) for each in to.expressions] or [18, 3]
    digits, places = (*written, 0)[:2]
    if not digits or places is None or places > digits or len(written) > 2:
        refuse(f"«{shown(node)}» has too many digits.", "Use DECIMAL(18, 9), or DOUBLE.")
    if value.type.family is Family.TEXT and digits + places > DIGITS:
        refuse(f"«{shown(node)}» reads too many digits.", "Use DECIMAL(18, 9), or DOUBLE.")
    return call("cast", [value], node, ("decimal", str(digits), str(places)))


def _anonymous(node: exp.Expression, scope: Scope) -> Expression:
    if str(node.this).lower() in ("date_part", "datepart") and len(node.expressions) == 2:
        part, of = node.expressions
        if isinstance(part, exp.Literal) and part.is_string:
            return _date_part(str(part.this), of, node, scope)
    return refuse(
        f"the function {shown(str(node.this))} is not answered.", "docs/sql.md lists those that are."
    )


OTHERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], Expression]] = {
    exp.Like: _like,
    exp.ILike: _like_any_case,
    exp.Left: _left,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Round: _round,
    exp.Substring: _substring,
    exp.Extract: _extract,
    exp.DateTrunc: _truncate,
    exp.TimestampTrunc: _truncate,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Anonymous: _anonymous,
}


def _place(node: exp.Expression) -> str:
    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return "Use aggregates in SELECT, HAVING or ORDER BY, and none inside another."
    if isinstance(node, exp.Select | exp.Subquery):
        return "Put subqueries into FROM."
    return "docs/sql.md lists what can be asked."
