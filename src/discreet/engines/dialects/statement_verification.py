"""Statement verification: parse what was written for an engine again, and compare it with the intention.

Transpiling is a boundary: a quote that is read in another way would let a constant of a query become a part
of a statement, and an operand without its parentheses would make it another condition. So a text that is
about to run is checked, in this order, to be:

One SELECT    without comments, which reads only the declared tables, aggregates only rows of them, and calls
              no function and contains no string that our own statement, the policy's values or the dialect
              did not put there.
As intended   token by token and node by node what the writer intended (`sql_marks`): the same tree that the
              expressions make when each is in parentheses, and the same names and constants.
As ours       clause by clause the same as our own statement: the same columns in the outputs, joins,
              conditions, groups and orders, and as many of them (`find_clause_difference`).

The comparison of clauses does not rely on the writer: both trees are read independently, query by query along
FROM, JOIN, WITH and UNION. For each SELECT it compares the sources and how they are joined, the names of the
outputs, the number of groups and orders, the limit, and the columns that each clause names. A dialect adds
only text within expressions (a subquery that names an argument), or one of two forms that are undone here:
QUALIFY and DISTINCT ON become a column `_discreet_kept` and a filter on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.core.engine_faults import CUSTODIAN_LOG, FAULT_MESSAGE
from discreet.core.errors import EngineFault
from discreet.core.randomness import Randomness
from discreet.engines.dialects import sql_marks
from discreet.engines.dialects.dialect import Dialect, raise_unsupported
from discreet.engines.dialects.statement_writer import (
    QUALIFY_COLUMN,
    SqlRelation,
    TranslatedStatement,
    allow_deep_recursion,
    parse_statement,
    translate_select,
)

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
    def find_columns(node: Any) -> frozenset[str]:
        return _find_columns(node, select, dialect)

    args = select.args
    kept = find_columns(args.get("qualify"))
    order, distinct = args.get("order"), args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        kept, order, distinct = find_columns(distinct) | find_columns(order), None, None
    joins = [find_columns(join.args.get("on")) for join in args.get("joins") or []]
    return {
        "columns in a join": joins,
        "condition": (args.get("where") is not None, find_columns(args.get("where"))),
        "groups": _summarize_groups(args.get("group"), select, dialect),
        "condition on groups": (args.get("having") is not None, find_columns(args.get("having"))),
        "condition on windows": kept,
        "order": [(find_columns(each), bool(each.args.get("desc"))) for each in order.expressions]
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


MAX_CACHED = 256
NUMBER = re.compile(r"-?(\d+\.?\d*([eE][+-]?\d+)?|inf|nan)")
PARENTHESES = (TokenType.L_PAREN, TokenType.R_PAREN)
FORBIDDEN = (
    exp.Command,
    exp.DDL,
    exp.DML,
    exp.Into,
    exp.Lock,
    exp.Set,
)
Words = list[tuple[TokenType, str]]


@dataclass(frozen=True, kw_only=True)
class StatementTranslator:
    """Translates our statements for one engine, each verified before anything is charged for it.

    Recent ones are cached: a statement is validated first and counted soon after.
    """

    dialect: Dialect
    relations: Mapping[str, SqlRelation]
    cache: dict[str, TranslatedStatement] = field(default_factory=dict)

    def __call__(self, sql: str) -> TranslatedStatement:
        return get_or_translate(self.cache, sql, self._translate)

    def _translate(self, sql: str) -> TranslatedStatement:
        found = translate_select(sql, self.dialect, self.relations)
        verify_statement(found.text, found, sql, self.dialect)
        return found


def get_or_translate(
    cache: dict[str, TranslatedStatement], sql: str, translate: Callable[[str], TranslatedStatement]
) -> TranslatedStatement:
    """Return a statement's translation from the cache, or translate it; a full cache is cleared."""
    found = cache.get(sql)
    if found is None:
        found = translate(sql)
        # statements of one session come in bursts: clearing is as good as evicting the oldest
        if len(cache) >= MAX_CACHED:
            cache.clear()
        cache[sql] = found
    return found


def verify_statement(text: str, statement: TranslatedStatement, sql: str, dialect: Dialect) -> None:
    """Raise an `EngineFault` if a text is not the intended translation of our `sql`."""
    try:
        with allow_deep_recursion():
            wrong = _find_mismatch(text, statement, sql, dialect)
    except RecursionError:
        raise_unsupported(dialect.name, "nesting this deep")
    if wrong:
        incident = f"{Randomness().draw_bits(48):012x}"
        CUSTODIAN_LOG.error(
            "incident %s: a translated statement differs from the intended one: %s", incident, wrong
        )
        raise EngineFault(FAULT_MESSAGE, incident=incident)


def _find_mismatch(text: str, statement: TranslatedStatement, sql: str, dialect: Dialect) -> str:
    """Return what is wrong with a translated statement, for the custodian's log; empty if nothing."""
    try:
        words, trees = _tokenize_and_parse(text, dialect)
    except SqlglotError:
        return "it does not parse"
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Select | exp.Union):
        return "it is not one SELECT"
    if any(word.comments for word in words):
        return "it has a comment"
    ours = parse_statement(sql)
    return (
        _find_forbidden_content(tree, statement, ours, dialect)
        or _find_unintended_syntax(words, tree, statement, dialect)
        or find_clause_difference(ours, tree, dialect)
    )


def _tokenize_and_parse(text: str, dialect: Dialect) -> tuple[list[Token], list[Any]]:
    """Return the tokens and the syntax trees of a text."""
    grammar = sqlglot.Dialect.get_or_raise(dialect.sqlglot_dialect)
    words = list(grammar.tokenize(text))
    return words, [tree for tree in grammar.parser().parse(words, text) if tree is not None]


# -- As intended -------------------------------------------------------------------------------------------


def _find_unintended_syntax(
    words: list[Token], tree: exp.Expr, statement: TranslatedStatement, dialect: Dialect
) -> str:
    meant = sql_marks.write_intended_sql(statement.marked_text, dialect)
    try:
        wanted, (whole, *_) = _tokenize_and_parse(meant.text, dialect)
    except SqlglotError:
        return "the intended SQL does not parse"
    if _list_tokens(words) != [
        (kind, meant.resolve_placeholder(word)) for kind, word in _list_tokens(wanted)
    ]:
        return "its tokens differ from the intended ones"
    if not _are_same_tree(tree, whole, meant):
        return "its syntax tree differs from the intended one"
    return ""


def _list_tokens(tokens: list[Token]) -> Words:
    """Return type and text of each token, without parentheses: the tree comparison covers these."""
    return [(token.token_type, token.text) for token in tokens if token.token_type not in PARENTHESES]


def _are_same_tree(tree: Any, other: Any, intended: sql_marks.IntendedSql) -> bool:
    """Return whether two trees have the same nodes in the same order, ignoring parentheses."""
    stack = [(tree, other)]
    while stack:
        here, there = map(_unwrap_parentheses, stack.pop())
        if type(here) is not type(there):
            return False
        if isinstance(here, exp.Expr):
            parts, others = _get_present_args(here), _get_present_args(there)
            if parts.keys() != others.keys():
                return False
            stack += [(part, others[name]) for name, part in parts.items()]
        elif isinstance(here, list):
            if len(here) != len(there):
                return False
            stack += zip(here, there, strict=True)
        elif here != (intended.resolve_placeholder(there) if isinstance(there, str) else there):
            return False
    return True


def _get_present_args(node: exp.Expr) -> dict[str, Any]:
    return {name: part for name, part in node.args.items() if part not in (None, False, [])}


def _unwrap_parentheses(node: Any) -> Any:
    while isinstance(node, exp.Paren) or _is_doubly_parenthesized(node):
        node = node.this
    return node


def _is_doubly_parenthesized(node: Any) -> bool:
    """Return whether a node is a query in double parentheses."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Subquery):
        return False
    return not any(part for name, part in node.args.items() if name != "this")


# -- One SELECT ---------------------------------------------------------------------------------------------


def _find_forbidden_content(
    tree: exp.Select | exp.Union, statement: TranslatedStatement, ours: exp.Expr, dialect: Dialect
) -> str:
    """Return what a SELECT does that it must not, as text; empty if nothing."""
    if any(isinstance(node, FORBIDDEN) and not isinstance(node, exp.Query) for node in tree.walk()):
        return "it does more than select"
    if any(_aggregates_no_rows(select) for select in tree.find_all(exp.Select)):
        return "it has an aggregate or a window over no rows of the data"
    known = _find_string_literals(ours) | statement.values | dialect.constants
    strange = {
        "reads": _find_tables(tree) - statement.tables,
        "calls": _find_functions(tree) - dialect.functions,
        "holds constants of unknown origin:": {
            text for text in _find_string_literals(tree) - known if not NUMBER.fullmatch(text)
        },
    }
    return "; ".join(f"it {verb} {', '.join(sorted(found))}" for verb, found in strange.items() if found)


def _aggregates_no_rows(select: exp.Select) -> bool:
    """Return whether a SELECT without FROM has an aggregate, which would be over its single row."""
    found = (node for output in select.expressions for node in output.find_all(exp.AggFunc, exp.Window))
    return select.args.get("from_") is None and any(node.parent_select is select for node in found)


def _find_tables(tree: exp.Expr) -> set[str]:
    """Return the full names of the tables, without those defined in WITH."""
    made = {cte.alias for cte in tree.find_all(exp.CTE)}
    found = {".".join(part.name for part in table.parts) for table in tree.find_all(exp.Table)}
    return found - made


def _find_functions(tree: exp.Expr) -> set[str]:
    """Return the names of functions that sqlglot does not know; the meaning of the others is fixed."""
    return {node.name.lower() for node in tree.find_all(exp.Anonymous)}


def _find_string_literals(tree: exp.Expr) -> set[str]:
    return {str(node.this) for node in tree.find_all(exp.Literal) if node.is_string}
