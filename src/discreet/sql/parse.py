"""From text to one SELECT, or a refusal. Nothing here is trusted: what follows only reads the tree."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.sql.refusal import refuse

LONGEST = 20_000
DEEPEST = 60


def parse(text: str) -> exp.Select:
    """The one SELECT that the text is."""
    if len(text) > LONGEST:
        refuse(f"the question has {len(text):,} characters.", f"Ask in at most {LONGEST:,}.")
    if "\x00" in text:
        refuse("the question holds a NUL character.", "Leave it out.")
    try:
        statements = [each for each in sqlglot.parse(text, read="duckdb") if each is not None]
    except (SqlglotError, RecursionError):
        refuse("the question is not SQL that can be read.", "Check its syntax; one SELECT is expected.")
    if len(statements) != 1:
        refuse(f"{len(statements)} statements were given.", "Ask one SELECT at a time.")
    statement = statements[0]
    if not isinstance(statement, exp.Select):
        refuse(f"{type(statement).__name__.upper()} is not a question.", "Ask with SELECT … FROM ….")
    if _depth(statement) > DEEPEST:
        refuse("the question is nested too deeply.", f"Nest at most {DEEPEST} levels.")
    return statement


def _depth(node: exp.Expression) -> int:
    deepest, stack = 0, [(node, 1)]
    while stack:
        here, depth = stack.pop()
        deepest = max(deepest, depth)
        if depth > DEEPEST:
            return depth
        stack += [(child, depth + 1) for child in here.iter_expressions()]
    return deepest
