"""The console that everything is shown on: text is shown as it is.

Values, columns, tables and files are named by others, and a name such as `[/b]` or `:key:` is no wish for
style. So nothing in a text is markup here; what is to have a style is a `Text`, or is printed with one.
"""

from __future__ import annotations

from rich import console


class Console(console.Console):
    """A console on stdout, or on stderr."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False)
