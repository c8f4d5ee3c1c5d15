"""Errors of aggregates and window functions over the rows of a query.

SUM, AVG    of a linear value whose cells differ from row to row: linear, over the union of the regions. The
            number of cells is the sum of the rows' numbers, so its weight must be the same in every row.
MAX, MIN    within the extremes of the box of their argument.
COUNT       exact; ranks too, where rows are ordered by exact values.
LAG, LEAD   the value of another row.
Otherwise   it is not known: over rows that noise selected or ordered, over groups of which some may be
            missing, or over values that share noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.sql.error_expressions import DERIVED, Context, evaluate, parse_constant
from discreet.sql.noisy_regions import WHOLE, Region, RegionKind, contains_region, find_scan, is_cell
from discreet.sql.noisy_values import (
    EXACT,
    ONE,
    Exact,
    Linear,
    Noisy,
    Number,
    Term,
    Value,
    invert,
    scale_value,
    to_sql,
)

SELECTED_ROWS = "it is computed over rows that noisy values selected"
INCOMPLETE = "groups that were not selected are missing from it"
REPEATED = "the same noisy values enter several of its rows"
UNEQUAL = "its rows have different weights, and its error is not known"
NOISY_ORDER = "it depends on the order of noisy values"

RANKS = (
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
    exp.Ntile,
    exp.CumeDist,
    exp.PercentRank,
)
UNORDERED = (
    *(exp.Sum, exp.Avg, exp.Count, exp.CountIf, exp.Min, exp.Max, exp.Median, exp.LogicalOr, exp.LogicalAnd),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Grouping),
)
"""Aggregates whose value does not depend on the order of rows."""


@dataclass(frozen=True, kw_only=True)
class RowFacts:
    """Facts about the rows of a query.

    `disjoint` are the regions whose cells differ from row to row; `selected` says how noise selected the
    rows; `is_incomplete` that groups may be missing; `is_whole` that they are all rows of one released table,
    `is_subcube` all of those that agree in some keys;
    `has_noisy_order` that they come in an order that noise decided, which breaks ties.
    """

    scope: int
    disjoint: frozenset[Region]
    selected: str = ""
    is_incomplete: bool = False
    is_whole: bool = False
    is_subcube: bool = False
    has_noisy_order: bool = False

    def has_disjoint(self, region: Region) -> bool:
        """Return True if a region has other cells in every row."""
        if any(contains_region(each, region) for each in self.disjoint):
            return True
        based = region.kind in (RegionKind.PART, RegionKind.OFFSET)
        return based and region.base is not None and self.has_disjoint(region.base)


Wrap = Callable[[exp.Expression], exp.Expression]
MakeRegion = Callable[[Region], Region]


def evaluate_aggregate(
    node: exp.Expression, context: Context, rows: RowFacts, wrap: Wrap, make_region: MakeRegion
) -> Value:
    """Return the value of an aggregate over rows; `wrap` adds FILTER and OVER to an aggregate call."""
    values = [evaluate(each, context) for each in node.iter_expressions() if not isinstance(each, exp.Star)]
    noisy = [each for each in values if isinstance(each, Noisy)]
    reason = _find_reason(node, rows, noisy)
    if reason:
        return Noisy(reason=reason)
    is_count = isinstance(node, exp.Count) and not node.find(exp.Distinct) and _are_never_null(noisy)
    if is_count or not noisy:
        return EXACT
    argument = noisy[0]
    unknown = Noisy(reason=argument.reason or DERIVED)
    if len(values) != 1 or isinstance(node.this, exp.Distinct):
        return unknown
    if isinstance(node, exp.Max | exp.Min):
        return _evaluate_extreme(node, argument, wrap)
    if not isinstance(node, exp.Sum | exp.Avg) or argument.linear is None:
        return unknown
    return _evaluate_total(node, argument.linear, rows, wrap, make_region)


def _find_reason(node: exp.Expression, rows: RowFacts, noisy: Sequence[Noisy]) -> str:
    """Return why nothing is known of an aggregate over such rows; empty if something is."""
    if rows.selected or any(each.chosen for each in noisy):
        return SELECTED_ROWS
    if rows.is_incomplete:
        return INCOMPLETE
    return NOISY_ORDER if rows.has_noisy_order and not isinstance(node, UNORDERED) else ""


def _evaluate_total(
    node: exp.Expression, linear: Linear, rows: RowFacts, wrap: Wrap, make_region: MakeRegion
) -> Value:
    total = sum_linear(linear, rows, wrap, make_region)
    if isinstance(total, str):
        return Noisy(reason=total)
    if isinstance(node, exp.Sum):
        return Noisy(parts=(total,))
    shown = invert(wrap(exp.Count(this=linear.value.copy())))
    assert shown is not None
    return scale_value(Noisy(parts=(total,)), shown)


def _are_never_null(noisy: list[Noisy]) -> bool:
    """Return True if noise does not decide which of the values are NULL: an unknown mean is."""
    return all(each.linear is not None and not each.linear.may_be_null for each in noisy)


def _evaluate_extreme(node: exp.Expression, argument: Noisy, wrap: Wrap) -> Value:
    if argument.box is None:
        return Noisy(reason=argument.reason or DERIVED)
    low, high = (wrap(type(node)(this=end.copy())) for end in argument.box)
    return Noisy(box=(low, high))


def sum_linear(linear: Linear, rows: RowFacts, wrap: Wrap, make_region: MakeRegion) -> Linear | str:
    """Return the sum over rows of a linear value, or why its error is not known."""
    if linear.may_be_null:
        return SELECTED_ROWS
    terms: list[Term] = []
    shown = exp.Not(this=exp.Is(this=exp.paren(linear.value.copy()), expression=exp.Null()))
    for term in linear.terms:
        if not isinstance(term.weight, Fraction):
            return UNEQUAL
        if not term.is_rounding and not rows.has_disjoint(term.region):
            return REPEATED
        terms.append(
            replace(term, region=make_region(term.region), count=_count_cells(term.count, shown, wrap))
        )
    value = wrap(exp.Sum(this=linear.value.copy()))
    return Linear(value=value, terms=tuple(terms), is_whole=linear.is_whole)


def _count_cells(count: Number, shown: exp.Expression, wrap: Wrap) -> exp.Expression:
    """Return the number of cells in all rows in which the value is shown."""
    case = exp.Case().when(shown.copy(), to_sql(count))
    return wrap(exp.Sum(this=case))


Origin = tuple[int, str] | None


def make_group_region(scope: int, rows: RowFacts, origins: Iterable[Origin], *, has_keys: bool) -> MakeRegion:
    """Return the region of a GROUP BY with keys of such origins; of all rows it is the whole table."""
    listed = list(origins)
    known = [each for each in listed if each is not None]

    def make(region: Region) -> Region:
        if rows.is_whole and not has_keys and is_cell(region):
            return WHOLE
        return Region(
            kind=RegionKind.GROUP,
            scope=scope,
            base=region,
            fixed=_find_fixed_keys(region, known),
            is_subcube=rows.is_subcube and is_cell(region) and len(known) == len(listed),
        )

    return make


def _find_fixed_keys(region: Region, origins: Iterable[tuple[int, str]]) -> frozenset[str]:
    scan = find_scan(region)
    return frozenset(name for scope, name in origins if scope == scan)


# -- Windows ------------------------------------------------------------------------------------------------


def evaluate_window(node: exp.Window, context: Context, rows: RowFacts) -> Value:
    """Return the value of a window function over rows."""
    function, condition = node.this, None
    if isinstance(function, exp.Filter):
        function, condition = function.this, function.expression.this
    order = node.args.get("order")
    placed = [*node.args.get("partition_by", []), *(order.expressions if order is not None else [])]
    placed += _list_places(function, node.args.get("spec"))
    exact = all(isinstance(evaluate(_get_ordered(each), context), Exact) for each in placed)
    is_total = order is None and node.args.get("spec") is None and isinstance(function, exp.AggFunc)
    if not exact or (rows.has_noisy_order and not is_total):
        return Noisy(reason=NOISY_ORDER)
    if rows.selected or (condition is not None and isinstance(evaluate(condition, context), Noisy)):
        return Noisy(reason=SELECTED_ROWS)
    if isinstance(function, RANKS):
        return EXACT
    if isinstance(function, exp.Lag | exp.Lead):
        return _evaluate_offset(node, function, context, rows)
    if isinstance(function, exp.FirstValue | exp.LastValue):
        return _evaluate_first_value(node, function, context, rows)
    return _evaluate_window_aggregate(node, function, condition, context, rows)


def _evaluate_window_aggregate(
    node: exp.Window,
    function: exp.Expression,
    condition: exp.Expression | None,
    context: Context,
    rows: RowFacts,
) -> Value:
    if not isinstance(function, exp.AggFunc):
        values = [evaluate(each, context) for each in node.this.iter_expressions()]
        return Noisy(reason=DERIVED) if any(isinstance(each, Noisy) for each in values) else EXACT

    def wrap(call: exp.Expression) -> exp.Expression:
        copy = node.copy()
        if condition is not None:
            call = exp.Filter(this=call, expression=exp.Where(this=condition.copy()))
        copy.set("this", call)
        return copy

    parts = [evaluate(each, context) for each in node.args.get("partition_by", [])]
    region = make_window_region(node, rows, condition, parts)
    return evaluate_aggregate(function, context, rows, wrap, region)


def _list_places(function: exp.Expression, frame: exp.Expression | None) -> list[exp.Expression]:
    """Return the expressions that say which rows a window function reads: a frame's ends, an offset."""
    ends = [] if frame is None else [frame.args.get(name) for name in ("start", "end")]
    inner = function.this if isinstance(function, exp.IgnoreNulls | exp.RespectNulls) else function
    if isinstance(inner, exp.Ntile):
        ends.append(inner.this)
    ends += [inner.args.get("offset")]
    return [each for each in ends if isinstance(each, exp.Expression)]


def _get_ordered(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Ordered) else node


def make_window_region(
    node: exp.Window, rows: RowFacts, condition: exp.Expression | None, parts: Iterable[Value]
) -> MakeRegion:
    """Return the region of a window: which rows its frame has, and whether the row itself is one of them."""
    partition = sorted(each.sql("duckdb") for each in node.args.get("partition_by", []))
    order, frame = node.args.get("order"), node.args.get("spec")
    shape = " ".join(each.sql("duckdb") for each in (order, frame) if each is not None)
    if condition is not None:
        shape += f" filter {condition.sql('duckdb')}"
    has_current = condition is None and (frame is None or _has_current_row(frame))
    is_plain = order is None and frame is None and condition is None
    key = "".join(f"{each}\n" for each in partition) + shape
    known = [each.origin for each in parts if isinstance(each, Exact) and each.origin is not None]

    def make(region: Region) -> Region:
        return Region(
            kind=RegionKind.WINDOW,
            scope=rows.scope,
            base=region,
            key=key,
            partition=frozenset(partition) if is_plain else None,
            has_current_row=has_current,
            fixed=_find_fixed_keys(region, known),
        )

    return make


def _has_current_row(frame: exp.Expression) -> bool:
    """Return True if a frame certainly has the row itself."""
    start, end = (_get_side(frame, end) for end in ("start", "end"))
    return (
        not frame.args.get("exclude")
        and start in ("CURRENT ROW", "PRECEDING")
        and end in ("", "CURRENT ROW", "FOLLOWING")
    )


def _get_side(frame: exp.Expression, end: str) -> str:
    bound, side = frame.args.get(end), str(frame.args.get(f"{end}_side") or "")
    if bound is None or str(bound) == "CURRENT ROW":
        return "" if bound is None else "CURRENT ROW"
    if isinstance(bound, exp.Expression):
        size = parse_constant(bound)
        return side if size is not None and size >= 0 else "?"
    return side


def _evaluate_offset(node: exp.Window, function: exp.Expression, context: Context, rows: RowFacts) -> Value:
    argument = evaluate(function.this, context)
    default = function.args.get("default")
    if rows.selected:
        return Noisy(reason=SELECTED_ROWS)
    if rows.is_incomplete:
        return Noisy(reason=INCOMPLETE)
    if isinstance(argument, Exact):
        return EXACT if default is None else evaluate(default, context)
    given = function.args.get("offset")
    offset = ONE if given is None else parse_constant(given)
    if argument.linear is None or default is not None or offset is None or offset.denominator != 1:
        return Noisy(reason=argument.reason or DERIVED)
    way = -1 if isinstance(function, exp.Lag) else 1
    spec = node.copy()
    spec.set("this", exp.Null())
    return _move_linear(node, argument.linear, rows, spec.sql("duckdb"), way * int(offset))


def _move_linear(node: exp.Window, linear: Linear, rows: RowFacts, spec: str, offset: int) -> Value:
    """Return the linear value of another row; `offset` is how far away it is."""

    def move(number: Number) -> Number:
        if isinstance(number, Fraction):
            return number
        copy = node.copy()
        copy.this.set("this", number.copy())
        return copy

    terms = []
    for term in linear.terms:
        if not term.is_rounding and not rows.has_disjoint(term.region):
            return Noisy(reason=REPEATED)
        region = term.region
        if offset:
            region = Region(kind=RegionKind.OFFSET, scope=rows.scope, base=region, key=spec, offset=offset)
        terms.append(replace(term, region=region, weight=move(term.weight), count=move(term.count)))
    moved = move(linear.value)
    assert isinstance(moved, exp.Expression)
    return Noisy(parts=(replace(linear, value=moved, terms=tuple(terms)),))


def _evaluate_first_value(
    node: exp.Window, function: exp.Expression, context: Context, rows: RowFacts
) -> Value:
    """FIRST_VALUE and LAST_VALUE: the value of one row, which may be the row itself."""
    argument = evaluate(function.this, context)
    if rows.selected:
        return Noisy(reason=SELECTED_ROWS)
    if rows.is_incomplete:
        return Noisy(reason=INCOMPLETE)
    if isinstance(argument, Exact):
        return EXACT
    if argument.linear is None:
        return Noisy(reason=argument.reason or DERIVED)
    moved = _move_linear(node, argument.linear, rows, "", 0)
    if moved.linear is None:  # type: ignore[union-attr]
        return moved
    spec = f"first {node.sql('duckdb')}"
    terms = tuple(
        replace(
            term,
            region=Region(kind=RegionKind.WINDOW, scope=rows.scope, base=term.region, key=spec),
        )
        for term in moved.linear.terms  # type: ignore[union-attr]
    )
    return Noisy(parts=(replace(moved.linear, terms=terms),))  # type: ignore[union-attr]
