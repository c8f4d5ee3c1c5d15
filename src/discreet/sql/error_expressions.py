"""Errors of scalar expressions: what is exact, linear, a ratio or a monotone function of noisy values.

+ and −      of linear values are linear; of others a sum of parts.
×            with an exact factor scales; with another noisy value it is not known.
/            by an exact number scales; of two linear values it is a ratio.
Functions    monotone ones are applied to the ends of an interval (`sql.monotone_functions`).
CASE         with exact conditions takes, from each branch, the cells of rows where it applies. Where noise
             decides whether a value is NULL, rows are selected by noise. Any other choice by noise is not
             known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from discreet.sql.noisy_regions import Region, RegionKind
from discreet.sql.noisy_values import (
    EXACT,
    ROUNDING,
    Exact,
    Linear,
    Noisy,
    Number,
    Step,
    Term,
    Value,
    add_values,
    append_step,
    divide_values,
    invert,
    limit_box,
    scale_value,
    shift_value,
    to_sql,
)

DERIVED = "it is computed from noisy values, and its error is not known"
CHOSEN = "noisy values decide whether it is shown"
FLOATING = frozenset({exp.DType.DOUBLE})
WHOLE_TYPES = frozenset(
    {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128}
)
LONG_TYPES = frozenset({exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128})
"""Types that hold whatever is released: the others make large numbers NULL."""
LONG_DIGITS = 9  # before the point, of a DECIMAL that does, too
DECIMAL_WIDTH, DECIMAL_DIGITS = 18, 3  # of DECIMAL without a scale
LARGEST_PRECISION = 30


class Context(Protocol):
    """The columns, groups and rows that an expression is evaluated over."""

    scope: int

    def resolve(self, node: exp.Expression) -> Value | None:
        """Return the value of a column, group key, aggregate, window or subquery; None of anything else."""


def evaluate(node: exp.Expression, context: Context) -> Value:
    """Return what is known of the error of an expression."""
    found = context.resolve(node)
    if found is not None:
        return found
    form = FORMS.get(type(node))
    if form is not None:
        return form(node, context)
    return _evaluate_other(node, context)


def parse_constant(node: exp.Expression) -> Fraction | None:
    """Return the number that a literal is, with its sign and casts."""
    if isinstance(node, exp.Paren):
        return parse_constant(node.this)
    if isinstance(node, exp.Neg):
        inner = parse_constant(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast) and node.to.this in FLOATING | WHOLE_TYPES:
        inner = parse_constant(node.this)
        rounds = node.to.this in WHOLE_TYPES and inner is not None and inner.denominator != 1
        return None if rounds else inner
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return Fraction(str(node.this))
        except ValueError:
            return None
    return None


def to_number(node: exp.Expression) -> Number:
    """Return an exact expression as a number, or as SQL."""
    constant = parse_constant(node)
    return node if constant is None else constant


def _evaluate_other(node: exp.Expression, context: Context) -> Value:
    """Return exact if all operands are, else why the error is not known."""
    operands = [child for child in node.iter_expressions() if not isinstance(child, exp.DataType)]
    values = [evaluate(child, context) for child in operands]
    noisy = [each for each in values if isinstance(each, Noisy)]
    if not noisy:
        return EXACT
    return Noisy(
        reason=next((each.reason for each in noisy if each.reason), DERIVED),
        chosen=next((each.chosen for each in noisy if each.chosen), ""),
    )


# -- Arithmetic ---------------------------------------------------------------------------------------------


def _evaluate_inner(node: exp.Expression, context: Context) -> Value:
    return evaluate(node.this, context)


def _evaluate_negative(node: exp.Expression, context: Context) -> Value:
    inner = evaluate(node.this, context)
    return scale_value(inner, Fraction(-1)) if isinstance(inner, Noisy) else EXACT


def _evaluate_sum(node: exp.Expression, context: Context) -> Value:
    left, right = evaluate(node.this, context), evaluate(node.expression, context)
    sign = Fraction(-1 if isinstance(node, exp.Sub) else 1)
    if isinstance(left, Noisy) and isinstance(right, Noisy):
        return add_values(left, scale_value(right, sign))
    if isinstance(left, Noisy):
        amount = to_number(node.expression)
        signed = amount * sign if isinstance(amount, Fraction) else amount
        if isinstance(signed, exp.Expression) and sign < 0:
            signed = exp.paren(exp.Neg(this=exp.paren(signed.copy())))
        return shift_value(left, signed, is_whole=_is_whole(signed))
    if isinstance(right, Noisy):
        amount = to_number(node.this)
        return shift_value(scale_value(right, sign), amount, is_whole=_is_whole(amount))
    return EXACT


def _is_whole(number: Number) -> bool:
    return isinstance(number, Fraction) and number.denominator == 1


def _evaluate_product(node: exp.Expression, context: Context) -> Value:
    left, right = evaluate(node.this, context), evaluate(node.expression, context)
    if isinstance(left, Noisy) and isinstance(right, Noisy):
        return Noisy(reason=left.reason or right.reason or DERIVED, chosen=left.chosen or right.chosen)
    if isinstance(left, Noisy):
        return scale_value(left, to_number(node.expression))
    return scale_value(right, to_number(node.this)) if isinstance(right, Noisy) else EXACT


def _evaluate_quotient(node: exp.Expression, context: Context) -> Value:
    left, right = evaluate(node.this, context), evaluate(node.expression, context)
    if isinstance(right, Noisy):
        if isinstance(left, Noisy):
            return _give_reason(divide_values(left, right))
        exact = Linear(value=to_sql(to_number(node.this)), terms=())
        return _give_reason(divide_values(exact, right))
    if isinstance(left, Noisy):
        factor = invert(to_number(node.expression))
        return Noisy(reason=DERIVED) if factor is None else scale_value(left, factor)
    return EXACT


def _give_reason(value: Noisy) -> Noisy:
    return value if value.parts or value.box or value.reason else replace(value, reason=DERIVED)


def _evaluate_null_if(node: exp.Expression, context: Context) -> Value:
    """NULLIF(x, 0): NULL for one value of x alone, mostly to avoid a division by it."""
    left, right = evaluate(node.this, context), evaluate(node.expression, context)
    if not isinstance(right, Exact):
        return Noisy(reason=DERIVED)
    return left if isinstance(left, Exact) else _allow_null(left)


def _allow_null(value: Noisy) -> Noisy:
    """Return a value that is NULL where noise makes it so: what is shown has its error, a total has none."""
    parts = tuple(
        replace(each, may_be_null=True) if isinstance(each, Linear) else each for each in value.parts
    )
    return replace(value, parts=parts, box=None, measure=None)


# -- Functions ----------------------------------------------------------------------------------------------


def _make_step_form(name: str, *parts: str) -> Callable[[exp.Expression, Context], Value]:
    """Return the form of a monotone function of `this`, with constants as its other arguments."""

    def form(node: exp.Expression, context: Context) -> Value:
        inner = evaluate(node.this, context)
        if isinstance(inner, Exact):
            return _evaluate_other(node, context)
        constants = [parse_constant(node.args[part]) for part in parts if node.args.get(part) is not None]
        known = tuple(each for each in constants if each is not None)
        if len(known) < len(constants) or set(node.args) - {"this", *parts} & _find_given(node):
            return Noisy(reason=inner.reason or DERIVED, chosen=inner.chosen)
        return _give_reason(append_step(inner, Step(name=name, arguments=known)))

    return form


def _find_given(node: exp.Expression) -> set[str]:
    return {name for name, value in node.args.items() if value is not None and value is not False}


def _evaluate_logarithm(node: exp.Expression, context: Context) -> Value:
    """LOG(x), of base 10, and LOG(base, x)."""
    base = Fraction(10) if node.expression is None else parse_constant(node.this)
    inner = evaluate(node.expression or node.this, context)
    if isinstance(inner, Exact):
        return _evaluate_other(node, context)
    if base is None or base <= 1:
        return Noisy(reason=inner.reason or DERIVED, chosen=inner.chosen)
    return _give_reason(append_step(inner, Step(name="log", arguments=(base,))))


def _evaluate_round(node: exp.Expression, context: Context) -> Value:
    inner = evaluate(node.this, context)
    if isinstance(inner, Exact):
        return _evaluate_other(node, context)
    given = node.args.get("decimals")
    digits = Fraction(0) if given is None else parse_constant(given)
    if digits is None or digits.denominator != 1 or abs(digits) > LARGEST_PRECISION:
        return Noisy(reason=inner.reason or DERIVED, chosen=inner.chosen)
    return _round_value(inner, int(digits), context)


def _round_value(value: Noisy, digits: int, context: Context) -> Noisy:
    """Return the value rounded to `digits` decimals: a linear one stays linear, with a rounding error."""
    linear = value.linear
    if linear is None:
        return _give_reason(append_step(value, Step(name="round", arguments=(Fraction(digits),))))
    if linear.is_whole and digits >= 0:
        return value
    region = Region(kind=RegionKind.CELL, scope=context.scope, key="rounding")
    most = Fraction(1, 2) * Fraction(10) ** -digits
    terms = (*linear.terms, Term(source=ROUNDING, region=region, weight=most))
    return Noisy(parts=(replace(linear, terms=terms),), chosen=value.chosen)


def _evaluate_cast(node: exp.Expression, context: Context) -> Value:
    inner = evaluate(node.this, context)
    if isinstance(inner, Exact):
        return EXACT
    assert isinstance(node, exp.Cast)
    kind = node.to.this
    if kind in FLOATING:
        return inner
    if kind in WHOLE_TYPES:
        rounded = _round_value(inner, 0, context)
        return rounded if kind in LONG_TYPES else _allow_null(rounded)
    if kind is exp.DType.DECIMAL:
        sizes = [parse_constant(each.this) for each in node.to.expressions]
        digits = sizes[1] if len(sizes) > 1 else Fraction(DECIMAL_DIGITS if not sizes else 0)
        if digits is None:
            return Noisy(reason=DERIVED)
        rounded = _round_value(inner, int(digits), context)
        width = sizes[0] if sizes else Fraction(DECIMAL_WIDTH)
        fits = width is not None and width - digits >= LONG_DIGITS
        return rounded if fits else _allow_null(rounded)
    return Noisy(reason=inner.reason or DERIVED, chosen=inner.chosen)


def _evaluate_extreme(node: exp.Expression, context: Context) -> Value:
    """GREATEST and LEAST: within the box of their arguments, if exact ones are constants."""
    parts = [node.this, *node.expressions]
    values = [evaluate(each, context) for each in parts]
    if all(isinstance(each, Exact) for each in values):
        return EXACT
    ends: tuple[list[exp.Expression], list[exp.Expression]] = ([], [])
    for part, value in zip(parts, values, strict=True):
        box = (part, part) if isinstance(value, Exact) else value.box
        if box is None:
            reason = next((each.reason for each in values if isinstance(each, Noisy) and each.reason), "")
            return Noisy(reason=reason or DERIVED)
        for end, known in zip(ends, box, strict=True):
            end.append(known.copy())
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    low, high = (exp.func(name, *end) for end in ends)
    chosen = next((each.chosen for each in values if isinstance(each, Noisy) and each.chosen), "")
    return Noisy(box=limit_box(low, high), chosen=chosen)


# -- Choice -------------------------------------------------------------------------------------------------


def restrict_linear(
    linear: Linear, chosen: Callable[[Number], exp.Expression], key: str, scope: int
) -> Linear:
    """Return a linear part whose noise enters only some rows; `chosen` gives a count, or 0 elsewhere."""
    terms = tuple(
        replace(
            term,
            region=Region(kind=RegionKind.PART, scope=scope, base=term.region, key=key),
            count=chosen(term.count),
        )
        for term in linear.terms
    )
    return replace(linear, terms=terms)


def _evaluate_case(node: exp.Expression, context: Context) -> Value:
    conditions, branches = _list_branches(node)
    values = [None if branch is None else evaluate(branch, context) for branch in branches]
    noisy = [each for each in values if isinstance(each, Noisy)]
    guards = [evaluate(each, context) for each in conditions]
    if not noisy and all(isinstance(each, Exact) for each in guards):
        return EXACT
    reason = next((each.reason for each in noisy if each.reason), DERIVED)
    if not all(isinstance(each, Exact) for each in guards):
        return _evaluate_noisy_case(conditions, branches, values, reason)
    total: Linear | None = None
    for place, (branch, value) in enumerate(zip(branches, values, strict=True)):
        if not isinstance(value, Noisy) or branch is None:
            continue
        if value.linear is None:
            return Noisy(reason=reason)
        choose = _make_branch_count(node, conditions, place)
        key = f"{node.sql('duckdb')} {place}"
        part = restrict_linear(value.linear, choose, key, context.scope)
        total = part if total is None else total.add(part)
    assert total is not None
    whole = total.is_whole and all(
        isinstance(value, Noisy) or branch is None or _is_whole(to_number(branch))
        for branch, value in zip(branches, values, strict=True)
    )
    chosen = next((each.chosen for each in noisy if each.chosen), "")
    return Noisy(parts=(replace(total, value=node, is_whole=whole),), chosen=chosen)


def _list_branches(
    node: exp.Expression,
) -> tuple[list[exp.Expression], list[exp.Expression | None]]:
    """Return the conditions of CASE or IF, and its branches, that of ELSE at the end; None is NULL."""
    if isinstance(node, exp.If):
        conditions, branches = [node.this], [node.args["true"], node.args.get("false")]
    else:
        operand = node.this
        conditions = [each.this for each in node.args["ifs"]]
        if operand is not None:
            conditions = [exp.EQ(this=operand.copy(), expression=each.copy()) for each in conditions]
        branches = [*(each.args["true"] for each in node.args["ifs"]), node.args.get("default")]
    return conditions, [None if isinstance(each, exp.Null) else each for each in branches]


def _make_branch_count(
    node: exp.Expression, conditions: list[exp.Expression], place: int
) -> Callable[[Number], exp.Expression]:
    def choose(count: Number) -> exp.Expression:
        case = exp.Case()
        for index, condition in enumerate(conditions):
            case = case.when(condition.copy(), to_sql(count if index == place else Fraction(0)))
        return case.else_(to_sql(count if place == len(conditions) else Fraction(0)))

    return choose


def _evaluate_noisy_case(
    conditions: list[exp.Expression],
    branches: list[exp.Expression | None],
    values: list[Value | None],
    reason: str,
) -> Value:
    """Return the value of CASE WHEN noise THEN x END: x, in rows that noise selects; else nothing is known.

    Of CASE WHEN isfinite(x) THEN x END it is x in every row in which x is a number.
    """
    first = values[0]
    if len(conditions) != 1 or branches[1] is not None or not isinstance(first, Noisy):
        return Noisy(reason=reason)
    condition = conditions[0]
    called = condition.name.lower() if isinstance(condition, exp.Anonymous) else ""
    if called == "isfinite" and condition.expressions == [branches[0]]:
        return first
    return replace(first, chosen=CHOSEN, measure=None)


def _evaluate_coalesce(node: exp.Expression, context: Context) -> Value:
    """COALESCE(x, exact): x where it is not NULL."""
    values = [evaluate(each, context) for each in (node.this, *node.expressions)]
    if all(isinstance(each, Exact) for each in values):
        return EXACT
    first = values[0]
    if not isinstance(first, Noisy) or any(isinstance(each, Noisy) for each in values[1:]):
        return Noisy(reason=DERIVED)
    if first.linear is None or first.linear.may_be_null:
        return Noisy(reason=first.reason or DERIVED)
    if first.chosen:
        return first
    missing = exp.Is(this=first.linear.value.copy(), expression=exp.Null())

    def choose(count: Number) -> exp.Expression:
        return exp.Case().when(missing.copy(), to_sql(Fraction(0))).else_(to_sql(count))

    part = restrict_linear(first.linear, choose, missing.sql("duckdb"), context.scope)
    whole = part.is_whole and all(_is_whole(to_number(each)) for each in node.expressions)
    return Noisy(parts=(replace(part, value=node, is_whole=whole),))


FORMS: dict[type[exp.Expression], Callable[[exp.Expression, Context], Value]] = {
    exp.Paren: _evaluate_inner,
    exp.Alias: _evaluate_inner,
    exp.Neg: _evaluate_negative,
    exp.Add: _evaluate_sum,
    exp.Sub: _evaluate_sum,
    exp.Mul: _evaluate_product,
    exp.Div: _evaluate_quotient,
    exp.Nullif: _evaluate_null_if,
    exp.Cast: _evaluate_cast,
    exp.TryCast: _evaluate_cast,
    exp.Sqrt: _make_step_form("sqrt"),
    exp.Cbrt: _make_step_form("cbrt"),
    exp.Ln: _make_step_form("ln"),
    exp.Log: _evaluate_logarithm,
    exp.Exp: _make_step_form("exp"),
    exp.Abs: _make_step_form("abs"),
    exp.Floor: _make_step_form("floor"),
    exp.Ceil: _make_step_form("ceil"),
    exp.Round: _evaluate_round,
    exp.Greatest: _evaluate_extreme,
    exp.Least: _evaluate_extreme,
    exp.Case: _evaluate_case,
    exp.If: _evaluate_case,
    exp.Coalesce: _evaluate_coalesce,
}
