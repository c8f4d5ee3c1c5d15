"""What long work shows while it runs: a spinner and a line on stderr, gone when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn

from discreet.app.terminal import Console


@contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """A function that says what is being done; nothing is shown where nobody looks."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=text)
