"""Bind a part that a form uses several times to a name, so that it is written and computed once.

Without this a statement grows exponentially with nesting: a form that writes its argument twice doubles the
text at every level. A short part is repeated instead, which is faster to run and adds a constant length.

DuckDB binds names with a lambda over a list of one item. Its optimizer does not write the item out again,
as it does with a column of a subquery that a filter names. A lambda names its own values only, never a
column, so that no column can be mistaken for them.
"""

from __future__ import annotations

from collections.abc import Callable

SHORT = 120


def bind_parts(form: Callable[..., str], *parts: str) -> str:
    """Return the SQL of `form` over its parts, each of which is written once if one of them is long.

    >>> bind_parts(lambda x: f"{x} * {x}", "a")
    'a * a'
    >>> bind_parts(lambda x: f"{x} * {x}", "a" * 200) == f"list_transform([{'a' * 200}], lambda v: v * v)[1]"
    True
    """
    if max(map(len, parts)) <= SHORT:
        return form(*parts)
    if len(parts) == 1:
        return f"list_transform([{parts[0]}], lambda v: {form('v')})[1]"
    # a constant stays where it is, as do names of another lambda: they stand for no column
    names = {place: f"p{place}" for place, part in enumerate(parts) if '"' in part}
    fields = ", ".join(f"{name} := {parts[place]}" for place, name in names.items())
    used = [f"v.{names[place]}" if place in names else part for place, part in enumerate(parts)]
    return f"list_transform([struct_pack({fields})], lambda v: {form(*used)})[1]"


def bind_first(form: str, *parts: str) -> str:
    """Return a template that uses only its first part several times, filled in."""
    return form.format(*parts) if len(parts[0]) <= SHORT else bind_parts(form.format, *parts)
