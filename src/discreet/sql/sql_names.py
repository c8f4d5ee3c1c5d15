"""SQL names: case-insensitive comparison, and the output name of a SELECT column."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.sql.refusal import format_snippet


def fold_case(name: str) -> str:
    """Return a name with ASCII letters in lower case, for comparison; other letters are unchanged.

    >>> fold_case("AGE") == fold_case("age"), fold_case("\u212a") == fold_case("k")
    (True, False)
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def find_name(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that equals `name` up to case, in its own spelling; None if there is none."""
    return next((each for each in candidates if fold_case(each) == fold_case(name)), None)


def split_alias(projection: exp.Expression) -> tuple[str, exp.Expression]:
    """Return the output name of a SELECT column (alias, column name or its text) and its expression."""
    inner = projection.this if isinstance(projection, exp.Alias) else projection
    own = inner.name if isinstance(inner, exp.Column) else format_snippet(inner, 40).lower()
    return projection.alias or own, inner


def make_internal_name(taken: set[str], alias: str) -> str:
    """Return a name without dots that is unique in the query, even if the engine ignores case, and take it.

    >>> taken: set[str] = set()
    >>> make_internal_name(taken, "My.Table"), make_internal_name(taken, "mytable")
    ('mytable', 'mytable#2')
    """
    plain = "".join(each for each in fold_case(alias) if each.isascii() and (each.isalnum() or each == "_"))
    name, place = plain or "subquery", 2
    while name in taken:
        name, place = f"{plain}#{place}", place + 1
    taken.add(name)
    return name
