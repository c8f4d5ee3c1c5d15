"""The progress callback of long operations; the frontend decides how to display it."""

from __future__ import annotations

from typing import Protocol


class ProgressCallback(Protocol):
    """A progress callback: the name of the stage, and the fraction done where it is known."""

    def __call__(self, message: str, fraction: float | None = None) -> None: ...


def ignore_progress(message: str, fraction: float | None = None) -> None:
    """Report nothing: the callback of a caller that shows no progress."""
