"""Command-line options that list names."""

from __future__ import annotations


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in an option typed as a,b,c.

    >>> split_names("age, sex")
    ('age', 'sex')
    """
    return tuple(name.strip() for name in text.split(",")) if text else ()
