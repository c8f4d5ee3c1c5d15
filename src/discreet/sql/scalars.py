"""From sqlglot's nodes to our expressions: the allow-list check of everything that is computed on a row.

A node that is not listed here is refused. What an expression's names mean is the caller's: `Scope.column`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from discreet.sql.expressions import Call, Expression, Literal
from discreet.sql.functions import FUNCTIONS, PARTS, UNITS, Mistyped
from discreet.sql.refusal import refuse, shown
from discreet.sql.types import BOOLEAN, NULL, TEXT, Family, Type, number

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
    exp.Like: "like",
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
    exp.DayOfWeek: "dow",
    exp.Hour: "hour",
    exp.Minute: "minute",
}
CASTS = {
    "integer": ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    "number": ("DOUBLE", "FLOAT", "DECIMAL"),
    "date": ("DATE",),
    "text": ("VARCHAR", "TEXT", "CHAR"),
    "boolean": ("BOOLEAN",),
}


class Scope(Protocol):
    """Where names are looked up."""

    def column(self, node: exp.Column) -> Expression:
        """What a name stands for, or a refusal."""

    def other(self, node: exp.Expression) -> Expression | None:
        """What a node stands for that only this scope understands (a group key, an aggregate)."""


def scalar(node: exp.Expression, scope: Scope) -> Expression:
    """The expression that a node is."""
    known = scope.other(node)
    if known is not None:
        return known
    if isinstance(node, exp.Paren):
        return scalar(node.this, scope)
    if isinstance(node, exp.Column):
        return scope.column(node)
    constant = _constant(node)
    if constant is not None:
        return constant
    build = _builder(node)
    if build is None:
        name = node.this if isinstance(node, exp.Anonymous) else node.key.upper()
        refuse(f"{name} in «{shown(node)}» is not allowed.", _nearest(node))
    return build(node, scope)


def call(
    name: str, arguments: list[Expression], node: exp.Expression, options: tuple[str, ...] = ()
) -> Expression:
    """A typed call, or the refusal of one whose arguments do not fit."""
    try:
        kind = FUNCTIONS[name].typed(tuple(each.type for each in arguments), options)
    except Mistyped as mismatch:
        refuse(f"«{shown(node)}» {mismatch}.", "CAST one side, or compare values of one kind.")
    return Call(function=name, arguments=tuple(arguments), type=kind, options=options)


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
    left, right = _as_dates(left, right), _as_dates(right, left)
    return call(BINARY[type(node)], [left, right], node)


def _as_dates(side: Expression, other: Expression) -> Expression:
    """Text that stands beside a date is one, where it can be read so."""
    if other.type.family not in (Family.DATE, Family.TIMESTAMP) or not isinstance(side, Literal):
        return side
    if not isinstance(side.value, str):
        return side
    return dated(side.value, other.type.family) or side


def dated(text: str, family: Family) -> Literal | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        return None
    value: date = moment.date() if family is Family.DATE else moment
    return Literal(value=value, type=Type(family=family, first=value, last=value))


def _constant(node: exp.Expression) -> Literal | None:
    if isinstance(node, exp.Null):
        return Literal(value=None, type=NULL)
    if isinstance(node, exp.Boolean):
        return Literal(value=bool(node.this), type=BOOLEAN)
    if isinstance(node, exp.Literal) and node.is_string:
        return Literal(value=str(node.this), type=TEXT)
    if isinstance(node, exp.Literal):
        return numeral(str(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        family = {"DATE": Family.DATE, "TIMESTAMP": Family.TIMESTAMP}.get(node.to.this.name)
        return dated(str(node.this.this), family) if family else None
    return None


def numeral(text: str) -> Literal:
    """A number as written, exactly."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or abs(value) >= 2**53:
        refuse(f"the number {shown(text)} is too large.", "Use numbers below 2**53.")
    fraction = Fraction(value)
    whole = fraction.denominator == 1
    kind = number(fraction, fraction, Fraction(1) if whole else None)
    return Literal(value=int(value) if whole else value, type=kind)


def _between(node: exp.Expression, scope: Scope) -> Expression:
    tested, low, high = (scalar(node.args[name], scope) for name in ("this", "low", "high"))
    low, high = _as_dates(low, tested), _as_dates(high, tested)
    return call("and", [call("at_least", [tested, low], node), call("at_most", [tested, high], node)], node)


def _in(node: exp.Expression, scope: Scope) -> Expression:
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        refuse(f"«{shown(node)}» asks a subquery.", "List the values: x IN (1, 2, 3).")
    tested = scalar(node.this, scope)
    values = [_as_dates(scalar(each, scope), tested) for each in node.expressions]
    return call("in", [tested, *values], node)


def _is(node: exp.Expression, scope: Scope) -> Expression:
    if not isinstance(node.expression, exp.Null):
        refuse(f"«{shown(node)}» is not allowed.", "Use IS NULL or IS NOT NULL.")
    return call("is_null", [scalar(node.this, scope)], node)


def _case(node: exp.Expression, scope: Scope) -> Expression:
    parts: list[Expression] = []
    for each in node.args["ifs"]:
        test = exp.EQ(this=node.this.copy(), expression=each.this.copy()) if node.this else each.this
        parts += [scalar(test, scope), scalar(each.args["true"], scope)]
    otherwise = node.args.get("default")
    parts.append(scalar(otherwise, scope) if otherwise is not None else Literal(value=None, type=NULL))
    return call("case", parts, node)


def _if(node: exp.Expression, scope: Scope) -> Expression:
    otherwise = node.args.get("false")
    last = scalar(otherwise, scope) if otherwise is not None else Literal(value=None, type=NULL)
    return call("case", [scalar(node.this, scope), scalar(node.args["true"], scope), last], node)


def _round(node: exp.Expression, scope: Scope) -> Expression:
    digits = node.args.get("decimals")
    if digits is None:
        return call("round", [scalar(node.this, scope)], node)
    if not isinstance(digits, exp.Literal) or not str(digits.this).isdigit() or int(digits.this) > 9:
        refuse(f"«{shown(node)}» rounds to digits that are no constant.", "Use ROUND(x, 0) to ROUND(x, 9).")
    return call(
        "round", [scalar(node.this, scope)], node, (str(int(digits.this)),) if int(digits.this) else ()
    )


def _substring(node: exp.Expression, scope: Scope) -> Expression:
    arguments = [node.args.get(name) for name in ("this", "start", "length")]
    return call("substr", [scalar(each, scope) for each in arguments if each is not None], node)


def _extract(node: exp.Expression, scope: Scope) -> Expression:
    return _date_part(str(node.this.name), node.expression, node, scope)


def _date_part(part: str, of: exp.Expression, node: exp.Expression, scope: Scope) -> Expression:
    name = {"dayofweek": "dow"}.get(part.lower(), part.lower())
    if name not in PARTS:
        refuse(f"the date part {shown(part)} is not allowed.", f"Use one of {', '.join(PARTS)}.")
    return call("part", [scalar(of, scope)], node, (name,))


def _plain_date(node: exp.Expression) -> exp.Expression:
    """sqlglot wraps the argument of YEAR and its kin in a conversion that the column does not need."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def _truncate(node: exp.Expression, scope: Scope) -> Expression:
    unit = str(node.args["unit"].name).lower()
    if unit not in UNITS:
        refuse(f"truncating to {shown(unit)} is not allowed.", f"Use one of {', '.join(UNITS)}.")
    return call("truncate", [scalar(node.this, scope)], node, (unit,))


def _cast(node: exp.Expression, scope: Scope) -> Expression:
    wanted = node.args["to"].this.name
    target = next((name for name, kinds in CASTS.items() if wanted in kinds), None)
    if target is None:
        names = ", ".join(kind for kinds in CASTS.values() for kind in kinds)
        refuse(f"casting to {wanted} is not allowed.", f"Use one of {names}.")
    return call("cast", [scalar(node.this, scope)], node, (target,))


def _anonymous(node: exp.Expression, scope: Scope) -> Expression:
    if str(node.this).lower() in ("date_part", "datepart") and len(node.expressions) == 2:
        part, of = node.expressions
        if isinstance(part, exp.Literal) and part.is_string:
            return _date_part(str(part.this), of, node, scope)
    return refuse(f"the function {shown(str(node.this))} is not allowed.", "docs/sql.md lists what is.")


OTHERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], Expression]] = {
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


def _nearest(node: exp.Expression) -> str:
    if isinstance(node, exp.Subquery | exp.Select):
        return "Put subqueries into FROM."
    if isinstance(node, exp.Window):
        return "Window functions are not answered; aggregate, and rank the released table outside."
    if isinstance(node, exp.ILike):
        return "Use LOWER(x) LIKE '…'."
    if isinstance(node, exp.IntDiv):
        return "Use FLOOR(a / b)."
    if isinstance(node, exp.AggFunc):
        return "Aggregates stand in SELECT, HAVING and ORDER BY."
    return "docs/sql.md lists what is."
