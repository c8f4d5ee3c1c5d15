"""The progress callback of long operations; the frontend decides how to display it."""

from __future__ import annotations

from typing import Protocol


class Tell(Protocol):
    """A progress callback: the name of the stage, and the fraction done where it is known."""

    def __call__(self, text: str, share: float | None = None) -> None: ...
