"""Allow-list of what a query over released tables may use: nodes, parts of nodes, and functions by name.

What is released may be computed with freely, but a repeated answer must not differ, and the query must reach
nothing but its tables. So there are no functions of files, settings, variables, the network or the catalog,
none that run SQL from a text, and none of chance or time. Everything else that is missing here is missing
because nobody needed it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlglot import exp

from discreet.sql.query_literals import parse_whole_number
from discreet.sql.query_validation import SCALARS, refuse_node, refuse_part
from discreet.sql.refusal import format_snippet, refuse_function, refuse_query
from discreet.sql.sql_names import fold_case

MOST_ROWS = 10**9
CLAUSES: Final = (
    exp.Select,
    exp.Subquery,
    exp.Union,
    exp.Except,
    exp.Intersect,
    exp.With,
    exp.CTE,
    exp.From,
    exp.Table,
    exp.TableAlias,
    exp.Join,
    exp.Lateral,
    exp.Where,
    exp.Group,
    exp.GroupingSets,
    exp.Rollup,
    exp.Cube,
    exp.Having,
    exp.Qualify,
    exp.Order,
    exp.Ordered,
    exp.Limit,
    exp.Offset,
    exp.Distinct,
    exp.Alias,
    exp.Star,
    exp.Columns,
    exp.Column,
    exp.Identifier,
    exp.Pivot,
    exp.Values,
    exp.GenerateSeries,
    exp.Unnest,
    exp.Window,
    exp.WindowSpec,
    exp.Filter,
    exp.WithinGroup,
    exp.IgnoreNulls,
    exp.RespectNulls,
)
OPERATORS: Final = (
    exp.Tuple,
    exp.Array,
    exp.Bracket,
    exp.Exists,
    exp.Any,
    exp.All,
    exp.Interval,
    exp.IntDiv,
    exp.Pow,
    exp.DPipe,
    exp.Concat,
    exp.ConcatWs,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.SimilarTo,
    exp.RegexpLike,
    exp.Escape,
    exp.Xor,
    exp.IsNan,
    exp.IsInf,
)
FUNCTIONS: Final = (
    *(exp.Sqrt, exp.Cbrt, exp.Ln, exp.Log, exp.Exp, exp.Sign, exp.Trunc, exp.Pi, exp.Factorial),
    *(exp.Sin, exp.Cos, exp.Tan, exp.Atan, exp.Atan2, exp.Asin, exp.Acos, exp.Degrees, exp.Radians),
    *(exp.Right, exp.Trim, exp.Replace, exp.Contains, exp.StartsWith, exp.EndsWith, exp.StrPosition),
    *(exp.Reverse, exp.Repeat, exp.Pad, exp.SplitPart, exp.RegexpReplace, exp.RegexpExtract, exp.Format),
    *(exp.Chr, exp.Ascii, exp.Translate),
    *(exp.DayOfYear, exp.DayOfWeekIso, exp.WeekOfYear, exp.Second, exp.Dayname, exp.Monthname),
    *(exp.LastDay, exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TimeToStr, exp.DateFromParts),
    *(exp.TimeToUnix, exp.ToDays, exp.DateBin),
)
AGGREGATES: Final = (
    *(exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max, exp.Median, exp.Mode, exp.CountIf, exp.GroupConcat),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop),
    *(exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.LogicalOr, exp.LogicalAnd),
    *(exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2),
    *(exp.First, exp.Last, exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Skewness, exp.Kurtosis, exp.ArrayAgg),
    exp.Grouping,
)
WINDOW_FUNCTIONS: Final = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
)
NODES: Final = frozenset((*CLAUSES, *OPERATORS, *FUNCTIONS, *AGGREGATES, *WINDOW_FUNCTIONS, *SCALARS))
NAMES: Final = frozenset(
    (
        *("add", "bar", "date_part", "date_sub", "datepart", "datesub", "divide", "entropy"),
        *("even", "fdiv", "fsum", "gcd", "geomean", "greatest", "isfinite", "isodow"),
        *("lcm", "least", "mad", "mean", "multiply", "nextafter", "prefix", "printf"),
        *("product", "round_even", "sem", "strlen", "subtract", "suffix", "to_months", "to_years"),
        *("to_weeks", "to_hours", "to_minutes", "to_seconds"),
    )
)
"""Functions of DuckDB that the parser does not know by name."""
SESSION_VALUES: Final = frozenset(
    (
        *("current_catalog", "current_date", "current_role", "current_schema", "current_time"),
        *("current_timestamp", "current_user", "localtime", "localtimestamp", "session_user", "user"),
    )
)
"""Names that DuckDB reads as functions where they are no columns."""
REFUSED_PARTS: Final[dict[type[exp.Expr], tuple[str, ...]]] = {
    exp.Select: ("into", "locks", "sample", "hint", "kind", "laterals", "connect", "operation_modifiers"),
    exp.Table: (
        *("db", "catalog", "sample", "joins", "hints", "version", "format", "pattern", "ordinality", "when"),
        *("only", "partition", "changes", "rows_from", "system_time", "laterals"),
    ),
    exp.Subquery: ("sample",),
    exp.With: ("recursive",),
    exp.Limit: ("limit_options", "offset", "expressions"),
    exp.Lateral: ("view", "outer", "cross_apply"),
}


def validate_post_processing(query: exp.Expr) -> None:
    """Raise a refusal for the outermost node, part or function that is not on the allow-lists."""
    for node in query.bfs():
        if type(node) not in NODES:
            refuse_node(node)
        for part in REFUSED_PARTS.get(type(node), ()):
            if node.args.get(part):
                refuse_part(node, part)
        require_known_function(node)
        if isinstance(node, exp.Limit | exp.Offset):
            _require_whole_number(node)


def require_no_session_value(query: exp.Expr, public_columns: Collection[str]) -> None:
    """Refuse a column whose name no table has, if DuckDB would read it as a function of time or state.

    It does so with a quoted name, too. A column of that name is read as one.
    """
    named = [each.alias for each in query.find_all(exp.Alias)]
    renamed = [column.name for each in query.find_all(exp.TableAlias) for column in each.columns]
    known = {fold_case(name) for name in (*named, *renamed, *public_columns)}
    for node in query.find_all(exp.Column):
        name = fold_case(node.name)
        if name in SESSION_VALUES and name not in known:
            refuse_query(
                f"«{format_snippet(node)}» is no column.",
                "Write a date or a time as a constant: DATE '2024-01-31'.",
            )


def require_known_function(node: exp.Expr) -> None:
    """Refuse a function that neither the parser nor the allow-list knows."""
    if isinstance(node, exp.Anonymous) and str(node.this).lower() not in NAMES:
        refuse_function(node)


def _require_whole_number(node: exp.Expr) -> None:
    if parse_whole_number(node.expression, max_value=MOST_ROWS) is None:
        refuse_query(f"«{format_snippet(node)}» needs a whole number.", "Write LIMIT 10.")


def cast_without_errors(query: exp.Expr) -> exp.Expr:
    """Return the query with CAST as TRY_CAST, so that a value of another form is NULL and no error."""
    return query.transform(_cast_without_error)


def _cast_without_error(node: exp.Expr) -> exp.Expr:
    if type(node) is not exp.Cast or isinstance(node.this, exp.Literal):
        return node
    return exp.TryCast(this=node.this, to=node.args["to"], safe=True)
