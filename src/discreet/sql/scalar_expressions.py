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

from discreet.sql.allowed_functions import FUNCTIONS
from discreet.sql.expression_tree import Call, Expression, ReleasedConstant
from discreet.sql.expression_types import DIGITS, Bound, Family, Type, make_double_type, to_double_type
from discreet.sql.nullability import may_be_null
from discreet.sql.query_literals import (
    NOTHING,
    ConstantNode,
    coerce_date_literal,
    parse_constant,
    parse_number,
    parse_whole_number,
)
from discreet.sql.refusal import LISTED, WRITTEN_PLAINLY, format_snippet, refuse_function, refuse_query
from discreet.sql.type_inference import PARTS, UNITS, TypeMismatch

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

    def resolve_column(self, node: exp.Column) -> Expression:
        """Return the expression that a column name refers to, or raise a refusal."""

    def resolve_special(self, node: exp.Expression) -> Expression | None:
        """Return the expression of a node with a meaning in this scope only (a group key, an aggregate)."""


def resolve_scalar(node: exp.Expression, scope: Scope) -> Expression:
    """Return the typed expression of a node."""
    known = scope.resolve_special(node)
    if known is not None:
        return known
    if isinstance(node, exp.Paren):
        return resolve_scalar(node.this, scope)
    if isinstance(node, exp.Column):
        return scope.resolve_column(node)
    if isinstance(node, ConstantNode):
        return ReleasedConstant(name=str(node.this), value=None, type=make_double_type())
    found = parse_constant(node)
    if found is not None:
        return found
    build = _find_builder(node)
    if build is None:
        refuse_query(
            f"{_name_node(node)} in «{format_snippet(node)}» is not allowed here.", _describe_placement(node)
        )
    return build(node, scope)


def resolve_condition(node: exp.Expression, scope: Scope, clause: str) -> Expression:
    """Return the expression of a condition, or refuse one that is not boolean."""
    found = resolve_scalar(node, scope)
    if found.type.family not in (Family.BOOLEAN, Family.NULL):
        refuse_query(
            f"{clause} needs a condition; «{format_snippet(node)}» is none.", "Compare it with something."
        )
    return found


def build_call(
    name: str, arguments: list[Expression], node: exp.Expression, options: tuple[str, ...] = ()
) -> Expression:
    """Return a typed call, or refuse one whose arguments have the wrong types."""
    try:
        kind = FUNCTIONS[name].infer_type(tuple(each.type for each in arguments), options)
    except TypeMismatch as mismatch:
        refuse_query(f"«{format_snippet(node)}» {mismatch}.", "CAST one side, or compare values of one kind.")
    kind = _drop_long_bounds(kind)
    kind = replace(kind, is_nullable=may_be_null(name, [each.type for each in arguments], kind))
    return Call(function=name, arguments=tuple(arguments), type=kind, options=options)


def _drop_long_bounds(kind: Type) -> Type:
    if any(_is_long(end) for end in (kind.low, kind.high)):
        return replace(to_double_type(kind), low=None, high=None)
    return kind


def _is_long(end: Bound) -> bool:
    return end is not None and max(end.numerator.bit_length(), end.denominator.bit_length()) > BITS


def _find_builder(node: exp.Expression) -> Callable[[exp.Expression, Scope], Expression] | None:
    kind = type(node)
    if kind in BINARY:
        return _build_binary
    if kind in UNARY:
        return lambda n, s: build_call(UNARY[kind], [resolve_scalar(n.this, s)], n)
    if kind in SEVERAL:
        return lambda n, s: build_call(
            SEVERAL[kind], [resolve_scalar(each, s) for each in (n.this, *n.expressions)], n
        )
    if kind in PART_NODES:
        return lambda n, s: build_call(
            "part", [resolve_scalar(_unwrap_date(n.this), s)], n, (PART_NODES[kind],)
        )
    return OTHERS.get(kind)


def _build_binary(node: exp.Expression, scope: Scope) -> Expression:
    left, right = resolve_scalar(node.this, scope), resolve_scalar(node.expression, scope)
    return build_call(
        BINARY[type(node)], [coerce_date_literal(left, right), coerce_date_literal(right, left)], node
    )


LONGEST_PATTERN = 1_000


def _require_short_pattern(node: exp.Expression) -> None:
    written = node.expression
    if isinstance(written, exp.Literal) and len(str(written.this)) > LONGEST_PATTERN:
        refuse_query(
            "the pattern of a LIKE is too long.", f"Use a pattern of at most {LONGEST_PATTERN:,} characters."
        )


def _build_like(node: exp.Expression, scope: Scope) -> Expression:
    _require_short_pattern(node)
    matched = build_call(
        "like", [resolve_scalar(node.this, scope), resolve_scalar(node.expression, scope)], node
    )
    return build_call("not", [matched], node) if node.args.get("negate") else matched


def _build_ilike(node: exp.Expression, scope: Scope) -> Expression:
    _require_short_pattern(node)
    sides = [
        build_call("lower", [resolve_scalar(each, scope)], node) for each in (node.this, node.expression)
    ]
    matched = build_call("like", sides, node)
    return build_call("not", [matched], node) if node.args.get("negate") else matched


def _build_left(node: exp.Expression, scope: Scope) -> Expression:
    if parse_whole_number(node.expression, max_value=10**6) is None:
        refuse_query(f"«{format_snippet(node)}» needs a whole number.", "Write LEFT(x, 3).")
    return build_call(
        "substr",
        [resolve_scalar(node.this, scope), parse_number("1"), resolve_scalar(node.expression, scope)],
        node,
    )


def _build_between(node: exp.Expression, scope: Scope) -> Expression:
    tested, low, high = (resolve_scalar(node.args[name], scope) for name in ("this", "low", "high"))
    return build_call(
        "between", [tested, coerce_date_literal(low, tested), coerce_date_literal(high, tested)], node
    )


def _build_in(node: exp.Expression, scope: Scope) -> Expression:
    if not node.expressions:
        refuse_query(f"«{format_snippet(node)}» compares with nothing.", "List the values: x IN (1, 2, 3).")
    tested = resolve_scalar(node.this, scope)
    values = [coerce_date_literal(resolve_scalar(each, scope), tested) for each in node.expressions]
    return build_call("in", [tested, *values], node)


def _build_is_null(node: exp.Expression, scope: Scope) -> Expression:
    if not isinstance(node.expression, exp.Null):
        refuse_query(f"«{format_snippet(node)}» is not answered.", "Use IS NULL or IS NOT NULL.")
    return build_call("is_null", [resolve_scalar(node.this, scope)], node)


def _build_case(node: exp.Expression, scope: Scope) -> Expression:
    parts = [
        (resolve_scalar(each.this, scope), resolve_scalar(each.args["true"], scope))
        for each in node.args["ifs"]
    ]
    otherwise = _build_else(node.args.get("default"), scope)
    if node.this is None:
        return build_call("case", [*chain(*parts), otherwise], node)
    tested = resolve_scalar(node.this, scope)
    for when, _ in parts:
        tested = coerce_date_literal(tested, when)
    compared = [(coerce_date_literal(when, tested), then) for when, then in parts]
    return build_call("switch", [tested, *chain(*compared), otherwise], node)


def _build_if(node: exp.Expression, scope: Scope) -> Expression:
    parts = [resolve_scalar(node.this, scope), resolve_scalar(node.args["true"], scope)]
    return build_call("case", [*parts, _build_else(node.args.get("false"), scope)], node)


def _build_else(node: exp.Expression | None, scope: Scope) -> Expression:
    return NOTHING if node is None else resolve_scalar(node, scope)


def _build_round(node: exp.Expression, scope: Scope) -> Expression:
    written = node.args.get("decimals")
    before = isinstance(written, exp.Neg)
    digits = 0 if written is None else parse_whole_number(written.this if before else written, max_value=9)
    if digits is None:
        refuse_query(
            f"«{format_snippet(node)}» rounds to digits that are no constant.",
            "Use ROUND(x, -9) to ROUND(x, 9).",
        )
    places = (f"{'-' if before else ''}{digits}",) if digits else ()
    return build_call("round", [resolve_scalar(node.this, scope)], node, places)


def _build_substring(node: exp.Expression, scope: Scope) -> Expression:
    arguments = [node.args.get(name) for name in ("this", "start", "length")]
    return build_call("substr", [resolve_scalar(each, scope) for each in arguments if each is not None], node)


def _build_extract(node: exp.Expression, scope: Scope) -> Expression:
    return _build_date_part(str(node.this.name), node.expression, node, scope)


def _build_date_part(part: str, argument: exp.Expression, node: exp.Expression, scope: Scope) -> Expression:
    name = {"dayofweek": "dow"}.get(part.lower(), part.lower())
    if name not in PARTS:
        refuse_query(
            f"the date part {format_snippet(part)} is not answered.", f"Use one of {', '.join(PARTS)}."
        )
    return build_call("part", [resolve_scalar(argument, scope)], node, (name,))


def _unwrap_date(node: exp.Expression) -> exp.Expression:
    """Return the argument of YEAR, MONTH … without the conversion in which sqlglot wraps it."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def _build_date_trunc(node: exp.Expression, scope: Scope) -> Expression:
    unit = str(node.args["unit"].name).lower()
    if unit not in UNITS:
        refuse_query(
            f"truncating to {format_snippet(unit)} is not answered.", f"Use one of {', '.join(UNITS)}."
        )
    return build_call("truncate", [resolve_scalar(node.this, scope)], node, (unit,))


def _build_cast(node: exp.Expression, scope: Scope) -> Expression:
    to, value = node.args["to"], resolve_scalar(node.this, scope)
    wanted = to.this.name
    if wanted == "DECIMAL":
        return _build_decimal_cast(node, to, value)
    target = next((name for name, kinds in CASTS.items() if wanted in kinds), None)
    if target is None:
        names = ", ".join(["DECIMAL", *(kind for kinds in CASTS.values() for kind in kinds)])
        refuse_query(f"casting to {wanted} is not answered.", f"Use one of {names}.")
    return build_call("cast", [value], node, (target,))


def _build_decimal_cast(node: exp.Expression, to: exp.Expression, value: Expression) -> Expression:
    """Return a cast to DECIMAL, by default DECIMAL(18, 3); DECIMAL(p) has no decimal places."""
    written = [parse_whole_number(each.this, max_value=DIGITS) for each in to.expressions] or [18, 3]
    digits, places = (*written, 0)[:2]
    if not digits or places is None or places > digits or len(written) > 2:
        refuse_query(f"«{format_snippet(node)}» has too many digits.", "Use DECIMAL(18, 9), or DOUBLE.")
    if value.type.family is Family.TEXT and digits + places > DIGITS:
        refuse_query(f"«{format_snippet(node)}» reads too many digits.", "Use DECIMAL(18, 9), or DOUBLE.")
    return build_call("cast", [value], node, ("decimal", str(digits), str(places)))


def _build_anonymous(node: exp.Expression, scope: Scope) -> Expression:
    if str(node.this).lower() in ("date_part", "datepart") and len(node.expressions) == 2:
        part, of = node.expressions
        if isinstance(part, exp.Literal) and part.is_string:
            return _build_date_part(str(part.this), of, node, scope)
    return refuse_function(node)


OTHERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], Expression]] = {
    exp.Like: _build_like,
    exp.ILike: _build_ilike,
    exp.Left: _build_left,
    exp.Between: _build_between,
    exp.In: _build_in,
    exp.Is: _build_is_null,
    exp.Case: _build_case,
    exp.If: _build_if,
    exp.Round: _build_round,
    exp.Substring: _build_substring,
    exp.Extract: _build_extract,
    exp.DateTrunc: _build_date_trunc,
    exp.TimestampTrunc: _build_date_trunc,
    exp.Cast: _build_cast,
    exp.TryCast: _build_cast,
    exp.Anonymous: _build_anonymous,
}


def _describe_placement(node: exp.Expression) -> str:
    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return "Use aggregates in SELECT, HAVING or ORDER BY, and none inside another."
    if isinstance(node, exp.Select | exp.Subquery):
        asked = format_snippet(node.this if isinstance(node, exp.Subquery) else node)
        return f"Ask «{asked}» first, and write its answer here; or put the subquery into FROM."
    return LISTED


def _name_node(node: exp.Expression) -> str:
    """Return the name of a function or operator as SQL spells it, not as the parser calls it."""
    return "*" if isinstance(node, exp.Star) else WRITTEN_PLAINLY.get(type(node), node.key.upper())
