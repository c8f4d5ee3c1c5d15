"""Queries without rows whatever the tables hold: LIMIT 0, and a literally false WHERE, HAVING or QUALIFY.

Clients ask them to learn the columns of an answer. They are answered from text and policy alone.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.sql.aggregate_calls import aggregates_rows

FALSE_CLAUSES = ("where", "having", "qualify")


def returns_no_rows(query: exp.Expr) -> bool:
    """Return True if a query has no rows, as far as its text tells.

    >>> import sqlglot
    >>> text = "SELECT a FROM (SELECT b AS a FROM t WHERE 1 = 0) AS u"
    >>> returns_no_rows(sqlglot.parse_one(text))
    True
    """
    if _has_limit_zero(query):
        return True
    if isinstance(query, exp.Subquery):
        return returns_no_rows(query.this)
    if isinstance(query, exp.Union):
        return returns_no_rows(query.left) and returns_no_rows(query.right)
    if isinstance(query, exp.Intersect):
        return returns_no_rows(query.left) or returns_no_rows(query.right)
    if isinstance(query, exp.Except):
        return returns_no_rows(query.left)
    return isinstance(query, exp.Select) and _selects_no_rows(query)


def is_probe(select: exp.Select) -> bool:
    """Return True for a SELECT with LIMIT 0 or a literally false condition of its own."""
    return _has_limit_zero(select) or any(_has_false_clause(select, part) for part in FALSE_CLAUSES)


def has_false_condition(select: exp.Select) -> bool:
    """Return True if WHERE is literally false."""
    return _has_false_clause(select, "where")


def _selects_no_rows(select: exp.Select) -> bool:
    if _has_false_clause(select, "having") or _has_false_clause(select, "qualify"):
        return True
    if aggregates_rows(select) and select.args.get("group") is None:
        return False  # one row, over whatever rows
    source = select.args.get("from_")
    over_nothing = source is not None and not select.args.get("joins") and returns_no_rows(source.this)
    groups = select.args.get("group")
    if groups is not None and groups.find(exp.GroupingSets, exp.Rollup, exp.Cube) is not None:
        return False  # the empty grouping set has a row
    return over_nothing or has_false_condition(select)


def _has_limit_zero(query: exp.Expr) -> bool:
    limit = query.args.get("limit")
    return isinstance(limit, exp.Limit) and _is_number(limit.expression, 0)


def _has_false_clause(select: exp.Select, part: str) -> bool:
    clause = select.args.get(part)
    return clause is not None and _is_false(clause.this)


def _is_false(node: exp.Expr) -> bool:
    if isinstance(node, exp.Paren):
        return _is_false(node.this)
    if isinstance(node, exp.And):
        return _is_false(node.this) or _is_false(node.expression)
    if isinstance(node, exp.Not):
        return isinstance(node.this, exp.Boolean) and bool(node.this.this)
    if isinstance(node, exp.EQ | exp.NEQ):
        equal = _compare_literals(node.this, node.expression)
        return equal is not None and equal == isinstance(node, exp.NEQ)
    return isinstance(node, exp.Boolean) and not node.this


def _compare_literals(one: exp.Expr, other: exp.Expr) -> bool | None:
    """Return whether two whole numbers are equal; None if one of the sides is anything else."""
    sides = (one, other)
    if not all(
        isinstance(each, exp.Literal) and not each.is_string and each.this.isdigit() for each in sides
    ):
        return None
    return int(one.this) == int(other.this)


def _is_number(node: exp.Expr | None, number: int) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this == str(number)
