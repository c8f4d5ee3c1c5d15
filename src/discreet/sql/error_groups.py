"""Group keys, aggregates and named windows of a SELECT, as `sql.error_relations` reads them."""

from __future__ import annotations

from sqlglot import exp


def inline_windows(node: exp.Select) -> None:
    """Write named windows out where they are used."""
    named = {each.name: each for each in node.args.get("windows") or []}
    for window in node.find_all(exp.Window):
        if window.alias in named and window.this is not None and not isinstance(window.this, exp.Identifier):
            for name in ("partition_by", "order", "spec"):
                part = named[window.alias].args.get(name)
                if part and not window.args.get(name):
                    copies = [each.copy() for each in part] if isinstance(part, list) else part.copy()
                    window.set(name, copies)
            window.set("alias", None)


def is_grouped(node: exp.Select) -> bool:
    """Return True for a SELECT that aggregates its rows."""
    if node.args.get("group") is not None:
        return True
    clauses = [*node.expressions, *(node.args.get(each) for each in ("having", "qualify", "order"))]
    return any(each is not None and _has_own_aggregate(each) for each in clauses)


def _has_own_aggregate(node: exp.Expression) -> bool:
    """Return True for an aggregate that is neither a window's function nor in a subquery."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        function = node.this.this if isinstance(node.this, exp.Filter) else node.this
        parts = [*function.iter_expressions(), *node.iter_expressions()]
        return any(_has_own_aggregate(each) for each in parts if each is not node.this)
    return isinstance(node, exp.AggFunc) or any(_has_own_aggregate(each) for each in node.iter_expressions())


def list_group_keys(node: exp.Select) -> tuple[list[exp.Expression], bool]:
    """Return the group keys, and whether there are several grouping sets; GROUP BY ALL is written out."""
    group = node.args.get("group")
    if group is None:
        return [], False
    if group.args.get("all"):
        shown = [each.unalias() for each in node.expressions if not _has_own_aggregate(each)]
        keys = [each for each in shown if each.find(exp.Column)]
        node.set("group", exp.Group(expressions=[each.copy() for each in keys]) if keys else None)
        return keys, False
    keys, has_sets = [], False
    for each in [*group.expressions, *(group.args.get("rollup") or []), *(group.args.get("cube") or [])]:
        if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets):
            has_sets = True
            keys += [inner for part in each.expressions for inner in _flatten(part)]
        else:
            keys += _flatten(each)
    if group.args.get("grouping_sets"):
        has_sets = True
        for each in group.args["grouping_sets"]:
            keys += [inner for part in each.expressions for inner in _flatten(part)]
    return keys, has_sets or bool(group.args.get("rollup") or group.args.get("cube"))


def _flatten(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]
