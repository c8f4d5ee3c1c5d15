"""The console for all terminal output, with markup turned off.

Names of values, columns, tables and files come from users, and may look like markup: `[/b]`, `:key:`. So text
is never parsed; styled output uses `Text`, or the `style` argument of `print`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import console
from rich.table import Table
from rich.text import Text


class Console(console.Console):
    """A console on stdout, or on stderr."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, markup=False, emoji=False)


def build_plain_table(*headings: str, text_columns: int | None = None, gap: int = 3) -> Table:
    """Return a table without lines; columns after the first `text_columns` are numbers, aligned right."""
    table = Table(box=None, header_style="bold", padding=(0, gap, 0, 0))
    for place, heading in enumerate(headings):
        is_text = text_columns is None or place < text_columns
        table.add_column(heading, justify="left" if is_text else "right")
    return table


def build_facts(facts: Sequence[tuple[str, str]]) -> Table:
    """Return names and sentences, side by side."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for name, text in facts:
        grid.add_row(name, Text(text))
    return grid


def print_facts(on: console.Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print names and sentences, side by side."""
    on.print(build_facts(facts))
