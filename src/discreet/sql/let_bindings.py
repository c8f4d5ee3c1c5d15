"""Let-bindings in SQL: a subexpression that a template repeats is bound to a name and computed once.

Without this a statement grows exponentially with nesting: a template that repeats its argument doubles the
text at every level. A short argument is repeated instead, which runs faster and adds a constant length.

DuckDB binds names with a lambda over a list of one item. Its optimizer does not inline the item again, as it
does with a subquery's column that a filter uses. Inside the lambda only its own names are used, never a
column name, so the two cannot be confused.
"""

from __future__ import annotations

from collections.abc import Callable

SHORT = 120


def bind_parts(form: Callable[..., str], *parts: str) -> str:
    """Return the SQL of `form` over its parts; if one is long, each part is written only once.

    >>> bind_parts(lambda x: f"{x} * {x}", "a")
    'a * a'
    >>> bind_parts(lambda x: f"{x} * {x}", "a" * 200) == f"list_transform([{'a' * 200}], lambda v: v * v)[1]"
    True
    """
    if max(map(len, parts)) <= SHORT:
        return form(*parts)
    if len(parts) == 1:
        return f"list_transform([{parts[0]}], lambda v: {form('v')})[1]"
    # constants and names of an outer lambda are not bound: they refer to no column
    names = {place: f"p{place}" for place, part in enumerate(parts) if '"' in part}
    fields = ", ".join(f"{name} := {parts[place]}" for place, name in names.items())
    used = [f"v.{names[place]}" if place in names else part for place, part in enumerate(parts)]
    return f"list_transform([struct_pack({fields})], lambda v: {form(*used)})[1]"


def bind_first(form: str, *parts: str) -> str:
    """Return the SQL of a template that repeats only its first part."""
    return form.format(*parts) if len(parts[0]) <= SHORT else bind_parts(form.format, *parts)
