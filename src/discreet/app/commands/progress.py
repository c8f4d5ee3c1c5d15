"""What long work shows while it runs: a line on stderr, with a bar where it is known how much is left.

It is gone when the work is done, and is not there at all where nobody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from discreet.app.progress import Tell
from discreet.app.terminal import Console

WIDE = 24


class _Share(ProgressColumn):
    """A bar and a percentage, where a share is told."""

    def render(self, task: Task) -> Table | Text:
        share = task.fields["share"]
        if share is None:
            return Text()
        shown = Table.grid(padding=(0, 1))
        shown.add_row(ProgressBar(total=1.0, completed=share, width=WIDE), f"{share:.0%}")
        return shown


@contextmanager
def spinner() -> Iterator[Tell]:
    """A function that says what is being done."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), _Share()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, share=None)

        def tell(text: str, share: float | None = None) -> None:
            stage = bar.tasks[task]
            new = stage.description != text or (stage.fields["share"] is None) != (share is None)
            bar.update(task, description=text, share=share, refresh=new)  # a short stage is seen, too

        yield tell
