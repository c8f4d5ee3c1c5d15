"""A progress line on stderr for long work, with a bar if the fraction done is known.

It is erased when the work is done, and not shown at all if stderr is not a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from discreet.rendering.terminal import Console
from discreet.services.progress import ProgressCallback

BAR_WIDTH = 24


class _FractionColumn(ProgressColumn):
    """A bar and a percentage, if the fraction done is known."""

    def render(self, task: Task) -> Table | Text:
        share = task.fields["share"]
        if share is None:
            return Text()
        shown = Table.grid(padding=(0, 1))
        shown.add_row(ProgressBar(total=1.0, completed=share, width=BAR_WIDTH), f"{share:.0%}")
        return shown


@contextmanager
def show_progress() -> Iterator[ProgressCallback]:
    """Show a progress line; yield the callback that updates it."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), _FractionColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, share=None)

        def report_progress(message: str, fraction: float | None = None) -> None:
            stage = bar.tasks[task]
            new = stage.description != message or (stage.fields["share"] is None) != (fraction is None)
            bar.update(
                task, description=message, share=fraction, refresh=new
            )  # refresh at once, so that a short stage is seen

        yield report_progress
