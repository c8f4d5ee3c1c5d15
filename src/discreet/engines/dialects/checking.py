"""Checking: what was written for an engine is parsed again, and compared with what was meant.

Transpiling is a boundary: a quote that is read in another way would let a constant of a question become a
part of a statement, and an operand without its parentheses would make it another condition. So a text that is
about to run has to be, in this order:

One SELECT    without comments, which reads the tables that it is said to read, totals rows of them alone,
              and calls no function and holds no text that our own statement, the policy's values or the
              dialect did not put there.
As meant      word by word and node by node what the writer meant (`marks`): the same tree that the pieces
              make when each stands in parentheses, and the same names and constants that were to be quoted.
As ours       clause by clause what our own statement says: the same columns in the outputs, the joins, the
              conditions, the groups and the orders, and as many of them (`likeness`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.core.errors import EngineFault
from discreet.core.randomness import Randomness
from discreet.engines.dialects import marks
from discreet.engines.dialects.dialect import Dialect, unsupported
from discreet.engines.dialects.likeness import unlike
from discreet.engines.dialects.statements import Relation, Written, deep_recursion, parsed, written
from discreet.engines.faults import CUSTODIAN, TEXT

KEPT = 256
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
class Statements:
    """Our statements for one engine, each written and checked before anything is charged for it.

    The last ones are kept: what is required now is counted soon.
    """

    dialect: Dialect
    relations: Mapping[str, Relation]
    kept: dict[str, Written] = field(default_factory=dict)

    def __call__(self, sql: str) -> Written:
        return remembered(self.kept, sql, self._written)

    def _written(self, sql: str) -> Written:
        found = written(sql, self.dialect, self.relations)
        checked(found.text, found, sql, self.dialect)
        return found


def remembered(kept: dict[str, Written], sql: str, write: Callable[[str], Written]) -> Written:
    """A statement as it was written before, or now; of many, the last ones are kept."""
    found = kept.get(sql)
    if found is None:
        found = write(sql)
        if len(kept) >= KEPT:
            kept.clear()
        kept[sql] = found
    return found


def checked(text: str, statement: Written, sql: str, dialect: Dialect) -> None:
    """Refuse a text that does not say what the statement means, which is our `sql` for another engine."""
    try:
        with deep_recursion():
            wrong = _wrong(text, statement, sql, dialect)
    except RecursionError:
        unsupported(dialect.name, "so deep a nesting")
    if wrong:
        incident = f"{Randomness().bits(48):012x}"
        CUSTODIAN.error("incident %s: a statement was not written as it was meant: %s", incident, wrong)
        raise EngineFault(TEXT, incident=incident)


def _wrong(text: str, statement: Written, sql: str, dialect: Dialect) -> str:
    try:
        words, trees = _parsed(text, dialect)
    except SqlglotError:
        return "it does not parse"
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Select | exp.Union):
        return "it is not one SELECT"
    if any(word.comments for word in words):
        return "it has a comment"
    ours = parsed(sql)
    return (
        _beyond(tree, statement, ours, dialect)
        or _not_as_meant(words, tree, statement, dialect)
        or unlike(ours, tree, dialect)
    )


def _parsed(text: str, dialect: Dialect) -> tuple[list[Token], list[Any]]:
    """Its words and its trees."""
    grammar = sqlglot.Dialect.get_or_raise(dialect.grammar)
    words = list(grammar.tokenize(text))
    return words, [tree for tree in grammar.parser().parse(words, text) if tree is not None]


# -- As meant -----------------------------------------------------------------------------------------------


def _not_as_meant(words: list[Token], tree: exp.Expr, statement: Written, dialect: Dialect) -> str:
    meant = marks.meant(statement.meant, dialect)
    try:
        wanted, (whole, *_) = _parsed(meant.text, dialect)
    except SqlglotError:
        return "it was not meant as a statement"
    if _words(words) != [(kind, meant.value(word)) for kind, word in _words(wanted)]:
        return "it is not in the words that were meant"
    if not _is_alike(tree, whole, meant):
        return "it is not of the shape that was meant"
    return ""


def _words(tokens: list[Token]) -> Words:
    """Parentheses are the tree's."""
    return [(token.token_type, token.text) for token in tokens if token.token_type not in PARENTHESES]


def _is_alike(tree: Any, other: Any, meant: marks.Meant) -> bool:
    """Whether two trees have the same nodes in the same order, whatever stands in parentheses."""
    stack = [(tree, other)]
    while stack:
        here, there = map(_opened, stack.pop())
        if type(here) is not type(there):
            return False
        if isinstance(here, exp.Expr):
            parts, others = _parts(here), _parts(there)
            if parts.keys() != others.keys():
                return False
            stack += [(part, others[name]) for name, part in parts.items()]
        elif isinstance(here, list):
            if len(here) != len(there):
                return False
            stack += zip(here, there, strict=True)
        elif here != (meant.value(there) if isinstance(there, str) else there):
            return False
    return True


def _parts(node: exp.Expr) -> dict[str, Any]:
    return {name: part for name, part in node.args.items() if part not in (None, False, [])}


def _opened(node: Any) -> Any:
    while isinstance(node, exp.Paren) or _is_twice(node):
        node = node.this
    return node


def _is_twice(node: Any) -> bool:
    """A query in parentheses, in parentheses."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Subquery):
        return False
    return not any(part for name, part in node.args.items() if name != "this")


# -- One SELECT ---------------------------------------------------------------------------------------------


def _beyond(tree: exp.Select | exp.Union, statement: Written, ours: exp.Expr, dialect: Dialect) -> str:
    """What a SELECT does that it should not."""
    if any(isinstance(node, FORBIDDEN) and not isinstance(node, exp.Query) for node in tree.walk()):
        return "it does more than to select"
    if any(_totals_nothing(select) for select in tree.find_all(exp.Select)):
        return "it has a total or a window over no rows of the data"
    known = _texts(ours) | statement.values | dialect.constants
    strange = {
        "reads": _tables(tree) - statement.tables,
        "calls": _functions(tree) - dialect.functions,
        "holds constants of unknown origin:": {
            text for text in _texts(tree) - known if not NUMBER.fullmatch(text)
        },
    }
    return "; ".join(f"it {verb} {', '.join(sorted(found))}" for verb, found in strange.items() if found)


def _totals_nothing(select: exp.Select) -> bool:
    """Whether a SELECT without a source has a total, which would be one of its single row."""
    found = (node for output in select.expressions for node in output.find_all(exp.AggFunc, exp.Window))
    return select.args.get("from_") is None and any(node.parent_select is select for node in found)


def _tables(tree: exp.Expr) -> set[str]:
    """Tables by their full names, but for those that WITH makes."""
    made = {cte.alias for cte in tree.find_all(exp.CTE)}
    found = {".".join(part.name for part in table.parts) for table in tree.find_all(exp.Table)}
    return found - made


def _functions(tree: exp.Expr) -> set[str]:
    """Only those that sqlglot does not know by itself can be of any meaning."""
    return {node.name.lower() for node in tree.find_all(exp.Anonymous)}


def _texts(tree: exp.Expr) -> set[str]:
    return {str(node.this) for node in tree.find_all(exp.Literal) if node.is_string}
