"""SQL validation: allow-lists of sqlglot's nodes and of the parts of each node that later steps read.

Later steps read only the parts listed here, so a part that is not listed would be dropped silently (NOT in
NOT LIKE, EXCLUDE after a star, SYMMETRIC in BETWEEN). A query with any other node or part is therefore
refused before its names are resolved.
"""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from discreet.sql.aggregates import NODES
from discreet.sql.query_literals import ConstantNode
from discreet.sql.refusal import LISTED, format_snippet, refuse_query

Node = type[exp.Expr]
TWO = ("this", "expression")
ONE = ("this",)
MANY = ("this", "expressions")


def _map_parts(nodes: tuple[Node, ...], parts: tuple[str, ...]) -> dict[Node, tuple[str, ...]]:
    return dict.fromkeys(nodes, parts)


CLAUSES: dict[Node, tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"),
    exp.With: ("expressions",),
    exp.CTE: ("this", "alias"),
    exp.From: ONE,
    exp.Table: ("this", "alias"),
    exp.TableAlias: ONE,
    exp.Subquery: ("this", "alias"),
    exp.Join: ("this", "on", "using", "side", "kind"),
    exp.Where: ONE,
    exp.Group: ("expressions", "all"),
    exp.Having: ONE,
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc"),
    exp.Limit: ("expression",),
    exp.Alias: ("this", "alias"),
    exp.Star: (),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
}
AGGREGATES: dict[Node, tuple[str, ...]] = {
    exp.Distinct: ("expressions",),
    exp.Filter: TWO,
    exp.WithinGroup: TWO,
    **NODES,
}
SCALARS: dict[Node, tuple[str, ...]] = (
    _map_parts((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Nullif, exp.And, exp.Or, exp.Is), TWO)
    | _map_parts((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Extract), TWO)
    | _map_parts((exp.Neg, exp.Not, exp.Paren, exp.Abs, exp.Floor, exp.Ceil), ONE)
    | _map_parts((exp.Lower, exp.Upper, exp.Length, exp.Null, exp.Boolean, exp.Var, exp.DataTypeParam), ONE)
    | _map_parts((exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.DayOfMonth), ONE)
    | _map_parts((exp.DayOfWeek, exp.Hour, exp.Minute, exp.TsOrDsToDate), ONE)
    | _map_parts((exp.Coalesce, exp.Least, exp.Greatest), (*MANY, "ignore_nulls"))
    | {
        exp.Literal: ("this", "is_string"),
        exp.Like: (*TWO, "negate"),
        exp.ILike: (*TWO, "negate"),
        exp.Left: TWO,
        exp.Between: ("this", "low", "high"),
        exp.In: MANY,
        exp.Case: ("this", "ifs", "default"),
        exp.If: ("this", "true", "false"),
        exp.Round: ("this", "decimals"),
        exp.Substring: ("this", "start", "length"),
        exp.DateTrunc: ("this", "unit"),
        exp.TimestampTrunc: ("this", "unit"),
        exp.Cast: ("this", "to"),
        exp.TryCast: ("this", "to", "safe"),
        exp.DataType: MANY,
        exp.Anonymous: MANY,
        ConstantNode: ("this", "written"),
    }
)
PARTS: dict[Node, tuple[str, ...]] = CLAUSES | AGGREGATES | SCALARS

JOIN_INSTEAD = (
    "Join what the subquery counts per person: a JOIN (SELECT person, COUNT(*) AS n FROM b WHERE … "
    "GROUP BY person) AS t ON a.person = t.person; for NOT, LEFT JOIN it WHERE t.n IS NULL"
)
# The first matching entry wins: subclasses come before their base classes.
NEAREST: tuple[tuple[tuple[Node, ...], str], ...] = (
    ((exp.SetOperation,), "Ask one SELECT at a time, and put the answers together outside."),
    ((exp.Exists,), f"{JOIN_INSTEAD}."),
    ((exp.Select, exp.Subquery), "Put subqueries into FROM."),
    ((exp.Window,), "Window functions are not answered; aggregate, and rank the answer outside."),
    ((exp.SimilarTo, exp.RegexpLike, exp.Glob, exp.Escape), "Use LIKE, with % and _."),
    ((exp.IntDiv,), "Use FLOOR(a / b)."),
    ((exp.Pow,), "Write it as a product."),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), "Use =, <> and IS NULL."),
    ((exp.DPipe, exp.Concat), "Group by the columns themselves, and put them together outside."),
    ((exp.Placeholder, exp.Parameter), "Write the value, or number the parameters: $1, $2 …."),
    ((exp.Right,), "Use SUBSTR(x, -length)."),
    ((exp.ByteString, exp.RawString, exp.National), "Write text as '…', with '' for a quote."),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Interval),
        "Write the date: DATE '2024-01-31'.",
    ),
    ((exp.Tuple,), "Compare one value at a time."),
    ((exp.GroupingSets, exp.Cube, exp.Rollup), "Ask one GROUP BY at a time."),
    ((exp.Array, exp.Struct, exp.Map, exp.ToMap, exp.Bracket, exp.Dot, exp.Lambda), "Use plain columns."),
    ((exp.Fetch,), "Write LIMIT 10."),
    ((exp.Explode,), "Name a table of the policy in FROM."),
    ((exp.Rand, exp.Uuid), "Leave it out: random functions are not answered."),
    ((exp.Values, exp.Unnest, exp.Lateral), "Name a table of the policy in FROM."),
    ((exp.AnyValue, exp.IgnoreNulls, exp.RespectNulls), "Use MODE, or MIN or MAX of a number."),
    ((exp.PercentileDisc, exp.ApproxQuantile), "Use QUANTILE_CONT(x, 0.9)."),
    ((exp.AggFunc,), "docs/sql.md lists the aggregates that are answered."),
)
SYMBOLS: dict[Node, str] = {
    exp.DPipe: "||",
    exp.IntDiv: "//",
    exp.Pow: "a power",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Window: "OVER",
    exp.Bracket: "[ ]",
    exp.Dot: "a dot",
    exp.Tuple: "a list in parentheses",
    exp.RegexpLike: "a regular expression",
}
WORDS = {
    "distinct": ("DISTINCT", "Use GROUP BY."),
    "from_": ("FROM", LISTED),
    "into": ("INTO", "Ask for the answer alone."),
    "locks": ("FOR UPDATE", "Leave it out: a question changes nothing."),
    "sample": ("SAMPLE", "Ask about all rows; the promise needs no sampling."),
    "offset": ("OFFSET", "Use ORDER BY and LIMIT, and skip rows outside."),
    "qualify": ("QUALIFY", "Use HAVING."),
    "laterals": ("LATERAL", "Name a table of the policy in FROM."),
    "pivots": ("PIVOT", "Use GROUP BY, and pivot the answer outside."),
    "windows": ("WINDOW", "Window functions are not answered; aggregate, and rank the answer outside."),
    "recursive": ("RECURSIVE", "Write WITH name AS (SELECT …)."),
    "grouping_sets": ("GROUPING SETS", "Ask one GROUP BY at a time."),
    "rollup": ("ROLLUP", "Ask one GROUP BY at a time."),
    "cube": ("CUBE", "Ask one GROUP BY at a time."),
    "totals": ("WITH TOTALS", "Ask one GROUP BY at a time."),
    "nulls_first": ("NULLS FIRST", "NULL comes last."),
    "symmetric": ("SYMMETRIC", "Write the smaller bound first."),
    "except_": ("EXCLUDE", "Name the columns."),
    "replace": ("REPLACE", "Name the columns."),
    "rename": ("RENAME", "Name the columns."),
    "columns": ("a list of column names after an alias", "Name the columns inside: SELECT x AS y."),
    "db": ("a schema's name", "Write alias.column, or the table alone."),
    "method": ("a join by ASOF, NATURAL or POSITION", "Use JOIN or LEFT JOIN … ON."),
    "hint": ("a hint", "Leave it out."),
    "kind": ("SELECT AS", "Leave it out."),
    "materialized": ("MATERIALIZED", "Leave it out."),
    "query": ("a subquery", f"{JOIN_INSTEAD}. Or list the values: x IN (1, 2, 3)."),
    "field": ("a list in a column", "List the values: x IN (1, 2, 3)."),
    "limit_options": ("PERCENT", "Write LIMIT 10."),
    "nested": ("a type of lists or structures", "Use plain columns."),
    "decimals": ("rounding to digits", "Use ROUND(x, digits)."),
}
PARTICULAR: dict[tuple[Node, str], tuple[str, str]] = {
    (exp.Order, "this"): ("ORDER BY", "Leave it out: an aggregate needs no order."),
    (exp.Count, "expressions"): ("a second column", "Count one column."),
    (exp.Max, "count"): ("a number of values", "Ask for MAX, or for a QUANTILE_CONT."),
    (exp.Min, "count"): ("a number of values", "Ask for MIN, or for a QUANTILE_CONT."),
}


def refuse_statement(statement: exp.Expr) -> NoReturn:
    """Refuse a statement other than SELECT."""
    hint = _find_hint(statement) if isinstance(statement, exp.SetOperation) else "Ask with SELECT … FROM …."
    kind = str(statement.this) if isinstance(statement, exp.Command) else _get_sql_name(statement)
    if kind.upper() == "EXPLAIN":
        hint = "Plan the SELECT instead, which is free."
    refuse_query(f"{format_snippet(kind, 20).upper()} is not a question.", hint)


def validate_query(statement: exp.Expr) -> None:
    """Raise a refusal for the outermost node or part that is not on the allow-lists."""
    for node in statement.bfs():
        parts = PARTS.get(type(node))
        if parts is None:
            refuse_node(node)
        if any(needed and node.args.get(part) is None for part, needed in node.arg_types.items()):
            refuse_query(f"«{format_snippet(node)}» is incomplete.", "Check its syntax: SELECT … FROM ….")
        for part, given in node.args.items():
            if part not in parts and given is not None and given is not False and given != []:
                refuse_part(node, part)


def refuse_node(node: exp.Expr) -> NoReturn:
    """Refuse a node that is on no allow-list."""
    refuse_query(f"{_get_sql_name(node)} in «{format_snippet(node)}» is not answered.", _find_hint(node))


def refuse_part(node: exp.Expr, part: str) -> NoReturn:
    """Refuse a part of a node that is on no allow-list."""
    word, hint = PARTICULAR.get((type(node), part)) or WORDS.get(part) or (_format_part(part), LISTED)
    refuse_query(f"{word} in «{format_snippet(node)}» is not answered.", hint)


def _format_part(part: str) -> str:
    return part.strip("_").replace("_", " ").upper()


def _get_sql_name(node: exp.Expr) -> str:
    """Return the SQL name of a node, derived from its class.

    >>> _get_sql_name(exp.AtTimeZone())
    'AT TIME ZONE'
    """
    written = SYMBOLS.get(type(node))
    if written is not None:
        return written
    if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
        return node.this.sql_name()  # the parser adds IGNORE NULLS, which nobody wrote
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return node.sql_name()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def _find_hint(node: exp.Expr) -> str:
    return next((hint for kinds, hint in NEAREST if isinstance(node, kinds)), LISTED)
