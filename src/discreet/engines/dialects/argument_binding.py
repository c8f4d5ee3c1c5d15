"""Argument binding: give a name to an argument that a form uses several times, so that it is computed once.

A form that writes its argument twice doubles the text at every level of nesting. So a long argument is bound
to a name, in the engine's own way. A short one is repeated, which runs faster and adds a constant length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from discreet.engines.dialects.sql_marks import remove_marks

MAX_REPEATED_LENGTH = 80
AGGREGATE_OR_WINDOW = re.compile(
    r"\b(bit_or|bool_and|bool_or|count|dense_rank|first_value|grouping|max|min|row_number|sum)\s*\(|\bOVER\b",
    re.I,
)


def are_short(parts: Sequence[str]) -> bool:
    """Return whether each part is short enough to be repeated."""
    return all(len(remove_marks(part)) <= MAX_REPEATED_LENGTH for part in parts)


def have_aggregates(parts: Sequence[str]) -> bool:
    """Return whether a part has an aggregate or a window, which must stay in the SELECT of its rows."""
    return any(AGGREGATE_OR_WINDOW.search(part) for part in parts)


def fill_template(template: str, part: str, bind: Callable[..., str]) -> str:
    """Return a template with its argument {x}, bound to a name if it is used more than once."""
    if template.count("{x}") == 1:
        return template.replace("{x}", part)
    return bind(lambda x: template.replace("{x}", x), part)
