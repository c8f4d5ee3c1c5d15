"""Parse untrusted text into one validated SELECT, or refuse it.

Parsing any text ends quickly, and the worst outcome is a refusal: length and nesting are bounded before and
after parsing, and every exception of the parser becomes a refusal.
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

# sqlglot logs warnings about text that it cannot parse; the refusal already explains them.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def parse(text: str, values: Sequence[Scalar | float] = ()) -> exp.Select:
    """Return the single SELECT in the text, with its parameters $1, $2 … replaced by values."""
    statement = read(text)
    if values:
        statement = filled(statement, values)
    if not isinstance(statement, exp.Select):
        grammar.refuse_statement(statement)
    grammar.check(statement)
    return statement


def read(text: str) -> exp.Expr:
    """Return the single statement in the text, of any kind."""
    _require_plain(text)
    statements = _statements(text)
    if len(statements) != 1:
        refuse(f"the question has {len(statements)} statements.", "Ask one SELECT at a time.")
    statement = statements[0]
    if nested_deeper(statement, DEEPEST):
        _refuse_depth()
    return _in_public(statement)


def _in_public(statement: exp.Expr) -> exp.Expr:
    """Remove the schema name `public`, under which clients see the tables of the policy."""
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
        refuse("the question contains lists.", "Compare with x IN (1, 2, 3).")


def _statements(text: str) -> list[exp.Expr]:
    found: list[exp.Expr | None] = []
    try:
        found = list(sqlglot.parse(text, read="duckdb"))
    except RecursionError:
        _refuse_depth()
    except Exception:  # the parser also raises other errors than its own on unusual text
        refuse("the question is not SQL that can be read.", "Check its syntax: SELECT … FROM ….")
    return [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]


def _refuse_depth() -> NoReturn:
    refuse("the question is nested too deeply.", f"Nest at most {DEEPEST} levels.")


def nested_deeper(node: exp.Expr, most: int) -> bool:
    """Return True if a statement is nested deeper than `max_depth`; uses no recursion."""
    stack = [(node, 1)]
    while stack:
        here, depth = stack.pop()
        if depth > most:
            return True
        stack += [(child, depth + 1) for child in here.iter_expressions()]
    return False
