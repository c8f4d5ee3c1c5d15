"""Parse untrusted text into one validated SELECT, or refuse it.

Parsing any text ends quickly, and the worst outcome is a refusal: length and nesting are bounded before and
after parsing, and every exception of the parser becomes a refusal.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError

from discreet.core.errors import shorten_value
from discreet.sql import query_validation
from discreet.sql.expression_tree import Scalar
from discreet.sql.query_parameters import fill_parameters, require_valid_characters
from discreet.sql.refusal import refuse_query
from discreet.sql.sql_names import fold_case

LONGEST = 20_000
DEEPEST = 60
LISTS = 100
CLAUSES = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "BY",
    "LIMIT",
    "JOIN",
    "ON",
    "AS",
    "AND",
    "OR",
)

# sqlglot logs warnings about text that it cannot parse; the refusal already explains them.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def parse_question(text: str, values: Sequence[Scalar | float] = ()) -> exp.Expr:
    """Return the single statement in the text, with its parameters $1, $2 … replaced by values."""
    statement = parse_statement(text)
    return fill_parameters(statement, values) if values else statement


def parse_query(text: str, values: Sequence[Scalar | float] = ()) -> exp.Select:
    """Return the single SELECT in the text, with its parameters $1, $2 … replaced by values."""
    statement = parse_question(text, values)
    if not isinstance(statement, exp.Select):
        query_validation.refuse_statement(statement)
    query_validation.validate_query(statement)
    return statement


def parse_statement(text: str) -> exp.Expr:
    """Return the single statement in the text, of any kind."""
    _require_simple_text(text)
    statements = _parse_statements(text)
    if len(statements) != 1:
        refuse_query(f"the question has {len(statements)} statements.", "Ask one SELECT at a time.")
    statement = statements[0]
    if is_nested_deeper(statement, DEEPEST):
        _refuse_depth()
    return _strip_public_schema(statement)


def split_statements(text: str) -> list[str]:
    """Return the statements of a text, as they are written, without semicolons and comments between them.

    >>> split_statements("SELECT 1; /* one; two */ SELECT ';' AS s;")
    ['SELECT 1', "SELECT ';' AS s"]
    """
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except Exception:  # as in `_parse_statements`
        refuse_query("the text is not SQL that can be read.", "Write statements with ; between them.")
    parts: list[str] = []
    begin: int | None = None
    for each, following in zip_longest(tokens, tokens[1:]):
        if each.token_type.name == "SEMICOLON":
            continue
        begin = each.start if begin is None else begin
        if following is None or following.token_type.name == "SEMICOLON":
            parts.append(text[begin : each.end + 1])
            begin = None
    return parts


def _strip_public_schema(statement: exp.Expr) -> exp.Expr:
    """Remove the schema name `public`, under which clients see the tables of the policy."""
    for node in statement.find_all(exp.Table, exp.Column):
        schema = node.args.get("db")
        if isinstance(schema, exp.Identifier) and fold_case(schema.name) == "public":
            node.set("db", None)
    return statement


def _require_simple_text(text: str) -> None:
    if len(text) > LONGEST:
        refuse_query(f"the question has {len(text):,} characters.", f"Ask in at most {LONGEST:,}.")
    require_valid_characters(text)
    open_brackets = deepest = 0
    for bracket in re.findall(r"[](){}[]", text):
        open_brackets += 1 if bracket in "([{" else -1
        deepest = max(deepest, open_brackets)
    if deepest > DEEPEST:
        _refuse_depth()
    if text.count("[") > LISTS:
        refuse_query("the question contains lists.", "Compare with x IN (1, 2, 3).")


def _parse_statements(text: str) -> list[exp.Expr]:
    found: list[exp.Expr | None] = []
    try:
        found = list(sqlglot.parse(text, read="duckdb"))
    except RecursionError:
        _refuse_depth()
    except Exception as error:  # the parser also raises other errors than its own on unusual text
        word = _find_wrong_word(error)
        near = f", near {shorten_value(word)}" if word else ""
        quoted = f' A column of that name is written "{word}".' if _is_name_and_keyword(word) else ""
        refuse_query(
            f"the question is not SQL that can be read{near}.", f"Check its syntax: SELECT … FROM ….{quoted}"
        )
    return [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]


def _find_wrong_word(error: Exception) -> str:
    """Return the text at which the parser gave up, or an empty one if it does not say."""
    known = error.errors if isinstance(error, ParseError) else []
    return str(known[0].get("highlight") or "") if known else ""


def _is_name_and_keyword(word: str) -> bool:
    """Return whether a word begins another statement, and is a likely name of a column too, such as Alter.

    >>> _is_name_and_keyword("Alter"), _is_name_and_keyword("FROM"), _is_name_and_keyword("age")
    (True, False, False)
    """
    return word.isalpha() and word.upper() in DuckDB.Tokenizer.KEYWORDS and word.upper() not in CLAUSES


def _refuse_depth() -> NoReturn:
    refuse_query("the question is nested too deeply.", f"Nest at most {DEEPEST} levels.")


def is_nested_deeper(node: exp.Expr, max_depth: int) -> bool:
    """Return True if a statement is nested deeper than `max_depth`; uses no recursion."""
    stack = [(node, 1)]
    while stack:
        here, depth = stack.pop()
        if depth > max_depth:
            return True
        stack += [(child, depth + 1) for child in here.iter_expressions()]
    return False
