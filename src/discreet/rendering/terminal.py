"""The console for all terminal output, with markup turned off.

Names of values, columns, tables and files come from users, and may look like markup: `[/b]`, `:key:`. So text
is never parsed; styled output uses `Text`, or the `style` argument of `print`.
"""

from __future__ import annotations

from rich import console


class Console(console.Console):
    """A console on stdout, or on stderr."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False)
