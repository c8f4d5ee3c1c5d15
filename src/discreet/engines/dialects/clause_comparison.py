"""Clause comparison: check that a translated statement has, clause by clause, what our own has.

It does not rely on the writer: both trees are read independently, query by query along FROM, JOIN, WITH and
UNION. For each SELECT it compares the sources and how they are joined, the names of the outputs, the number
of groups and orders, the limit, and the columns that each clause names. A dialect adds only text within
expressions (a subquery that names an argument), or one of two forms that are undone here: QUALIFY and
DISTINCT ON become a column `_discreet_kept` and a filter on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from discreet.engines.dialects.dialect import Dialect
from discreet.engines.dialects.statement_writer import QUALIFY_COLUMN

Query = exp.Select | exp.Union
Clauses = dict[str, Any]


def find_clause_difference(ours: exp.Expr, theirs: exp.Expr, dialect: Dialect) -> str:
    """Return the first clause in which the translated statement differs from ours; empty if none."""
    for here, there in _pair_selects(ours, theirs, dialect):
        if here != there:
            different = next(name for name in sorted(here | there) if here.get(name) != there.get(name))
            return f"it has another {different} than our own statement"
    return ""


def _pair_selects(ours: Any, theirs: Any, dialect: Dialect) -> Iterator[tuple[Clauses, Clauses]]:
    """Yield the clauses of each SELECT, paired with those of its translation."""
    ours, theirs = _unwrap_query(ours), _unwrap_query(theirs)
    yield _describe_shape(ours), _describe_shape(theirs)
    for here, there in zip(_list_sources(ours), _list_sources(_remove_qualify_filter(theirs)), strict=True):
        if not isinstance(here, exp.Table):  # the SQL of a table is verified where it is built
            yield from _pair_selects(here, there, dialect)
    if isinstance(ours, exp.Select):
        yield _summarize_clauses(ours, dialect), _summarize_translated_clauses(theirs, ours, dialect)


def _unwrap_query(node: Any) -> Any:
    while isinstance(node, exp.Subquery | exp.Paren | exp.CTE):
        node = node.this
    return node


def _describe_shape(node: Any) -> Clauses:
    inner = _remove_qualify_filter(node)
    joins = [
        (str(join.args.get("side") or ""), join.args.get("on") is not None)
        for join in inner.args.get("joins") or []
    ]
    return {
        "kind of query": type(inner).__name__,
        "number of sources": len(list(_list_sources(inner))),
        "names under WITH": [cte.alias for cte in _get_ctes(inner)],
        "joins": joins,
    }


def _get_ctes(node: Any) -> list[Any]:
    clause = node.args.get("with_")
    return [] if clause is None else clause.expressions


def _list_sources(node: Any) -> Iterator[Any]:
    """Yield the queries and tables that a query reads."""
    yield from _get_ctes(node)
    if isinstance(node, exp.Union):
        yield from (node.left, node.right)
    elif node.args.get("from_") is not None:
        yield node.args["from_"].this
        yield from (join.this for join in node.args.get("joins") or [])


def _remove_qualify_filter(node: Any) -> Any:
    """Return the inner SELECT of one that only filters by `_discreet_kept`; others unchanged."""
    where = node.args.get("where")
    kept = None if where is None else where.this
    if isinstance(kept, exp.LTE):
        kept = kept.this
    filters = isinstance(kept, exp.Column) and kept.name == QUALIFY_COLUMN
    return _unwrap_query(node.args["from_"].this) if filters else node


# -- The clauses of a SELECT --------------------------------------------------------------------------------


def _summarize_clauses(select: Any, dialect: Dialect) -> Clauses:
    def columns(node: Any) -> frozenset[str]:
        return _find_columns(node, select, dialect)

    args = select.args
    kept = columns(args.get("qualify"))
    order, distinct = args.get("order"), args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        kept, order, distinct = columns(distinct) | columns(order), None, None
    joins = [columns(join.args.get("on")) for join in args.get("joins") or []]
    return {
        "columns in a join": joins,
        "condition": (args.get("where") is not None, columns(args.get("where"))),
        "groups": _summarize_groups(args.get("group"), select, dialect),
        "condition on groups": (args.get("having") is not None, columns(args.get("having"))),
        "condition on windows": kept,
        "order": [(columns(each), bool(each.args.get("desc"))) for each in order.expressions]
        if order
        else [],
        "limit": "" if args.get("limit") is None else str(args["limit"].expression.this),
        "DISTINCT": distinct is not None,
        "outputs": _summarize_outputs(select, dialect),
    }


def _summarize_translated_clauses(theirs: Any, ours: exp.Select, dialect: Dialect) -> Clauses:
    inner = _remove_qualify_filter(theirs)
    found = _summarize_clauses(inner, dialect)
    if inner is not theirs:
        *outputs, (_, found["condition on windows"]) = found["outputs"]
        found["outputs"] = outputs
    if any(output.is_star for output in ours.expressions):
        mine = _summarize_outputs(ours, dialect)
        found["outputs"] = [each for each in found["outputs"] if each in mine]
    return found


def _summarize_outputs(select: Any, dialect: Dialect) -> list[tuple[str, frozenset[str]]]:
    """Return the names and columns of the outputs, without *, which only the writer can expand."""
    return [
        (dialect.shorten_identifier(output.alias_or_name).lower(), _find_columns(output, select, dialect))
        for output in select.expressions
        if not output.is_star
    ]


def _summarize_groups(group: Any, select: Any, dialect: Dialect) -> list[frozenset[str]]:
    """Return the columns of each key; for GROUPING SETS, of each set."""
    if group is None:
        return []
    parts = group.expressions or group.args.get("grouping_sets") or [group]
    if len(parts) == 1 and isinstance(parts[0], exp.GroupingSets):
        parts = parts[0].expressions
    return [_find_columns(part, select, dialect) for part in parts]


def _find_columns(node: Any, select: Any, dialect: Dialect) -> frozenset[str]:
    """Return the names of a clause's columns, including those of the named windows that it uses."""
    if node is None:
        return frozenset()
    windows = {each.this.name: each for each in select.args.get("windows") or []}
    called = [
        windows[each.args["alias"].name]
        for each in node.find_all(exp.Window)
        if each.args.get("alias") is not None and each.args["alias"].name in windows
    ]
    found = [column for part in (node, *called) for column in part.find_all(exp.Column)]
    return frozenset(
        dialect.shorten_identifier(column.name).lower()
        for column in found
        if not _is_bound_argument(column, select)
    )


def _is_bound_argument(column: exp.Column, select: Any) -> bool:
    """Return whether a column is the name that a dialect gave to a bound argument."""
    return column.table == "v" and column.parent_select is not select
