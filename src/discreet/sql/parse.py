"""From text to one SELECT of the grammar, or a refusal. Nothing of the text is trusted.

Whatever the text is, this ends soon and with nothing worse than a refusal: its length and nesting are bounded
before and after it is read, and an error of the reader, of whatever kind, means that it cannot be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import NoReturn

import sqlglot
from sqlglot import exp

from discreet.sql import grammar
from discreet.sql.expressions import Scalar
from discreet.sql.names import folded
from discreet.sql.parameters import filled, require_characters
from discreet.sql.refusal import refuse

LONGEST = 20_000
DEEPEST = 60
LISTS = 100

# The reader warns of what it cannot read; the refusal says it better.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def parse(text: str, values: Sequence[Scalar | float] = ()) -> exp.Select:
    """The one SELECT that the text is, its parameters $1, $2 … replaced by values."""
    statement = read(text)
    if values:
        statement = filled(statement, values)
    if not isinstance(statement, exp.Select):
        grammar.refuse_statement(statement)
    grammar.check(statement)
    return statement


def read(text: str) -> exp.Expr:
    """The one statement that the text is, of whatever kind."""
    _require_plain(text)
    statements = _statements(text)
    if len(statements) != 1:
        refuse(f"the question has {len(statements)} statements.", "Ask one SELECT at a time.")
    statement = statements[0]
    if nested_deeper(statement, DEEPEST):
        _refuse_depth()
    return _in_public(statement)


def _in_public(statement: exp.Expr) -> exp.Expr:
    """Tables of the policy are those of the schema that clients call public."""
    for node in statement.find_all(exp.Table, exp.Column):
        schema = node.args.get("db")
        if isinstance(schema, exp.Identifier) and folded(schema.name) == "public":
            node.set("db", None)
    return statement


def _require_plain(text: str) -> None:
    if len(text) > LONGEST:
        refuse(f"the question has {len(text):,} characters.", f"Ask in at most {LONGEST:,}.")
    require_characters(text)
    open_brackets = deepest = 0
    for bracket in re.findall(r"[](){}[]", text):
        open_brackets += 1 if bracket in "([{" else -1
        deepest = max(deepest, open_brackets)
    if deepest > DEEPEST:
        _refuse_depth()
    if text.count("[") > LISTS:
        refuse("the question holds lists.", "Compare with x IN (1, 2, 3).")


def _statements(text: str) -> list[exp.Expr]:
    found: list[exp.Expr | None] = []
    try:
        found = list(sqlglot.parse(text, read="duckdb"))
    except RecursionError:
        _refuse_depth()
    except Exception:  # beside its own errors the reader has others, for text that nobody writes
        refuse("the question is not SQL that can be read.", "Check its syntax: SELECT … FROM ….")
    return [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]


def _refuse_depth() -> NoReturn:
    refuse("the question is nested too deeply.", f"Nest at most {DEEPEST} levels.")


def nested_deeper(node: exp.Expr, most: int) -> bool:
    """Whether a statement is nested more deeply than this; it is walked without recursion."""
    stack = [(node, 1)]
    while stack:
        here, depth = stack.pop()
        if depth > most:
            return True
        stack += [(child, depth + 1) for child in here.iter_expressions()]
    return False
