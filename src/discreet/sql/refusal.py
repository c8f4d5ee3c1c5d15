"""Refusals of queries: they follow from text and policy alone, and name the reason and an allowed form."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from sqlglot import exp

from discreet.core.errors import RequestError

NAMED = 12
LISTED = "docs/sql.md lists what can be asked."
# sqlglot would write a CAST around their argument, which nobody asked for
WRITTEN_PLAINLY: dict[type[exp.Expr], str] = {exp.LogicalOr: "BOOL_OR", exp.LogicalAnd: "BOOL_AND"}


class Refusal(RequestError):  # noqa: N818  (an outcome of planning, not a fault of it)
    """A query that cannot be answered under the promise, or is outside the supported SQL."""

    code = "refused-question"


def refuse_query(message: str, hint: str) -> NoReturn:
    """Raise a refusal of the query."""
    raise Refusal(f"ask: {message}", hint=hint)


def refuse_function(node: exp.Expr) -> NoReturn:
    """Refuse a function that the parser does not know."""
    name = str(node.this)
    hint = "Use BOOL_AND." if name.lower() == "every" else LISTED
    refuse_query(f"the function {format_snippet(name)} is not answered.", hint)


def format_snippet(node: exp.Expr | str, limit: int = 60) -> str:
    """Return a piece of the query, shortened for a sentence and safe to print on a terminal.

    >>> format_snippet("a \\n  \\x1b[31m b")
    'a �[31m b'
    """
    text = node if isinstance(node, str) else _format_node(node)
    text = " ".join(text.split())
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def suggest_names(wanted: str, names: Iterable[str]) -> str:
    """Return a hint for an unknown name: the closest match, and the names that exist.

    >>> suggest_names("aeg", ["sex", "age"])
    'Did you mean age? There are sex, age.'
    """
    known = list(names)
    folded = {each.lower(): each for each in known}
    near = get_close_matches(wanted.lower()[:60], folded, n=1)
    listed = ", ".join(known[:NAMED]) + (" …" if len(known) > NAMED else "")
    return (f"Did you mean {folded[near[0]]}? " if near else "") + f"There are {listed or 'none'}."


def _format_node(node: exp.Expr) -> str:
    if node.find(*WRITTEN_PLAINLY) is not None:
        node = node.transform(_write_plainly)
    try:
        return node.sql(dialect="duckdb", comments=False)
    except Exception:  # sqlglot cannot print every tree that it parses; its class name is shown instead
        return type(node).__name__.upper()


def _write_plainly(node: exp.Expr) -> exp.Expr:
    name = WRITTEN_PLAINLY.get(type(node))
    return node if name is None else exp.Anonymous(this=name, expressions=[node.this])
