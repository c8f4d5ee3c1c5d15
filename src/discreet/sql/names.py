"""Names in a question: how they are compared, and what a column of SELECT is called."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.sql.refusal import shown


def folded(name: str) -> str:
    """SQL does not tell cases apart; beyond ASCII every letter is its own.

    >>> folded("AGE") == folded("age"), folded("\u212a") == folded("k")
    (True, False)
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def among(name: str, names: Iterable[str]) -> str | None:
    """The names' own spelling of one of them."""
    return next((each for each in names if folded(each) == folded(name)), None)


def named(projection: exp.Expression) -> tuple[str, exp.Expression]:
    """What SELECT calls a column, and what it says: an alias, the column's own name, or its text."""
    inner = projection.this if isinstance(projection, exp.Alias) else projection
    own = inner.name if isinstance(inner, exp.Column) else shown(inner, 40).lower()
    return projection.alias or own, inner
